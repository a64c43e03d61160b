//! README and `docs/` against the command line: every flag is documented, every `ipw` command in a
//! code block parses, and no text names a flag that does not exist.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser};

use super::Cli;

/// Flags of other programs that pages name without the program in front.
const OTHERS: [(&str, &str); 5] = [
    ("api-key", "of services that `--launch` starts"),
    ("collect-interval", "dcgm-exporter's"),
    ("enable-prompt-tokens-details", "vLLM's"),
    ("gpus", "docker's"),
    ("metrics", "llama.cpp's"),
];

/// A page: where it is, and its text.
struct Page {
    path: PathBuf,
    text: String,
}

/// `README.md` and every page below `docs/`.
fn pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md")];
    let mut directories = vec![root.join("docs")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                paths.push(path);
            }
        }
    }
    assert!(paths.len() > 20, "{paths:?}");
    let page = |path: PathBuf| Page {
        text: fs::read_to_string(&path).unwrap(),
        path: path.strip_prefix(&root).unwrap().to_owned(),
    };
    paths.into_iter().map(page).collect()
}

/// The lines of a page outside of fenced code, and those of each fenced block with its language.
fn split(text: &str) -> (Vec<&str>, Vec<(&str, Vec<&str>)>) {
    let mut prose = Vec::new();
    let mut blocks = Vec::new();
    let mut open: Option<(&str, Vec<&str>)> = None;
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(language), None) => open = Some((language, Vec::new())),
            (None, Some((language, mut lines))) => {
                lines.push(line);
                open = Some((language, lines));
            }
            (None, None) => prose.push(line),
        }
    }
    assert!(open.is_none(), "a code block is not closed");
    (prose, blocks)
}

/// The shell commands of a block: in a console only what follows a prompt, with continued lines.
fn shell(language: &str, lines: &[&str]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut is_continued = false;
    for line in lines {
        let line = line.trim_start();
        let command = match language {
            _ if is_continued => Some(line),
            "sh" => Some(line),
            "yaml" => line.split_once("run: ").map(|(_, command)| command),
            "console" => line
                .split_once("$ ")
                .filter(|(host, _)| host.chars().all(char::is_alphanumeric))
                .map(|(_, command)| command),
            _ => None,
        };
        let Some(command) = command else { continue };
        let (command, goes_on) = match command.strip_suffix('\\') {
            Some(command) => (command, true),
            None => (command, false),
        };
        match commands.last_mut() {
            Some(last) if is_continued => last.push_str(command),
            _ => commands.push(command.to_owned()),
        }
        is_continued = goes_on;
    }
    commands
}

/// The words of each simple command in a line of shell, as far as documentation uses its grammar:
/// quotes, comments, redirections, lists and pipes.
fn words(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let end = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        commands.last_mut().unwrap().extend(word.take());
    };
    for letter in line.chars() {
        match letter {
            _ if quote == Some(letter) => quote = None,
            _ if quote.is_some() => word.get_or_insert_default().push(letter),
            '\'' | '"' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            '#' if word.is_none() => break,
            ' ' | '\t' => end(&mut word, &mut commands),
            ';' | '&' | '|' | '(' | ')' => {
                end(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            '>' | '<' => {
                end(&mut word, &mut commands);
                // The target of a redirection is not an argument.
                commands.push(vec![letter.to_string()]);
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    end(&mut word, &mut commands);
    assert_eq!(quote, None, "a quote is not closed: {line}");
    commands
}

/// The arguments of `ipw`, if that is what `words` call. `…` stands for what the reader fills in.
fn arguments(words: &[String]) -> Option<Vec<&str>> {
    let is_variable = |word: &&String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let words: Vec<&str> = words
        .iter()
        .skip_while(is_variable)
        .map(String::as_str)
        .filter(|word| *word != "…")
        .collect();
    match words.as_slice() {
        ["ipw", ..] => Some(words),
        ["cargo", "run", rest @ ..] => {
            let at = rest.iter().position(|word| *word == "--")?;
            let program = rest[..at].iter().all(|word| *word == "--release");
            program.then(|| [&["ipw"], &rest[at + 1..]].concat())
        }
        _ => None,
    }
}

/// Whether `flag` is in `text`, and does not just begin a longer one.
fn names(text: &str, flag: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
    text.match_indices(flag)
        .any(|(at, _)| ends(&text[at + flag.len()..]))
}

/// The flags that a line of prose names, without those in commands of other programs
/// (`` `cargo run --release` ``).
fn flags_in(line: &str) -> impl Iterator<Item = &str> {
    let is_ours = |(at, part): &(usize, &str)| {
        let is_code = at % 2 == 1;
        !is_code || part.starts_with(['-', '…']) || part.starts_with("ipw ")
    };
    let parts = line.split('`').enumerate().filter(is_ours);
    parts.flat_map(|(_, part)| {
        part.match_indices("--").filter_map(|(at, dashes)| {
            let begins = at == 0 || part[..at].ends_with([' ', '(', '[', '|', '\'', '"']);
            let name = &part[at + dashes.len()..];
            let length = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            let name = &name[..length.unwrap_or(name.len())];
            (begins && name.starts_with(|c: char| c.is_ascii_lowercase())).then_some(name)
        })
    })
}

/// The long names of all flags of a command and those below it, aliases among them.
fn flags(command: &clap::Command) -> BTreeSet<String> {
    let own = command.get_arguments().flat_map(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        let names = argument.get_long().into_iter().chain(aliases);
        names.map(str::to_owned).collect::<Vec<_>>()
    });
    let below = command.get_subcommands().flat_map(flags);
    own.chain(below).collect()
}

/// `docs/flags.md` does not count: it is generated from the help texts.
#[test]
fn every_flag_is_documented_below_docs() {
    let pages = pages();
    let is_documented = |flag: &str| {
        let mut written = pages
            .iter()
            .filter(|page| page.path.starts_with("docs") && !page.path.ends_with("docs/flags.md"));
        written.any(|page| names(&page.text, flag))
    };
    for command in Cli::command().get_subcommands() {
        for argument in command.get_arguments() {
            let Some(long) = argument.get_long() else {
                continue;
            };
            let flag = format!("--{long}");
            assert!(
                argument.is_hide_set() || is_documented(&flag),
                "`ipw {} {flag}` is on no page below docs/",
                command.get_name()
            );
        }
    }
}

#[test]
fn every_command_in_the_documentation_parses() {
    let mut parsed = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        let (_, blocks) = split(&page.text);
        for (language, lines) in blocks {
            for line in shell(language, &lines) {
                for words in words(&line) {
                    let Some(arguments) = arguments(&words) else {
                        continue;
                    };
                    parsed += 1;
                    if let Err(error) = Cli::try_parse_from(arguments) {
                        let is_help = !error.use_stderr();
                        let told = format!("{}: {line}\n{error}", page.path.display());
                        wrong.extend((!is_help).then_some(told));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(parsed > 100, "only {parsed} commands were found");
}

#[test]
fn no_page_names_a_flag_that_does_not_exist() {
    let mut known = flags(&Cli::command());
    known.extend(["help", "version"].map(str::to_owned));
    known.extend(OTHERS.map(|(name, _)| name.to_owned()));
    let mut wrong = Vec::new();
    for page in pages() {
        let (prose, _) = split(&page.text);
        let named = prose.into_iter().flat_map(flags_in);
        let unknown = named.filter(|flag| !known.contains(*flag));
        wrong.extend(unknown.map(|flag| format!("{}: --{flag}", page.path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn shell_lines_are_read_as_a_shell_reads_them() {
    let line = "A=1 ipw runs --filter 'a b=c' > x.txt; (cd y && ipw list) | head # ipw";
    let found: Vec<_> = words(line)
        .iter()
        .filter_map(|words| arguments(words).map(|words| words.join(" ")))
        .collect();
    assert_eq!(found, ["ipw runs --filter a b=c", "ipw list"]);
    let console = ["here$ ipw watch \\", "  --json", "an output $ ipw", "$ x"];
    assert_eq!(shell("console", &console), ["ipw watch --json", "x"]);
    let named = flags_in("`--a-b=1` or --c; x--d, [--e], `ls --f`, `ipw x --g`, --- and `-- h`");
    assert_eq!(named.collect::<Vec<_>>(), ["a-b", "c", "e", "g"]);
    assert!(names("see `--rate`", "--rate") && !names("`--rate-limit`", "--rate"));
}
