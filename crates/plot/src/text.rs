//! Text in figures: escaping, measuring, truncation and line breaks.
//!
//! Widths are those of the bundled font, which is wide. With another font in a browser, lines
//! become shorter and do not collide.

/// Advance widths of U+0020 to U+007E in thousandths of the size, from the font's own table.
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];

/// Width of a text at a size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size / 1000.0
}

fn advance(character: char) -> f64 {
    let code = u32::from(character);
    match code {
        0x20..=0x7e => f64::from(WIDTHS[(code - 0x20) as usize]),
        0x00..=0x1f | 0x300..=0x36f | 0x200b..=0x200f | 0x2066..=0x2069 => 0.0,
        0xb7 => 318.0,
        0xb2 | 0xb3 | 0xb9 | 0x2070..=0x209f => 401.0,
        0xb0 | 0x2013 => 500.0,
        0xb1 | 0xd7 | 0xf7 | 0x2190..=0x22ff => 838.0,
        0x80..=0x5ff => 690.0,
        _ => 1000.0,
    }
}

/// The text on one line, without characters that XML cannot contain.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => ' ',
            // Overrides affect text beyond their own; the isolates that we add do not.
            '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{fffe}'
            | '\u{ffff}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            other => other,
        })
        .collect()
}

/// External text inside a sentence of ours, with its own writing direction.
pub(crate) fn isolate(text: &str) -> String {
    if text
        .chars()
        .all(|character| character.is_ascii() || !is_right_to_left(character))
    {
        return text.to_owned();
    }
    format!("\u{2068}{text}\u{2069}")
}

fn is_right_to_left(character: char) -> bool {
    matches!(u32::from(character), 0x590..=0x8ff | 0xfb1d..=0xfdff | 0xfe70..=0xfeff | 0x1_0800..=0x1_0fff | 0x1_e800..=0x1_efff)
}

/// Escapes for element content and attribute values.
pub(crate) fn escape_into(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
}

/// The text, truncated with an ellipsis if it is wider than `room`.
pub(crate) fn cut(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = size;
    for character in text.chars() {
        used += advance(character) * size / 1000.0;
        if used > room {
            break;
        }
        kept.push(character);
    }
    let mut kept = kept.trim_end().to_owned();
    kept.push('…');
    kept
}

/// The text in at most `most` lines up to the width of `room`; the last line is truncated.
pub(crate) fn wrap(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if lines_fit(line, word, size, room) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1));
        lines.push(rest.join(" "));
    }
    for line in &mut lines {
        *line = cut(line, size, room);
    }
    lines
}

fn lines_fit(line: &str, word: &str, size: f64, room: f64) -> bool {
    width(line, size) + width(" ", size) + width(word, size) <= room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(
            clean("a\u{0}b\nc\u{1b}\u{ffff}"),
            "a\u{fffd}b c\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn the_five_signs_are_escaped() {
        let mut out = String::new();
        escape_into(r#"<a b="c">&'"#, &mut out);
        assert_eq!(out, "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
    }

    #[test]
    fn a_long_text_is_cut_to_its_room() {
        let text = cut("a very long label of a model", 11.0, 60.0);
        assert!(text.ends_with('…'));
        assert!(width(&text, 11.0) <= 60.0, "{text}");
        assert_eq!(cut("short", 11.0, 60.0), "short");
    }

    #[test]
    fn lines_keep_to_their_room_and_number() {
        let lines = wrap(&"word ".repeat(100), 11.0, 200.0, 3);
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| width(line, 11.0) <= 200.0));
        assert!(lines[2].ends_with('…'));
    }

    #[test]
    fn a_right_to_left_text_is_isolated() {
        assert_eq!(isolate("llama"), "llama");
        assert_eq!(isolate("שלום"), "\u{2068}שלום\u{2069}");
        assert_eq!(clean("\u{202e}abc"), "\u{fffd}abc");
    }
}
