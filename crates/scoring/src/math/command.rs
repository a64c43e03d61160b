//! The meaning of LaTeX commands in an answer.

use super::token::Token;

/// Meaning of a command.
pub(super) enum Meaning {
    /// Spacing, style, or a growing delimiter.
    Nothing,
    /// Its argument is prose.
    Prose,
    /// A sign.
    Sign(char),
    /// A variable.
    Letter(char),
    /// A function or a constant.
    Name(&'static str),
    /// A matrix begins or ends.
    Matrix(Token),
    /// An unknown command.
    Unknown,
}

/// Functions and constants by command; synonyms have one meaning.
const NAMES: [(&str, &str); 29] = [
    ("frac", "frac"),
    ("dfrac", "frac"),
    ("tfrac", "frac"),
    ("cfrac", "frac"),
    ("binom", "binom"),
    ("dbinom", "binom"),
    ("tbinom", "binom"),
    ("sqrt", "sqrt"),
    ("pi", "pi"),
    ("infty", "infty"),
    ("sin", "sin"),
    ("cos", "cos"),
    ("tan", "tan"),
    ("cot", "cot"),
    ("sec", "sec"),
    ("csc", "csc"),
    ("arcsin", "arcsin"),
    ("arccos", "arccos"),
    ("arctan", "arctan"),
    ("sinh", "sinh"),
    ("cosh", "cosh"),
    ("tanh", "tanh"),
    ("log", "log"),
    ("ln", "ln"),
    ("lg", "lg"),
    ("exp", "exp"),
    ("ldots", "dots"),
    ("dots", "dots"),
    ("cdots", "dots"),
];
const LETTERS: [(&str, char); 22] = [
    ("alpha", 'α'),
    ("beta", 'β'),
    ("gamma", 'γ'),
    ("delta", 'δ'),
    ("epsilon", 'ε'),
    ("varepsilon", 'ε'),
    ("zeta", 'ζ'),
    ("eta", 'η'),
    ("theta", 'θ'),
    ("kappa", 'κ'),
    ("lambda", 'λ'),
    ("mu", 'μ'),
    ("nu", 'ν'),
    ("rho", 'ρ'),
    ("sigma", 'σ'),
    ("tau", 'τ'),
    ("phi", 'φ'),
    ("varphi", 'φ'),
    ("psi", 'ψ'),
    ("omega", 'ω'),
    ("emptyset", '∅'),
    ("varnothing", '∅'),
];

/// The meaning of `\name`.
pub(super) fn meaning(name: &str) -> Meaning {
    match name {
        "left" | "right" | "big" | "Big" | "bigl" | "bigr" | "Bigl" | "Bigr" | "bigg" | "Bigg"
        | "displaystyle" | "textstyle" | "quad" | "qquad" | "limits" | "rm" | "bf" | "it"
        | "mathbb" | "boxed" | "fbox" | "hline" | "mathcal" | "space" | "thinspace" => {
            Meaning::Nothing
        }
        "text" | "textbf" | "textit" | "textrm" | "mathrm" | "mathbf" | "mathit" | "mathsf"
        | "mbox" | "operatorname" | "hbox" | "texttt" | "emph" => Meaning::Prose,
        "cdot" | "times" | "ast" => Meaning::Sign('*'),
        "div" => Meaning::Sign('/'),
        "pm" | "mp" => Meaning::Sign('±'),
        "le" | "leq" | "leqslant" => Meaning::Sign('≤'),
        "ge" | "geq" | "geqslant" => Meaning::Sign('≥'),
        "lt" => Meaning::Sign('<'),
        "gt" => Meaning::Sign('>'),
        "ne" | "neq" => Meaning::Sign('≠'),
        "approx" => Meaning::Sign('='),
        "in" => Meaning::Sign('∈'),
        "cup" => Meaning::Sign('∪'),
        "circ" | "degree" => Meaning::Sign('°'),
        "langle" => Meaning::Sign('('),
        "rangle" => Meaning::Sign(')'),
        "lbrace" => Meaning::Sign('⦃'),
        "rbrace" => Meaning::Sign('⦄'),
        "lvert" | "rvert" | "vert" | "mid" => Meaning::Sign('|'),
        "colon" => Meaning::Sign(':'),
        "begin" => Meaning::Matrix(Token::Begin),
        "end" => Meaning::Matrix(Token::End),
        _ => {
            let named = NAMES.iter().find(|(command, _)| *command == name);
            let letter = LETTERS.iter().find(|(command, _)| *command == name);
            match (named, letter) {
                (Some((_, name)), _) => Meaning::Name(name),
                (_, Some((_, letter))) => Meaning::Letter(*letter),
                _ => Meaning::Unknown,
            }
        }
    }
}
