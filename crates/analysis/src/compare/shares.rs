//! Shares: accuracy, goodput, failures.

use super::pairs::Pair;
use super::{Method, MethodResult, ratios, together};
use crate::distribution::coin;
use crate::interval::{Estimate, real, wilson};
use crate::metric::{OneQuery, Recipe};

/// Outcomes of the same query in both runs.
#[derive(Debug, Clone, Copy, Default)]
struct Table {
    both: u64,
    only_a: u64,
    only_b: u64,
    neither: u64,
}

impl Table {
    fn push(&mut self, is_hit: [bool; 2]) {
        match is_hit {
            [true, true] => self.both += 1,
            [true, false] => self.only_a += 1,
            [false, true] => self.only_b += 1,
            [false, false] => self.neither += 1,
        }
    }

    fn count(&self) -> u64 {
        self.both + self.only_a + self.only_b + self.neither
    }

    fn shares(&self) -> [Option<Estimate>; 2] {
        [self.only_a, self.only_b].map(|only| wilson(self.both + only, self.count()))
    }

    /// Newcombe's correlation of the pairs, with continuity correction.
    fn correlation(&self) -> f64 {
        let [both, only_a, only_b, neither] =
            [self.both, self.only_a, self.only_b, self.neither].map(real);
        let margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither);
        if margins <= 0.0 {
            return 0.0;
        }
        let product = both * neither - only_a * only_b;
        let corrected = if product > 0.0 {
            (product - real(self.count()) / 2.0).max(0.0)
        } else {
            product
        };
        corrected / margins.sqrt()
    }
}

/// Paired queries. Repeated queries are not binary and are compared as ratios.
pub(super) fn paired(recipe: &Recipe, pairs: &[Pair]) -> MethodResult {
    let ratio = ratios::paired(recipe, pairs);
    if !pairs.iter().all(|pair| pair.is_single) {
        return ratio;
    }
    let mut table = Table::default();
    for pair in pairs {
        if pair.sums.iter().all(|sums| recipe.is_known(sums)) {
            table.push(pair.sums.map(|sums| recipe.hits(&sums) > 0.5));
        }
    }
    let [a, b] = table.shares();
    let absolute = a
        .zip(b)
        .and_then(|(a, b)| together(a, b, table.correlation()));
    MethodResult {
        absolute,
        p_value: absolute.and_then(|_| coin(table.only_a, table.only_b)),
        method: Some(Method::NewcombePaired),
        needs: 1,
        ..ratio
    }
}

/// Independent queries of the two runs.
pub(super) fn unpaired(recipe: &Recipe, queries: &[Vec<(&str, OneQuery)>; 2]) -> MethodResult {
    let ratio = ratios::unpaired(recipe, queries);
    if queries.iter().flatten().any(|(_, one)| one.rows > 1) {
        return ratio;
    }
    let [a, b] = [0, 1].map(|side: usize| {
        let own: &[(&str, OneQuery)] = &queries[side];
        let known = own.iter().filter(|(_, one)| recipe.is_known(&one.sums));
        let hits = known
            .filter(|(_, one)| recipe.hits(&one.sums) > 0.5)
            .count();
        wilson(hits as u64, ratio.queries[side])
    });
    MethodResult {
        absolute: a.zip(b).and_then(|(a, b)| together(a, b, 0.0)),
        method: Some(Method::Newcombe),
        needs: 1,
        ..ratio
    }
}
