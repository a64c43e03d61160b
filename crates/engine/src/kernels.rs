//! The arithmetic: products of weights with activations, attention, and the small functions between
//! them.
//!
//! Everything is written once in plain Rust (`portable`, `vector`), in a form that compilers
//! vectorize. On x86-64 the same source is compiled a second time for AVX2, FMA and F16C, with the
//! inner loop of the product written in intrinsics (`avx2`). The choice is made when a model is
//! loaded (docs/decisions/0006).

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;
mod vector;

pub(crate) use vector::HeadCache;

use crate::matrix::{GROUP, Matrix, NARROW, Runs, WIDE};
use crate::quant::BLOCK;

/// Number of tokens that one pass over the weights serves: as many as fit sixteen registers.
const TOGETHER: usize = 4;

/// The instruction set to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernels {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Available),
}

/// Eight rows times one token.
type Sums = [f32; GROUP];

/// A run of a group, in one of the widths.
trait Run: Sized {
    fn portable<const T: usize>(runs: &[Self], tokens: &[Token<'_>; T]) -> [Sums; T];

    #[cfg(target_arch = "x86_64")]
    fn avx2<const T: usize>(
        cpu: avx2::Available,
        runs: &[Self],
        tokens: &[Token<'_>; T],
    ) -> [Sums; T];
}

impl Run for [u8; NARROW] {
    fn portable<const T: usize>(runs: &[Self], tokens: &[Token<'_>; T]) -> [Sums; T] {
        portable::narrow(runs, tokens)
    }

    #[cfg(target_arch = "x86_64")]
    fn avx2<const T: usize>(
        cpu: avx2::Available,
        runs: &[Self],
        tokens: &[Token<'_>; T],
    ) -> [Sums; T] {
        cpu.narrow(runs, tokens)
    }
}

impl Run for [u8; WIDE] {
    fn portable<const T: usize>(runs: &[Self], tokens: &[Token<'_>; T]) -> [Sums; T] {
        portable::wide(runs, tokens)
    }

    #[cfg(target_arch = "x86_64")]
    fn avx2<const T: usize>(
        cpu: avx2::Available,
        runs: &[Self],
        tokens: &[Token<'_>; T],
    ) -> [Sums; T] {
        cpu.wide(runs, tokens)
    }
}

impl Kernels {
    /// The best that this processor supports.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(available) = avx2::Available::detect() {
            return Self::Avx2(available);
        }
        Self::Portable
    }

    /// The name, for the run's metadata.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
        }
    }

    /// Groups `first..` of `matrix` times every token of `input`. `out` gets eight numbers per
    /// group and token.
    pub(crate) fn product(self, matrix: &Matrix, first: usize, input: &Quantised, out: &mut [f32]) {
        match &matrix.runs {
            Runs::Narrow(runs) => self.groups(runs, first, input, out),
            Runs::Wide(runs) => self.groups(runs, first, input, out),
        }
    }

    fn groups<R: Run>(self, runs: &[R], first: usize, input: &Quantised, out: &mut [f32]) {
        let per_group = input.runs();
        for (group, out) in out.chunks_exact_mut(input.tokens() * GROUP).enumerate() {
            let runs = &runs[(first + group) * per_group..][..per_group];
            let (fours, ones) = out.as_chunks_mut::<GROUP>().0.as_chunks_mut::<TOGETHER>();
            let rest = fours.len() * TOGETHER;
            for (index, out) in fours.iter_mut().enumerate() {
                let tokens = std::array::from_fn(|token| input.token(index * TOGETHER + token));
                *out = self.sums(runs, &tokens);
            }
            for (index, out) in ones.iter_mut().enumerate() {
                [*out] = self.sums(runs, &[input.token(rest + index)]);
            }
        }
    }

    fn sums<const T: usize, R: Run>(self, runs: &[R], tokens: &[Token<'_>; T]) -> [Sums; T] {
        match self {
            Self::Portable => R::portable(runs, tokens),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(cpu) => R::avx2(cpu, runs, tokens),
        }
    }
}

/// The functions of `vector`, each compiled for every instruction set.
macro_rules! vectorised {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        impl Kernels {
            $(
                #[doc = concat!("[`vector::", stringify!($name), "`].")]
                pub(crate) fn $name(self, $($argument: $kind),*) {
                    match self {
                        Self::Portable => vector::$name($($argument),*),
                        #[cfg(target_arch = "x86_64")]
                        Self::Avx2(cpu) => cpu.$name($($argument),*),
                    }
                }
            )*
        }

        #[cfg(target_arch = "x86_64")]
        impl avx2::Available {
            $(
                #[expect(unsafe_code, reason = "as for the other kernels of this set")]
                fn $name(self, $($argument: $kind),*) {
                    #[target_feature(enable = "avx2,fma,f16c")]
                    fn compiled($($argument: $kind),*) {
                        vector::$name($($argument),*);
                    }
                    // SAFETY: `self` exists, so `detect` has seen the features.
                    unsafe { compiled($($argument),*) }
                }
            )*
        }
    };
}

vectorised! {
    quantise(blocks: &[[f32; BLOCK]], out: vector::QuantisedBlocks<'_>);
    rms_norm(numbers: &[f32], weights: &[f32], epsilon: f32, out: &mut [f32]);
    swiglu(gate: &mut [f32], up: &[f32]);
    add(a: &mut [f32], b: &[f32]);
    attend(query: &[f32], seen: HeadCache<'_>, scores: &mut Vec<f32>, out: &mut [f32]);
}

/// Activations of several tokens in 8 bits, with one scale per 32.
#[derive(Debug, Default)]
pub(crate) struct Quantised {
    tokens: usize,
    codes: Vec<[i8; BLOCK]>,
    scales: Vec<f32>,
    /// Scale times the sum of the codes; offsets are multiplied with it.
    sums: Vec<f32>,
}

/// One token's activations.
#[derive(Clone, Copy)]
struct Token<'a> {
    codes: &'a [[i8; BLOCK]],
    scales: &'a [f32],
    sums: &'a [f32],
}

impl Quantised {
    /// Quantises the activations of `tokens` tokens, one after the other.
    pub(crate) fn fill(&mut self, kernels: Kernels, numbers: &[f32], tokens: usize) {
        let blocks = numbers.as_chunks::<BLOCK>().0;
        self.tokens = tokens;
        self.codes.resize(blocks.len(), [0; BLOCK]);
        self.scales.resize(blocks.len(), 0.0);
        self.sums.resize(blocks.len(), 0.0);
        let out = vector::QuantisedBlocks {
            codes: &mut self.codes,
            scales: &mut self.scales,
            sums: &mut self.sums,
        };
        kernels.quantise(blocks, out);
    }

    fn tokens(&self) -> usize {
        self.tokens
    }

    fn runs(&self) -> usize {
        self.codes.len() / self.tokens.max(1)
    }

    fn token(&self, token: usize) -> Token<'_> {
        let runs = self.runs();
        let place = token * runs..(token + 1) * runs;
        Token {
            codes: &self.codes[place.clone()],
            scales: &self.scales[place.clone()],
            sums: &self.sums[place],
        }
    }
}

#[cfg(test)]
mod tests;
