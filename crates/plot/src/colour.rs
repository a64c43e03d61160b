//! Colours by role, not by value, so that one figure works on paper, on dark screens and in a page
//! with its own variables.
//!
//! The series follow Okabe and Ito, adjusted to a contrast of 3:1 with the background (WCAG 2.2,
//! 1.4.11). Each differs from all others for every kind of colour blindness. Shape, dash or hatch
//! always encodes the same information as the colour.

use std::fmt::Write as _;

/// The colour of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Text and axes.
    Ink,
    /// Secondary text: captions and tick labels.
    Soft,
    /// Background of the figure.
    Paper,
    /// Grid lines.
    Grid,
    /// One of the series, modulo their number.
    Series(usize),
}

/// Number of series with a distinct colour.
pub(crate) const SERIES: usize = 7;

/// Name, colour on light background, colour on dark background.
const ROLES: [(&str, &str, &str); 4] = [
    ("--ipw-ink", "#1b1f24", "#e8eaed"),
    ("--ipw-soft", "#4f5965", "#b3bac4"),
    ("--ipw-paper", "#ffffff", "#14171c"),
    ("--ipw-grid", "#dfe3e8", "#30363f"),
];
const SERIES_COLOURS: [(&str, &str, &str); SERIES] = [
    ("--ipw-series-1", "#0068a8", "#4f9be4"),
    ("--ipw-series-2", "#c8480f", "#fc8e55"),
    ("--ipw-series-3", "#0a9a6a", "#53d5b0"),
    ("--ipw-series-4", "#b8458f", "#e48fc4"),
    ("--ipw-series-5", "#b48800", "#e9c344"),
    ("--ipw-series-6", "#3a93cf", "#8addf9"),
    ("--ipw-series-7", "#5b3aa8", "#bea7e8"),
];

impl Paint {
    fn entry(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Ink => ROLES[0],
            Self::Soft => ROLES[1],
            Self::Paper => ROLES[2],
            Self::Grid => ROLES[3],
            Self::Series(index) => SERIES_COLOURS[index % SERIES],
        }
    }

    pub(crate) fn light(self) -> &'static str {
        self.entry().1
    }

    pub(crate) fn dark(self) -> &'static str {
        self.entry().2
    }

    /// For a page that defines the variables; the light colour otherwise.
    pub(crate) fn variable(self) -> String {
        let (name, light, _) = self.entry();
        format!("var({name},{light})")
    }
}

/// CSS declarations of the variables with their light values.
pub fn light_variables() -> String {
    declarations(|entry| entry.1)
}

/// CSS declarations of the variables with their dark values.
pub fn dark_variables() -> String {
    declarations(|entry| entry.2)
}

/// CSS for a page with figures in [`crate::Mode::Inline`]: light, dark on screens that prefer it,
/// and light in print.
pub fn page_variables() -> String {
    format!(
        ":root{{{}}}@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}",
        light_variables(),
        dark_variables()
    )
}

/// The CSS rules of a standalone figure.
///
/// All rules are inside `@media`. A viewer without support for variables skips the block and shows
/// the light colours, which are attributes of the elements.
pub(crate) fn standalone_rules() -> String {
    let mut rules = String::new();
    for (name, light, _) in all() {
        let _ = write!(
            rules,
            "[fill=\"{light}\"]{{fill:var({name})}}[stroke=\"{light}\"]{{stroke:var({name})}}"
        );
    }
    format!(
        "@media screen,print{{svg{{{}}}{rules}}}@media screen and (prefers-color-scheme:dark){{svg{{{}}}}}",
        light_variables(),
        dark_variables()
    )
}

fn all() -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
    ROLES.iter().chain(&SERIES_COLOURS)
}

fn declarations(value: impl Fn(&(&str, &'static str, &'static str)) -> &'static str) -> String {
    let mut out = String::new();
    for entry in all() {
        let _ = write!(out, "{}:{};", entry.0, value(entry));
    }
    out
}

/// The contrast of two colours `#rrggbb`, from 1 to 21 (WCAG 2.2); `None` if one is invalid.
pub fn contrast(one: &str, other: &str) -> Option<f64> {
    let (one, other) = (luminance(one)?, luminance(other)?);
    Some((one.max(other) + 0.05) / (one.min(other) + 0.05))
}

fn luminance(colour: &str) -> Option<f64> {
    let [red, green, blue] = linear(colour)?;
    Some(0.2126 * red + 0.7152 * green + 0.0722 * blue)
}

fn linear(colour: &str) -> Option<[f64; 3]> {
    let digits = colour
        .strip_prefix('#')
        .filter(|digits| digits.len() == 6)?;
    let mut channels = [0.0; 3];
    for (index, channel) in channels.iter_mut().enumerate() {
        let value = u8::from_str_radix(digits.get(2 * index..2 * index + 2)?, 16).ok()?;
        let value = f64::from(value) / 255.0;
        *channel = if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        };
    }
    Some(channels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn black_on_white_is_twenty_one() {
        assert!((contrast("#000000", "#ffffff").unwrap() - 21.0).abs() < 1e-9);
        assert_eq!(contrast("red", "#ffffff"), None);
    }

    #[test]
    fn every_series_has_a_contrast_of_three_on_both_papers() {
        for (name, light, dark) in &SERIES_COLOURS {
            let on_light = contrast(light, Paint::Paper.light()).unwrap();
            let on_dark = contrast(dark, Paint::Paper.dark()).unwrap();
            assert!(on_light >= 3.0, "{name} on light paper: {on_light:.2}");
            assert!(on_dark >= 3.0, "{name} on dark paper: {on_dark:.2}");
        }
    }

    #[test]
    fn text_has_a_contrast_of_four_and_a_half() {
        for paint in [Paint::Ink, Paint::Soft] {
            assert!(contrast(paint.light(), Paint::Paper.light()).unwrap() >= 4.5);
            assert!(contrast(paint.dark(), Paint::Paper.dark()).unwrap() >= 4.5);
        }
    }

    #[test]
    fn no_two_roles_share_a_colour() {
        // The rules of a standalone figure select elements by their light colour.
        let mut colours: Vec<_> = all().map(|entry| entry.1).collect();
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), all().count());
    }

    /// Viénot, Brettel and Mollon (1999), and Machado et al. (2009) for tritanopia, in linear RGB.
    const DICHROMATS: [(&str, [[f64; 3]; 3]); 4] = [
        ("none", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protan",
            [
                [0.1124, 0.8876, 0.0],
                [0.1124, 0.8876, 0.0],
                [0.004, -0.004, 1.0],
            ],
        ),
        (
            "deutan",
            [
                [0.2928, 0.7072, 0.0],
                [0.2928, 0.7072, 0.0],
                [-0.0223, 0.0223, 1.0],
            ],
        ),
        (
            "tritan",
            [
                [1.2555, -0.0767, -0.1788],
                [-0.0784, 0.9308, 0.1476],
                [0.0047, 0.6914, 0.3039],
            ],
        ),
    ];

    fn lab(colour: &str, sight: &[[f64; 3]; 3]) -> [f64; 3] {
        let rgb = linear(colour).unwrap();
        let seen: Vec<f64> = sight
            .iter()
            .map(|row| {
                row.iter()
                    .zip(rgb)
                    .map(|(a, b)| a * b)
                    .sum::<f64>()
                    .clamp(0.0, 1.0)
            })
            .collect();
        let xyz = [
            (0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.9505,
            0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2],
            (0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.089,
        ];
        let f = xyz.map(|t| {
            if t > 0.008_856 {
                t.cbrt()
            } else {
                7.787 * t + 16.0 / 116.0
            }
        });
        [
            116.0 * f[1] - 16.0,
            500.0 * (f[0] - f[1]),
            200.0 * (f[1] - f[2]),
        ]
    }

    #[test]
    fn all_series_differ_for_every_kind_of_sight() {
        for (sight, matrix) in &DICHROMATS {
            for paper in [1, 2] {
                let colour = |entry: &(&str, &'static str, &'static str)| {
                    lab(if paper == 1 { entry.1 } else { entry.2 }, matrix)
                };
                for (index, one) in SERIES_COLOURS.iter().enumerate() {
                    for other in &SERIES_COLOURS[..index] {
                        let distance: f64 = colour(one)
                            .iter()
                            .zip(colour(other))
                            .map(|(a, b)| (a - b).powi(2))
                            .sum::<f64>()
                            .sqrt();
                        assert!(distance > 10.0, "{sight}: {one:?} {other:?} {distance:.1}");
                    }
                }
            }
        }
    }
}
