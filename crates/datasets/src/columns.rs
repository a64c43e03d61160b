//! Finds the parts of a query in a row's columns.
//!
//! A column that the user names must be in every row. Without a name, each row uses the first of
//! the usual names that it has. The choice of the prompt's column never depends on its content: an
//! empty prompt is an error and no reason to use another column.

use ipw_core::nearest::nearest;
use ipw_core::params::ParamReader;
use ipw_core::text::{excerpt, printable};
use serde_json::{Map, Value};

use crate::chat::{self, ChatOptions, Question};
use crate::error::DatasetError;
use crate::fault::Fault;
use crate::object::describe;

/// The parameter `problem` and its meaning.
pub(crate) const PROBLEM: (&str, &str) = (
    "problem",
    "the column with the prompt, a text or a list of messages (else a list of them in `messages`, \
     `conversations`, `conversation` or `turns`, \
     else `problem`, `question`, `prompt`, `input` or `instruction`)",
);
/// The parameter `answer` and its meaning.
pub(crate) const ANSWER: (&str, &str) = (
    "answer",
    "the column with the reference answer \
     (else `answer`, `solution`, `output`, `target` or `reference_answer`)",
);
/// The parameter `subject` and its meaning.
pub(crate) const SUBJECT: (&str, &str) = (
    "subject",
    "the column with the topic (else `subject`, `category` or `topic`)",
);
/// The parameter `id` and its meaning.
pub(crate) const ID: (&str, &str) = (
    "id",
    "the column with the row's id (else `id`, `query_id`, `uid` or the row's number)",
);

const USUAL_PROBLEM: &[&str] = &["problem", "question", "prompt", "input", "instruction"];
const USUAL_ANSWER: &[&str] = &["answer", "solution", "output", "target", "reference_answer"];
const USUAL_SUBJECT: &[&str] = &["subject", "category", "topic"];
const USUAL_ID: &[&str] = &["id", "query_id", "uid"];

/// Limit of columns listed in a message.
const MOST_LISTED: usize = 20;

/// The columns that the user names; `None` means the usual names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    problem: Option<String>,
    answer: Option<String>,
    subject: Option<String>,
    id: Option<String>,
    manner: ChatOptions,
}

/// The parts of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// `None` if the row has no id.
    pub(crate) id: Option<String>,
    /// One prompt, or the questions of a conversation.
    pub(crate) asks: RowPrompt,
    /// The reference answer, of the last question or of each.
    pub(crate) answer: Answer,
    pub(crate) subject: Option<String>,
    /// Generation parameters for this row.
    pub(crate) parameters: Map<String, Value>,
    /// All other columns, in the order of the row.
    pub(crate) rest: Map<String, Value>,
}

/// The prompt of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RowPrompt {
    /// A single text.
    Text(String),
    /// A conversation: its id, if the row has one, and its questions.
    Chat(Option<String>, Vec<Question>),
}

/// The reference answer of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// An answer to the last question.
    Last(Option<String>),
    /// An answer to each question.
    Each(Vec<Option<String>>),
}

impl Columns {
    /// Reads the parameters that name columns, and those of conversations.
    pub(crate) fn read(reader: &mut ParamReader<'_>) -> Result<Self, DatasetError> {
        Ok(Self {
            problem: reader.text(PROBLEM.0),
            answer: reader.text(ANSWER.0),
            subject: reader.text(SUBJECT.0),
            id: reader.text(ID.0),
            manner: ChatOptions::read(reader)?,
        })
    }

    /// Takes a row apart.
    pub(crate) fn row(&self, object: Map<String, Value>) -> Result<Row, Fault> {
        let problem_name = self
            .find_messages(&object)
            .map_or_else(|| self.find_problem(&object), |name| Ok(Some(name)))?
            .ok_or_else(|| no_problem(&object))?;
        let answer_name = self.find(ANSWER.0, self.answer.as_deref(), USUAL_ANSWER, &object)?;
        let subject_name = self.find(SUBJECT.0, self.subject.as_deref(), USUAL_SUBJECT, &object)?;
        let id_name = self.find_id(&object)?;

        let id = id_name.and_then(|name| text(&object[name]));
        let mut asks = self.asks(problem_name, &object[problem_name])?;
        let answer = answer_name.map(|name| &object[name]);
        let answer = answers(&asks, answer.unwrap_or(&Value::Null));
        let subject = subject_name.and_then(|name| text(&object[name]));

        let taken = [Some(problem_name), answer_name, subject_name, id_name]
            .map(|name| name.map(str::to_owned));
        let mut rest: Map<_, _> = object
            .into_iter()
            .filter(|(name, _)| !taken.iter().flatten().any(|taken| taken == name))
            .collect();
        let mut parameters = parameters(&mut rest)?;
        if let RowPrompt::Chat(conversation, _) = &mut asks {
            chat::along(&mut rest, &mut parameters)?;
            if rest.get(chat::CONVERSATION).is_some_and(is_id) {
                *conversation = rest
                    .shift_remove(chat::CONVERSATION)
                    .as_ref()
                    .and_then(text);
            }
        }
        check("scorer", "a string", &rest, Value::is_string)?;
        let labels = without_labels(&mut rest);
        check("choices", "a list of strings", &rest, is_texts)?;
        Ok(Row {
            id,
            asks,
            answer: match answer {
                Answer::Last(answer) => {
                    Answer::Last(answer.map(|answer| as_letter(answer, &labels)))
                }
                each @ Answer::Each(_) => each,
            },
            subject,
            parameters,
            rest,
        })
    }

    /// The prompt in the column `name`.
    fn asks(&self, name: &str, value: &Value) -> Result<RowPrompt, Fault> {
        // A text that looks like a JSON list stays a text, except in a column for messages.
        let may_be_list = value.is_array() || chat::USUAL.contains(&name);
        match Some(value).filter(|_| may_be_list).and_then(chat::list) {
            Some(list) => {
                let asked = self.manner.questions(&shown(name), &list)?;
                Ok(RowPrompt::Chat(None, asked))
            }
            None => problem(name, value).map(RowPrompt::Text),
        }
    }

    /// The column with messages; `None` if the user names the prompt's column.
    fn find_messages(&self, object: &Map<String, Value>) -> Option<&'static str> {
        if self.problem.is_some() {
            return None;
        }
        let is_list = |name: &&str| object.get(*name).and_then(chat::list).is_some();
        self.free(chat::USUAL).find(is_list)
    }

    fn find_problem<'a>(&'a self, object: &Map<String, Value>) -> Result<Option<&'a str>, Fault> {
        self.find(PROBLEM.0, self.problem.as_deref(), USUAL_PROBLEM, object)
    }

    /// The column that plays `role` in this row.
    fn find<'a>(
        &'a self,
        role: &str,
        named: Option<&'a str>,
        usual: &[&'static str],
        object: &Map<String, Value>,
    ) -> Result<Option<&'a str>, Fault> {
        match named {
            Some(name) if object.contains_key(name) => Ok(Some(name)),
            Some(name) => Err(no_column(role, name, object)),
            None => Ok(self.free(usual).find(|name| object.contains_key(*name))),
        }
    }

    /// The column with the id. A value that cannot be an id is an error in a column that the user
    /// named; in a column with a usual name it is metadata.
    fn find_id(&self, object: &Map<String, Value>) -> Result<Option<&str>, Fault> {
        let Some(name) = self.find(ID.0, self.id.as_deref(), &[], object)? else {
            return Ok(self
                .free(USUAL_ID)
                .find(|name| object.get(*name).is_some_and(is_id)));
        };
        let value = &object[name];
        if value.is_null() || is_id(value) {
            return Ok(Some(name));
        }
        Err(Fault::new(
            format!("a string or a number in `{}`", shown(name)),
            describe(value),
        ))
    }

    /// The usual names that the user did not give to another role.
    fn free(&self, usual: &[&'static str]) -> impl Iterator<Item = &'static str> {
        let named = [&self.problem, &self.answer, &self.subject, &self.id];
        usual
            .iter()
            .copied()
            .filter(move |usual| named.iter().all(|named| named.as_deref() != Some(*usual)))
    }
}

fn is_id(value: &Value) -> bool {
    value.is_number() || value.as_str().is_some_and(|text| !text.is_empty())
}

/// A value as text: a string unchanged, any other value as JSON; `None` for null.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn problem(name: &str, value: &Value) -> Result<String, Fault> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Ok(text.clone()),
        other => Err(Fault::new(
            format!("a non-empty string in `{}`", shown(name)),
            describe(other),
        )
        .help("the parameter `problem` can name another column")),
    }
}

/// A list with one answer for each question is taken as such; any other value is one answer.
fn answers(asks: &RowPrompt, value: &Value) -> Answer {
    match (asks, value) {
        (RowPrompt::Chat(_, asked), Value::Array(items)) if items.len() == asked.len() => {
            Answer::Each(items.iter().map(text).collect())
        }
        (_, value) => Answer::Last(text(value)),
    }
}

fn parameters(rest: &mut Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    check("parameters", "an object", rest, Value::is_object)?;
    match rest.shift_remove("parameters") {
        Some(Value::Object(parameters)) => Ok(parameters),
        _ => Ok(Map::new()),
    }
}

fn is_texts(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(Value::is_string))
}

/// Replaces choices in the form of ARC, `{"text": […], "label": […]}`, by the list of their texts.
/// Returns the labels.
fn without_labels(rest: &mut Map<String, Value>) -> Vec<String> {
    let Some(Value::Object(choices)) = rest.get_mut("choices") else {
        return Vec::new();
    };
    let (Some(texts), Some(labels)) = (choices.get("text"), choices.get("label")) else {
        return Vec::new();
    };
    let labels = labels.as_array().map_or(&[][..], Vec::as_slice);
    let is_arcs = is_texts(texts)
        && texts
            .as_array()
            .is_some_and(|texts| texts.len() == labels.len());
    if !is_arcs {
        return Vec::new();
    }
    let texts = texts.clone();
    let labels = labels.iter().filter_map(text).collect();
    rest.insert("choices".to_owned(), texts);
    labels
}

/// Turns an answer that is a label into the letter of that choice: some labels of ARC are numbers.
fn as_letter(answer: String, labels: &[String]) -> String {
    let place = labels.iter().position(|label| *label == answer);
    place.and_then(letter).map_or(answer, String::from)
}

/// The letter of the choice at `place`, from 0; `None` past Z.
pub(crate) fn letter(place: usize) -> Option<char> {
    ('A'..='Z').nth(place)
}

/// Null always passes, because exports of tables write null for a missing value.
fn check(
    name: &str,
    expected: &str,
    rest: &Map<String, Value>,
    is_good: impl Fn(&Value) -> bool,
) -> Result<(), Fault> {
    match rest.get(name) {
        Some(value) if !value.is_null() && !is_good(value) => {
            let found = match value {
                Value::Array(_) if name == "choices" => "a list of other things".to_owned(),
                value => describe(value),
            };
            Err(Fault::new(format!("{expected} in `{name}`"), found))
        }
        _ => Ok(()),
    }
}

fn no_problem(object: &Map<String, Value>) -> Fault {
    let usual = USUAL_PROBLEM.join("`, `");
    Fault::new(
        format!("a column with the prompt (one of `{usual}`)"),
        listed(object),
    )
    .help("the parameter `problem` can name another column")
}

fn no_column(role: &str, name: &str, object: &Map<String, Value>) -> Fault {
    let fault = Fault::new(
        format!(
            "the column `{}` that the parameter `{role}` names",
            shown(name)
        ),
        listed(object),
    );
    match nearest(name, object.keys().map(String::as_str)) {
        Some(nearest) => fault.help(format!("did you mean `{}`?", shown(nearest))),
        None => fault,
    }
}

/// Lists the columns of a row in words.
pub(crate) fn listed(object: &Map<String, Value>) -> String {
    let names: Vec<_> = object
        .keys()
        .take(MOST_LISTED)
        .map(|name| format!("`{}`", shown(name)))
        .collect();
    match object.len() {
        0 => "no columns".to_owned(),
        1 => format!("only the column {}", names[0]),
        count if count > MOST_LISTED => format!("the columns {} and more", names.join(", ")),
        _ => format!("the columns {}", names.join(", ")),
    }
}

/// Whether the column `name` holds the prompt; `named` is the user's choice.
pub(crate) fn is_problem(name: &str, named: Option<&str>) -> bool {
    named.map_or_else(|| USUAL_PROBLEM.contains(&name), |named| named == name)
}

/// A column's name as messages show it.
pub(crate) fn shown(name: &str) -> String {
    excerpt(&printable(name), 40)
}

#[cfg(test)]
mod tests;
