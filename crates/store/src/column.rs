//! A column, said once: its name, type, unit, meaning, what null means, and how a row fills it.
//!
//! Arrow schema, Hugging Face features, the table in `docs/format.md` and the encoder all come from
//! this one description, so none of them can drift from another.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, StringArray,
    StructArray, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};

type Build<T> = Box<dyn Fn(&[&T]) -> ArrayRef + Send + Sync>;

/// One column of rows of type `T`.
pub struct Column<T> {
    name: String,
    unit: Option<&'static str>,
    meaning: &'static str,
    null: &'static str,
    content: Content<T>,
}

enum Content<T> {
    Leaf {
        data_type: DataType,
        build: Build<T>,
    },
    /// With the fields of the columns, made once: there are hundreds, and a commit needs them all.
    Struct(Vec<Column<T>>, Fields),
}

/// One line of the column reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Dotted path; `[]` behind a list.
    pub path: String,
    /// The type, as Hugging Face names it.
    pub data_type: String,
    /// The unit, if it has one.
    pub unit: Option<&'static str>,
    /// What it says.
    pub meaning: &'static str,
    /// What null says.
    pub null: &'static str,
}

impl<T: 'static> Column<T> {
    /// A leaf built by `build`.
    pub fn leaf(
        name: impl Into<String>,
        data_type: DataType,
        build: impl Fn(&[&T]) -> ArrayRef + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            unit: None,
            meaning: "",
            null: "",
            content: Content::Leaf {
                data_type,
                build: Box::new(build),
            },
        }
    }

    /// A 64-bit float.
    pub fn float(name: &str, get: impl Fn(&T) -> Option<f64> + Send + Sync + 'static) -> Self {
        Self::leaf(name, DataType::Float64, move |rows| {
            Arc::new(rows.iter().map(|row| get(row)).collect::<Float64Array>())
        })
    }

    /// A 64-bit integer.
    pub fn int(name: &str, get: impl Fn(&T) -> Option<i64> + Send + Sync + 'static) -> Self {
        Self::leaf(name, DataType::Int64, move |rows| {
            Arc::new(rows.iter().map(|row| get(row)).collect::<Int64Array>())
        })
    }

    /// A 32-bit integer.
    pub fn small_int(name: &str, get: impl Fn(&T) -> Option<i32> + Send + Sync + 'static) -> Self {
        Self::leaf(name, DataType::Int32, move |rows| {
            Arc::new(rows.iter().map(|row| get(row)).collect::<Int32Array>())
        })
    }

    /// true or false.
    pub fn boolean(name: &str, get: impl Fn(&T) -> Option<bool> + Send + Sync + 'static) -> Self {
        Self::leaf(name, DataType::Boolean, move |rows| {
            Arc::new(rows.iter().map(|row| get(row)).collect::<BooleanArray>())
        })
    }

    /// A text.
    pub fn text(
        name: impl Into<String>,
        get: impl for<'a> Fn(&'a T) -> Option<&'a str> + Send + Sync + 'static,
    ) -> Self {
        Self::leaf(name, DataType::Utf8, move |rows| {
            let bytes = rows.iter().filter_map(|row| get(row)).map(str::len).sum();
            let mut texts = arrow_array::builder::StringBuilder::with_capacity(rows.len(), bytes);
            for row in rows {
                texts.append_option(get(row));
            }
            Arc::new(texts.finish())
        })
    }

    /// A text that is made for the row.
    pub fn made_text(
        name: &str,
        get: impl Fn(&T) -> Option<std::borrow::Cow<'static, str>> + Send + Sync + 'static,
    ) -> Self {
        Self::leaf(name, DataType::Utf8, move |rows| {
            Arc::new(rows.iter().map(|row| get(row)).collect::<StringArray>())
        })
    }

    /// The same column for rows that have such a one within.
    pub fn within<U: 'static>(
        self,
        get: impl Fn(&U) -> &T + Clone + Send + Sync + 'static,
    ) -> Column<U> {
        let content = match self.content {
            Content::Leaf { data_type, build } => Content::Leaf {
                data_type,
                build: Box::new(move |rows| {
                    let inner: Vec<&T> = rows.iter().map(|row| get(row)).collect();
                    build(&inner)
                }),
            },
            Content::Struct(columns, fields) => {
                let columns = columns.into_iter();
                let columns = columns.map(|column| column.within(get.clone())).collect();
                Content::Struct(columns, fields)
            }
        };
        Column {
            name: self.name,
            unit: self.unit,
            meaning: self.meaning,
            null: self.null,
            content,
        }
    }

    /// A list of floats, never null itself.
    pub fn floats(name: &str, get: impl Fn(&T, &mut Vec<f64>) + Send + Sync + 'static) -> Self {
        let item = list_item(DataType::Float64);
        Self::leaf(name, DataType::List(Arc::clone(&item)), move |rows| {
            let mut values = Vec::new();
            let lengths: Vec<usize> = rows
                .iter()
                .map(|row| {
                    let before = values.len();
                    get(row, &mut values);
                    values.len() - before
                })
                .collect();
            let offsets = OffsetBuffer::from_lengths(lengths);
            let values = Arc::new(Float64Array::from(values));
            Arc::new(ListArray::new(Arc::clone(&item), offsets, values, None))
        })
    }

    /// A list of structs, never null itself.
    pub fn list<U: Send + Sync + 'static>(
        name: &str,
        get: impl Fn(&T) -> &[U] + Send + Sync + 'static,
        columns: Vec<Column<U>>,
    ) -> Self {
        let item = Column::group("item", columns);
        let field = Arc::new(item.field());
        Self::leaf(name, DataType::List(Arc::clone(&field)), move |rows| {
            let offsets = OffsetBuffer::from_lengths(rows.iter().map(|row| get(row).len()));
            let items: Vec<&U> = rows.iter().flat_map(|row| get(row)).collect();
            Arc::new(ListArray::new(
                Arc::clone(&field),
                offsets,
                item.build(&items),
                None,
            ))
        })
    }

    /// A text that is the same in every row.
    pub fn constant_text(name: &str, value: Option<String>) -> Self {
        Self::leaf(name, DataType::Utf8, move |rows| {
            Arc::new(
                rows.iter()
                    .map(|_| value.as_deref())
                    .collect::<StringArray>(),
            )
        })
    }

    /// A column that is typed and that nothing fills yet.
    pub fn unfilled(name: &str, data_type: DataType) -> Self {
        let empty = data_type.clone();
        Self::leaf(name, data_type, move |rows| {
            new_null_array(&empty, rows.len())
        })
    }

    /// Columns under one name; the struct itself is never null.
    pub fn group(name: impl Into<String>, columns: Vec<Self>) -> Self {
        let fields = columns.iter().map(Self::field).collect();
        Self {
            name: name.into(),
            unit: None,
            meaning: "",
            null: "never",
            content: Content::Struct(columns, fields),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds the unit.
    #[must_use]
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    /// Adds what it says and what null says.
    #[must_use]
    pub fn says(mut self, meaning: &'static str, null: &'static str) -> Self {
        self.meaning = meaning;
        self.null = null;
        self
    }

    /// The Arrow field, with the unit in its metadata.
    pub fn field(&self) -> Field {
        let data_type = match &self.content {
            Content::Leaf { data_type, .. } => data_type.clone(),
            Content::Struct(_, fields) => DataType::Struct(fields.clone()),
        };
        let field = Field::new(&self.name, data_type, true);
        match self.unit {
            Some(unit) => {
                field.with_metadata(HashMap::from([("unit".to_owned(), unit.to_owned())]))
            }
            None => field,
        }
    }

    /// The array of this column for these rows.
    pub fn build(&self, rows: &[&T]) -> ArrayRef {
        match &self.content {
            Content::Leaf { build, .. } => build(rows),
            Content::Struct(columns, fields) => {
                let arrays = columns.iter().map(|column| column.build(rows)).collect();
                Arc::new(StructArray::new(fields.clone(), arrays, None))
            }
        }
    }

    /// The lines of the column reference for this column and those below it.
    pub fn entries(&self, above: &str, entries: &mut Vec<Entry>) {
        let path = if above.is_empty() {
            self.name.clone()
        } else {
            format!("{above}.{}", self.name)
        };
        let data_type = match &self.content {
            Content::Leaf { data_type, .. } => type_name(data_type),
            Content::Struct(..) => "struct".to_owned(),
        };
        entries.push(Entry {
            path: path.clone(),
            data_type,
            unit: self.unit,
            meaning: self.meaning,
            null: self.null,
        });
        if let Content::Struct(columns, _) = &self.content {
            for column in columns {
                column.entries(&path, entries);
            }
        }
    }
}

fn list_item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, true))
}

/// The type as Hugging Face names it.
pub fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Boolean => "bool".to_owned(),
        DataType::Int32 => "int32".to_owned(),
        DataType::Int64 => "int64".to_owned(),
        DataType::Float64 => "float64".to_owned(),
        DataType::Utf8 => "string".to_owned(),
        DataType::Null => "null".to_owned(),
        DataType::List(item) => format!("list of {}", type_name(item.data_type())),
        DataType::Struct(fields) => {
            let names: Vec<_> = fields
                .iter()
                .map(|field| format!("{} {}", field.name(), type_name(field.data_type())))
                .collect();
            format!("{{{}}}", names.join(", "))
        }
        other => other.to_string(),
    }
}
