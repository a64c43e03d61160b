//! Tables in Markdown.

use std::fmt;

/// Rows under a head.
pub(crate) struct Table {
    title: &'static str,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(title: &'static str, head: [&str; N]) -> Self {
        let head = head.map(str::to_owned).to_vec();
        let line = vec!["---".to_owned(); N];
        Self {
            title,
            rows: vec![head, line],
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "**{}**\n", self.title)?;
        for row in &self.rows {
            writeln!(formatter, "| {} |", row.join(" | "))?;
        }
        Ok(())
    }
}
