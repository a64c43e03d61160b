//! PNG from the SVG of a figure, with the bundled font only.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};

/// A subset of `DejaVu Sans`; see `assets/README.md`.
const FONT: &[u8] = include_bytes!("../assets/DejaVuSans-subset.ttf");

/// Why a PNG cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The text is not a readable SVG.
    #[error("the figure cannot be read as SVG")]
    Unreadable(#[source] resvg::usvg::Error),
    /// The picture is empty, or too large for memory.
    #[error("a picture of {width} × {height} pixels cannot be made; help: choose another scale")]
    Size {
        /// Its width in pixels.
        width: f32,
        /// Its height in pixels.
        height: f32,
    },
    /// The encoder failed.
    #[error("the picture cannot be encoded: {0}")]
    Encode(String),
}

/// Longest edge in pixels.
const MOST_PIXELS: f32 = 16_384.0;

/// Renders an SVG at `scale` pixels per unit (2 is sharp on most screens and in print).
///
/// Use figures in [`crate::Mode::Light`] or [`crate::Mode::Dark`], as a page's variables are not
/// available here. Letters missing in the bundled font become boxes.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let options = Options {
        fontdb: fonts(),
        font_family: "DejaVu Sans".to_owned(),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).map_err(PngError::Unreadable)?;
    let (width, height) = (tree.size().width() * scale, tree.size().height() * scale);
    let whole = |edge: f32| (1.0..=MOST_PIXELS).contains(&edge).then_some(edge.ceil());
    let (Some(wide), Some(high)) = (whole(width), whole(height)) else {
        return Err(PngError::Size { width, height });
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between one and MOST_PIXELS, as just checked"
    )]
    let mut pixels =
        Pixmap::new(wide as u32, high as u32).ok_or(PngError::Size { width, height })?;
    resvg::render(
        &tree,
        Transform::from_scale(scale, scale),
        &mut pixels.as_mut(),
    );
    pixels
        .encode_png()
        .map_err(|error| PngError::Encode(error.to_string()))
}

fn fonts() -> Arc<Database> {
    static FONTS: OnceLock<Arc<Database>> = OnceLock::new();
    let load = || {
        let mut fonts = Database::new();
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Arc::new(fonts)
    };
    Arc::clone(FONTS.get_or_init(load))
}
