//! Parses tokens into expressions: sums, products (also implicit), powers, roots, functions.

use super::expression::Expression;
use super::token::Token;
use crate::value::Value;

/// Maximum nesting of brackets; deeper expressions are compared as text.
const DEPTH: usize = 40;

/// Parses all tokens as one expression; `None` if they are not an expression.
pub(super) fn parse(tokens: &[Token]) -> Option<Expression> {
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
    };
    let expression = parser.sum()?;
    (parser.at == tokens.len()).then_some(expression)
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is_sign(&self, sign: char) -> bool {
        self.peek() == Some(&Token::Sign(sign))
    }

    fn take(&mut self, sign: char) -> bool {
        let is_here = self.is_sign(sign);
        self.at += usize::from(is_here);
        is_here
    }

    fn sum(&mut self) -> Option<Expression> {
        let mut sum = self.product()?;
        loop {
            sum = if self.take('+') {
                Expression::Sum(sum.into(), self.product()?.into())
            } else if self.take('-') {
                let next = Expression::Negative(self.product()?.into());
                Expression::Sum(sum.into(), next.into())
            } else {
                return Some(sum);
            };
        }
    }

    fn product(&mut self) -> Option<Expression> {
        let mut product = self.signed()?;
        loop {
            product = if self.take('*') {
                Expression::Product(product.into(), self.signed()?.into())
            } else if self.take('/') || self.take(':') {
                Expression::Quotient(product.into(), self.signed()?.into())
            } else if self.begins_factor() {
                Expression::Product(product.into(), self.power()?.into())
            } else {
                return Some(product);
            };
        }
    }

    /// Whether the next token multiplies implicitly; two adjacent numbers do not.
    fn begins_factor(&self) -> bool {
        match self.peek() {
            Some(Token::Letter(_) | Token::Unit(_) | Token::Name(_)) => true,
            Some(Token::Sign(sign)) => "([{".contains(*sign),
            Some(Token::Number(..)) => !matches!(
                self.at.checked_sub(1).map(|at| &self.tokens[at]),
                Some(Token::Number(..))
            ),
            _ => false,
        }
    }

    fn signed(&mut self) -> Option<Expression> {
        if self.take('-') {
            self.depth += 1;
            let inner = (self.depth <= DEPTH).then(|| self.signed())??;
            self.depth -= 1;
            return Some(Expression::Negative(inner.into()));
        }
        self.take('+');
        self.power()
    }

    fn power(&mut self) -> Option<Expression> {
        let mut base = self.primary()?;
        while self.take('!') {
            base = Expression::Factorial(base.into());
        }
        if !self.take('^') {
            return Some(base);
        }
        let exponent = self.exponent()?;
        Some(Expression::Power(base.into(), exponent.into()))
    }

    fn exponent(&mut self) -> Option<Expression> {
        if self.take('-') {
            return Some(Expression::Negative(self.primary()?.into()));
        }
        self.primary()
    }

    fn primary(&mut self) -> Option<Expression> {
        self.depth += 1;
        let found = (self.depth <= DEPTH).then(|| self.one())?;
        self.depth -= 1;
        found
    }

    fn one(&mut self) -> Option<Expression> {
        let token = self.peek()?.clone();
        match token {
            Token::Number(value, places) => {
                self.at += 1;
                Some(self.mixed(value, places))
            }
            Token::Letter(letter) | Token::Unit(letter) => {
                self.at += 1;
                self.variable(letter)
            }
            Token::Name(name) => {
                self.at += 1;
                self.named(name)
            }
            Token::Sign(open @ ('(' | '[' | '{')) => {
                let close = match open {
                    '(' => ')',
                    '[' => ']',
                    _ => '}',
                };
                self.group(open, close)
            }
            Token::Sign('|') => {
                let inner = self.group('|', '|')?;
                Some(Expression::Function("abs", inner.into()))
            }
            _ => None,
        }
    }

    fn group(&mut self, open: char, close: char) -> Option<Expression> {
        self.take(open).then_some(())?;
        let inner = self.sum()?;
        self.take(close).then_some(inner)
    }

    /// A mixed number: an integer directly before a fraction is added to it (`3\frac{1}{2}`, `3
    /// 1/2`).
    fn mixed(&mut self, value: Value, places: Option<usize>) -> Expression {
        let rest = &self.tokens[self.at..];
        let whole = |token: &Token| match token {
            Token::Number(Value::Ratio(number, 1), None) => Some(*number),
            _ => None,
        };
        let (parts, length) = match rest {
            [
                Token::Name("frac"),
                Token::Sign('{'),
                above,
                Token::Sign('}'),
                Token::Sign('{'),
                below,
                Token::Sign('}'),
                ..,
            ] => (whole(above).zip(whole(below)), 7),
            [Token::Name("frac"), above, below, ..] | [above, Token::Sign('/'), below, ..] => {
                (whole(above).zip(whole(below)), 3)
            }
            _ => (None, 0),
        };
        let is_whole = matches!(value, Value::Ratio(_, 1)) && places.is_none();
        let part = parts
            .filter(|(above, below)| is_whole && above < below)
            .and_then(|(above, below)| value.plus(&Value::ratio(above, below)?));
        match part {
            Some(sum) => {
                self.at += length;
                Expression::Number(sum, None)
            }
            None => Expression::Number(value, places),
        }
    }

    fn variable(&mut self, letter: char) -> Option<Expression> {
        if !self.take('_') {
            return Some(match letter {
                'e' => Expression::Euler,
                other => Expression::Variable(other.to_string()),
            });
        }
        let index = self.index()?;
        Some(Expression::Variable(format!("{letter}_{index}")))
    }

    /// A subscript: one token, or several in braces.
    fn index(&mut self) -> Option<String> {
        let is_braced = self.take('{');
        let start = self.at;
        while let Some(Token::Number(..) | Token::Letter(_) | Token::Word(_)) = self.peek() {
            self.at += 1;
            if !is_braced {
                break;
            }
        }
        let name = super::shape::joined(&self.tokens[start..self.at]);
        let is_closed = !is_braced || self.take('}');
        (is_closed && !name.is_empty()).then_some(name)
    }

    fn named(&mut self, name: &'static str) -> Option<Expression> {
        match name {
            "pi" => Some(Expression::Pi),
            "infty" => Some(Expression::Variable("infty".to_owned())),
            "frac" => {
                let above = self.primary()?;
                let below = self.primary()?;
                Some(Expression::Quotient(above.into(), below.into()))
            }
            "binom" => {
                let above = self.primary()?;
                let below = self.primary()?;
                Some(Expression::Binomial(above.into(), below.into()))
            }
            "sqrt" => {
                let degree = if self.is_sign('[') {
                    self.group('[', ']')?
                } else {
                    whole(2)
                };
                let inner = self.primary()?;
                Some(Expression::Root(degree.into(), inner.into()))
            }
            "log" | "lg" => {
                let base = if self.take('_') {
                    self.primary()?
                } else {
                    whole(10)
                };
                let inner = self.argument()?;
                Some(Expression::Log(base.into(), inner.into()))
            }
            "dots" => None,
            function => {
                // `\sin^2 x` is the square of the sine.
                let is_raised = self.take('^');
                let exponent = if is_raised {
                    Some(self.exponent()?)
                } else {
                    None
                };
                let inner = self.argument()?;
                let value = Expression::Function(function, inner.into());
                Some(match exponent {
                    None => value,
                    Some(exponent) => Expression::Power(value.into(), exponent.into()),
                })
            }
        }
    }

    /// The argument of a function: a group, or implicit factors.
    fn argument(&mut self) -> Option<Expression> {
        if let Some(Token::Sign('(' | '{' | '[')) = self.peek() {
            return self.primary();
        }
        let mut product = self.power()?;
        while matches!(self.peek(), Some(Token::Letter(_) | Token::Name("pi"))) {
            product = Expression::Product(product.into(), self.power()?.into());
        }
        Some(product)
    }
}

fn whole(number: i128) -> Expression {
    Expression::Number(Value::whole(number), None)
}
