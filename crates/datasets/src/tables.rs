//! Rows of Parquet files and Arrow streams, file after file.

use std::path::{Path, PathBuf};
use std::vec;

use ipw_store::tables::{self, TableRows};
use serde_json::Value;

use crate::error::DatasetError;
use crate::fault::RowPosition;
use crate::reader::{Encoding, Object, RawRow, Reader, Supply};

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Parquet,
    Arrow,
}

/// The files of one table.
#[derive(Debug)]
pub(crate) struct Tables {
    /// The name in messages.
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// The files in order.
    pub(crate) files: Vec<PathBuf>,
}

impl Supply for Tables {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn jumps(&self) -> Result<bool, DatasetError> {
        // Reaching one row means decompressing hundreds or thousands of others.
        Ok(false)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, DatasetError> {
        let mut reader = TablesReader {
            format: self.format,
            files: self.files.clone().into_iter(),
            path: PathBuf::new(),
            rows: None,
            slice: Vec::new().into_iter(),
            next: 0,
        };
        // Opened early, so that a missing file is an error before the first request.
        reader.next_file()?;
        Ok(Box::new(reader))
    }
}

struct TablesReader {
    format: Format,
    files: vec::IntoIter<PathBuf>,
    path: PathBuf,
    rows: Option<TableRows>,
    slice: vec::IntoIter<Object>,
    /// The next row's place in its file.
    next: u64,
}

impl TablesReader {
    fn next_file(&mut self) -> Result<(), DatasetError> {
        self.next = 0;
        self.rows = match self.files.next() {
            Some(path) => {
                let rows = open(self.format, &path)?;
                self.path = path;
                Some(rows)
            }
            None => None,
        };
        Ok(())
    }

    fn object(&mut self) -> Result<Option<Object>, DatasetError> {
        loop {
            if let Some(object) = self.slice.next() {
                return Ok(Some(object));
            }
            let Some(rows) = &mut self.rows else {
                return Ok(None);
            };
            match rows.next() {
                Some(slice) => self.slice = slice?.into_iter(),
                None => self.next_file()?,
            }
        }
    }
}

impl Reader for TablesReader {
    fn advance(&mut self) -> Result<Option<RawRow<'_>>, DatasetError> {
        let Some(object) = self.object()? else {
            return Ok(None);
        };
        self.next += 1;
        Ok(Some(RawRow {
            path: &self.path,
            at: RowPosition::Row(self.next - 1),
            offset: 0,
            written: Encoding::Binary,
            object: Ok(without_measurements(object)),
        }))
    }

    fn jump(&mut self, _: u64) -> Result<(), DatasetError> {
        unreachable!("a supply that does not jump is put aside first")
    }
}

fn open(format: Format, path: &Path) -> Result<TableRows, DatasetError> {
    Ok(match format {
        Format::Parquet => tables::parquet(path)?,
        Format::Arrow => tables::arrow_stream(path)?,
    })
}

/// The columns of a run that make the query.
const QUERY: [&str; 5] = [
    "problem",
    "answer",
    "subject",
    "query_id",
    "dataset_metadata",
];
/// Further columns of a query that is more than one text.
const ASKED: [&str; 3] = ["messages", "conversation_id", "parameters"];

/// Removes measurements from a row of a run, so that the query can be sent again. Of our runs the
/// query's columns are kept; of the original's, all but the answers and metrics of models. The
/// metadata of the first dataset is in `dataset_metadata`: a struct or, in the original's bundled
/// dataset, JSON text.
fn without_measurements(mut row: Object) -> Object {
    let is_run = ["model_answers", "model_metrics"]
        .iter()
        .any(|name| row.contains_key(*name));
    if !is_run || !row.contains_key("dataset_metadata") {
        return row;
    }
    if row.contains_key("query_index") {
        row.retain(|name, value| {
            QUERY.contains(&name.as_str()) || (ASKED.contains(&name.as_str()) && !value.is_null())
        });
        if let Some(Value::String(text)) = row.get("parameters")
            && let Ok(parameters) = serde_json::from_str(text)
        {
            row.insert("parameters".to_owned(), parameters);
        }
    } else {
        row.retain(|name, _| !["model_answers", "model_metrics"].contains(&name.as_str()));
    }
    let metadata = match row.get("dataset_metadata") {
        Some(Value::Object(metadata)) => Some(metadata.clone()),
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        _ => None,
    };
    if let Some(metadata) = metadata {
        row.shift_remove("dataset_metadata");
        for (name, value) in metadata {
            row.entry(name).or_insert(value);
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cleaned(row: Value) -> String {
        match row {
            Value::Object(row) => Value::Object(without_measurements(row)).to_string(),
            _ => String::new(),
        }
    }

    #[test]
    fn a_row_of_a_run_is_its_query() {
        let ours = json!({
            "problem": "p", "answer": "a", "dataset_metadata": {"row": 3, "level": 1}, "subject": null,
            "model_answers": {"m": "x"}, "model_metrics": {}, "query_index": 0, "query_id": "q", "energy": {},
        });
        assert_eq!(
            cleaned(ours),
            r#"{"problem":"p","answer":"a","subject":null,"query_id":"q","row":3,"level":1}"#
        );
        let chat = json!({
            "problem": "p", "dataset_metadata": {"row": 3}, "model_answers": {}, "query_index": 0,
            "messages": "[{\"role\":\"user\",\"content\":\"p\"}]", "turn": 1, "conversation_id": null,
            "parameters": "{\"tools\":[]}",
        });
        assert_eq!(
            cleaned(chat),
            r#"{"problem":"p","messages":"[{\"role\":\"user\",\"content\":\"p\"}]","parameters":{"tools":[]},"row":3}"#
        );
        let original = json!({
            "problem": "p", "dataset_metadata": "{\"config\": {\"n\": 1}, \"problem\": 2}",
            "model_answers": {}, "anthropic_index_category": "c",
        });
        assert_eq!(
            cleaned(original),
            r#"{"problem":"p","anthropic_index_category":"c","config":{"n":1}}"#
        );
    }

    #[test]
    fn any_other_row_is_as_it_is() {
        for row in [
            json!({"problem": "p", "model_answers": 1}),
            json!({"problem": "p", "dataset_metadata": "{\"a\": 1}"}),
        ] {
            assert_eq!(cleaned(row.clone()), row.to_string());
        }
        let odd = json!({"problem": "p", "model_answers": 1, "dataset_metadata": "no JSON"});
        assert_eq!(
            cleaned(odd),
            r#"{"problem":"p","dataset_metadata":"no JSON"}"#
        );
    }
}
