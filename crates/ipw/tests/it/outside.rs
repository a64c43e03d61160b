//! A program that is no member of this workspace and knows the library by its documentation.

use std::path::Path;
use std::process::Command;

#[test]
fn a_program_elsewhere_measures_with_its_own_client_and_collector() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = own.join("tests/outside");
    let program = std::fs::read_to_string(source.join("src/main.rs")).unwrap();
    assert!(program.lines().count() < 40, "it is to be short");
    let place = tempfile::tempdir().unwrap();
    let manifest = std::fs::read_to_string(source.join("Cargo.toml")).unwrap();
    let manifest = manifest.replace("IPW", own.to_str().unwrap());
    std::fs::create_dir(place.path().join("src")).unwrap();
    std::fs::write(place.path().join("Cargo.toml"), manifest).unwrap();
    std::fs::write(place.path().join("src/main.rs"), program).unwrap();
    // The same versions as here, so that nothing has to be fetched.
    std::fs::copy(
        own.join("../../Cargo.lock"),
        place.path().join("Cargo.lock"),
    )
    .unwrap();
    let runs = place.path().join("runs");
    let target = own.join("../../target/outside");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--manifest-path"])
        .arg(place.path().join("Cargo.toml"))
        .arg("--")
        .arg(&runs)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{talk}");
    let rows: Vec<Vec<&str>> = said.lines().map(|row| row.split(' ').collect()).collect();
    let [first, second] = rows.as_slice() else {
        panic!("two rows: {said}{talk}");
    };
    assert_eq!(first[..3], ["0", "Some(3)", "Some(true)"]);
    assert_eq!(second[..3], ["1", "Some(3)", "Some(false)"]);
    for row in [first, second] {
        // 100 W for 0.2 s or, on a busy machine, longer.
        let joules = row[3]
            .strip_prefix("Some(")
            .and_then(|rest| rest.strip_suffix(')'));
        let joules: f64 = joules.expect("it has energy").parse().unwrap();
        assert!(joules > 15.0, "{said}");
    }
}
