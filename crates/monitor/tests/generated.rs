//! `src/pb/energy.rs` is what `proto/energy.proto` says: made by hand-free tools, checked in so that
//! building needs none of them.

use std::path::Path;

fn generated() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = protox::compile(["energy.proto"], [root.join("proto")]).unwrap();
    let out = tempfile::tempdir().unwrap();
    tonic_prost_build::configure()
        .out_dir(out.path())
        .bytes(".")
        .compile_fds(files)
        .unwrap();
    std::fs::read_to_string(out.path().join("energy.rs")).unwrap()
}

#[test]
fn the_code_that_is_checked_in_is_what_the_proto_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pb/energy.rs");
    let made = generated();
    if std::env::var_os("IPW_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap();
    assert!(
        made == checked_in,
        "run `IPW_UPDATE_DOCS=1 cargo test -p ipw-monitor --test generated`"
    );
}
