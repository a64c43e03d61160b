//! Structure, texts, colours and size of every figure of the gallery.

#[path = "../examples/gallery/samples.rs"]
mod samples;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use ipw_plot::{Mode, Style};
use roxmltree::{Document, Node};

/// Set `IPW_UPDATE_SNAPSHOTS=1` to rewrite the snapshots.
#[test]
fn every_figure_has_the_structure_of_its_snapshot() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    for (name, draw) in samples::figures() {
        let svg = draw(&Style::default());
        assert_eq!(
            svg,
            draw(&Style::default()),
            "{name}: the same numbers, other bytes"
        );
        let document = Document::parse(&svg).unwrap();
        let mut outline = String::new();
        outline_of(document.root_element(), 0, &mut outline);
        let path = directory.join(format!("{name}.txt"));
        if std::env::var_os("IPW_UPDATE_SNAPSHOTS").is_some() {
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(&path, &outline).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(kept, outline, "{name}: run with IPW_UPDATE_SNAPSHOTS=1");
    }
}

/// Elements with their texts, and the number of each kind in a group. Coordinates are left out, as
/// mathematical libraries may round differently.
fn outline_of(node: Node<'_, '_>, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for child in node.children().filter(Node::is_element) {
        let tag = child.tag_name().name();
        match tag {
            "title" | "desc" | "text" if depth == 0 => {
                let _ = writeln!(out, "{indent}{tag}: {}", child.text().unwrap_or_default());
            }
            "g" | "pattern" => {
                let _ = writeln!(out, "{indent}{tag}");
                outline_of(child, depth + 1, out);
            }
            _ => *kinds.entry(tag).or_default() += 1,
        }
    }
    for (tag, count) in kinds {
        let _ = writeln!(out, "{indent}{tag} × {count}");
    }
}

#[test]
fn every_figure_can_be_read_aloud() {
    for (name, draw) in samples::figures() {
        let svg = draw(&Style::default());
        let document = Document::parse(&svg).unwrap();
        let root = document.root_element();
        assert_eq!(root.attribute("role"), Some("img"), "{name}");
        let named = root.attribute("aria-labelledby").unwrap();
        for id in named.split(' ') {
            let node = root
                .children()
                .find(|node| node.attribute("id") == Some(id));
            let text = node.and_then(|node| node.text()).unwrap_or_default();
            assert!(text.len() > 10, "{name}: `{id}` says {text:?}");
        }
    }
}

#[test]
fn every_figure_names_its_units_and_how_many() {
    let units = [
        "ms",
        "s",
        "J",
        "W",
        "%",
        "tokens",
        "J/token",
        "J/query",
        "queries in flight",
    ];
    for (name, draw) in samples::figures() {
        let svg = draw(&Style::default());
        let document = Document::parse(&svg).unwrap();
        let texts = texts(&document);
        let titles = texts.iter().filter(|text| {
            units.iter().any(|unit| {
                text.ends_with(&format!("({unit})")) || text.contains(&format!("({unit}, "))
            })
        });
        assert!(
            titles.count() >= 1,
            "{name}: no axis title with a unit in {texts:?}"
        );
        assert!(
            texts.iter().any(|text| text.starts_with("n = ")),
            "{name}: no caption"
        );
    }
}

fn texts<'a>(document: &'a Document<'_>) -> Vec<&'a str> {
    let texts = document
        .descendants()
        .filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| node.text()).collect()
}

#[test]
fn ids_do_not_clash_and_every_reference_is_met() {
    let mut seen = HashSet::new();
    for (index, (name, draw)) in samples::figures().into_iter().enumerate() {
        let svg = draw(&Style::new(Mode::Inline).with_prefix(&format!("figure{index}")));
        let document = Document::parse(&svg).unwrap();
        let ids: Vec<&str> = document
            .descendants()
            .filter_map(|node| node.attribute("id"))
            .collect();
        for node in document.descendants() {
            for attribute in node.attributes() {
                if let Some(rest) = attribute.value().strip_prefix("url(#") {
                    let id = rest.trim_end_matches(')');
                    assert!(ids.contains(&id), "{name}: `{id}` is nowhere");
                }
            }
        }
        for id in ids {
            assert!(seen.insert(id.to_owned()), "{name}: `{id}` twice");
        }
    }
}

#[test]
fn an_inlined_figure_takes_its_colours_from_the_page() {
    let page = ipw_plot::page_variables();
    for (name, draw) in samples::figures() {
        let svg = draw(&Style::new(Mode::Inline));
        assert!(!svg.contains("<style"), "{name}");
        let document = Document::parse(&svg).unwrap();
        assert_eq!(document.root_element().attribute("width"), None, "{name}");
        assert!(
            document.root_element().attribute("viewBox").is_some(),
            "{name}"
        );
        for node in document.descendants() {
            for key in ["fill", "stroke"] {
                let Some(value) = node.attribute(key) else {
                    continue;
                };
                if value == "none" || value.starts_with("url(#") {
                    continue;
                }
                let variable = value
                    .strip_prefix("var(")
                    .and_then(|rest| rest.split(',').next());
                let variable = variable.unwrap_or_else(|| panic!("{name}: {key}={value}"));
                assert!(
                    page.contains(&format!("{variable}:")),
                    "{name}: `{variable}`"
                );
            }
        }
    }
}

#[test]
fn the_page_has_dark_values_on_screens_only() {
    let page = ipw_plot::page_variables();
    assert!(page.contains("@media screen and (prefers-color-scheme:dark)"));
    assert!(page.contains(&ipw_plot::light_variables()));
    assert!(page.contains(&ipw_plot::dark_variables()));
}

#[test]
fn what_is_estimated_is_hatched_or_hollow() {
    for (name, draw) in samples::figures() {
        let hatched = draw(&Style::default()).contains("<pattern");
        assert_eq!(
            hatched,
            name.starts_with("timeline") || name == "bars",
            "{name}"
        );
    }
}
