//! A weight matrix in the layout of the kernels.
//!
//! Rows are held in groups of eight. For each run of 32 columns a group has eight scales, eight
//! offsets (16-bit floats) and then the codes, four columns of all eight rows at a time: one
//! 256-bit register, in which each row keeps its own lane. So a product needs no sum across a
//! register until the very end, and a scale multiplies eight rows at once.

use half::f16;

use crate::gguf::Kind;
use crate::quant::{self, BLOCK, Block, Width};

/// Rows per group.
pub(crate) const GROUP: usize = 8;
/// Neighbouring columns in a lane.
pub(crate) const STEP: usize = 4;
/// Bytes of the scales and offsets of a run.
pub(crate) const SCALES: usize = 2 * 2 * GROUP;
/// Bytes of a run with 4-bit codes.
pub(crate) const NARROW: usize = SCALES + GROUP * BLOCK / 2;
/// Bytes of a run with 8-bit codes.
pub(crate) const WIDE: usize = SCALES + GROUP * BLOCK;

/// The runs of all groups, one group after the other.
#[derive(Debug)]
pub(crate) enum Runs {
    Narrow(Vec<[u8; NARROW]>),
    Wide(Vec<[u8; WIDE]>),
}

/// Weights, rows by columns.
#[derive(Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) runs: Runs,
}

/// A weight that is no number.
#[derive(Debug)]
pub(crate) struct NotFinite;

impl Matrix {
    /// Rearranges the rows of a file. `bytes` are whole rows; columns are a multiple of 32.
    pub(crate) fn new(
        kind: Kind,
        rows: usize,
        columns: usize,
        bytes: &[u8],
    ) -> Result<Self, NotFinite> {
        let per_row = columns / BLOCK;
        let count = rows.div_ceil(GROUP) * per_row;
        let runs = match quant::width(kind) {
            Width::Four => Runs::Narrow(vec![[0; NARROW]; count]),
            Width::Eight => Runs::Wide(vec![[0; WIDE]; count]),
        };
        let mut matrix = Self {
            rows,
            columns,
            runs,
        };
        let mut finite = true;
        let mut place = (0, 0);
        quant::blocks(kind, bytes, &mut |block| {
            finite &= block.scale.is_finite() && block.offset.is_finite();
            let (row, run) = place;
            matrix.put(row, row / GROUP * per_row + run, &block);
            place = if run + 1 == per_row {
                (row + 1, 0)
            } else {
                (row, run + 1)
            };
        });
        if finite { Ok(matrix) } else { Err(NotFinite) }
    }

    fn put(&mut self, row: usize, run: usize, block: &Block) {
        let lane = row % GROUP;
        let scale = f16::from_f32(block.scale).to_le_bytes();
        let offset = f16::from_f32(block.offset).to_le_bytes();
        let bytes: &mut [u8] = match &mut self.runs {
            Runs::Narrow(runs) => &mut runs[run],
            Runs::Wide(runs) => &mut runs[run],
        };
        bytes[2 * lane..][..2].copy_from_slice(&scale);
        bytes[2 * (GROUP + lane)..][..2].copy_from_slice(&offset);
        let codes = &mut bytes[SCALES..];
        let half = BLOCK / 2;
        let narrow = codes.len() == GROUP * half;
        for (column, code) in block.codes.iter().enumerate() {
            let code = code.cast_unsigned();
            let place = |column: usize| column / STEP * GROUP * STEP + lane * STEP + column % STEP;
            if !narrow {
                codes[place(column)] = code;
            } else if column < half {
                codes[place(column)] |= code & 15;
            } else {
                codes[place(column - half)] |= code << 4;
            }
        }
    }

    /// The weights of one row.
    pub(crate) fn row(&self, row: usize, out: &mut [f32]) {
        let per_row = self.columns / BLOCK;
        let first = row / GROUP * per_row;
        let lane = row % GROUP;
        for (run, out) in out.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
            let bytes: &[u8] = match &self.runs {
                Runs::Narrow(runs) => &runs[first + run],
                Runs::Wide(runs) => &runs[first + run],
            };
            let scale = half_at(bytes, lane);
            let offset = half_at(bytes, GROUP + lane);
            let codes = &bytes[SCALES..];
            let half = BLOCK / 2;
            for (column, out) in out.iter_mut().enumerate() {
                let place = |column: usize| {
                    codes[column / STEP * GROUP * STEP + lane * STEP + column % STEP]
                };
                let code = if codes.len() > GROUP * half {
                    place(column).cast_signed()
                } else if column < half {
                    (place(column) & 15).cast_signed()
                } else {
                    (place(column - half) >> 4).cast_signed()
                };
                *out = scale * f32::from(code) + offset;
            }
        }
    }

    /// How many groups of rows there are.
    pub(crate) fn groups(&self) -> usize {
        self.rows.div_ceil(GROUP)
    }

    /// How much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        match &self.runs {
            Runs::Narrow(runs) => size_of_val(runs.as_slice()),
            Runs::Wide(runs) => size_of_val(runs.as_slice()),
        }
    }
}

fn half_at(bytes: &[u8], index: usize) -> f32 {
    f16::from_le_bytes([bytes[2 * index], bytes[2 * index + 1]]).to_f32()
}

/// Memory that a matrix of this kind and shape takes when it is held.
pub(crate) fn held_bytes(kind: Kind, rows: u64, columns: u64) -> u64 {
    let run = match quant::width(kind) {
        Width::Four => NARROW,
        Width::Eight => WIDE,
    };
    (rows.div_ceil(GROUP as u64))
        .saturating_mul(columns / BLOCK as u64)
        .saturating_mul(run as u64)
}
