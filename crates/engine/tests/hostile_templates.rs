//! Templates that want our memory, our time or our stack. Alone in its process: the limit on memory
//! and the peak are those of all.

#![cfg(target_os = "linux")]
#![expect(
    clippy::panic,
    clippy::print_stderr,
    reason = "a test's helper fails loudly"
)]

use std::fs;
use std::time::Duration;

use ipw_engine::template::{ChatTemplate, Message, TemplateError};
use rustix::process::{Resource, Rlimit, setrlimit};

const MIB: u64 = 1 << 20;
/// Address space: what is not bounded aborts here.
const ROOM: u64 = 2048 * MIB;
/// Memory that was really used.
const PEAK: u64 = 448 * MIB;
/// For what would otherwise never end; no measure of speed.
const NEVER: Duration = Duration::from_mins(3);

/// A text of 8 MiB, and one whose size the parser does not see.
const LONG: &str = "{% set ns = namespace(s='xxxxxxxx') %}\
    {% for i in range(20) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}";

/// A list that holds itself twice, sixty times over.
const SHARED: &str = "{% set ns = namespace(l=['x']) %}\
    {% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}";

/// Each with the memory of what was made before it still in use.
const ATTACKS: &[&str] = &[
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
    "{% set ns = namespace(l=['x']) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}{{ ns.l | length }}",
    "{{ 'x' * 99999999 }}",
    "{{ ['x' * 99999999, 'y' * 99999999, 'z' * 99999999, 'a' * 99999999, 'b' * 99999999] | length }}",
    "{{ ['x'] * 99999999 | length }}",
    "{{ (['x'] * 99999999) | list | length }}",
    "{{ ('x', 'y') * 49999999 }}",
    "{% set s = 'x' * 4000000 %}{% set l = [s] * 4000 %}{{ l | join }}",
    "{% set s = 'x' * 4000000 %}{{ s.join([1] * 4000) }}",
    "{% set s = 'x' * 9000 %}{{ s.replace('x', s) }}",
    "{% set s = 'x' * 9000 %}{{ s | replace('x', s) }}",
    "{% set s = 'x' * 9000 %}{{ s | replace('', s) }}",
    "{% set s = 'x\n' * 9000 %}{{ s | indent(99999999) }}",
    "{% set s = 'x\n' * 9000 %}{{ s | indent(width=99999999) }}",
    "{{ '%999999999d' | format(1) }}",
    "{{ '%*d' | format(999999999, 1) }}",
    "{{ '{:>999999999}'.format(1) }}",
    "{% set s = 'x' * 4000000 %}{{ ('{0}' * 4000).format(s) }}",
    "{{ [1] | batch(99999999, 'x') | list | length }}",
    "{{ [1] | slice(99999999, 'x') | list | length }}",
    "{% set s = ',' * 16000000 %}{{ s.split(',') | length }}",
    "{% set s = ',' * 16000000 %}{{ s | list | length }}",
    "{% set s = '\n' * 16000000 %}{{ s.splitlines() | length }}",
    "{{ (['x'] * 200000) | sum(start='') }}",
    "{{ ([[1, [2, [3]]] * 9] * 99999) | tojson(indent=16) }}",
    "{{ (['x' * 100000] * 99999) | map('replace', 'x', 'y' * 99999) | list | length }}",
    "{% macro m() %}{% for i in range(99999) %}{{ 'x' * 9999 }}{% endfor %}{% endmacro %}{% set t = m() %}",
    "{% set t %}{% for i in range(99999) %}{{ 'x' * 9999 }}{% endfor %}{% endset %}",
    "{% filter upper %}{% for i in range(99999) %}{{ 'x' * 9999 }}{% endfor %}{% endfilter %}",
    "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = ns.l + ['x' * 99999] %}{% endfor %}",
    // Deeper than a stack.
    "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99999) %}{% set ns.l = ns.l[::-1] %}{% endfor %}{{ ns.l }}x{{ 1/0 }}",
    "{% set ns = namespace() %}{% set ns.head = namespace() %}{% set ns.tail = ns.head %}{% for i in range(99999) %}\
     {% set new = namespace() %}{% set ns.tail.next = new %}{% set ns.tail = new %}{% endfor %}",
    "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}",
];

fn hello() -> Vec<Message> {
    vec![Message::new("user", "Hello")]
}

fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.expect("a peak").trim().trim_end_matches(" kB");
    kib.parse::<u64>().expect("a number") * 1024
}

/// Ends the process where it does not end by itself.
fn watch() {
    std::thread::spawn(|| {
        std::thread::sleep(NEVER);
        eprintln!("it does not end");
        std::process::abort();
    });
}

fn refused(source: &str) -> TemplateError {
    let template = match ChatTemplate::new(source, "", "") {
        Ok(template) => template,
        Err(error) => return error,
    };
    let short: String = source.chars().take(300).collect();
    match template.render(&hello(), true) {
        Err(error) => error,
        Ok(prompt) => panic!("{short} writes {} bytes", prompt.len()),
    }
}

#[test]
fn a_template_takes_neither_all_memory_nor_all_time_nor_all_stack() {
    watch();
    let limit = Rlimit {
        current: Some(ROOM),
        maximum: Some(ROOM),
    };
    setrlimit(Resource::As, limit).unwrap();
    for attack in ATTACKS {
        refused(attack);
    }
    refused(&format!("{SHARED}{{{{ ns.l }}}}"));
    // One after the other on a text of 8 MiB: what each looks at adds up.
    for step in [
        "ns.s == ns.s ~ 'x'",
        "'y' in ns.s",
        "ns.s[1]",
        "ns.s | length",
    ] {
        let source = format!(
            "{LONG}{{% for i in range(99999) %}}{{% if {step} %}}{{% endif %}}{{% endfor %}}"
        );
        refused(&source);
    }
    for (piece, times) in [
        ("|e", 99_999),
        (".a", 99_999),
        ("+1", 99_999),
        ("[0]", 80_000),
        ("()", 99_999),
        (" is none", 30_000),
        (" and 1", 40_000),
    ] {
        refused(&format!("{{{{ ns{} }}}}", piece.repeat(times)));
    }
    refused(&format!(
        "{{% if 0 %}}{}{{% endif %}}",
        "{% elif 0 %}".repeat(20_000)
    ));
    // What is just allowed fits the stack of a thread.
    for long in [
        format!("{{{{ 1{} }}}}", "|int".repeat(390)),
        format!("{{{{ 1{} }}}}", " and 1".repeat(390)),
        format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(390)),
    ] {
        let template = ChatTemplate::new(&long, "", "").unwrap();
        template.render(&hello(), true).unwrap();
    }
    let peak = peak_bytes();
    assert!(peak < PEAK, "the peak is {} MiB", peak / MIB);
}
