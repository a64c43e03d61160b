//! Queries that are in both runs.

use std::collections::HashMap;

use crate::metric::{OneQuery, Row, Sums};

/// Sums over the rows of one query in A and B, per row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) sums: [Sums; 2],
    /// Whether each run has exactly one row of it.
    pub(super) is_single: bool,
}

/// Queries that are in both runs, in the order of A.
pub(super) fn of(queries: &[Vec<(&str, OneQuery)>; 2]) -> Vec<Pair> {
    let others: HashMap<&str, &OneQuery> = queries[1]
        .iter()
        .map(|(query, one)| (*query, one))
        .collect();
    queries[0]
        .iter()
        .filter_map(|(query, a)| {
            let b = others.get(query)?;
            Some(Pair {
                // Per row, as the runs may have repeated the query differently often.
                sums: [a.sums.over(a.rows), b.sums.over(b.rows)],
                is_single: a.rows == 1 && b.rows == 1,
            })
        })
        .collect()
}

/// Indices in A and B of the rows of the same query: the first repetition with the first, the
/// second with the second.
pub(super) fn of_rows(a: &[Row], b: &[Row]) -> Vec<(usize, usize)> {
    let others: HashMap<(&str, u32), usize> = numbered(b)
        .enumerate()
        .map(|(place, key)| (key, place))
        .collect();
    numbered(a)
        .enumerate()
        .filter_map(|(place, key)| Some((place, *others.get(&key)?)))
        .collect()
}

/// The query of each row, and its repetition number.
fn numbered<'a>(rows: &[Row<'a>]) -> impl Iterator<Item = (&'a str, u32)> {
    let mut times: HashMap<&str, u32> = HashMap::with_capacity(rows.len());
    rows.iter().map(move |row| {
        let time = times.entry(row.query).or_default();
        *time += 1;
        (row.query, *time)
    })
}
