//! Where queries come from.
//!
//! Opening a dataset reads it once: every row is checked and the shape of the metadata is fixed. A
//! bad row is thus an error before the first request and not after hours. In a large file, a limit
//! on rows or queries ends this pass early. After that the dataset streams its rows. This crate
//! neither sends prompts nor scores answers.

mod benchmarks;
mod cells;
mod chat;
mod columns;
mod csv;
mod detect;
mod error;
mod fault;
mod fetching;
mod files;
mod hf;
mod jsonl;
mod lengths;
mod lines;
mod object;
mod options;
mod order;
mod packed;
mod parquet;
mod reader;
mod records;
mod rows;
mod source;
mod spec;
mod splits;
mod spool;
mod starter;
mod stdin;
mod stream;
mod survey;
mod synthetic;
mod tables;
mod words;

use ipw_core::nearest::nearest;

pub use benchmarks::Benchmark;
pub use error::DatasetError;
pub use fault::{Fault, RowPosition};
pub use fetching::Fetching;
pub use ipw_core::dataset::{Dataset, DatasetSpec, Queries, ReadError};
pub use ipw_hub::Access;
pub use spec::named;

/// Opens and checks the dataset in `spec`. Files that must be fetched are fetched without progress.
pub fn open(spec: &DatasetSpec) -> Result<Box<dyn Dataset>, DatasetError> {
    open_with(spec, &mut Fetching::from_env(&mut |_| {}))
}

/// Like [`open`]; `fetching` says where to fetch from and receives the progress.
pub fn open_with(
    spec: &DatasetSpec,
    fetching: &mut Fetching<'_>,
) -> Result<Box<dyn Dataset>, DatasetError> {
    open_for(spec, None, fetching)
}

/// Like [`open_with`], for a run of at most `most` queries. Of a large file in its own order only
/// the beginning is read; rows behind it are neither checked nor counted.
pub fn open_for(
    spec: &DatasetSpec,
    most: Option<u64>,
    fetching: &mut Fetching<'_>,
) -> Result<Box<dyn Dataset>, DatasetError> {
    if let Some(benchmark) = benchmarks::find(&spec.id) {
        return Ok(Box::new(benchmarks::open(
            benchmark,
            &spec.params,
            fetching,
        )?));
    }
    match spec.id.as_str() {
        starter::ID => Ok(Box::new(starter::open(&spec.params)?)),
        jsonl::ID => Ok(Box::new(jsonl::open(&spec.params, most)?)),
        csv::ID => Ok(Box::new(csv::open(&spec.params, most)?)),
        parquet::ID => Ok(Box::new(parquet::open(&spec.params, most)?)),
        hf::ID => Ok(Box::new(hf::open(&spec.params, most)?)),
        stdin::ID => Ok(Box::new(stdin::open(&spec.params, most)?)),
        synthetic::ID => Ok(Box::new(synthetic::open(&spec.params)?)),
        detect::AUTO => Err(detect::refusal(&spec.params)),
        id => {
            let kinds = KNOWN.iter().map(|known| known.id);
            let ids: Vec<_> = kinds
                .chain(benchmarks().iter().map(|known| known.id))
                .collect();
            Err(DatasetError::Unknown {
                id: id.to_owned(),
                nearest: nearest(id, ids.iter().copied()),
                known: ids,
            })
        }
    }
}

/// What is known of a dataset without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatasetInfo {
    /// The id that selects it.
    pub id: &'static str,
    /// One line for `ipw list`.
    pub summary: &'static str,
    /// The parameters, each with its meaning.
    pub params: &'static [(&'static str, &'static str)],
}

/// All known benchmarks: published datasets that are fetched by name.
pub fn benchmarks() -> &'static [Benchmark] {
    benchmarks::all()
}

/// The parameters of every benchmark, each with its meaning.
pub fn benchmark_params() -> &'static [(&'static str, &'static str)] {
    benchmarks::PARAMS
}

/// All other datasets, the default first.
pub fn known() -> &'static [DatasetInfo] {
    KNOWN
}

const KNOWN: &[DatasetInfo] = &[
    starter::KNOWN,
    jsonl::KNOWN,
    csv::KNOWN,
    parquet::KNOWN,
    hf::KNOWN,
    stdin::KNOWN,
    synthetic::KNOWN,
];

#[cfg(test)]
mod tests {
    use ipw_core::params::{ParamError, Params};

    use super::*;

    #[test]
    fn an_unknown_id_lists_the_known_ones_and_the_nearest() {
        for (id, expected) in [
            (
                "startr",
                "unknown dataset `startr`; did you mean `starter`? (known: starter, jsonl, csv, parquet, hf, stdin, synthetic, \
                 mmlu, mmlu-pro, supergpqa, gpqa, gsm8k, math-500, aime, aime-2025, arc, hellaswag, \
                 truthfulqa, simpleqa, natural-reasoning, wildchat, ifeval, ipw); \
                 for your own file, give its path, as in `./queries.jsonl`",
            ),
            (
                "zzz",
                "unknown dataset `zzz` (known: starter, jsonl, csv, parquet, hf, stdin, synthetic, \
                 mmlu, mmlu-pro, supergpqa, gpqa, gsm8k, math-500, aime, aime-2025, arc, hellaswag, \
                 truthfulqa, simpleqa, natural-reasoning, wildchat, ifeval, ipw); \
                 for your own file, give its path, as in `./queries.jsonl`",
            ),
        ] {
            let spec = named(id, Params::default());
            let error = open(&spec).err().unwrap();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn the_listed_parameters_are_the_accepted_ones() {
        let kinds = known().iter().map(|known| (known.id, known.params));
        let benchmarks = benchmarks()
            .iter()
            .map(|known| (known.id, benchmark_params()));
        for (id, params) in kinds.chain(benchmarks) {
            let listed: Vec<_> = params.iter().map(|(name, _)| *name).collect();
            let mut params = Params::default();
            params.insert("no such parameter", "x");
            let spec = DatasetSpec {
                id: id.to_owned(),
                params,
            };
            let Err(DatasetError::Param(ParamError::Unknown { owner, known, .. })) = open(&spec)
            else {
                panic!("`{id}` takes what it does not know");
            };
            assert_eq!(owner, id);
            assert_eq!(known, listed);
        }
    }
}
