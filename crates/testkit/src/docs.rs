//! Parts of `docs/` that are generated from the code.

use std::path::Path;

/// Checks that the part `name` of a page in `docs/` is what the code generates. With
/// `IPW_UPDATE_DOCS=1` it is written instead.
///
/// # Panics
/// If the page lacks the part, or says something else.
pub fn check_generated(page: &str, name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page);
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let first = format!("<!-- {name}: generated, do not edit -->\n");
    let begin = text.find(&first).expect("the part has a first mark") + first.len();
    let end = text
        .find(&format!("<!-- end of {name} -->"))
        .expect("the part has a last mark");
    if std::env::var_os("IPW_UPDATE_DOCS").is_some() {
        let updated = format!("{}\n{generated}\n{}", &text[..begin], &text[end..]);
        std::fs::write(&path, updated).expect("the page can be written");
        return;
    }
    assert_eq!(
        text[begin..end].trim(),
        generated.trim(),
        "`docs/{page}` is out of date: run with IPW_UPDATE_DOCS=1"
    );
}
