//! From a row's columns to the parts of a query.
//!
//! A column that the user named must be in every row. Without a name, each row gives the first of
//! the usual names that it has. Which column the prompt is in never depends on what is in it: an
//! empty one is an error, not a prompt from some other column.

use ipw_core::nearest::nearest;
use ipw_core::params::ParamReader;
use ipw_core::text::{excerpt, printable};
use serde_json::{Map, Value};

use crate::chat::{self, Manner, Question};
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

/// More columns than this are not listed in a message.
const MOST_LISTED: usize = 20;

/// Which columns hold what; `None` goes by the usual names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    problem: Option<String>,
    answer: Option<String>,
    subject: Option<String>,
    id: Option<String>,
    manner: Manner,
}

/// A row taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The row's own id, if it has one.
    pub(crate) id: Option<String>,
    /// What it asks.
    pub(crate) asks: Asks,
    /// The reference answer: of the last question, or of each.
    pub(crate) answer: Answer,
    /// The topic.
    pub(crate) subject: Option<String>,
    /// The generation parameters that it asks for.
    pub(crate) parameters: Map<String, Value>,
    /// All other columns, in the row's order.
    pub(crate) rest: Map<String, Value>,
}

/// What a row asks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asks {
    /// One text.
    Text(String),
    /// A conversation: its own id, and what is asked of it.
    Chat(Option<String>, Vec<Question>),
}

/// What a row says is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// To the last that is asked.
    Last(Option<String>),
    /// To each that is asked.
    Each(Vec<Option<String>>),
}

impl Columns {
    /// Takes the parameters that name columns, and those that say how conversations are asked.
    pub(crate) fn read(reader: &mut ParamReader<'_>) -> Result<Self, DatasetError> {
        Ok(Self {
            problem: reader.text(PROBLEM.0),
            answer: reader.text(ANSWER.0),
            subject: reader.text(SUBJECT.0),
            id: reader.text(ID.0),
            manner: Manner::read(reader)?,
        })
    }

    /// The row that the object is.
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
        if let Asks::Chat(conversation, _) = &mut asks {
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

    /// What the value of that column asks.
    fn asks(&self, name: &str, value: &Value) -> Result<Asks, Fault> {
        // A text that looks like a list is a text, unless its column is one for lists.
        let may_be_list = value.is_array() || chat::USUAL.contains(&name);
        match Some(value).filter(|_| may_be_list).and_then(chat::list) {
            Some(list) => {
                let asked = self.manner.questions(&shown(name), &list)?;
                Ok(Asks::Chat(None, asked))
            }
            None => problem(name, value).map(Asks::Text),
        }
    }

    /// The column with messages, unless the user names where the prompt is.
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

    /// The column for `role` in this row.
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

    /// The column with the id: what cannot be one is an error if it was named, else metadata.
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

    /// The usual names that the user has not given another meaning.
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

/// A value as text: a string as it is, all else as JSON prints it; null is nothing.
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

/// A list of as many answers as there are questions has one for each.
fn answers(asks: &Asks, value: &Value) -> Answer {
    match (asks, value) {
        (Asks::Chat(_, asked), Value::Array(items)) if items.len() == asked.len() => {
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

/// Choices as ARC has them, `{"text": […], "label": […]}`, become the list of their texts; what is
/// left are the labels.
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

/// An answer that is a label becomes the letter of that choice: ARC also counts in numbers.
fn as_letter(answer: String, labels: &[String]) -> String {
    let place = labels.iter().position(|label| *label == answer);
    place.and_then(letter).map_or(answer, String::from)
}

/// The letter of the choice at `place`, as long as there are letters.
pub(crate) fn letter(place: usize) -> Option<char> {
    ('A'..='Z').nth(place)
}

/// Exports of tables write null for what a row does not have, so null is always good.
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

/// Which columns there are, in words.
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

/// Whether a column of that name has the prompt, where `named` is what the user says.
pub(crate) fn is_problem(name: &str, named: Option<&str>) -> bool {
    named.map_or_else(|| USUAL_PROBLEM.contains(&name), |named| named == name)
}

/// A name as a message shows it.
pub(crate) fn shown(name: &str) -> String {
    excerpt(&printable(name), 40)
}

#[cfg(test)]
mod tests;
