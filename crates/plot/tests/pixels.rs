//! PNG output, and the rendered positions of texts.
#![cfg(feature = "png")]

#[path = "../examples/gallery/samples.rs"]
mod samples;

use std::sync::Arc;

use ipw_plot::{Mode, PngError, Style, png};
use resvg::usvg::{Group, Node, Options, Rect, TextChunk, Tree, fontdb::Database};

fn options() -> Options<'static> {
    let mut fonts = Database::new();
    fonts.load_font_data(include_bytes!("../assets/DejaVuSans-subset.ttf").to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Options {
        fontdb: Arc::new(fonts),
        ..Options::default()
    }
}

fn texts(group: &Group, found: &mut Vec<(String, Rect)>) {
    for node in group.children() {
        match node {
            Node::Group(group) => texts(group, found),
            Node::Text(text) => {
                let words = text.chunks().iter().map(TextChunk::text).collect();
                found.push((words, text.abs_bounding_box()));
            }
            _ => {}
        }
    }
}

#[test]
fn no_text_is_cut_off_and_no_two_meet() {
    let options = options();
    for (name, draw) in samples::figures() {
        for (wide, high) in [(720.0, 420.0), (480.0, 320.0), (1_200.0, 700.0)] {
            let svg = draw(&Style::new(Mode::Light).with_size(wide, high));
            let tree = Tree::from_str(&svg, &options).unwrap();
            let mut found = Vec::new();
            texts(tree.root(), &mut found);
            assert!(found.len() > 5, "{name}: {} texts", found.len());
            for (index, (words, at)) in found.iter().enumerate() {
                let inside = at.left() >= 0.0
                    && at.top() >= 0.0
                    && at.right() <= tree.size().width()
                    && at.bottom() <= tree.size().height();
                assert!(inside, "{name} {wide}: {words:?} at {at:?}");
                for (others, other) in &found[..index] {
                    let meet = at.left() < other.right()
                        && other.left() < at.right()
                        && at.top() < other.bottom()
                        && other.top() < at.bottom();
                    assert!(
                        !meet,
                        "{name} {wide}: {words:?} {at:?} on {others:?} {other:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_picture_has_the_size_that_was_asked_for_and_ink() {
    let (_, draw) = samples::figures().swap_remove(0);
    let bytes = png(&draw(&Style::new(Mode::Light)), 2.0).unwrap();
    let picture = resvg::tiny_skia::Pixmap::decode_png(&bytes).unwrap();
    assert_eq!((picture.width(), picture.height()), (1_440, 840));
    let dark = picture
        .pixels()
        .iter()
        .filter(|pixel| pixel.red() < 100)
        .count();
    assert!(dark > 2_000, "{dark} dark pixels");
    assert!(
        picture.pixels().iter().all(|pixel| pixel.alpha() == 255),
        "paper everywhere"
    );
}

#[test]
fn a_viewer_without_variables_shows_the_light_colours() {
    let (_, draw) = samples::figures().swap_remove(8);
    let standalone = png(&draw(&Style::new(Mode::Standalone)), 1.0).unwrap();
    let light = png(&draw(&Style::new(Mode::Light)), 1.0).unwrap();
    let dark = png(&draw(&Style::new(Mode::Dark)), 1.0).unwrap();
    assert!(standalone == light, "they differ");
    assert!(light != dark, "they do not differ");
}

#[test]
fn what_cannot_be_rendered_is_an_error() {
    let (_, draw) = samples::figures().swap_remove(0);
    let svg = draw(&Style::new(Mode::Light));
    assert!(matches!(png("<svg", 1.0), Err(PngError::Unreadable(_))));
    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e9] {
        assert!(
            matches!(png(&svg, scale), Err(PngError::Size { .. })),
            "{scale}"
        );
    }
}
