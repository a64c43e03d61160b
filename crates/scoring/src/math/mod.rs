//! `math`: the same value or expression, in any notation.
//!
//! The answer is the last `\boxed{}` or `\fbox{}`, else the text after the last "answer is".
//! Without these it is the last formula of the last line, or that line's end. If that line has no
//! result, it is the last formula of the answer. Fractions are compared exactly. Expressions with
//! roots, π, e or variables are compared by their values at fixed points. Text that cannot be
//! parsed is compared literally, without spaces and style. A decimal never equals a root: `1.414`
//! is not `\sqrt{2}`. The exception is a reference that is a decimal of three or more digits to
//! which the answer rounds. Units are not compared. `i` is treated as a variable.

mod command;
mod compare;
mod expression;
mod parse;
mod shape;
mod stated;
mod token;

use ipw_core::verdict::Grade;
use shape::{Shape, joined, shape};
use token::{Token, tokens};

use crate::{Question, Scorer, both, correct, shown, wrong};

/// The scorer's id in datasets and flags.
pub(crate) const ID: &str = "math";

/// Compares values and expressions.
pub(crate) struct Math;

impl Scorer for Math {
    fn id(&self) -> &'static str {
        ID
    }

    fn grade(&self, question: &Question<'_>) -> Grade {
        let (reference, answer) = match both(ID, question) {
            Ok(texts) => texts,
            Err(grade) => return grade,
        };
        let boxed = stated::boxed(reference);
        let wanted = tokens(boxed.unwrap_or(reference));
        let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
            let reason = "the reference is not a mathematical text";
            return Grade::unscored(Some(ID), reason);
        };
        let Some((stated, place)) = stated::stated(answer) else {
            return wrong(ID, None, "no answer stated");
        };
        if is_same(&wanted, &stated) {
            correct(ID, &stated, format!("{place} equals the reference"))
        } else {
            let reason = format!("{place} is not `{}`", shown(reference));
            wrong(ID, Some(&stated), reason)
        }
    }
}

fn is_same(wanted: &[Token], stated: &str) -> bool {
    let Some(stated) = tokens(stated).filter(|stated| !stated.is_empty()) else {
        return false;
    };
    if joined(wanted) == joined(&stated) {
        return true;
    }
    let has_letters = wanted.iter().any(|token| matches!(token, Token::Letter(_)));
    let read = |tokens: &[Token]| -> Shape { shape(tokens, !has_letters) };
    compare::is_same(&read(wanted), &read(&stated))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(wanted: &str, stated: &str) -> bool {
        is_same(&tokens(wanted).unwrap(), stated)
    }

    #[test]
    fn one_value_in_many_writings() {
        for (wanted, stated) in [
            (r"\frac{1}{2}", "0.5"),
            (r"\frac12", r"\dfrac{2}{4}"),
            (r"\sqrt{8}", r"2\sqrt{2}"),
            (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt 3}"),
            ("2x+2", "2(x+1)"),
            (r"\pi r^2", r"r^{2}\pi"),
            (r"3\frac{1}{2}", "7/2"),
            (r"\left(1, 2\right)", "(1,2)"),
            (r"\{1,2\}", "2, 1"),
            (r"x \ge 2", r"[2,\infty)"),
            (r"1 \pm \sqrt{2}", r"1-\sqrt2, 1+\sqrt2"),
            ("1.414", r"\sqrt{2}"),
            ("10,080", "10080"),
            (
                r"\begin{pmatrix}1\\2\end{pmatrix}",
                r"\begin{bmatrix} 1 \\ 2 \end{bmatrix}",
            ),
            (r"90^\circ", "90"),
            (r"5\text{ cm}", "5"),
            ("5", "5 m"),
        ] {
            assert!(same(wanted, stated), "{wanted} {stated}");
        }
    }

    #[test]
    fn other_values_stay_apart() {
        for (wanted, stated) in [
            (r"\sqrt{2}", "1.414"),
            (r"\sqrt{2}", "1.41421356237309504880"),
            ("1/3", "0.333"),
            ("0.5", "13/25"),
            ("(1,2)", "(2,1)"),
            ("(1,2)", "[1,2]"),
            ("x", "y"),
            ("5", "5x"),
            ("2^{1000}", "2^{1000}+1"),
            ("x^2", "2x"),
            ("1,2", "1,2,3"),
        ] {
            assert!(!same(wanted, stated), "{wanted} {stated}");
        }
    }
}
