//! `src/pb/energy.rs` is what `proto/energy.proto` says: made by hand-free tools, checked in so that
//! building needs none of them.

use std::path::Path;

#[test]
fn the_code_that_is_checked_in_is_what_the_proto_says() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = protox::compile(["energy.proto"], [own.join("../../proto")]).unwrap();
    let out = tempfile::tempdir().unwrap();
    tonic_prost_build::configure()
        .out_dir(out.path())
        .compile_fds(files)
        .unwrap();
    let made = std::fs::read_to_string(out.path().join("energy.rs")).unwrap();
    let path = own.join("src/pb/energy.rs");
    if std::env::var_os("IPW_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap();
    assert!(
        made == checked_in,
        "run `IPW_UPDATE_DOCS=1 cargo test -p ipw-monitor --test generated`"
    );
}
