//! SVG output: elements, attributes, ids. All text is escaped and all coordinates are rounded here.

use crate::colour::{Paint, SERIES, standalone_rules};
use crate::number::coordinate;
use crate::style::{Mode, Style};
use crate::text::{clean, escape_into};

/// The bundled font family, and fallbacks for browsers.
const FAMILY: &str = "DejaVu Sans,Verdana,Segoe UI,Helvetica Neue,Arial,sans-serif";

/// A rectangle of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rect {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Rect {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    pub(crate) fn within(&self, other: &Self) -> bool {
        self.left >= other.left
            && self.right <= other.right
            && self.top >= other.top
            && self.bottom <= other.bottom
    }
}

/// Horizontal alignment of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A text with its style.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label<'a> {
    pub(crate) text: &'a str,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) paint: Paint,
    /// Whether it has an outline in the background colour, for texts among data.
    pub(crate) rim: bool,
}

impl<'a> Label<'a> {
    pub(crate) fn new(text: &'a str, size: f64, anchor: Anchor) -> Self {
        Self {
            text,
            size,
            anchor,
            paint: Paint::Ink,
            rim: false,
        }
    }

    pub(crate) fn soft(self) -> Self {
        Self {
            paint: Paint::Soft,
            ..self
        }
    }

    pub(crate) fn rimmed(self) -> Self {
        Self { rim: true, ..self }
    }
}

/// A figure under construction.
#[derive(Debug)]
pub(crate) struct Scene {
    out: String,
    style: Style,
    hatches: Vec<usize>,
    clips: usize,
}

impl Scene {
    pub(crate) fn new(style: &Style, size: (f64, f64), title: &str, description: &str) -> Self {
        let mut scene = Self {
            out: String::with_capacity(16 << 10),
            style: style.clone(),
            hatches: Vec::new(),
            clips: 0,
        };
        let (title_id, description_id) = (style.id("title"), style.id("desc"));
        let view = format!("0 0 {} {}", coordinate(size.0), coordinate(size.1));
        scene
            .element("svg")
            .word("xmlns", "http://www.w3.org/2000/svg")
            .word("viewBox", &view)
            .word("class", "ipw-figure")
            .word("role", "img")
            .word("aria-labelledby", &format!("{title_id} {description_id}"))
            .word("font-family", FAMILY)
            .open();
        scene.element("title").word("id", &title_id).holding(title);
        scene
            .element("desc")
            .word("id", &description_id)
            .holding(description);
        if style.mode == Mode::Standalone {
            scene.out.push_str("<style>");
            scene.out.push_str(&standalone_rules());
            scene.out.push_str("</style>\n");
        }
        let all = Rect {
            left: 0.0,
            top: 0.0,
            right: size.0,
            bottom: size.1,
        };
        scene.rect(&all).fill(Paint::Paper).close();
        scene
    }

    /// Starts an element, which the final methods of [`Element`] close.
    pub(crate) fn element<'s>(&'s mut self, tag: &'static str) -> Element<'s> {
        self.out.push('<');
        self.out.push_str(tag);
        Element { scene: self, tag }
    }

    /// Ends a group.
    pub(crate) fn end(&mut self) {
        self.out.push_str("</g>\n");
    }

    pub(crate) fn rect(&mut self, rect: &Rect) -> Element<'_> {
        self.element("rect")
            .number("x", rect.left)
            .number("y", rect.top)
            .number("width", rect.width().max(0.0))
            .number("height", rect.height().max(0.0))
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64)) -> Element<'_> {
        self.element("line")
            .number("x1", from.0)
            .number("y1", from.1)
            .number("x2", to.0)
            .number("y2", to.1)
    }

    /// A path; empty data add no element.
    pub(crate) fn path(&mut self, data: &PathData) -> Element<'_> {
        self.element("path").word("d", &data.0)
    }

    pub(crate) fn label(&mut self, at: (f64, f64), label: Label<'_>) {
        self.label_turned(at, label, false);
    }

    /// A label, rotated to read upwards if `turned`.
    pub(crate) fn label_turned(&mut self, at: (f64, f64), label: Label<'_>, turned: bool) {
        let mut element = self
            .element("text")
            .number("x", at.0)
            .number("y", at.1)
            .number("font-size", label.size)
            .fill(label.paint);
        element = match label.anchor {
            Anchor::Start => element,
            Anchor::Middle => element.word("text-anchor", "middle"),
            Anchor::End => element.word("text-anchor", "end"),
        };
        if label.rim {
            element = element
                .stroke(Paint::Paper, 3.0)
                .word("stroke-linejoin", "round")
                .word("paint-order", "stroke");
        }
        if turned {
            let turn = format!("rotate(-90 {} {})", coordinate(at.0), coordinate(at.1));
            element = element.word("transform", &turn);
        }
        element.holding(label.text);
    }

    /// Starts a group clipped to the rectangle.
    pub(crate) fn clipped(&mut self, rect: &Rect) {
        self.clips += 1;
        let id = self.style.id(&format!("clip{}", self.clips));
        self.out.push_str("<clipPath id=\"");
        self.out.push_str(&id);
        self.out.push_str("\">");
        self.rect(rect).close();
        self.out.truncate(self.out.trim_end().len());
        self.out.push_str("</clipPath>\n");
        self.element("g")
            .word("clip-path", &format!("url(#{id})"))
            .open();
    }

    /// The figure as text.
    pub(crate) fn finish(mut self) -> String {
        let mut hatches = std::mem::take(&mut self.hatches);
        hatches.sort_unstable();
        for series in hatches {
            self.pattern(series);
        }
        self.out.push_str("</svg>\n");
        self.out
    }

    fn pattern(&mut self, series: usize) {
        let id = self.style.id(&format!("hatch{series}"));
        self.element("pattern")
            .word("id", &id)
            .word("patternUnits", "userSpaceOnUse")
            .word("width", "5")
            .word("height", "5")
            .word("patternTransform", "rotate(45)")
            .open();
        let all = Rect {
            left: 0.0,
            top: 0.0,
            right: 5.0,
            bottom: 5.0,
        };
        self.rect(&all)
            .fill(Paint::Series(series))
            .number("fill-opacity", 0.12)
            .close();
        self.line((1.0, 0.0), (1.0, 5.0))
            .stroke(Paint::Series(series), 1.6)
            .close();
        self.out.push_str("</pattern>\n");
    }
}

/// An element under construction.
#[must_use]
pub(crate) struct Element<'s> {
    scene: &'s mut Scene,
    tag: &'static str,
}

impl Element<'_> {
    pub(crate) fn word(self, name: &str, value: &str) -> Self {
        let out = &mut self.scene.out;
        out.push(' ');
        out.push_str(name);
        out.push_str("=\"");
        escape_into(value, out);
        out.push('"');
        self
    }

    pub(crate) fn number(self, name: &str, value: f64) -> Self {
        let value = coordinate(value);
        self.word(name, &value)
    }

    pub(crate) fn fill(self, paint: Paint) -> Self {
        let colour = self.scene.style.paint(paint);
        self.word("fill", &colour)
    }

    pub(crate) fn stroke(self, paint: Paint, width: f64) -> Self {
        let colour = self.scene.style.paint(paint);
        self.word("stroke", &colour).number("stroke-width", width)
    }

    pub(crate) fn unfilled(self) -> Self {
        self.word("fill", "none")
    }

    /// The hatch of estimates, in the colour of a series.
    pub(crate) fn hatched(self, series: usize) -> Self {
        let series = series % SERIES;
        if !self.scene.hatches.contains(&series) {
            self.scene.hatches.push(series);
        }
        let id = self.scene.style.id(&format!("hatch{series}"));
        self.word("fill", &format!("url(#{id})"))
    }

    /// Closes the element without content.
    pub(crate) fn close(self) {
        self.scene.out.push_str("/>\n");
    }

    /// Closes the element with a tooltip.
    pub(crate) fn titled(self, title: &str) {
        self.scene.out.push_str("><title>");
        escape_into(&clean(title), &mut self.scene.out);
        self.scene.out.push_str("</title></");
        self.scene.out.push_str(self.tag);
        self.scene.out.push_str(">\n");
    }

    /// Closes the element with text content.
    pub(crate) fn holding(self, text: &str) {
        self.scene.out.push('>');
        escape_into(&clean_keeping_isolates(text), &mut self.scene.out);
        self.scene.out.push_str("</");
        self.scene.out.push_str(self.tag);
        self.scene.out.push_str(">\n");
    }

    /// Leaves the element open for children.
    pub(crate) fn open(self) {
        self.scene.out.push_str(">\n");
    }
}

/// Keeps our own isolates and removes other characters that XML cannot contain.
fn clean_keeping_isolates(text: &str) -> String {
    text.split_inclusive(['\u{2068}', '\u{2069}'])
        .map(|piece| match piece.chars().next_back() {
            Some(last @ ('\u{2068}' | '\u{2069}')) => {
                let body = &piece[..piece.len() - last.len_utf8()];
                format!("{}{last}", clean(body))
            }
            _ => clean(piece),
        })
        .collect()
}

/// SVG path data with rounded coordinates.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PathData(pub(crate) String);

impl PathData {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn go(&mut self, at: (f64, f64)) {
        self.point('M', at);
    }

    pub(crate) fn draw(&mut self, at: (f64, f64)) {
        self.point('L', at);
    }

    pub(crate) fn shut(&mut self) {
        self.0.push('Z');
    }

    fn point(&mut self, command: char, at: (f64, f64)) {
        self.0.push(command);
        self.0.push_str(&coordinate(at.0));
        self.0.push(' ');
        self.0.push_str(&coordinate(at.1));
    }

    /// A line through the points.
    pub(crate) fn through(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut data = Self::default();
        for (index, point) in points.into_iter().enumerate() {
            if index == 0 {
                data.go(point);
            } else {
                data.draw(point);
            }
        }
        data
    }

    /// The area between two lines, both from left to right.
    pub(crate) fn between(upper: &[(f64, f64)], lower: &[(f64, f64)]) -> Self {
        if upper.len() < 2 || lower.len() < 2 {
            return Self::default();
        }
        let mut data = Self::through(upper.iter().chain(lower.iter().rev()).copied());
        data.shut();
        data
    }
}
