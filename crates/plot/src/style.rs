//! How a figure looks: size, colours, and what its ids begin with.

use crate::colour::Paint;

/// Where the colours come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// A file of its own: light, and dark where the reader's screen is.
    #[default]
    Standalone,
    /// Inside a page that gives the variables (see [`crate::page_variables`]): no style block.
    Inline,
    /// Light whatever the screen, for pixels and print.
    Light,
    /// Dark whatever the screen, for pixels.
    Dark,
}

/// How a figure is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Style {
    /// Where the colours come from.
    pub mode: Mode,
    /// What every id begins with: different for each figure of a page.
    pub prefix: String,
    /// Width in units of the view box.
    pub width: f64,
    /// Height in units of the view box.
    pub height: f64,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            mode: Mode::Standalone,
            prefix: "ipw".to_owned(),
            width: 720.0,
            height: 420.0,
        }
    }
}

impl Style {
    /// The default size, with this mode.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// The same, with ids that begin with `prefix`.
    #[must_use]
    pub fn with_prefix(self, prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            ..self
        }
    }

    /// The same, of another size.
    #[must_use]
    pub fn with_size(self, width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            ..self
        }
    }

    pub(crate) fn paint(&self, paint: Paint) -> String {
        match self.mode {
            Mode::Standalone | Mode::Light => paint.light().to_owned(),
            Mode::Dark => paint.dark().to_owned(),
            Mode::Inline => paint.variable(),
        }
    }

    /// An id of this figure: letters, digits and hyphens only.
    pub(crate) fn id(&self, name: &str) -> String {
        let prefix: String = self
            .prefix
            .chars()
            .map(|character| {
                if character.is_ascii_alphanumeric() {
                    character
                } else {
                    '-'
                }
            })
            .collect();
        format!("i{prefix}-{name}")
    }

    /// Width and height that can be drawn in.
    pub(crate) fn size(&self) -> (f64, f64) {
        let within = |value: f64, default: f64, least: f64| {
            if value.is_finite() {
                value.clamp(least, 4000.0)
            } else {
                default
            }
        };
        (
            within(self.width, 720.0, 360.0),
            within(self.height, 420.0, 260.0),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_safe_whatever_the_prefix() {
        let style = Style::default().with_prefix("7\"><x");
        assert_eq!(style.id("title"), "i7---x-title");
    }
}
