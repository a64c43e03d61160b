//! Tokens of a mathematical text, LaTeX or plain, without spacing and style.

use super::command::{Meaning, meaning};
use crate::numeric::{ascii, is_mark};
use crate::value::Value;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A number, and how many digits follow its decimal point (`None` without a point).
    Number(Value, Option<usize>),
    /// A variable.
    Letter(char),
    /// A letter that may be a unit: separate, after a number.
    Unit(char),
    /// A function or a constant.
    Name(&'static str),
    /// A word of prose, or a unit.
    Word(String),
    /// A sign. `⦃ ⦄` are the braces of a set, `↵` ends a row, `°` is a degree.
    Sign(char),
    /// The beginning and the end of a matrix.
    Begin,
    End,
    /// Anything else.
    Opaque(String),
}

/// Limits of length in bytes and of tokens: longer texts are compared literally.
const LENGTH: usize = 2000;
const COUNT: usize = 600;
const FUNCTIONS: [&str; 24] = [
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
    "log", "ln", "lg", "exp", "sqrt", "pi", "infty", "infinity", "abs", "inf", "frac", "binom",
];
const UNIT_WORDS: [&str; 26] = [
    "yes", "no", "cm", "mm", "km", "kg", "mg", "ml", "ft", "in", "lb", "oz", "hr", "hz", "mi",
    "yd", "is", "or", "at", "by", "if", "so", "of", "to", "as", "on",
];
const UNIT_LETTERS: &str = "msghLlNJWVAKCF";
const SUPERSCRIPTS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const FRACTIONS: [(char, i128, i128); 7] = [
    ('½', 1, 2),
    ('⅓', 1, 3),
    ('⅔', 2, 3),
    ('¼', 1, 4),
    ('¾', 3, 4),
    ('⅕', 1, 5),
    ('⅛', 1, 8),
];

/// The tokens of a text; `None` if it is too long for an answer.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    if text.len() > LENGTH {
        return None;
    }
    let text = text.chars().filter(|c| !is_mark(*c)).map(ascii).collect();
    let mut lexer = Lexer {
        text,
        at: 0,
        depth: 0,
        is_spaced: false,
        is_prose: false,
        single_digits: 0,
        out: Vec::new(),
    };
    lexer.run();
    let tokens = tidied(&lexer.out);
    (tokens.len() <= COUNT).then_some(tokens)
}

struct Lexer {
    text: Vec<char>,
    at: usize,
    /// Number of open brackets; within them a comma separates items.
    depth: usize,
    /// Whether white space precedes this position.
    is_spaced: bool,
    /// Whether this is inside `\text{}`, where letters are words.
    is_prose: bool,
    /// Number of following digits that are separate tokens, as in `\frac12`.
    single_digits: usize,
    out: Vec<Token>,
}

impl Lexer {
    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            let before = self.at;
            match c {
                '\\' => self.command(),
                '0'..='9' => self.number(),
                '.' if self.digit(1) => self.number(),
                _ if c.is_alphabetic() => self.letters(),
                _ => self.sign(c),
            }
            self.at = self.at.max(before + 1);
            let spaces = c == '\\'
                && self
                    .text
                    .get(before + 1)
                    .is_some_and(|c| ",;: ".contains(*c));
            self.is_spaced = c.is_whitespace() || c == '~' || spaces;
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn digit(&self, ahead: usize) -> bool {
        self.peek(ahead).is_some_and(|c| c.is_ascii_digit())
    }

    fn push(&mut self, token: Token) {
        self.out.push(token);
    }

    fn number(&mut self) {
        let mut digits = String::new();
        let mut fraction = None;
        if self.single_digits > 0 {
            self.single_digits -= 1;
            digits.extend(self.peek(0));
            self.at += 1;
            self.push(Token::Number(Value::decimal(&digits, "", 0), None));
            return;
        }
        self.run_of_digits(&mut digits);
        let may_group = (1..=3).contains(&digits.len());
        while let Some(length) = self.separator().filter(|_| may_group) {
            self.at += length;
            self.run_of_digits(&mut digits);
        }
        if self.peek(0) == Some('.') && self.digit(1) {
            self.at += 1;
            let mut places = String::new();
            self.run_of_digits(&mut places);
            fraction = Some(places);
        }
        let exponent = self.exponent();
        let places = fraction.as_ref().map(String::len);
        let fraction = fraction.unwrap_or_default();
        self.push(Token::Number(
            Value::decimal(&digits, &fraction, exponent),
            places,
        ));
    }

    fn run_of_digits(&mut self, digits: &mut String) {
        while let Some(c) = self.peek(0).filter(char::is_ascii_digit) {
            digits.push(c);
            self.at += 1;
        }
    }

    /// Length of a thousands separator at this position: `,` outside of brackets, and `{,}`, `,\!`
    /// and `\,` everywhere.
    fn separator(&self) -> Option<usize> {
        let rest: String = self.text[self.at..].iter().take(6).collect();
        let length = ["{,}", ",\\!", "\\,", ",\\ "]
            .iter()
            .find(|sign| rest.starts_with(*sign))
            .map(|sign| sign.len())
            .or_else(|| (rest.starts_with(',') && self.depth == 0).then_some(1))?;
        let is_group = (0..3).all(|ahead| self.digit(length + ahead)) && !self.digit(length + 3);
        is_group.then_some(length)
    }

    /// `e-7` directly after digits, in texts without LaTeX.
    fn exponent(&mut self) -> i32 {
        let signed = usize::from(self.peek(1).is_some_and(|c| "+-".contains(c)));
        if !matches!(self.peek(0), Some('e' | 'E')) || !self.digit(1 + signed) {
            return 0;
        }
        let digits: String = self.text[self.at + 1 + signed..]
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .collect();
        let Ok(value) = digits.parse::<i32>() else {
            return 0;
        };
        let is_negative = self.peek(1) == Some('-');
        self.at += 1 + signed + digits.len();
        if is_negative { -value } else { value }
    }

    fn letters(&mut self) {
        let is_glued = !self.is_spaced
            && self.at > 0
            && matches!(
                self.text[self.at - 1],
                '0'..='9' | ')' | '}' | '^' | '_' | ']'
            );
        let run: String = self.text[self.at..]
            .iter()
            .take_while(|c| c.is_alphabetic() || **c == '\'' && !self.is_prose)
            .collect();
        let run = run.trim_end_matches('\'');
        self.at += run.chars().count();
        let lower = run.to_lowercase();
        if matches!(lower.as_str(), "and" | "or") {
            self.push(Token::Sign(','));
        } else if self.is_prose {
            self.push(Token::Word(lower));
        } else if let Some(name) = FUNCTIONS.iter().find(|name| **name == lower) {
            self.name(name);
        } else if run == "U" && self.is_spaced {
            self.push(Token::Sign('∪'));
        } else if UNIT_WORDS.contains(&lower.as_str()) || run.chars().count() > 2 && !is_glued {
            self.push(Token::Word(lower));
        } else {
            let apart = self.is_spaced && matches!(self.out.last(), Some(Token::Number(..)));
            let is_unit = |c: char| apart && run.len() == 1 && UNIT_LETTERS.contains(c);
            let letters = run.chars().filter(|c| *c != '\'');
            let tokens: Vec<_> = letters.map(|c| letter(c, is_unit(c))).collect();
            self.out.extend(tokens);
        }
    }

    fn name(&mut self, name: &'static str) {
        self.push(match name {
            "infinity" | "inf" => Token::Name("infty"),
            other => Token::Name(other),
        });
    }

    fn command(&mut self) {
        self.at += 1;
        let name: String = self.text[self.at..]
            .iter()
            .take_while(|c| c.is_ascii_alphabetic())
            .collect();
        if name.is_empty() {
            self.escaped();
            return;
        }
        self.at += name.len();
        match meaning(&name) {
            Meaning::Nothing => {
                // `\left.` opens no bracket.
                let is_bare = matches!(name.as_str(), "left" | "right");
                self.at += usize::from(is_bare && self.peek(0) == Some('.'));
            }
            Meaning::Prose => self.prose(),
            Meaning::Sign(sign) => self.open_or_close(sign),
            Meaning::Letter(letter) => self.push(Token::Letter(letter)),
            Meaning::Name(name) => {
                let next = self.text[self.at..].iter().find(|c| **c != ' ');
                let is_bare = next.is_some_and(char::is_ascii_digit);
                self.single_digits = match name {
                    "frac" if is_bare => 2,
                    "sqrt" if is_bare => 1,
                    _ => 0,
                };
                self.push(Token::Name(name));
            }
            Meaning::Matrix(token) => self.environment(token),
            Meaning::Unknown => self.push(Token::Opaque(name)),
        }
    }

    /// A backslash before a sign.
    fn escaped(&mut self) {
        let c = self.peek(0);
        self.at += 1;
        match c {
            Some('{') => self.open_or_close('⦃'),
            Some('}') => self.open_or_close('⦄'),
            Some('\\') => self.push(Token::Sign('↵')),
            Some('%') => self.push(Token::Sign('%')),
            Some('|') => self.push(Token::Sign('|')),
            _ => {}
        }
    }

    /// `\text{…}`: letters inside are words.
    fn prose(&mut self) {
        if self.peek(0) != Some('{') || self.is_prose {
            return;
        }
        let inner: Vec<char> = self.text[self.at + 1..]
            .iter()
            .copied()
            .take_while(|c| *c != '}')
            .collect();
        let end = self.at + inner.len() + 2;
        let (text, at) = (std::mem::replace(&mut self.text, inner), 0);
        self.at = at;
        self.is_prose = true;
        self.run();
        self.is_prose = false;
        self.text = text;
        self.at = end;
    }

    fn environment(&mut self, token: Token) {
        let rest = &self.text[self.at..];
        let name: String = rest.iter().take_while(|c| **c != '}').collect();
        if name.starts_with('{') {
            self.at += name.chars().count() + 1;
        }
        if !name.contains("matrix") && !name.contains("array") && !name.contains("cases") {
            return;
        }
        let is_array = name.contains("array") && token == Token::Begin;
        if is_array && self.peek(0) == Some('{') {
            let columns = self.text[self.at..].iter().take_while(|c| **c != '}');
            self.at += columns.count() + 1;
        }
        self.depth = match token {
            Token::Begin => self.depth + 1,
            _ => self.depth.saturating_sub(1),
        };
        self.push(token);
    }

    fn open_or_close(&mut self, sign: char) {
        match sign {
            '(' | '[' | '{' | '⦃' => self.depth += 1,
            ')' | ']' | '}' | '⦄' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.push(Token::Sign(sign));
    }

    fn sign(&mut self, c: char) {
        if let Some((_, top, bottom)) = FRACTIONS.iter().find(|(sign, ..)| *sign == c) {
            let whole = |number: i128| Token::Number(Value::whole(number), None);
            let group = |number: i128| [Token::Sign('{'), whole(number), Token::Sign('}')];
            self.push(Token::Name("frac"));
            self.out.extend(group(*top));
            self.out.extend(group(*bottom));
            return;
        }
        if SUPERSCRIPTS.contains(c) || c == '⁻' {
            self.superscript();
            return;
        }
        let pair = (c, self.peek(1));
        let token = match pair {
            ('*', Some('*')) | ('<' | '>' | '!', Some('=')) => {
                self.at += 2;
                match c {
                    '*' => '^',
                    '<' => '≤',
                    '>' => '≥',
                    _ => '≠',
                }
            }
            ('×' | '·' | '∙' | '⋅' | '•', _) => '*',
            ('÷', _) => '/',
            ('⟨', _) => '(',
            ('⟩', _) => ')',
            ('√', _) => return self.push(Token::Name("sqrt")),
            ('∞', _) => return self.push(Token::Name("infty")),
            ('∅', _) => return self.push(Token::Letter('∅')),
            ('$' | '€' | '£' | '¥' | '₹' | '~' | '"' | '\'' | '`' | '?' | '“' | '”', _) =>
            {
                return;
            }
            ('.', _) if self.at + 1 >= self.text.len() || self.is_prose => return,
            _ if c.is_whitespace() => return,
            _ => c,
        };
        if "+-*/^_!=<>()[]{},;:|&%°±≤≥≠∈∪".contains(token) {
            self.open_or_close(token);
        } else {
            self.push(Token::Opaque(token.to_string()));
        }
    }

    fn superscript(&mut self) {
        let is_negative = self.peek(0) == Some('⁻');
        self.at += usize::from(is_negative);
        let digits: String = self.text[self.at..]
            .iter()
            .map_while(|c| SUPERSCRIPTS.chars().position(|sign| sign == *c))
            .filter_map(|value| char::from_digit(u32::try_from(value).ok()?, 10))
            .collect();
        self.at += digits.chars().count();
        let value = Value::decimal(&digits, "", 0);
        let value = if is_negative { value.negated() } else { value };
        self.push(Token::Sign('^'));
        self.push(Token::Number(value, None));
    }
}

fn letter(c: char, is_unit: bool) -> Token {
    match c {
        'π' => Token::Name("pi"),
        _ if is_unit => Token::Unit(c),
        _ => Token::Letter(c),
    }
}

/// Simplifies `^\circ` and `^{\circ}` to `°`, and removes braces around one token after `^` or `_`.
fn tidied(tokens: &[Token]) -> Vec<Token> {
    use Token::Sign;
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let Some(first) = rest.first() {
        let length = match rest {
            [Sign('^'), Sign('{'), Sign('°'), Sign('}'), ..] => 4,
            [Sign('^'), Sign('°'), ..] => 2,
            [Sign('°'), ..] => 1,
            [Sign('^' | '_'), Sign('{'), inner, Sign('}'), ..] => {
                out.extend([first.clone(), inner.clone()]);
                4
            }
            _ => {
                out.push(first.clone());
                1
            }
        };
        rest = &rest[length..];
    }
    out
}
