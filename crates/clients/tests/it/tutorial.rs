//! The worked example of `docs/tutorials/add-a-client.md` is the code of a real client.

const SOURCES: [&str; 2] = [
    include_str!("../../src/lmstudio.rs"),
    include_str!("flavours.rs"),
];

#[test]
fn the_tutorial_shows_the_client_as_it_is() {
    let page = include_str!("../../../../docs/tutorials/add-a-client.md");
    let blocks = page.split("```rust\n").skip(1);
    let blocks: Vec<_> = blocks
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(blocks.len() > 3, "{blocks:?}");
    for block in blocks {
        let is_code = SOURCES.iter().any(|source| source.contains(block));
        assert!(is_code, "not in the code any more:\n{block}");
    }
    let registry = include_str!("../../src/lib.rs");
    assert!(registry.contains("mod lmstudio;\n") && registry.contains("lmstudio::CLIENT,\n];"));
}
