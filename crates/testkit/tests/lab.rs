//! The lab against the real world: it installs what it needs, once.

use std::path::PathBuf;
use std::thread;

use ipw_testkit::hugging_face::{self, Rows};
use ipw_testkit::{LlamaServer, MODEL_NAME, Venv, or_skip};
use serde_json::json;

const SAVE: &str = "
import sys, datasets
rows = [{'number': 1, 'group': {'list': [0.5, None], 'text': 'ä'}}, {'number': 2, 'group': None}]
datasets.Dataset.from_list(rows).save_to_disk(sys.argv[1])
";

#[test]
fn an_environment_is_made_once_even_by_two_at_a_time() {
    let prefix = "import sys; print(sys.prefix)";
    let makers = [(); 2].map(|()| thread::spawn(|| Venv::ensure("empty", &[])));
    let made = makers.map(|maker| or_skip(maker.join().unwrap()));
    let [Some(one), Some(other)] = made else {
        return;
    };
    assert_eq!(one.python(), other.python());
    let mark = one.python().with_file_name("mark");
    std::fs::write(&mark, "").unwrap();
    let again = Venv::ensure("empty", &[]).unwrap();
    assert!(mark.exists(), "it was made again");
    let printed = again.run(prefix, &[] as &[&str]).unwrap();
    let directory = again
        .python()
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .canonicalize();
    assert_eq!(
        PathBuf::from(printed.trim()).canonicalize().unwrap(),
        directory.unwrap()
    );
}

#[test]
fn a_script_that_fails_says_why() {
    let Some(venv) = or_skip(Venv::ensure("empty", &[])) else {
        return;
    };
    let failed = venv.run("import sys; sys.exit('no ' + sys.argv[1])", &["luck"]);
    assert!(failed.unwrap_err().to_string().contains("no luck"));
}

#[test]
fn both_versions_of_datasets_tell_the_same_and_survive_what_is_no_dataset() {
    let Some(venvs) = or_skip(hugging_face::environments()) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for venv in venvs {
        let saved = directory.path().join("saved");
        venv.run(SAVE, &[&saved]).unwrap();
        let nothing = directory.path().join("nothing");
        let seen = hugging_face::load_all(&venv, &[nothing.clone(), saved.clone()], Rows::Counted);
        let seen = seen.unwrap();
        assert!(
            seen[0]["error"].as_str().unwrap().contains("nothing"),
            "{seen:?}"
        );
        assert_eq!(seen[1]["rows"], 2);
        assert_eq!(seen[1]["columns"], json!(["number", "group"]));
        let group = json!({ "list": ["float64"], "text": "string" });
        assert_eq!(
            seen[1]["features"],
            json!({ "number": "int64", "group": group })
        );
        assert_eq!(seen[1].get("data"), None);
        let with_rows = hugging_face::load(&venv, &saved, Rows::Included).unwrap();
        assert_eq!(
            with_rows["data"][0]["group"],
            json!({ "list": [0.5, null], "text": "ä" })
        );
        assert!(hugging_face::load(&venv, &nothing, Rows::Counted).is_err());
        std::fs::remove_dir_all(&saved).unwrap();
    }
}

#[test]
fn the_server_lists_its_model_and_ends_when_dropped() {
    let Some(server) = or_skip(LlamaServer::start(2)) else {
        return;
    };
    let models = server.get("/v1/models").unwrap().json().unwrap();
    assert_eq!(models["data"][0]["id"], MODEL_NAME);
    assert_eq!(server.get("/metrics").unwrap().status, 200);
    let address = server.url().replace("http://", "");
    drop(server);
    assert!(std::net::TcpStream::connect(address).is_err());
}
