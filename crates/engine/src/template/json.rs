//! JSON with the spacing of Python's `json.dumps`, as `transformers` configures `tojson`.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

use super::meter::fit;

const DEEPEST: usize = 64;

/// The value on one line, or on several with `indent` spaces per level.
pub(super) fn as_python_does(value: &Value, indent: Option<usize>) -> Result<String, Error> {
    let mut writer = Writer {
        text: String::new(),
        indent,
    };
    writer.value(value, 0)?;
    Ok(writer.text)
}

struct Writer {
    text: String,
    indent: Option<usize>,
}

impl Writer {
    fn value(&mut self, value: &Value, level: usize) -> Result<(), Error> {
        // Indentation alone takes space too.
        fit(self.text.len() as u64)?;
        match value.kind() {
            ValueKind::None | ValueKind::Undefined => self.text += "null",
            ValueKind::Bool => self.text += if value.is_true() { "true" } else { "false" },
            ValueKind::Number => self.text += &value.to_string(),
            ValueKind::Seq | ValueKind::Iterable => {
                let items = value.try_iter()?.map(|item| (None, item));
                self.group("[]", items.collect(), level)?;
            }
            ValueKind::Map => {
                let mut fields = Vec::new();
                for key in value.try_iter()? {
                    let item = value.get_item(&key)?;
                    fields.push((Some(key.to_string()), item));
                }
                self.group("{}", fields, level)?;
            }
            _ => self.string(&value.to_string()),
        }
        Ok(())
    }

    fn group(
        &mut self,
        brackets: &str,
        items: Vec<(Option<String>, Value)>,
        level: usize,
    ) -> Result<(), Error> {
        if level == DEEPEST {
            let deep = "the value is nested too deeply for JSON";
            return Err(Error::new(ErrorKind::BadSerialization, deep));
        }
        let (open, close) = brackets.split_at(1);
        self.text += open;
        let empty = items.is_empty();
        for (number, (key, item)) in items.into_iter().enumerate() {
            if number > 0 {
                self.text += if self.indent.is_some() { "," } else { ", " };
            }
            self.new_line(level + 1);
            if let Some(key) = key {
                self.string(&key);
                self.text += ": ";
            }
            self.value(&item, level + 1)?;
        }
        if !empty {
            self.new_line(level);
        }
        self.text += close;
        Ok(())
    }

    fn new_line(&mut self, level: usize) {
        if let Some(width) = self.indent {
            self.text.push('\n');
            self.text += &" ".repeat(width * level);
        }
    }

    fn string(&mut self, text: &str) {
        self.text += &serde_json::Value::from(text).to_string();
    }
}

#[cfg(test)]
mod tests {
    use minijinja::{Value, context};

    use super::as_python_does;

    #[test]
    fn spaces_are_where_python_puts_them() {
        let list = vec![Value::from(1), Value::from("<é>\n"), Value::from(true)];
        let value = context! { a => list, b => context! {}, c => (), d => 0.5 };
        let line = r#"{"a": [1, "<é>\n", true], "b": {}, "c": null, "d": 0.5}"#;
        assert_eq!(as_python_does(&value, None).unwrap(), line);
        let lines = "[\n  [\n    1\n  ],\n  []\n]";
        let value = Value::from(vec![Value::from(vec![1]), Value::from(Vec::<i32>::new())]);
        assert_eq!(as_python_does(&value, Some(2)).unwrap(), lines);
    }

    #[test]
    fn what_is_nested_without_end_is_an_error() {
        let deep = (0..100).fold(Value::from(1), |inner, _| Value::from(vec![inner]));
        assert!(as_python_does(&deep, None).is_err());
    }
}
