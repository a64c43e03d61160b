//! `strftime_now`, for the dates that templates write.

use minijinja::{Error, ErrorKind};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Formats a date like `strftime`; only days are supported, no times.
pub(super) fn format(format: &str, year: u16, month: u8, day: u8) -> Result<String, Error> {
    let wrong = |what: String| Error::new(ErrorKind::InvalidOperation, what);
    let Some(month_name) = MONTHS.get(usize::from(month).wrapping_sub(1)) else {
        return Err(wrong(format!("month {month} does not exist")));
    };
    let weekday = DAYS[weekday(year, month, day)];
    let mut parts = format.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    while let Some(part) = parts.next() {
        let mut rest = part.chars();
        let written = match rest.next() {
            Some('Y') => format!("{year:04}"),
            Some('y') => format!("{:02}", year % 100),
            Some('m') => format!("{month:02}"),
            Some('d') => format!("{day:02}"),
            Some('e') => format!("{day:2}"),
            Some('F') => format!("{year:04}-{month:02}-{day:02}"),
            Some('B') => (*month_name).to_owned(),
            Some('b' | 'h') => month_name[..3].to_owned(),
            Some('A') => weekday.to_owned(),
            Some('a') => weekday[..3].to_owned(),
            // An empty part lies between two: `%%`, and the next one is plain text.
            None => match parts.next() {
                Some(plain) => format!("%{plain}"),
                None => return Err(wrong("a date ends in `%`".to_owned())),
            },
            Some(other) => return Err(wrong(format!("`%{other}` is not supported in a date"))),
        };
        text += &written;
        text += rest.as_str();
    }
    Ok(text)
}

/// Days since the last Sunday, by Sakamoto's method.
fn weekday(year: u16, month: u8, day: u8) -> usize {
    const SHIFTS: [usize; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    // Weekdays repeat every 400 years; this keeps January of the year 0 positive.
    let year = usize::from(year) + 400 - usize::from(month < 3);
    let shift = SHIFTS[usize::from(month - 1) % 12];
    (year + year / 4 - year / 100 + year / 400 + shift + usize::from(day)) % 7
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn days_are_written_as_strftime_writes_them() {
        for (pattern, expected) in [
            ("%d %b %Y", "26 Jul 2024"),
            ("%B %-d", "error"),
            ("%A, %e. %B '%y %%", "Friday, 26. July '24 %"),
            ("%F %a", "2024-07-26 Fri"),
            ("%H", "error"),
            ("%", "error"),
        ] {
            let text = format(pattern, 2024, 7, 26);
            assert_eq!(text.unwrap_or("error".to_owned()), expected, "{pattern}");
        }
        for (year, month, day, expected) in [
            (2000, 2, 29, "Tuesday"),
            (1970, 1, 1, "Thursday"),
            (2026, 11, 16, "Monday"),
        ] {
            assert_eq!(format("%A", year, month, day).unwrap(), expected);
        }
        assert!(format("%d", 2024, 0, 1).is_err());
        assert!(format("%d", 2024, 13, 1).is_err());
    }
}
