//! Help texts, as a reader sees them: short lines, plain words, few flags in `-h`, and an answer to
//! flags that do not exist.

use std::process::Command;

use ipw_reference::Script;

use crate::common::{Place, ipw, rows, said};

/// Columns of a help text at most.
const WIDEST: usize = 100;
/// Words and phrases that make a help text a riddle.
const RIDDLES: [&str; 14] = [
    "nobody",
    "somebody",
    "whoever",
    "anybody",
    "everybody",
    "so many",
    "is none",
    "unless told",
    "of its own accord",
    "what it is told",
    "nothing more",
    "wider of the mark",
    "stands behind",
    "all the same",
];
/// Flags and examples of `ipw profile -h` at most.
const MOST_FLAGS: usize = 12;
const MOST_EXAMPLES: usize = 3;

/// `ipw` in a wide terminal, without settings from the environment.
fn wide() -> Command {
    let mut command = ipw();
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("IPW_") {
            command.env_remove(name);
        }
    }
    command.env("COLUMNS", "200");
    command
}

/// The help text of a command, by `-h` or `--help`.
fn help(path: &[String], flag: &str) -> String {
    let said = said(wide().args(path).arg(flag));
    assert_eq!(said.code, Some(0), "{path:?} {flag}: {}", said.err);
    said.out
}

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Every command with its help text, by both flags.
fn every_help() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let mut paths = vec![Vec::new()];
    while let Some(path) = paths.pop() {
        let long = help(&path, "--help");
        for below in commands(&long) {
            let mut path = path.clone();
            path.push(below);
            paths.push(path);
        }
        let name = format!("ipw {}", path.join(" "));
        texts.push((format!("{name} -h"), help(&path, "-h")));
        texts.push((format!("{name} --help"), long));
    }
    texts
}

/// Flags that a help text describes, `--help` and `--version` apart.
fn flags(help: &str) -> Vec<&str> {
    let described = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line
            .get(..4)
            .filter(|lead| lead.ends_with(", "))
            .map_or(line, |_| &line[4..]);
        line.starts_with("--").then_some(line)
    });
    let names = described.filter_map(|line| line.split([' ', '=']).next());
    names
        .filter(|name| !["--help", "--version"].contains(name))
        .collect()
}

#[test]
fn every_help_text_is_narrow_and_without_riddles() {
    let texts = every_help();
    assert!(texts.len() > 40, "{}", texts.len());
    for (name, text) in texts {
        for line in text.lines() {
            assert!(line.chars().count() <= WIDEST, "{name}: {line}");
        }
        let words = text.to_lowercase();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        for riddle in RIDDLES {
            assert!(!words.contains(riddle), "{name} says `{riddle}`");
        }
    }
}

#[test]
fn short_help_shows_few_flags_and_long_help_all() {
    let texts = every_help();
    let text = |name: &str| {
        let found = texts.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.as_str()).unwrap()
    };
    for (name, short) in texts.iter().filter(|(name, _)| name.ends_with(" -h")) {
        assert!(flags(short).len() <= MOST_FLAGS, "{name}: {short}");
    }
    let (short, long) = (text("ipw profile -h"), text("ipw profile --help"));
    for flag in [
        "--client-base-url",
        "--dataset",
        "--concurrency",
        "--telemetry",
    ] {
        assert!(flags(short).contains(&flag), "{flag}: {short}");
    }
    let examples = short.lines().filter(|line| line.starts_with("  ipw "));
    assert_eq!(examples.count(), MOST_EXAMPLES, "{short}");
    assert!(
        short.contains("`ipw profile --help` shows all flags"),
        "{short}"
    );
    assert!(flags(long).len() > 60, "{long}");
    for heading in [
        "Service:",
        "Workload:",
        "Energy:",
        "Output:",
        "Configuration:",
    ] {
        assert!(long.lines().any(|line| line == heading), "{heading}");
    }
}

#[test]
fn other_names_of_common_flags_are_taken() {
    for (url, most) in [
        ("--base-url", "--num-queries"),
        ("--url", "--num-prompts"),
        ("--endpoint", "--limit"),
    ] {
        let place = Place::new(|_| Script::words(2));
        let said = said(
            wide()
                .args(["profile", "--model", "reference", "--warmup", "0"])
                .args([url, &place.service.url()])
                .args([most, "2"])
                .arg("--output-dir")
                .arg(place.runs()),
        );
        assert_eq!(said.code, Some(0), "{url} {most}: {}", said.err);
        let run = std::fs::read_dir(place.runs()).unwrap().next().unwrap();
        assert_eq!(rows(&run.unwrap().path()).len(), 2, "{most}");
    }
}

#[test]
fn an_unknown_flag_is_answered_with_the_right_one() {
    for (args, flag) in [
        (
            &["profile", "--client-base-ulr", "x"][..],
            "--client-base-url",
        ),
        (&["profile", "--concurency", "3"], "--concurrency"),
        (&["profile", "--request-rate", "3"], "--rate"),
        (&["profile", "--output", "x"], "--output-dir"),
        (&["score", "run", "--base-url", "x"], "--judge-base-url"),
        (&["export", "run", "--formt", "csv"], "--format"),
    ] {
        let said = said(wide().args(args));
        assert_eq!(said.code, Some(2), "{args:?}");
        let tip = format!("a similar argument exists: '{flag}'");
        assert!(said.err.contains(&tip), "{args:?}: {}", said.err);
    }
}

#[test]
fn a_list_is_short_unless_long_is_asked_for() {
    let list = |args: &[&str]| said(wide().arg("list").args(args)).out;
    let (short, long) = (list(&[]), list(&["--long"]));
    assert!(short.lines().count() < long.lines().count(), "{short}");
    for name in [
        "openai", "starter", "gsm8k", "rapl", "exact", "latency", "pareto",
    ] {
        let lead = format!("  {name} ");
        assert!(short.lines().any(|line| line.starts_with(&lead)), "{name}");
        assert!(long.lines().any(|line| line.starts_with(&lead)), "{name}");
    }
    for line in short.lines() {
        assert!(line.chars().count() <= 120, "{line}");
    }
    assert!(!short.contains("NAME=VALUE") && long.contains("--client-param NAME=VALUE"));
    assert!(short.ends_with("`--long` also shows parameters, defaults and details.\n"));
}
