use ipw_testkit::fuzz::{Random, damaged, rounds};

use super::*;

const PLAN: &str = r#"model = "m"

[client]
id = "openai"
base_url = "http://127.0.0.1:1"
key = "default"
insecure_key = false
connect_timeout_seconds = 5.0

[client.params]

[client.network]
ca_file = "ca.pem"
header_env = ["TEAM_HEADER"]

[dataset]
id = "starter"

[dataset.params]

[generation]
system = "be short"

[generation.parameters]
max_tokens = 3

[load]
arrivals = "sequential"
warmup = 3
request_timeout_seconds = 600.0

[load.stop]
after = 20

[failures]
max_failed = "10%"

[telemetry]
sample_interval_seconds = 0.01
require_energy = false
estimate = true
service_host = "auto"

[output]
directory = "runs"
flush_every = 100
durable = false
"#;

const CONFIG: &str = r#"[profile]
client = "ollama"
model = "llama3.2:1b"
max-queries = 5
request-timeout = "30s"
max-failed = "5%"

[profile.param]
temperature = 0.0
"#;

#[test]
fn damaged_plans_and_configurations_are_errors_or_plans_and_never_a_panic() {
    let pieces: [&[u8]; 14] = [
        b"\"",
        b"'''",
        b"[",
        b"]",
        b"=",
        b"\n",
        b"nan",
        b"-1",
        b"1e400",
        b"true",
        b"[load]",
        b"\xff",
        b"9223372036854775808",
        b"\\u0000",
    ];
    let corpus = [PLAN.as_bytes(), CONFIG.as_bytes()];
    let mut random = Random::new(1);
    let mut plans = 0;
    for _ in 0..rounds(20_000) {
        let bytes = damaged(&mut random, &corpus, &pieces);
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        let _ = toml::from_str::<ConfigFile>(text);
        let Ok(plan) = toml::from_str::<Plan>(text) else {
            continue;
        };
        plans += 1;
        let written = ipw_store::plan::text(&plan).expect("a plan that was read can be written");
        let again: Plan = toml::from_str(&written).expect("and read again");
        assert_eq!(
            ipw_store::plan::text(&again).expect("as before"),
            written,
            "{text}"
        );
    }
    assert!(
        plans > 100,
        "only {plans} were plans: the corpus is out of date"
    );
}
