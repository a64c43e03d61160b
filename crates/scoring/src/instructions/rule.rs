//! Constraints of a row, and their arguments.

use serde_json::Value;

/// Whether a constraint is satisfied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Compliance {
    Yes,
    /// Not satisfied, for this reason.
    No(String),
    /// Undecided, for this reason.
    Undecided(String),
}

impl Compliance {
    /// Satisfied if `is_kept`, else not, for the given reason.
    pub(super) fn when(is_kept: bool, otherwise: impl Into<String>) -> Self {
        if is_kept {
            Self::Yes
        } else {
            Self::No(otherwise.into())
        }
    }
}

/// The result of a check; an error for a missing or invalid argument.
pub(super) type CheckResult = Result<Compliance, String>;

/// A constraint's arguments by name; null counts as absent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a>(Option<&'a Value>);

/// The constraints of a row, as `[{"id": …, "kwargs": {…}}]` or
/// `{"instruction_id_list": […], "kwargs": [{…}]}`.
pub(super) fn rules(rules: Option<&Value>) -> Result<Vec<(&str, Arguments<'_>)>, &'static str> {
    let found: Option<Vec<_>> = match rules {
        None | Some(Value::Null) => return Err("the row has no `instructions`"),
        Some(Value::Array(rules)) => rules
            .iter()
            .map(|rule| Some((rule["id"].as_str()?, Arguments(rule.get("kwargs")))))
            .collect(),
        Some(rules) => rules["instruction_id_list"].as_array().and_then(|ids| {
            let arguments = &rules["kwargs"];
            ids.iter()
                .enumerate()
                .map(|(at, id)| Some((id.as_str()?, Arguments(arguments.get(at)))))
                .collect()
        }),
    };
    match found {
        None => Err("`instructions` is neither a list with `id` and `kwargs` nor IFEval's pair"),
        Some(found) if found.is_empty() => Err("`instructions` is empty"),
        Some(found) => Ok(found),
    }
}

impl<'a> Arguments<'a> {
    fn value(self, name: &str) -> Result<&'a Value, String> {
        self.0
            .and_then(|arguments| arguments.get(name))
            .filter(|value| !value.is_null())
            .ok_or_else(|| format!("it needs `{name}`"))
    }

    /// A non-empty text.
    pub(super) fn text(self, name: &str) -> Result<&'a str, String> {
        self.value(name)?
            .as_str()
            .filter(|text| !text.trim().is_empty())
            .ok_or_else(|| format!("`{name}` must be a text"))
    }

    /// A non-empty list of texts.
    pub(super) fn texts(self, name: &str) -> Result<Vec<&'a str>, String> {
        let texts: Option<Vec<&str>> = self
            .value(name)?
            .as_array()
            .and_then(|texts| texts.iter().map(Value::as_str).collect());
        texts
            .filter(|texts| !texts.is_empty())
            .ok_or_else(|| format!("`{name}` must be a list of texts"))
    }

    /// A whole number; tables store it as a float if some rows lack it.
    pub(super) fn number(self, name: &str) -> Result<usize, String> {
        let value = self.value(name)?;
        let whole = value.as_u64().or_else(|| {
            let float = value.as_f64()?;
            format!("{float}").parse().ok()
        });
        whole
            .and_then(|whole| usize::try_from(whole).ok())
            .ok_or_else(|| format!("`{name}` must be a whole number"))
    }

    /// Compares `count` with the limit; the relation is "less than" or "at least".
    pub(super) fn compare(self, count: usize, what: &str, names: (&str, &str)) -> CheckResult {
        let limit = self.number(names.0)?;
        let relation = self.text(names.1)?;
        let is_kept = match relation {
            "less than" => count < limit,
            "at least" => count >= limit,
            _ => return Err(format!("`{}` must be `less than` or `at least`", names.1)),
        };
        let why = format!("{count} {what}, not {relation} {limit}");
        Ok(Compliance::when(is_kept, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_forms_of_rules_are_read() {
        let own = json!([{"id": "a:b", "kwargs": {"n": 3.0}}, {"id": "c:d"}]);
        let theirs =
            json!({"instruction_id_list": ["a:b", "c:d"], "kwargs": [{"n": 3, "m": null}, {}]});
        for form in [own, theirs] {
            let rules = rules(Some(&form)).unwrap();
            assert_eq!(
                rules.iter().map(|rule| rule.0).collect::<Vec<_>>(),
                ["a:b", "c:d"]
            );
            assert_eq!(rules[0].1.number("n"), Ok(3));
            assert_eq!(rules[0].1.text("m"), Err("it needs `m`".to_owned()));
            assert_eq!(rules[1].1.number("n"), Err("it needs `n`".to_owned()));
        }
        for bad in [
            json!([]),
            json!({}),
            json!(3),
            json!([{"kwargs": {}}]),
            json!(null),
        ] {
            assert!(rules(Some(&bad)).is_err(), "{bad}");
        }
        assert!(rules(None).is_err());
    }
}
