//! A real llama.cpp server, launched.

use ipw_testkit::sensor::{Defects, PowerTrace};
use ipw_testkit::{LlamaServer, or_skip};

use super::{Place, launch, with_argument};
use crate::common::{all_cores, events, rows, summary};
use crate::energy::Living;

#[test]
fn a_real_server_is_started_waited_for_measured_and_gone() {
    let place = Place::new();
    // Its name is in its arguments, to find it by.
    let model = format!("launched-{}", place.port);
    let Some(command) = or_skip(LlamaServer::command(&model, 1, place.port)) else {
        return;
    };
    let _cores = all_cores();
    let sysfs = place.directory.path().join("sys");
    std::fs::create_dir(&sysfs).unwrap();
    let trace = PowerTrace::new(&[(1.0, 30.0)]);
    let _sensor = Living::at(&sysfs, 0, &trace, Defects::default());
    let url = format!("http://127.0.0.1:{}", place.port);
    let mut profile = place.profile(&["--client", "llamacpp", "--client-base-url", &url]);
    profile
        .args(["--model", &model, "--idle", "500ms"])
        .args(["--ready-url", &format!("{url}/health")])
        .env_remove("IPW_IDLE")
        .env("IPW_SYSFS_ROOT", &sysfs);
    let done = launch(&mut profile, &command);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("ready after"), "{}", done.err);
    assert_eq!(with_argument(&model), Vec::<String>::new());
    let run = place.run();
    let rows = rows(&run);
    assert_eq!(rows.len(), 3);
    for row in &rows {
        assert_eq!(row["token_source"], "usage", "{row}");
        assert!(row["headline"]["joules"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["headline"]["above_idle_joules"].is_number(), "{row}");
    }
    let summary = summary(&run);
    let launched = &summary["client_info"]["launch"];
    assert!(
        launched["load_seconds"].as_f64().unwrap() > 0.0,
        "{launched:#}"
    );
    assert_eq!(launched["ready_url"], format!("{url}/health"));
    assert_eq!(summary["client_info"]["quantization"], "Q4_1");
    for moment in ["before", "after"] {
        let idle = &summary["telemetry"]["sources"][0]["idle"][moment];
        let watts = idle["watts"].as_f64().unwrap();
        assert!((watts / 30.0 - 1.0).abs() < 0.1, "{moment}: {idle:#}");
    }
    assert!(!events(&run).is_empty());
    let left = place.directory.path().join("runs").read_dir().unwrap();
    let logs = left
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "log"));
    assert_eq!(
        logs.count(),
        0,
        "the log of a run that went well is removed"
    );
}

/// Loading is what takes time: a limit that is shorter is told with what the server said so far.
#[test]
fn a_real_server_that_cannot_load_is_told_with_its_last_words() {
    let place = Place::new();
    let model = format!("unloadable-{}", place.port);
    let Some(mut command) = or_skip(LlamaServer::command(&model, 1, place.port)) else {
        return;
    };
    let broken = place.directory.path().join("broken.gguf");
    std::fs::write(&broken, b"GGUF, or so it says").unwrap();
    let file = command
        .iter()
        .position(|word| word.to_string_lossy().ends_with(".gguf"));
    command[file.unwrap()] = broken.into();
    let url = format!("http://127.0.0.1:{}", place.port);
    let mut profile = place.profile(&["--client", "llamacpp", "--client-base-url", &url]);
    profile.args(["--model", &model]);
    let done = launch(&mut profile, &command);
    assert_eq!(done.code, Some(3), "{}", done.err);
    for words in ["did not start", "exited before it was ready", "broken.gguf"] {
        assert!(done.err.contains(words), "{words}: {}", done.err);
    }
    assert_eq!(with_argument(&model), Vec::<String>::new());
}
