//! Loads a tokenizer by reference.

use std::fs;
use std::path::Path;

use ipw_hub::{Access, Report, bytes_in_words};

use crate::about::{About, File, Kind};
use crate::counter::{Template, TokenCounter};
use crate::error::TokensError;
use crate::fetch;
use crate::json::Json;
use crate::reference::Reference;

/// The tokenizer, and what may lie beside it.
pub(crate) const JSON: &str = "tokenizer.json";
pub(crate) const CONFIG: &str = "tokenizer_config.json";
pub(crate) const JINJA: &str = "chat_template.jinja";

/// Maximum size of a file: many times the largest known.
const LARGEST: u64 = 512 << 20;
const GGUF_ENDING: &str = "gguf";

/// Loads the tokenizer. `access` is used for the hub; `None` takes it from the environment.
/// `report` receives the progress of a download.
pub fn load(
    named: &str,
    access: Option<Access>,
    report: Report<'_>,
) -> Result<TokenCounter, TokensError> {
    match Reference::parse(named)? {
        Reference::Path(path) => at(named, &path),
        Reference::Hub {
            repository,
            revision,
        } => {
            let access = access.map_or_else(Access::from_env, Ok)?;
            let directory = fetch::directory(&repository, &revision, &access, report)?;
            beside(named, &directory.join(JSON))
        }
    }
}

fn at(named: &str, path: &Path) -> Result<TokenCounter, TokensError> {
    let not_there = |what: &str| TokensError::NotThere {
        path: path.to_owned(),
        what: what.to_owned(),
    };
    let found = fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => not_there("it does not exist"),
        _ => not_there(&error.to_string()),
    })?;
    if found.is_dir() {
        let file = path.join(JSON);
        if !file.is_file() {
            return Err(not_there("the directory has no `tokenizer.json`"));
        }
        return beside(named, &file);
    }
    if !found.is_file() {
        return Err(not_there("it is not a regular file"));
    }
    if path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case(GGUF_ENDING))
    {
        return in_model(named, path);
    }
    beside(named, path)
}

/// A `tokenizer.json` with the files beside it; a file of another name is used alone.
fn beside(named: &str, path: &Path) -> Result<TokenCounter, TokensError> {
    let content = read(path)?;
    let json = Json::parse(&content).map_err(|why| TokensError::NotATokenizer {
        name: path.display().to_string(),
        why,
    })?;
    let mut files = vec![File::of(&name(path), &content)];
    let (config, jinja) = if path.file_name().is_some_and(|name| name == JSON) {
        (optional(path, CONFIG)?, optional(path, JINJA)?)
    } else {
        (None, None)
    };
    files.extend(config.as_deref().map(|content| File::of(CONFIG, content)));
    files.extend(jinja.as_deref().map(|content| File::of(JINJA, content)));
    let written_in = if jinja.is_some() { JINJA } else { CONFIG };
    let (template, note) = template(config.as_deref(), jinja.as_deref());
    let about = About {
        from: named.to_owned(),
        kind: Kind::Json,
        vocabulary: json.vocabulary(),
        chat_template: template.as_ref().map(|_| written_in.to_owned()),
        files,
    };
    Ok(TokenCounter::new(Box::new(json), template, about, note))
}

#[cfg(feature = "engine")]
fn template(config: Option<&[u8]>, jinja: Option<&[u8]>) -> (Option<Template>, Option<String>) {
    match Template::beside(config, jinja) {
        Ok(template) => (template, None),
        Err(why) => (None, Some(why)),
    }
}

#[cfg(not(feature = "engine"))]
fn template(config: Option<&[u8]>, jinja: Option<&[u8]>) -> (Option<Template>, Option<String>) {
    let there = config.or(jinja);
    let note = there.map(|_| "this `ipw` was built without its engine, which renders them");
    (None, note.map(str::to_owned))
}

#[cfg(feature = "engine")]
fn in_model(named: &str, path: &Path) -> Result<TokenCounter, TokensError> {
    let found = crate::gguf::read(path, &name(path)).map_err(|why| TokensError::NotATokenizer {
        name: path.display().to_string(),
        why,
    })?;
    let about = About {
        from: named.to_owned(),
        kind: Kind::Gguf,
        vocabulary: found.encoder.vocabulary(),
        chat_template: found.template.as_ref().map(|_| found.file.name.clone()),
        files: vec![found.file],
    };
    let encoder = Box::new(found.encoder);
    Ok(TokenCounter::new(
        encoder,
        found.template,
        about,
        found.note,
    ))
}

#[cfg(not(feature = "engine"))]
fn in_model(_named: &str, path: &Path) -> Result<TokenCounter, TokensError> {
    Err(TokensError::NoEngine {
        path: path.to_owned(),
    })
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The file with this name beside `path`, if it exists.
fn optional(path: &Path, name: &str) -> Result<Option<Vec<u8>>, TokensError> {
    let path = path.with_file_name(name);
    path.is_file().then(|| read(&path)).transpose()
}

fn read(path: &Path) -> Result<Vec<u8>, TokensError> {
    let bytes = fs::metadata(path).map_or(0, |found| found.len());
    if bytes > LARGEST {
        return Err(TokensError::NotATokenizer {
            name: path.display().to_string(),
            why: format!("it is {} long", bytes_in_words(bytes)),
        });
    }
    fs::read(path).map_err(|error| TokensError::NotThere {
        path: path.to_owned(),
        what: error.to_string(),
    })
}
