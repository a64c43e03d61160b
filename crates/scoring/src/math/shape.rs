//! The kind of an answer: an expression, list, tuple, interval, union, matrix or relation.

use std::fmt::Write as _;

use super::expression::Expression;
use super::parse::parse;
use super::token::Token;
use crate::value::Value;

/// A parsed answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// One expression, or words.
    Single(Single),
    /// In any order: `1, 2`, `\{1, 2\}`, `\pm 1`.
    List(Vec<Shape>),
    /// In order, between these brackets: a point or an interval.
    Tuple(char, Vec<Shape>, char),
    /// Parts joined by `\cup`, in any order.
    Union(Vec<Shape>),
    /// The rows of a matrix.
    Matrix(Vec<Vec<Shape>>),
    /// `x = …`: a name and its value.
    Named(String, Box<Shape>),
    /// Parts with relation signs between them.
    Relation(Vec<Shape>, Vec<char>),
}

/// One expression, as text and parsed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Single {
    /// Its tokens, without spaces.
    pub(super) text: String,
    /// `None` for words and for text that cannot be parsed.
    pub(super) expression: Option<Expression>,
    /// Whether a percent sign follows.
    pub(super) is_percent: bool,
    /// Whether it has words, which are compared ignoring case.
    pub(super) has_words: bool,
}

/// Maximum nesting of shapes.
const DEPTH: usize = 12;
const RELATIONS: &str = "=<>≤≥≠";

/// The shape of these tokens. With `letters_are_units`, a separate letter after a number is a unit,
/// as in `5 m`.
pub(super) fn shape(tokens: &[Token], letters_are_units: bool) -> Shape {
    Reader { letters_are_units }.read(tokens, 0)
}

/// The tokens as one text.
pub(super) fn joined(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        let _ = match token {
            Token::Number(Value::Ratio(above, 1), _) => write!(text, "{above}"),
            Token::Number(value, _) => write!(text, "{value:?}"),
            Token::Letter(c) | Token::Unit(c) | Token::Sign(c) => write!(text, "{c}"),
            Token::Name(name) => write!(text, "{name}"),
            Token::Word(word) | Token::Opaque(word) => write!(text, "{word}"),
            Token::Begin => write!(text, "⟦"),
            Token::End => write!(text, "⟧"),
        };
    }
    text
}

struct Reader {
    letters_are_units: bool,
}

impl Reader {
    fn read(&self, tokens: &[Token], depth: usize) -> Shape {
        let tokens = unwrapped(tokens);
        if depth > DEPTH || !is_balanced(tokens) {
            return self.single(tokens);
        }
        let all = |parts: Vec<&[Token]>| -> Vec<Shape> {
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            parts.map(|part| self.read(part, depth + 1)).collect()
        };
        let items = split(tokens, |sign| sign == ',' || sign == ';');
        if items.len() > 1 {
            return Items(all(items)).flat();
        }
        let members = split(tokens, |sign| sign == '∈');
        if let [_, .., last] = members.as_slice() {
            return self.read(last, depth + 1);
        }
        if let Some(relation) = self.relation(tokens, depth) {
            return relation;
        }
        let parts = split(tokens, |sign| sign == '∪');
        if parts.len() > 1 {
            return Shape::Union(all(parts));
        }
        self.bracketed(tokens, depth)
            .or_else(|| self.both_signs(tokens, depth))
            .unwrap_or_else(|| self.single(tokens))
    }

    /// `x = 5` as a named value; `a < b ≤ c` as an interval if one part is a variable.
    fn relation(&self, tokens: &[Token], depth: usize) -> Option<Shape> {
        let is_relation = |sign: char| RELATIONS.contains(sign);
        let parts = split(tokens, is_relation);
        if parts.len() < 2 {
            return None;
        }
        let signs: Vec<char> = top_level(tokens)
            .filter_map(|(_, token)| match token {
                Token::Sign(sign) if is_relation(*sign) => Some(*sign),
                _ => None,
            })
            .collect();
        let first = parts[0];
        let last = parts[parts.len() - 1];
        if signs.iter().all(|sign| *sign == '=') {
            if is_name(first) {
                let value = self.read(last, depth + 1);
                return Some(Shape::Named(joined(first), value.into()));
            }
            if is_name(last) && parts.len() == 2 {
                let value = self.read(first, depth + 1);
                return Some(Shape::Named(joined(last), value.into()));
            }
        }
        let shapes: Vec<Shape> = parts
            .iter()
            .map(|part| self.read(part, depth + 1))
            .collect();
        interval(&parts, &shapes, &signs).or(Some(Shape::Relation(shapes, signs)))
    }

    fn bracketed(&self, tokens: &[Token], depth: usize) -> Option<Shape> {
        let (first, last) = (tokens.first()?, tokens.last()?);
        if !encloses(tokens) {
            return None;
        }
        let inner = &tokens[1..tokens.len() - 1];
        let items = |inner| -> Vec<Shape> {
            let parts = split(inner, |sign| sign == ',' || sign == ';');
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            parts.map(|part| self.read(part, depth + 1)).collect()
        };
        match (first, last) {
            (Token::Sign('⦃'), Token::Sign('⦄')) | (Token::Sign('{'), Token::Sign('}')) => {
                Some(Items(items(inner)).flat())
            }
            (Token::Sign(open), Token::Sign(close)) => {
                let items = items(inner);
                (items.len() > 1).then_some(Shape::Tuple(*open, items, *close))
            }
            (Token::Begin, Token::End) => {
                let rows = split(inner, |sign| sign == '↵');
                let rows = rows.into_iter().filter(|row| !row.is_empty());
                let cells = |row| split(row, |sign| sign == '&');
                Some(Shape::Matrix(
                    rows.map(|row| {
                        let cells = cells(row).into_iter();
                        cells.map(|cell| self.read(cell, depth + 1)).collect()
                    })
                    .collect(),
                ))
            }
            _ => None,
        }
    }

    /// `a \pm b` as two numbers.
    fn both_signs(&self, tokens: &[Token], depth: usize) -> Option<Shape> {
        let sign = Token::Sign('±');
        let count = tokens.iter().filter(|token| **token == sign).count();
        if !(1..=2).contains(&count) {
            return None;
        }
        let with = |sign: char| {
            let signed = tokens.iter().map(|token| match token {
                Token::Sign('±') => Token::Sign(sign),
                other => other.clone(),
            });
            self.read(&signed.collect::<Vec<_>>(), depth + 1)
        };
        Some(Items(vec![with('+'), with('-')]).flat())
    }

    fn single(&self, tokens: &[Token]) -> Shape {
        let is_word = |token: &Token| match token {
            Token::Word(_) => true,
            Token::Unit(_) => self.letters_are_units,
            _ => false,
        };
        let is_percent = tokens.iter().skip(1).any(|token| {
            *token == Token::Sign('%')
                || matches!(token, Token::Word(word) if word.starts_with("percent"))
        });
        // A unit or an explanation may follow the answer.
        let end = top_level(tokens)
            .map(|(at, _)| at)
            .skip_while(|at| *at == 0)
            .find(|at| is_word(&tokens[*at]) || tokens[*at] == Token::Sign('%'))
            .filter(|_| !tokens.first().is_some_and(is_word))
            .unwrap_or(tokens.len());
        let tokens = unwrapped(&tokens[..end]);
        let bare = match tokens {
            [Token::Sign('('), inner @ .., Token::Sign(')')] if encloses(tokens) => inner,
            _ => tokens,
        };
        Shape::Single(Single {
            text: joined(bare),
            expression: parse(tokens),
            is_percent,
            has_words: tokens.iter().any(|token| matches!(token, Token::Word(_))),
        })
    }
}

/// A list that flattens nested lists.
struct Items(Vec<Shape>);

impl Items {
    fn flat(self) -> Shape {
        let items = self.0.into_iter().flat_map(|item| match item {
            Shape::List(items) => items,
            other => vec![other],
        });
        Shape::List(items.collect())
    }
}

/// Whether this is a name for the value after it: `x`, `x_1`, `f(x)`, `(x, y)`, words.
fn is_name(tokens: &[Token]) -> bool {
    let is_letter = |token: &Token| matches!(token, Token::Letter(c) if *c != 'e');
    let is_part = |token: &Token| {
        is_letter(token)
            || matches!(
                token,
                Token::Word(_) | Token::Sign('(' | ')' | ',' | '_' | '{' | '}')
            )
    };
    let letters = tokens.iter().filter(|token| is_letter(token)).count();
    let is_indexed =
        matches!(tokens, [first, Token::Sign('_'), Token::Number(..)] if is_letter(first));
    let is_words = !tokens.is_empty() && tokens.iter().all(|token| matches!(token, Token::Word(_)));
    let is_call = tokens.iter().all(is_part) && tokens.contains(&Token::Sign('('));
    is_words || is_indexed || letters == 1 && tokens.len() == 1 || letters > 0 && is_call
}

/// `x < 2` and `1 ≤ x < 2` as intervals.
fn interval(parts: &[&[Token]], shapes: &[Shape], signs: &[char]) -> Option<Shape> {
    let is_variable = |at: usize| matches!(parts[at], [Token::Letter(c)] if *c != 'e');
    let endless = |is_negative: bool| {
        let infinity = Expression::Variable("infty".to_owned());
        let (text, expression) = if is_negative {
            ("-infty", Expression::Negative(infinity.into()))
        } else {
            ("infty", infinity)
        };
        Shape::Single(Single {
            text: text.to_owned(),
            expression: Some(expression),
            is_percent: false,
            has_words: false,
        })
    };
    let bracket = |sign: char, closed: char, open: char| {
        if "≤≥".contains(sign) {
            closed
        } else {
            open
        }
    };
    let is_below = |sign: char| "<≤".contains(sign);
    let is_order = |sign: &char| "<>≤≥".contains(*sign);
    if !signs.iter().all(is_order) {
        return None;
    }
    match signs {
        [sign] => {
            let (bound, below) = match (is_variable(0), is_variable(1)) {
                (true, false) => (1, is_below(*sign)),
                (false, true) => (0, !is_below(*sign)),
                _ => return None,
            };
            let bound = shapes[bound].clone();
            Some(if below {
                Shape::Tuple('(', vec![endless(true), bound], bracket(*sign, ']', ')'))
            } else {
                Shape::Tuple(bracket(*sign, '[', '('), vec![bound, endless(false)], ')')
            })
        }
        [first, second] if is_variable(1) && is_below(*first) == is_below(*second) => {
            let (low, high) = if is_below(*first) {
                ((0, *first), (2, *second))
            } else {
                ((2, *second), (0, *first))
            };
            Some(Shape::Tuple(
                bracket(low.1, '[', '('),
                vec![shapes[low.0].clone(), shapes[high.0].clone()],
                bracket(high.1, ']', ')'),
            ))
        }
        _ => None,
    }
}

/// How a token changes the nesting depth.
fn step(token: &Token) -> isize {
    match token {
        Token::Sign('(' | '[' | '{' | '⦃') | Token::Begin => 1,
        Token::Sign(')' | ']' | '}' | '⦄') | Token::End => -1,
        _ => 0,
    }
}

fn is_balanced(tokens: &[Token]) -> bool {
    let mut depth = 0;
    tokens.iter().all(|token| {
        depth += step(token);
        depth >= 0
    }) && depth == 0
}

/// The tokens outside of all brackets, with their indices.
fn top_level(tokens: &[Token]) -> impl Iterator<Item = (usize, &Token)> {
    let mut depth = 0;
    tokens.iter().enumerate().filter(move |(_, token)| {
        let before = depth;
        depth += step(token);
        before == 0 && depth == 0
    })
}

/// The parts between the signs outside of all brackets.
fn split(tokens: &[Token], is_mark: impl Fn(char) -> bool) -> Vec<&[Token]> {
    let marks = top_level(tokens).filter_map(|(at, token)| match token {
        Token::Sign(sign) if is_mark(*sign) => Some(at),
        _ => None,
    });
    let mut parts = Vec::new();
    let mut start = 0;
    for at in marks {
        parts.push(&tokens[start..at]);
        start = at + 1;
    }
    parts.push(&tokens[start..]);
    parts
}

/// Whether the last token closes what the first one opens.
fn encloses(tokens: &[Token]) -> bool {
    let mut depth = 0;
    let closed_at = tokens.iter().position(|token| {
        depth += step(token);
        depth <= 0
    });
    tokens.len() >= 2 && closed_at == Some(tokens.len() - 1) && depth == 0
}

/// The tokens without grouping braces and trailing punctuation.
fn unwrapped(mut tokens: &[Token]) -> &[Token] {
    while let [Token::Sign(','), rest @ ..] | [rest @ .., Token::Sign(',' | ':')] = tokens {
        tokens = rest;
    }
    while let [Token::Sign('{'), inner @ .., Token::Sign('}')] = tokens {
        let is_set = split(inner, |sign| sign == ',').len() > 1;
        if is_set || !encloses(tokens) {
            break;
        }
        tokens = inner;
    }
    tokens
}
