//! `docs/flags.md`, generated from the definitions that clap parses by.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};
use ipw_testkit::docs::check_generated;

use super::Cli;

/// Heading of flags that belong to no group.
const UNGROUPED: &str = "";

/// Run with `IPW_UPDATE_DOCS=1` to write the page again.
#[test]
fn the_page_of_flags_has_every_flag() {
    let mut root = Cli::command();
    root.build();
    let mut page = String::new();
    for command in root.get_subcommands() {
        sections(&mut page, command, "ipw");
    }
    check_generated("flags.md", "flags", &page);
}

/// A section for each command below `command`, itself included.
fn sections(page: &mut String, command: &Command, parent: &str) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let name = format!("{parent} {}", command.get_name());
    if command.has_subcommands() {
        for below in command.get_subcommands() {
            sections(page, below, &name);
        }
        return;
    }
    let about = command.get_about().map(ToString::to_string);
    let _ = writeln!(page, "## {name}\n\n{}.", about.unwrap_or_default());
    let is_shown = |flag: &&Arg| !flag.is_hide_set() && flag.get_id() != "help";
    let mut groups: Vec<&str> = Vec::new();
    for flag in command.get_arguments().filter(is_shown) {
        let group = flag.get_help_heading().unwrap_or(UNGROUPED);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups.sort_by_key(|group| *group != UNGROUPED);
    for group in groups {
        if group != UNGROUPED {
            let _ = writeln!(page, "\n**{group}**");
        }
        page.push_str("\n| flag | default | environment variable | what it does |\n");
        page.push_str("|---|---|---|---|\n");
        let is_in = |flag: &&Arg| flag.get_help_heading().unwrap_or(UNGROUPED) == group;
        for flag in command.get_arguments().filter(is_shown).filter(is_in) {
            let _ = writeln!(page, "{}", row(flag));
        }
    }
    page.push('\n');
}

fn row(flag: &Arg) -> String {
    let (about, default) = about(flag);
    let env = flag.get_env().map(|name| name.to_string_lossy());
    let env = env.map_or(String::new(), |name| format!("`{name}`"));
    let cells = [spelling(flag), default, env, about];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |", cells.join(" | "))
}

/// `-o`, `--output FILE`, or the name of an argument without a flag.
fn spelling(flag: &Arg) -> String {
    let names = flag.get_value_names().unwrap_or_default();
    let value = names.first().filter(|_| flag.get_action().takes_values());
    let value = value.map_or_else(String::new, ToString::to_string);
    let short = flag.get_short().map(|short| format!("`-{short}`, "));
    match flag.get_long() {
        Some(long) if value.is_empty() => {
            format!("{}`--{long}`", short.unwrap_or_default())
        }
        Some(long) => format!("{}`--{long} {value}`", short.unwrap_or_default()),
        None => format!("`{value}`"),
    }
}

/// The help text, and the default that it names in brackets.
fn about(flag: &Arg) -> (String, String) {
    let text = flag.get_long_help().or_else(|| flag.get_help());
    let text = text.map(ToString::to_string).unwrap_or_default();
    let mut paragraphs: Vec<String> = text.split("\n\n").map(str::to_owned).collect();
    let mut default = flag
        .get_default_values()
        .iter()
        .filter(|_| flag.get_action().takes_values())
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(", ");
    let first = paragraphs.first_mut().expect("splitting yields one part");
    if let Some((before, after)) = first.split_once(" [default: ") {
        after.trim_end_matches(']').clone_into(&mut default);
        *first = before.to_owned();
    }
    let values = flag.get_possible_values();
    let values: Vec<String> = values
        .iter()
        .filter(|value| !value.is_hide_set() && flag.get_action().takes_values())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() {
        paragraphs.push(format!("One of {}", values.join(", ")));
    }
    let sentences = paragraphs.iter().map(|text| text.trim_end_matches('.'));
    let about = sentences.collect::<Vec<_>>().join(". ") + ".";
    (about.replace('\n', " "), default)
}
