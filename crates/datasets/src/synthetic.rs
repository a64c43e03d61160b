//! Prompts of random words with given lengths: for load tests, not for answers.
//!
//! Row `n` of a seed never changes and does not depend on other rows. Prompts begin with different
//! words, so that no server can reuse its prefix cache.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use ipw_core::params::{ParamReader, Params};
use serde_json::{Value, json};

use crate::DatasetInfo;
use crate::columns::Columns;
use crate::error::DatasetError;
use crate::fault::RowPosition;
use crate::lengths::{EXPECTED, Lengths};
use crate::options::{OnError, Options};
use ipw_core::random::Random;

use crate::order::Selection;
use crate::reader::{Encoding, Object, RawRow, Reader, Supply};
use crate::rows::Rows;
use crate::words::WORDS;

/// The id in the registry.
pub(crate) const ID: &str = "synthetic";

const COUNT: (&str, &str) = ("count", "how many prompts (default 100)");
const INPUT: (&str, &str) = (
    "input",
    "prompt lengths in words, about a token each: `constant:N`, `uniform:FROM:TO`, \
     `normal:MEAN:DEVIATION` or `lognormal:MEDIAN:SIGMA` (default `constant:128`)",
);
const OUTPUT: (&str, &str) = (
    "output",
    "reply lengths in tokens, as `max_tokens` of each row, spelt like `input` \
     (default `constant:128`)",
);
const FORCE_OUTPUT: (&str, &str) = (
    "force_output",
    "`true` to send `ignore_eos`, so that replies have exactly this length (default `false`)",
);
const SHARED_PREFIX: (&str, &str) = (
    "shared_prefix",
    "words in front that all prompts have in common, in addition to `input` (default 0)",
);
const SEED: (&str, &str) = (
    "seed",
    "which prompts: the same number gives the same rows for ever (default 0)",
);

/// The entry in the list of datasets.
pub(crate) const KNOWN: DatasetInfo = DatasetInfo {
    id: ID,
    summary: "prompts of random words with given lengths of prompts and replies, for load",
    params: &[COUNT, INPUT, OUTPUT, FORCE_OUTPUT, SHARED_PREFIX, SEED],
};

/// The parameters of the rows.
#[derive(Debug, Clone)]
struct Synthetic {
    count: u64,
    input: Lengths,
    output: Lengths,
    is_forced: bool,
    shared_prefix: u32,
    seed: u64,
}

/// Generates the rows that `params` describe.
pub(crate) fn open(params: &Params) -> Result<Rows, DatasetError> {
    let mut reader = params.reader(ID);
    let synthetic = Synthetic::read(&mut reader)?;
    reader.finish()?;
    let options = Options {
        columns: Columns::default(),
        selection: Selection {
            offset: 0,
            limit: None,
            shuffle: None,
        },
        on_error: OnError::Fail,
        most: None,
    };
    Rows::open(ID, ID.to_owned(), Box::new(synthetic), options)
}

impl Synthetic {
    fn read(reader: &mut ParamReader<'_>) -> Result<Self, DatasetError> {
        let usual = Lengths::Constant(128);
        let count = reader.parsed::<NonZeroU64>(COUNT.0, "a whole number from 1 up")?;
        Ok(Self {
            count: count.map_or(100, NonZeroU64::get),
            input: reader.parsed(INPUT.0, EXPECTED)?.unwrap_or(usual),
            output: reader.parsed(OUTPUT.0, EXPECTED)?.unwrap_or(usual),
            is_forced: reader
                .parsed(FORCE_OUTPUT.0, "`true` or `false`")?
                .unwrap_or(false),
            shared_prefix: reader
                .parsed(SHARED_PREFIX.0, "a whole number")?
                .unwrap_or(0),
            seed: reader.parsed(SEED.0, "a whole number")?.unwrap_or(0),
        })
    }

    fn row(&self, number: u64) -> Object {
        let mut random = Random::new(Random::new(self.seed).number() ^ number);
        // The second generator keeps neighbouring rows from drawing overlapping sequences.
        random = Random::new(random.number());
        let length = self.input.draw(&mut random);
        let most = self.output.draw(&mut random);
        let problem = self.problem(number, length, &mut random);
        let mut parameters = json!({"max_tokens": most});
        if self.is_forced {
            parameters["ignore_eos"] = json!(true);
        }
        let words = problem.split(' ').count();
        [
            ("problem".to_owned(), Value::from(problem)),
            ("parameters".to_owned(), parameters),
            ("input_words".to_owned(), Value::from(words)),
            ("output_tokens".to_owned(), Value::from(most)),
        ]
        .into_iter()
        .collect()
    }

    fn problem(&self, number: u64, length: u32, random: &mut Random) -> String {
        let mut words = Vec::new();
        let mut shared = Random::new(self.seed ^ u64::MAX);
        for _ in 0..self.shared_prefix {
            words.push(WORDS[shared.up_to(WORDS.len() - 1)]);
        }
        // The prompt begins with the row's number in words for digits; the seed chooses those
        // words.
        let base = WORDS.len() as u64;
        let mut rest = number;
        let mut last = self.count - 1;
        let mut used = 0;
        let mut turn = Random::new(self.seed);
        loop {
            let digit = (rest + turn.number() % base) % base;
            words.push(WORDS[usize::try_from(digit).expect("it is below the number of words")]);
            used += 1;
            (rest, last) = (rest / base, last / base);
            if last == 0 {
                break;
            }
        }
        for _ in used..length {
            words.push(WORDS[random.up_to(WORDS.len() - 1)]);
        }
        words.join(" ")
    }
}

impl Supply for Synthetic {
    fn path(&self) -> PathBuf {
        PathBuf::from("(synthetic)")
    }

    fn jumps(&self) -> Result<bool, DatasetError> {
        Ok(true)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, DatasetError> {
        Ok(Box::new(SyntheticReader {
            rows: self.clone(),
            next: 0,
        }))
    }
}

struct SyntheticReader {
    rows: Synthetic,
    next: u64,
}

impl Reader for SyntheticReader {
    fn advance(&mut self) -> Result<Option<RawRow<'_>>, DatasetError> {
        if self.next >= self.rows.count {
            return Ok(None);
        }
        let row = self.next;
        self.next += 1;
        Ok(Some(RawRow {
            path: Path::new("(synthetic)"),
            at: RowPosition::Row(row),
            offset: row,
            written: Encoding::Binary,
            object: Ok(self.rows.row(row)),
        }))
    }

    fn jump(&mut self, offset: u64) -> Result<(), DatasetError> {
        self.next = offset;
        Ok(())
    }
}
