//! Marginal energy of a token: ordinary least squares of energy on tokens and time.
//!
//! Joules = a · input tokens + b · output tokens + c · seconds, without a constant. c is the power
//! that does not depend on tokens. The coefficients can be separated only if the observations vary
//! independently, so the design is checked first.

use serde::{Deserialize, Serialize};

use crate::interval::{Estimate, Interval, real, student_t};

/// Fewest observations: three coefficients and five degrees of freedom.
pub const FEWEST: u64 = 8;

/// Largest condition number of the columns, scaled to unit length; above, they count as collinear.
/// Belsley, Kuh and Welsch see strong dependence from thirty on: an error of one percent in the
/// data may become thirty in a coefficient.
pub const LARGEST_CONDITION: f64 = 30.0;

const COLUMNS: usize = 3;

/// A time interval with its tokens and energy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Prompt tokens processed in it (prefill).
    pub input_tokens: f64,
    /// Output tokens generated in it (decode).
    pub output_tokens: f64,
    /// Its length.
    pub seconds: f64,
    /// Its energy.
    pub joules: f64,
    /// Weight: 1, or 1 ÷ variance of the joules where that is known.
    pub weight: f64,
}

/// Marginal energy of tokens and time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Marginal {
    /// Energy of one more input token.
    pub joules_per_input_token: Estimate,
    /// Energy of one more output token.
    pub joules_per_output_token: Estimate,
    /// Power without tokens.
    pub idle_watts: Estimate,
    /// Standard deviation of the residuals, for an observation of weight 1.
    pub residual_joules: f64,
    /// Condition number of the design, with columns scaled to unit length.
    pub condition: f64,
    /// Number of observations.
    pub observations: u64,
}

/// Why the marginal energy cannot be determined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum MarginalError {
    /// Too few observations.
    #[error("{observations} observations are too few: needs ≥ {needs}")]
    TooFew {
        /// Number of observations.
        observations: u64,
        /// Number of observations needed.
        needs: u64,
    },
    /// Tokens and time are collinear, so their coefficients cannot be separated.
    #[error("input tokens, output tokens and time vary together")]
    Collinear {
        /// Condition number of the design; `None` if it is infinite, as without input tokens.
        condition: Option<f64>,
    },
}

impl Observation {
    fn is_number(&self) -> bool {
        let values = [
            self.input_tokens,
            self.output_tokens,
            self.seconds,
            self.joules,
            self.weight,
        ];
        values.iter().all(|value| value.is_finite()) && self.weight > 0.0
    }
}

/// Fits the three coefficients. Non-finite observations and those without a positive weight are
/// left out.
pub fn fit(observations: &[Observation]) -> Result<Marginal, MarginalError> {
    let mut design: [Vec<f64>; COLUMNS] = Default::default();
    let mut joules = Vec::new();
    for one in observations.iter().filter(|one| one.is_number()) {
        let root = one.weight.sqrt();
        let row = [one.input_tokens, one.output_tokens, one.seconds];
        for (column, value) in design.iter_mut().zip(row) {
            column.push(value * root);
        }
        joules.push(one.joules * root);
    }
    let count = joules.len() as u64;
    if count < FEWEST {
        return Err(MarginalError::TooFew {
            observations: count,
            needs: FEWEST,
        });
    }
    let lengths = scale(&mut design);
    let condition = condition(&design).filter(|condition| condition.is_finite());
    let condition = match condition {
        Some(condition) if condition <= LARGEST_CONDITION => condition,
        condition => return Err(MarginalError::Collinear { condition }),
    };
    let freedom = count - COLUMNS as u64;
    let t = student_t(freedom).ok_or(MarginalError::TooFew {
        observations: count,
        needs: FEWEST,
    })?;
    let solution = solve(&design, &joules);
    let residual = (solution.squares / real(freedom)).sqrt();
    let estimate = |column: usize| {
        let value = solution.values[column] / lengths[column];
        let error = residual * solution.spreads[column] / lengths[column];
        let Interval { low, high } = Interval::around(value, t * error);
        Estimate { value, low, high }
    };
    Ok(Marginal {
        joules_per_input_token: estimate(0),
        joules_per_output_token: estimate(1),
        idle_watts: estimate(2),
        residual_joules: residual,
        condition,
        observations: count,
    })
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter()
        .zip(right)
        .map(|(left, right)| left * right)
        .sum()
}

fn divide(column: &mut [f64], by: f64) {
    for value in column {
        *value /= by;
    }
}

/// Scales the columns to unit length and returns their lengths; a zero column stays.
fn scale(design: &mut [Vec<f64>; COLUMNS]) -> [f64; COLUMNS] {
    let mut lengths = [0.0; COLUMNS];
    for (column, length) in design.iter_mut().zip(&mut lengths) {
        *length = dot(column, column).sqrt();
        if *length > 0.0 {
            divide(column, *length);
        }
    }
    lengths
}

/// Condition number from the eigenvalues of the columns' products. It is most accurate where it is
/// small, which is where the threshold lies.
fn condition(design: &[Vec<f64>; COLUMNS]) -> Option<f64> {
    let mut products = [[0.0; COLUMNS]; COLUMNS];
    for (row, left) in products.iter_mut().zip(design) {
        for (product, right) in row.iter_mut().zip(design) {
            *product = dot(left, right);
        }
    }
    let values = eigenvalues(products);
    let smallest = values.into_iter().min_by(f64::total_cmp)?;
    let largest = values.into_iter().max_by(f64::total_cmp)?;
    (smallest > 0.0).then(|| (largest / smallest).sqrt())
}

/// Eigenvalues of a symmetric matrix, by Jacobi rotations.
fn eigenvalues(mut matrix: [[f64; COLUMNS]; COLUMNS]) -> [f64; COLUMNS] {
    // Quadratic convergence: a few sweeps reach full precision for three columns.
    for _ in 0..12 {
        for (left, right) in [(0, 1), (0, 2), (1, 2)] {
            rotate(&mut matrix, left, right);
        }
    }
    [matrix[0][0], matrix[1][1], matrix[2][2]]
}

/// Rotates the plane of two axes so that the element between them becomes zero.
fn rotate(matrix: &mut [[f64; COLUMNS]; COLUMNS], left: usize, right: usize) {
    let between = matrix[left][right];
    if between.abs() < f64::MIN_POSITIVE {
        return;
    }
    let ratio = (matrix[right][right] - matrix[left][left]) / (2.0 * between);
    let tangent = ratio.signum() / (ratio.abs() + ratio.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    for row in matrix.iter_mut() {
        let (old_left, old_right) = (row[left], row[right]);
        row[left] = cosine * old_left - sine * old_right;
        row[right] = sine * old_left + cosine * old_right;
    }
    let (old_left, old_right) = (matrix[left], matrix[right]);
    for column in 0..COLUMNS {
        matrix[left][column] = cosine * old_left[column] - sine * old_right[column];
        matrix[right][column] = sine * old_left[column] + cosine * old_right[column];
    }
}

struct Solution {
    values: [f64; COLUMNS],
    /// Standard errors for residuals with a deviation of 1.
    spreads: [f64; COLUMNS],
    /// Sum of the squared residuals.
    squares: f64,
}

/// Least squares by QR decomposition.
fn solve(design: &[Vec<f64>; COLUMNS], wanted: &[f64]) -> Solution {
    let (basis, triangle) = orthogonal(design);
    let values = back(
        &triangle,
        [0, 1, 2].map(|column| dot(&basis[column], wanted)),
    );
    let inverse = [0, 1, 2].map(|column| {
        let mut unit = [0.0; COLUMNS];
        unit[column] = 1.0;
        back(&triangle, unit)
    });
    let spreads = [0, 1, 2].map(|row| {
        let squares = inverse.iter().map(|column| column[row] * column[row]);
        squares.sum::<f64>().sqrt()
    });
    let squares = wanted.iter().enumerate().map(|(row, wanted)| {
        let fitted: f64 = design
            .iter()
            .zip(values)
            .map(|(column, value)| column[row] * value)
            .sum();
        (wanted - fitted).powi(2)
    });
    Solution {
        values,
        spreads,
        squares: squares.sum(),
    }
}

/// QR decomposition by Gram–Schmidt. Each column is orthogonalised twice to keep full precision.
fn orthogonal(design: &[Vec<f64>; COLUMNS]) -> ([Vec<f64>; COLUMNS], [[f64; COLUMNS]; COLUMNS]) {
    let mut basis = design.clone();
    let mut triangle = [[0.0; COLUMNS]; COLUMNS];
    for column in 0..COLUMNS {
        let (before, rest) = basis.split_at_mut(column);
        let current = &mut rest[0];
        for (row, earlier) in before.iter().chain(before.iter()).enumerate() {
            let share = dot(earlier, current);
            triangle[row % column][column] += share;
            for (value, earlier) in current.iter_mut().zip(earlier) {
                *value -= share * earlier;
            }
        }
        let length = dot(current, current).sqrt();
        triangle[column][column] = length;
        divide(current, length);
    }
    (basis, triangle)
}

/// Back substitution.
fn back(triangle: &[[f64; COLUMNS]; COLUMNS], mut right: [f64; COLUMNS]) -> [f64; COLUMNS] {
    for row in (0..COLUMNS).rev() {
        for column in row + 1..COLUMNS {
            right[row] -= triangle[row][column] * right[column];
        }
        right[row] /= triangle[row][row];
    }
    right
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn observation(input: f64, output: f64, seconds: f64, noise: f64) -> Observation {
        Observation {
            input_tokens: input,
            output_tokens: output,
            seconds,
            joules: 0.05 * input + 0.8 * output + 40.0 * seconds + noise,
            weight: 1.0,
        }
    }

    /// Prompts, replies and times that vary independently, with alternating noise.
    fn varied(noise: f64) -> Vec<Observation> {
        (0..30_u32)
            .map(|step| {
                let sign = if step % 2 == 0 { 1.0 } else { -1.0 };
                let input = f64::from(100 + 700 * (step % 5));
                let output = f64::from(20 + 90 * (step % 7));
                observation(input, output, f64::from(1 + step % 3), sign * noise)
            })
            .collect()
    }

    #[test]
    fn costs_that_are_there_are_found() {
        let found = fit(&varied(0.0)).unwrap();
        assert!((found.joules_per_input_token.value - 0.05).abs() < 1e-9);
        assert!((found.joules_per_output_token.value - 0.8).abs() < 1e-9);
        assert!((found.idle_watts.value - 40.0).abs() < 1e-9);
        assert!(found.residual_joules < 1e-9 && found.observations == 30);
    }

    #[test]
    fn noise_widens_the_intervals_and_they_hold_the_truth() {
        let (little, much) = (fit(&varied(1.0)).unwrap(), fit(&varied(20.0)).unwrap());
        let width = |one: Estimate| one.high - one.low;
        assert!(width(much.idle_watts) > 10.0 * width(little.idle_watts));
        for (found, truth) in [
            (much.joules_per_input_token, 0.05),
            (much.joules_per_output_token, 0.8),
            (much.idle_watts, 40.0),
        ] {
            assert!(found.low < truth && truth < found.high, "{found:?} {truth}");
        }
    }

    #[test]
    fn tokens_that_come_at_a_constant_rate_cannot_be_told_from_time() {
        let steady: Vec<Observation> = (1..40_u32)
            .map(|step| {
                let seconds = f64::from(step);
                observation(f64::from(step * 37 % 11), seconds * 50.0, seconds, 0.0)
            })
            .collect();
        let Err(MarginalError::Collinear { condition }) = fit(&steady) else {
            panic!("output tokens are fifty a second throughout");
        };
        assert!(condition.is_none_or(|condition| condition > LARGEST_CONDITION));
    }

    #[test]
    fn without_an_input_token_there_is_no_price_of_one() {
        let decode: Vec<Observation> = varied(1.0)
            .into_iter()
            .map(|one| Observation {
                input_tokens: 0.0,
                ..one
            })
            .collect();
        assert_eq!(
            fit(&decode),
            Err(MarginalError::Collinear { condition: None })
        );
    }

    #[test]
    fn few_observations_say_how_many_it_takes() {
        let few = MarginalError::TooFew {
            observations: 7,
            needs: 8,
        };
        assert_eq!(fit(&varied(1.0)[..7]), Err(few));
        let mut broken = varied(1.0)[..8].to_vec();
        broken[0].joules = f64::NAN;
        assert_eq!(fit(&broken), Err(few));
        assert_eq!(few.to_string(), "7 observations are too few: needs ≥ 8");
    }

    #[test]
    fn a_weight_counts_like_so_many_observations() {
        let mut weighted = varied(5.0);
        let mut repeated = weighted.clone();
        for one in &mut weighted[..10] {
            one.weight = 3.0;
        }
        for _ in 0..2 {
            repeated.extend_from_within(..10);
        }
        let (weighted, repeated) = (fit(&weighted).unwrap(), fit(&repeated).unwrap());
        let (left, right) = (weighted.idle_watts.value, repeated.idle_watts.value);
        assert!((left - right).abs() < 1e-9, "{left} {right}");
        assert!((weighted.condition - repeated.condition).abs() < 1e-9);
    }

    proptest! {
        /// The fit scales with its units: kilotokens cost a thousand times as much.
        #[test]
        fn units_do_not_matter(factor in 1e-4_f64..1e4, noise in 0.1_f64..30.0) {
            let here = fit(&varied(noise)).unwrap();
            let scaled: Vec<Observation> = varied(noise)
                .into_iter()
                .map(|one| Observation { output_tokens: one.output_tokens * factor, ..one })
                .collect();
            let there = fit(&scaled).unwrap();
            let price = there.joules_per_output_token.value * factor;
            prop_assert!((price - here.joules_per_output_token.value).abs() < 1e-9);
            prop_assert!((there.idle_watts.high - here.idle_watts.high).abs() < 1e-7);
            prop_assert!((there.condition - here.condition).abs() < 1e-7);
        }

        #[test]
        fn no_numbers_break_it(values in prop::collection::vec(any::<[f64; 5]>(), 0..20)) {
            let all: Vec<Observation> = values.into_iter().map(|values| Observation {
                input_tokens: values[0],
                output_tokens: values[1],
                seconds: values[2],
                joules: values[3],
                weight: values[4],
            }).collect();
            let _ = fit(&all);
        }
    }
}
