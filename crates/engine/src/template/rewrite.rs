//! A template written anew with a call of the meter around every step that can grow.
//!
//! minijinja has no hook for its operators, so the parsed template is printed as source again:
//! `a + b` becomes a call of our own function. What is printed means the same.

use std::fmt::Write as _;

use minijinja::machinery::ast::{self, BinOpKind, CallArg, CompareOpKind, Expr, Stmt, UnaryOpKind};
use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// Names of ours; a template that has one is refused.
pub(super) const OURS: &str = "ipw__";

/// Operators in one tag and branches in one template: chains of them nest in the parsed template,
/// and each level takes stack.
const MOST_CHAINED: usize = 400;
/// Levels of the parsed template.
const DEEPEST: usize = 500;

/// The source with a meter in it.
pub(super) fn metered(source: &str, name: &str, syntax: &SyntaxConfig) -> Result<String, Error> {
    if source.contains(OURS) {
        return Err(refused(&format!("names that begin with `{OURS}`")));
    }
    check_chains(source, syntax)?;
    let parsed = parse(source, name, syntax.clone())?;
    let mut printer = Printer {
        text: String::with_capacity(source.len() * 2),
        line: 1,
        depth: 0,
    };
    printer.statement(&parsed)?;
    Ok(printer.text)
}

fn refused(what: &str) -> Error {
    Error::new(
        ErrorKind::SyntaxError,
        format!("chat templates may not have {what}"),
    )
}

fn check_chains(source: &str, syntax: &SyntaxConfig) -> Result<(), Error> {
    let (mut in_tag, mut branches) = (0, 0);
    for token in tokenize(source, false, syntax.clone()) {
        match token?.0 {
            Token::TemplateData(_) | Token::VariableStart | Token::BlockStart => in_tag = 0,
            Token::Ident("elif" | "else") => branches += 1,
            Token::Ident("and" | "or" | "not" | "is" | "in" | "if")
            | Token::Plus
            | Token::Minus
            | Token::Mul
            | Token::Div
            | Token::FloorDiv
            | Token::Pow
            | Token::Mod
            | Token::Tilde
            | Token::Pipe
            | Token::Dot
            | Token::Eq
            | Token::Ne
            | Token::Gt
            | Token::Gte
            | Token::Lt
            | Token::Lte
            | Token::BracketOpen
            | Token::BraceOpen
            | Token::ParenOpen => in_tag += 1,
            _ => {}
        }
        if in_tag > MOST_CHAINED {
            return Err(refused(&format!(
                "more than {MOST_CHAINED} operators in a tag"
            )));
        }
        if branches > 4 * MOST_CHAINED {
            return Err(refused(&format!("more than {} branches", 4 * MOST_CHAINED)));
        }
    }
    Ok(())
}

struct Printer {
    text: String,
    line: u16,
    depth: usize,
}

type Printed = Result<(), Error>;

impl Printer {
    /// Opens a tag on the line on which the template has it, so that errors name that line.
    fn open(&mut self, tag: &str, span: Span) {
        self.text += tag;
        while self.line < span.start_line {
            self.text.push('\n');
            self.line += 1;
        }
        self.text.push(' ');
    }

    fn tag(&mut self, words: &str, span: Span) {
        self.open("{%", span);
        self.text += words;
        self.text += " %}";
    }

    fn statements(&mut self, statements: &[Stmt<'_>]) -> Printed {
        statements
            .iter()
            .try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> Printed {
        self.descend()?;
        match statement {
            Stmt::Template(template) => self.statements(&template.children)?,
            Stmt::EmitRaw(raw) => {
                self.open("{{", raw.span());
                let _ = write!(self.text, "{OURS}emit({}) }}}}", quoted(raw.raw));
            }
            Stmt::EmitExpr(emit) => self.emit(emit)?,
            Stmt::ForLoop(each) => self.each(each)?,
            Stmt::IfCond(choice) => {
                self.choice(choice, "if")?;
                self.text += "{% endif %}";
            }
            Stmt::WithBlock(with) => {
                self.open("{%", with.span());
                self.text += "with ";
                for (number, (target, value)) in with.assignments.iter().enumerate() {
                    self.text += if number > 0 { ", " } else { "" };
                    self.target(target, true)?;
                    self.text += " = ";
                    self.expression(value)?;
                }
                self.text += " %}";
                self.statements(&with.body)?;
                self.text += "{% endwith %}";
            }
            Stmt::Set(set) => self.set(set)?,
            Stmt::SetBlock(set) => {
                self.open("{%", set.span());
                self.text += "set ";
                self.target(&set.target, false)?;
                if let Some(filter) = &set.filter {
                    self.text += " | ";
                    self.expression(filter)?;
                }
                self.text += " %}";
                self.statements(&set.body)?;
                self.text += "{% endset %}";
            }
            Stmt::FilterBlock(block) => {
                self.open("{%", block.span());
                self.text += "filter ";
                self.expression(&block.filter)?;
                self.text += " %}";
                self.statements(&block.body)?;
                self.text += "{% endfilter %}";
            }
            Stmt::Block(block) => {
                self.tag(&format!("block {}", block.name), block.span());
                self.statements(&block.body)?;
                self.text += "{% endblock %}";
            }
            Stmt::Macro(one) => {
                self.open("{%", one.span());
                let _ = write!(self.text, "macro {}", one.name);
                self.parameters(one)?;
                self.text += " %}";
                self.statements(&one.body)?;
                self.text += "{% endmacro %}";
            }
            Stmt::CallBlock(block) => {
                self.open("{%", block.span());
                self.text += "call";
                self.parameters(&block.macro_decl)?;
                self.text.push(' ');
                self.call(&block.call)?;
                self.text += " %}";
                self.statements(&block.macro_decl.body)?;
                self.text += "{% endcall %}";
            }
            Stmt::Continue(one) => self.tag("continue", one.span()),
            Stmt::Break(one) => self.tag("break", one.span()),
            Stmt::Do(one) => {
                self.open("{%", one.span());
                self.text += "do ";
                self.call(&one.call)?;
                self.text += " %}";
            }
            Stmt::AutoEscape(_) => return Err(refused("`autoescape`")),
            Stmt::Import(_) | Stmt::FromImport(_) | Stmt::Extends(_) | Stmt::Include(_) => {
                return Err(refused("other templates in them"));
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn descend(&mut self) -> Printed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(refused("that many levels"));
        }
        Ok(())
    }

    fn emit(&mut self, emit: &ast::Spanned<ast::EmitExpr<'_>>) -> Printed {
        self.open("{{", emit.span());
        match &emit.expr {
            // A loop that calls itself writes where it is.
            Expr::Call(call) if matches!(&call.expr, Expr::Var(var) if var.id == "loop") => {
                self.call(call)?;
            }
            expression => self.within("emit", expression)?,
        }
        self.text += " }}";
        Ok(())
    }

    fn each(&mut self, each: &ast::Spanned<ast::ForLoop<'_>>) -> Printed {
        self.open("{%", each.span());
        self.text += "for ";
        self.target(&each.target, false)?;
        self.text += " in ";
        self.within("look", &each.iter)?;
        if let Some(filter) = &each.filter_expr {
            self.text += " if ";
            self.expression(filter)?;
        }
        self.text += if each.recursive { " recursive" } else { "" };
        self.text += " %}";
        self.statements(&each.body)?;
        if !each.else_body.is_empty() {
            self.text += "{% else %}";
            self.statements(&each.else_body)?;
        }
        self.text += "{% endfor %}";
        Ok(())
    }

    fn choice(&mut self, choice: &ast::Spanned<ast::IfCond<'_>>, word: &str) -> Printed {
        self.open("{%", choice.span());
        self.text += word;
        self.text.push(' ');
        self.expression(&choice.expr)?;
        self.text += " %}";
        self.statements(&choice.true_body)?;
        match choice.false_body.as_slice() {
            [] => Ok(()),
            [Stmt::IfCond(next)] => self.choice(next, "elif"),
            other => {
                self.text += "{% else %}";
                self.statements(other)
            }
        }
    }

    fn set(&mut self, set: &ast::Spanned<ast::Set<'_>>) -> Printed {
        self.open("{%", set.span());
        self.text += "set ";
        self.target(&set.target, false)?;
        self.text += " = ";
        if matches!(set.target, Expr::Var(_)) {
            self.expression(&set.expr)?;
        } else {
            self.within("kept", &set.expr)?;
        }
        self.text += " %}";
        Ok(())
    }

    fn parameters(&mut self, one: &ast::Macro<'_>) -> Printed {
        self.text.push('(');
        let without = one.args.len().saturating_sub(one.defaults.len());
        for (number, name) in one.args.iter().enumerate() {
            self.text += if number > 0 { ", " } else { "" };
            self.target(name, false)?;
            if let Some(default) = number
                .checked_sub(without)
                .and_then(|place| one.defaults.get(place))
            {
                self.text.push('=');
                self.expression(default)?;
            }
        }
        self.text.push(')');
        Ok(())
    }

    fn target(&mut self, target: &Expr<'_>, is_inner: bool) -> Printed {
        match target {
            Expr::Var(var) => self.text += var.id,
            Expr::GetAttr(attribute) => {
                self.target(&attribute.expr, is_inner)?;
                let _ = write!(self.text, ".{}", attribute.name);
            }
            Expr::List(list) => {
                let is_inner = is_inner || list.items.len() < 2;
                self.text += if is_inner { "(" } else { "" };
                for item in &list.items {
                    self.target(item, true)?;
                    self.text.push(',');
                }
                if !is_inner {
                    self.text.pop();
                }
                self.text += if is_inner { ")" } else { "" };
            }
            _ => return Err(refused("such targets of `set`")),
        }
        Ok(())
    }

    /// The expression as the argument of a function of ours.
    fn within(&mut self, function: &str, expression: &Expr<'_>) -> Printed {
        let _ = write!(self.text, "{OURS}{function}(");
        self.expression(expression)?;
        self.text.push(')');
        Ok(())
    }

    /// The same where a constant needs no look.
    fn looked_at(&mut self, function: &str, expression: &Expr<'_>) -> Printed {
        match expression {
            Expr::Const(_) => self.expression(expression),
            _ => self.within(function, expression),
        }
    }

    fn expression(&mut self, expression: &Expr<'_>) -> Printed {
        self.descend()?;
        match expression {
            Expr::Var(var) => self.text += var.id,
            Expr::Const(one) => self.text += &constant(&one.value),
            Expr::Slice(slice) => {
                let _ = write!(self.text, "{OURS}made(");
                self.within("look", &slice.expr)?;
                self.text.push('[');
                let parts = [&slice.start, &slice.stop, &slice.step];
                for (number, part) in parts.into_iter().enumerate() {
                    self.text += if number > 0 { ":" } else { "" };
                    part.iter().try_for_each(|part| self.expression(part))?;
                }
                self.text += "])";
            }
            Expr::UnaryOp(one) => {
                self.text += match one.op {
                    UnaryOpKind::Not => "(not ",
                    UnaryOpKind::Neg => "(-",
                };
                self.expression(&one.expr)?;
                self.text.push(')');
            }
            Expr::BinOp(binary) => self.binary(binary)?,
            Expr::Compare(compare) => {
                self.text.push('(');
                self.looked_at("deep", &compare.expr)?;
                for next in &compare.ops {
                    self.text += comparison(next.op);
                    self.looked_at("deep", &next.expr)?;
                }
                self.text.push(')');
            }
            Expr::IfExpr(choice) => {
                self.text.push('(');
                self.expression(&choice.true_expr)?;
                self.text += " if ";
                self.expression(&choice.test_expr)?;
                if let Some(other) = &choice.false_expr {
                    self.text += " else ";
                    self.expression(other)?;
                }
                self.text.push(')');
            }
            Expr::Filter(filter) => {
                let is_whole = filter.expr.is_some() && !is_open(filter);
                self.text += if is_whole { "(" } else { "" };
                if let Some(input) = &filter.expr {
                    self.expression(input)?;
                    self.text.push('|');
                }
                self.text += filter.name;
                self.arguments(&filter.args)?;
                self.text += if is_whole { ")" } else { "" };
            }
            Expr::Test(test) => {
                self.text.push('(');
                self.expression(&test.expr)?;
                let _ = write!(self.text, " is {}", test.name);
                if !test.args.is_empty() {
                    self.arguments(&test.args)?;
                }
                self.text.push(')');
            }
            Expr::GetAttr(attribute) => {
                self.base(&attribute.expr)?;
                let _ = write!(self.text, ".{}", attribute.name);
            }
            Expr::GetItem(item) => {
                self.within("look", &item.expr)?;
                self.text.push('[');
                self.looked_at("deep", &item.subscript_expr)?;
                self.text.push(']');
            }
            Expr::Call(call) => {
                // A range holds two numbers, whatever its length.
                let is_small = matches!(&call.expr, Expr::Var(var) if var.id == "range");
                if is_small {
                    self.call(call)?;
                } else {
                    let _ = write!(self.text, "{OURS}made(");
                    self.call(call)?;
                    self.text.push(')');
                }
            }
            Expr::List(list) => self.items("[", &list.items, "]")?,
            Expr::Tuple(tuple) => self.items("(", &tuple.items, ")")?,
            Expr::Map(map) => {
                let _ = write!(self.text, "{OURS}new({{");
                for (key, value) in map.keys.iter().zip(&map.values) {
                    self.looked_at("deep", key)?;
                    self.text += ": ";
                    self.expression(value)?;
                    self.text += ", ";
                }
                self.text += "})";
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// What a name behind a point belongs to.
    fn base(&mut self, expression: &Expr<'_>) -> Printed {
        let is_number = matches!(expression, Expr::Const(_));
        self.text += if is_number { "(" } else { "" };
        self.expression(expression)?;
        self.text += if is_number { ")" } else { "" };
        Ok(())
    }

    fn items(&mut self, open: &str, items: &[Expr<'_>], close: &str) -> Printed {
        let _ = write!(self.text, "{OURS}new({open}");
        for item in items {
            self.expression(item)?;
            self.text += ", ";
        }
        let _ = write!(self.text, "{close})");
        Ok(())
    }

    fn binary(&mut self, binary: &ast::BinOp<'_>) -> Printed {
        let word = match binary.op {
            BinOpKind::Add => return self.sum("add", binary),
            BinOpKind::Concat => return self.sum("cat", binary),
            BinOpKind::Mul => return self.sum("mul", binary),
            BinOpKind::ScAnd => " and ",
            BinOpKind::ScOr => " or ",
            BinOpKind::Sub => " - ",
            BinOpKind::Div => " / ",
            BinOpKind::FloorDiv => " // ",
            BinOpKind::Rem => " % ",
            BinOpKind::Pow => " ** ",
            BinOpKind::Eq => " == ",
            BinOpKind::Ne => " != ",
            BinOpKind::Lt => " < ",
            BinOpKind::Lte => " <= ",
            BinOpKind::Gt => " > ",
            BinOpKind::Gte => " >= ",
            BinOpKind::In => " in ",
        };
        let is_logic = matches!(binary.op, BinOpKind::ScAnd | BinOpKind::ScOr);
        let function = if is_logic { None } else { Some("deep") };
        self.text.push('(');
        for (number, side) in [&binary.left, &binary.right].into_iter().enumerate() {
            self.text += if number > 0 { word } else { "" };
            match function {
                Some(function) => self.looked_at(function, side)?,
                None => self.expression(side)?,
            }
        }
        self.text.push(')');
        Ok(())
    }

    /// A chain of one operator as one call, which makes no value in between.
    fn sum(&mut self, function: &str, binary: &ast::BinOp<'_>) -> Printed {
        let mut terms = vec![&binary.right];
        let mut left = &binary.left;
        while let Expr::BinOp(inner) = left {
            if std::mem::discriminant(&inner.op) != std::mem::discriminant(&binary.op) {
                break;
            }
            terms.push(&inner.right);
            left = &inner.left;
        }
        terms.push(left);
        let _ = write!(self.text, "{OURS}{function}(");
        for term in terms.into_iter().rev() {
            self.expression(term)?;
            self.text += ", ";
        }
        self.text.push(')');
        Ok(())
    }

    fn call(&mut self, call: &ast::Call<'_>) -> Printed {
        self.base(&call.expr)?;
        self.arguments(&call.args)?;
        // Always with brackets, also without arguments.
        if call.args.is_empty() {
            self.text += "()";
        }
        Ok(())
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) -> Printed {
        if arguments.is_empty() {
            return Ok(());
        }
        self.text.push('(');
        for (number, argument) in arguments.iter().enumerate() {
            self.text += if number > 0 { ", " } else { "" };
            match argument {
                CallArg::Pos(value) => self.expression(value)?,
                CallArg::Kwarg(name, value) => {
                    let _ = write!(self.text, "{name}=");
                    self.expression(value)?;
                }
                CallArg::PosSplat(value) => {
                    self.text.push('*');
                    self.expression(value)?;
                }
                CallArg::KwargSplat(value) => {
                    self.text += "**";
                    self.expression(value)?;
                }
            }
        }
        self.text.push(')');
        Ok(())
    }
}

/// Whether the chain of filters begins with none of its own input, as in a filter block.
fn is_open(filter: &ast::Filter<'_>) -> bool {
    match &filter.expr {
        None => true,
        Some(Expr::Filter(inner)) => is_open(inner),
        Some(_) => false,
    }
}

fn comparison(op: CompareOpKind) -> &'static str {
    match op {
        CompareOpKind::Eq => " == ",
        CompareOpKind::Ne => " != ",
        CompareOpKind::Lt => " < ",
        CompareOpKind::Lte => " <= ",
        CompareOpKind::Gt => " > ",
        CompareOpKind::Gte => " >= ",
        CompareOpKind::In => " in ",
        CompareOpKind::NotIn => " not in ",
    }
}

fn constant(value: &Value) -> String {
    match value.kind() {
        ValueKind::String => quoted(value.as_str().unwrap_or_default()),
        ValueKind::Bool if value.is_true() => "true".to_owned(),
        ValueKind::Bool => "false".to_owned(),
        ValueKind::Number => value.to_string(),
        _ => "none".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted += "\\n",
            '\r' => quoted += "\\r",
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
