//! Style of a figure: size, colours, and id prefix.

use crate::colour::Paint;

/// Colour mode of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// A standalone file: light, and dark on screens that prefer it.
    #[default]
    Standalone,
    /// In a page that defines the variables (see [`crate::page_variables`]), without a style block.
    Inline,
    /// Always light, for PNG and print.
    Light,
    /// Always dark, for PNG.
    Dark,
}

/// Style of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Style {
    /// Colour mode.
    pub mode: Mode,
    /// Prefix of all ids, which must be unique for each figure of a page.
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
    /// The default size with this mode.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// The style with this id prefix.
    #[must_use]
    pub fn with_prefix(self, prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            ..self
        }
    }

    /// The style with this size.
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

    /// Width and height, limited to a drawable size.
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
