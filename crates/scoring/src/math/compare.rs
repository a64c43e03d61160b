//! Compares two answers.

use super::expression::{Exact, Expression, POINTS};
use super::shape::{Shape, Single};
use crate::numeric::is_same_share;
use crate::text::fold;

/// Longer lists are compared in order only.
const UNORDERED: usize = 100;
/// Relative tolerance of two evaluations.
const TOLERANCE: f64 = 1e-9;
/// A reference with fewer digits is not treated as an approximation.
const APPROXIMATE_DIGITS: usize = 3;

/// Whether `stated` equals `wanted`.
pub(super) fn is_same(wanted: &Shape, stated: &Shape) -> bool {
    match (wanted, stated) {
        (Shape::Named(_, wanted), stated) => is_same(wanted, stated),
        (wanted, Shape::Named(_, stated)) => is_same(wanted, stated),
        (Shape::Single(wanted), Shape::Single(stated)) => is_same_single(wanted, stated),
        (Shape::List(wanted), Shape::List(stated))
        | (Shape::Union(wanted), Shape::Union(stated)) => is_same_in_any_order(wanted, stated),
        (Shape::List(items), other) | (other, Shape::List(items)) if items.len() == 1 => {
            is_same(&items[0], other)
        }
        // The brackets of a point may be omitted.
        (Shape::Tuple('(', wanted, ')'), Shape::List(stated)) => is_same_in_order(wanted, stated),
        (Shape::Tuple(open, wanted, close), Shape::Tuple(other_open, stated, other_close)) => {
            open == other_open && close == other_close && is_same_in_order(wanted, stated)
        }
        (Shape::Matrix(wanted), Shape::Matrix(stated)) => {
            wanted.len() == stated.len()
                && wanted
                    .iter()
                    .zip(stated)
                    .all(|(wanted, stated)| is_same_in_order(wanted, stated))
        }
        (Shape::Relation(wanted, signs), Shape::Relation(stated, other_signs)) => {
            let turned: Vec<char> = other_signs.iter().rev().map(|sign| turned(*sign)).collect();
            let reversed: Vec<Shape> = stated.iter().rev().cloned().collect();
            signs == other_signs && is_same_in_order(wanted, stated)
                || *signs == turned && is_same_in_order(wanted, &reversed)
        }
        // The last part of a calculation is its result.
        (wanted, Shape::Relation(stated, signs)) if signs.iter().all(|sign| *sign == '=') => {
            stated.last().is_some_and(|stated| is_same(wanted, stated))
        }
        _ => false,
    }
}

/// The sign as read from the right.
fn turned(sign: char) -> char {
    match sign {
        '<' => '>',
        '>' => '<',
        '≤' => '≥',
        '≥' => '≤',
        other => other,
    }
}

fn is_same_in_order(wanted: &[Shape], stated: &[Shape]) -> bool {
    wanted.len() == stated.len()
        && wanted
            .iter()
            .zip(stated)
            .all(|(wanted, stated)| is_same(wanted, stated))
}

/// Whether each element has an equal one in the other list; duplicates count once.
fn is_same_in_any_order(wanted: &[Shape], stated: &[Shape]) -> bool {
    if wanted.len().max(stated.len()) > UNORDERED {
        return is_same_in_order(wanted, stated);
    }
    let is_item = |wanted: &Shape, stated: &Shape| match (wanted, stated) {
        (Shape::Named(wanted, _), Shape::Named(stated, _)) if wanted != stated => false,
        _ => is_same(wanted, stated),
    };
    wanted
        .iter()
        .all(|wanted| stated.iter().any(|stated| is_item(wanted, stated)))
        && stated
            .iter()
            .all(|stated| wanted.iter().any(|wanted| is_item(wanted, stated)))
}

fn is_same_single(wanted: &Single, stated: &Single) -> bool {
    let has_words = wanted.has_words || stated.has_words;
    let is_same_text = wanted.is_percent == stated.is_percent
        && (wanted.text == stated.text || has_words && fold(&wanted.text) == fold(&stated.text));
    let expressions = wanted.expression.as_ref().zip(stated.expression.as_ref());
    is_same_text && !wanted.text.is_empty()
        || expressions.is_some_and(|(left, right)| {
            is_same_expression((left, wanted.is_percent), (right, stated.is_percent))
        })
}

fn is_same_expression(wanted: (&Expression, bool), stated: (&Expression, bool)) -> bool {
    let (left, right) = (wanted.0, stated.0);
    match (left.exact(), right.exact()) {
        (Exact::Known(left), Exact::Known(right)) => {
            is_same_share((&left, wanted.1), (&right, stated.1))
        }
        (Exact::TooLarge, _) | (_, Exact::TooLarge) => false,
        // A decimal never equals a root, regardless of its digits. But if the reference is a
        // decimal approximation, the exact form is right.
        (Exact::Open, Exact::Known(_)) if right.decimal_places().is_some() => false,
        (Exact::Known(reference), Exact::Open) if left.decimal_places().is_some() => {
            is_rounded(reference.float(), left.decimal_places(), right)
        }
        _ => agree(left, right),
    }
}

/// Whether a closed form without variables rounds to the reference's decimal.
fn is_rounded(reference: f64, places: Option<usize>, form: &Expression) -> bool {
    let Some(places) = places.and_then(|places| i32::try_from(places).ok()) else {
        return false;
    };
    let value = form.near(0);
    let has_variables = (1..POINTS).any(|point| !is_near(form.near(point), value));
    let digits = reference.abs() * 10_f64.powi(places);
    let enough = 10_f64.powi(i32::try_from(APPROXIMATE_DIGITS).unwrap_or(3) - 1);
    let half_a_place = 0.5 * 10_f64.powi(-places);
    !has_variables && digits >= enough && (value - reference).abs() <= half_a_place
}

/// Whether both have equal values at all points at which both are defined; these must be at least
/// half of the points.
fn agree(left: &Expression, right: &Expression) -> bool {
    let values = (0..POINTS).map(|point| (left.near(point), right.near(point)));
    let (mut agreed, mut differ) = (0, false);
    for (left, right) in values.filter(|(left, right)| left.is_finite() && right.is_finite()) {
        agreed += 1;
        differ |= !is_near(left, right);
    }
    !differ && agreed >= POINTS / 2
}

fn is_near(left: f64, right: f64) -> bool {
    (left - right).abs() <= TOLERANCE * left.abs().max(right.abs()).max(1e-3)
}
