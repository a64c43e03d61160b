//! Which columns of a run go out, by their dotted names without the model's.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};
use ipw_core::nearest::nearest_few;

use super::{ExportError, Runs};
use crate::Run;

/// The two columns that have a level for the model.
const BY_MODEL: [&str; 2] = ["model_answers", "model_metrics"];

/// What stands in front of the rows of several runs.
pub(super) const IN_FRONT: [&str; 2] = ["run", "model"];

/// What was asked and answered, and what may quote it.
const TEXTS: [&str; 7] = [
    "problem",
    "answer",
    "model_answers",
    "model_metrics.lm_response",
    "model_metrics.evaluation.metadata",
    "error",
    "reasoning",
];
/// Of this, whatever is text.
const METADATA: &str = "dataset_metadata.";

pub(super) const SUGGESTIONS: usize = 3;

/// What becomes of prompts and replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// They go out.
    Kept,
    /// They stay.
    LeftOut,
}

/// Which table rows go out as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shape {
    /// The columns that runs have, nested.
    #[default]
    Nested,
    /// A flat table of some 30 short columns ([`crate::tidy`]), without those that are null in all
    /// rows.
    Tidy,
}

/// Which columns go out.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The table that they are columns of.
    pub shape: Shape,
    /// Names of columns or of groups of them, `*` and `?` for whatever stands there; empty for all.
    /// The flat table keeps their order.
    pub columns: Vec<String>,
    /// What becomes of prompts and replies.
    pub texts: Texts,
}

impl Choice {
    /// The columns of a run that go out, without the model's level.
    pub(super) fn fields(&self, run: &Run) -> Fields {
        let takes = |name: &str, of: &DataType| {
            let is_wanted =
                self.columns.is_empty() || self.columns.iter().any(|it| is_meant(it, name, run));
            is_wanted && (self.texts == Texts::Kept || !is_text(name, of))
        };
        chosen(&lifted(run), "", &takes)
    }

    /// Whether each pattern means some column of some run.
    pub(super) fn check(&self, runs: Runs<'_>) -> Result<(), ExportError> {
        let all: Vec<_> = runs
            .all()
            .iter()
            .map(|run| (&run.run, names(&lifted(&run.run))))
            .collect();
        for pattern in &self.columns {
            let is_front = runs.is_together() && IN_FRONT.iter().any(|it| matches(pattern, it));
            let mut known = all
                .iter()
                .flat_map(|(run, names)| names.iter().map(move |name| (*run, name)));
            if !is_front && !known.any(|(run, name)| is_meant(pattern, name, run)) {
                let known = all.iter().flat_map(|(_, names)| names);
                let known: BTreeSet<&str> = known.flat_map(|name| with_groups(name)).collect();
                let nearest = nearest_few(pattern, known, SUGGESTIONS).into_iter();
                return Err(ExportError::NoColumn {
                    pattern: pattern.clone(),
                    nearest: nearest.map(str::to_owned).collect(),
                });
            }
        }
        Ok(())
    }
}

/// A name below another.
fn below(above: &str, name: &str) -> String {
    if above.is_empty() {
        name.to_owned()
    } else {
        format!("{above}.{name}")
    }
}

/// A run's columns without the model's level.
fn lifted(run: &Run) -> Fields {
    let fields = run.schema().fields().iter().map(|field| {
        match (BY_MODEL.contains(&field.name().as_str()), field.data_type()) {
            (true, DataType::Struct(models)) if models.len() == 1 => {
                renamed(&models[0], field.name())
            }
            _ => FieldRef::clone(field),
        }
    });
    fields.collect()
}

/// The same columns with the model's level.
pub(super) fn lowered(fields: &Fields, model: &str) -> Fields {
    let fields = fields.iter().map(|field| {
        if BY_MODEL.contains(&field.name().as_str()) {
            let models = Fields::from(vec![renamed(field, model)]);
            Arc::new(Field::new(field.name(), DataType::Struct(models), true))
        } else {
            FieldRef::clone(field)
        }
    });
    fields.collect()
}

/// Whether a column has a level for the model.
pub(super) fn is_by_model(name: &str) -> bool {
    BY_MODEL.contains(&name)
}

fn renamed(field: &FieldRef, name: &str) -> FieldRef {
    Arc::new(field.as_ref().clone().with_name(name))
}

/// The fields that `takes` wants, in the groups that are left of them.
fn chosen(fields: &Fields, above: &str, takes: &dyn Fn(&str, &DataType) -> bool) -> Fields {
    let fields = fields.iter().filter_map(|field| {
        let name = below(above, field.name());
        match field.data_type() {
            DataType::Struct(inner) => {
                let inner = chosen(inner, &name, takes);
                // Parquet cannot store a group without a column; dropping it loses nothing.
                (!inner.is_empty()).then(|| {
                    let field = field.as_ref().clone();
                    Arc::new(field.with_data_type(DataType::Struct(inner)))
                })
            }
            of => (!is_hollow(of) && takes(&name, of)).then(|| FieldRef::clone(field)),
        }
    });
    fields.collect()
}

/// Whether there is a group without a column in it.
fn is_hollow(of: &DataType) -> bool {
    match of {
        DataType::Struct(fields) => {
            fields.is_empty() || fields.iter().any(|it| is_hollow(it.data_type()))
        }
        DataType::List(item) => is_hollow(item.data_type()),
        _ => false,
    }
}

/// The dotted names of all columns that are no groups.
pub(super) fn names(fields: &Fields) -> Vec<String> {
    let mut names = Vec::new();
    add_names(fields, "", &mut names);
    names
}

fn add_names(fields: &Fields, above: &str, names: &mut Vec<String>) {
    for field in fields {
        let name = below(above, field.name());
        match field.data_type() {
            DataType::Struct(inner) => add_names(inner, &name, names),
            _ => names.push(name),
        }
    }
}

fn is_text(name: &str, of: &DataType) -> bool {
    TEXTS.contains(&name) || (name.starts_with(METADATA) && holds_text(of))
}

fn holds_text(of: &DataType) -> bool {
    match of {
        DataType::List(item) => holds_text(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|it| holds_text(it.data_type())),
        DataType::Int32 | DataType::Int64 | DataType::Float64 | DataType::Boolean => false,
        // What is not known to be a number is taken for a text.
        _ => true,
    }
}

/// Whether a pattern means the column; it may have the model's name in it, as the run has.
fn is_meant(pattern: &str, name: &str, run: &Run) -> bool {
    if matches(pattern, name) {
        return true;
    }
    let with_model = BY_MODEL.iter().find_map(|group| {
        let rest = name.strip_prefix(group)?;
        let is_inside = rest.is_empty() || rest.starts_with('.');
        is_inside.then(|| format!("{group}.{}{rest}", run.model()))
    });
    with_model.is_some_and(|name| matches(pattern, &name))
}

/// Whether a pattern means the column or a group that it is in.
fn matches(pattern: &str, name: &str) -> bool {
    with_groups(name).any(|name| glob(pattern, name))
}

/// The groups that a column is in, and the column.
fn with_groups(name: &str) -> impl Iterator<Item = &str> {
    let groups = name.match_indices('.').map(|(dot, _)| &name[..dot]);
    groups.chain([name])
}

/// `*` stands for any characters, `?` for one.
pub(super) fn glob(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut place) = (0, 0);
    // The last star, and where what it stands for ends.
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == name[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((before, end)) = star else {
                    return false;
                };
                star = Some((before, end + 1));
                (at, place) = (before + 1, end + 1);
            }
        }
    }
    pattern[at..].iter().all(|left| *left == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_columns_groups_and_whatever_stands_there() {
        for (pattern, name, expected) in [
            ("timing", "timing.end_seconds", true),
            ("timing.end_seconds", "timing.end_seconds", true),
            ("tim", "timing.end_seconds", false),
            ("*joules", "headline.joules", true),
            ("*joules", "headline.sigma_joules", true),
            ("*joules", "headline.share_watts", false),
            ("*_metrics", "model_metrics.cost.total_cost_usd", true),
            ("*.end_*", "timing.end_seconds", true),
            ("?art", "part", true),
            ("?art", "art", false),
            ("*", "anything.at.all", true),
            ("**é", "caf\u{e9}", true),
            ("*a*b*c", "aabbcbc", true),
            ("*a*b*c", "aabbcb", false),
            ("**a", "b", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn groups_that_nothing_is_left_of_are_gone() {
        let number = Field::new("n", DataType::Int64, true);
        let empty = Field::new("e", DataType::Struct(Fields::empty()), true);
        let group = |name: &str, fields: Vec<Field>| {
            Field::new(name, DataType::Struct(fields.into()), true)
        };
        let fields = Fields::from(vec![
            group("a", vec![number.clone(), empty.clone()]),
            group("b", vec![empty]),
        ]);
        let left = chosen(&fields, "", &|_, _| true);
        assert_eq!(left, Fields::from(vec![group("a", vec![number])]));
    }
}
