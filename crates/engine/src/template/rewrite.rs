//! Rewrites a template so that the meter is called around every step that can grow.
//!
//! minijinja has no hook for its operators, so the parsed template is printed as source again, in
//! which `a + b` becomes a call of our own function. The meaning stays the same.

mod expressions;

use std::fmt::Write as _;

use minijinja::machinery::ast::{self, Expr, Stmt};
use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Error, ErrorKind};

/// Prefix of our own names; a template that uses it is refused.
pub(super) const OURS: &str = "ipw__";

/// Maximum number of operators in one tag and branches in one template: chains of them nest in the
/// parsed template, and each level takes stack.
const MOST_CHAINED: usize = 400;
/// Maximum depth of the parsed template.
const DEEPEST: usize = 500;

/// The rewritten source.
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
            Token::Ident("elif") => branches += 1,
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
        if branches > MOST_CHAINED {
            return Err(refused(&format!("`elif` more than {MOST_CHAINED} times")));
        }
    }
    Ok(())
}

struct Printer {
    text: String,
    line: u16,
    depth: usize,
}

type PrintResult = Result<(), Error>;

impl Printer {
    /// Opens a tag on its original line, so that errors name that line.
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

    fn statements(&mut self, statements: &[Stmt<'_>]) -> PrintResult {
        statements
            .iter()
            .try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> PrintResult {
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
            Stmt::WithBlock(with) => self.with(with)?,
            Stmt::Set(set) => self.set(set)?,
            Stmt::SetBlock(set) => self.set_block(set)?,
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
            Stmt::CallBlock(block) => self.call_block(block)?,
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

    fn with(&mut self, with: &ast::Spanned<ast::WithBlock<'_>>) -> PrintResult {
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
        Ok(())
    }

    fn set_block(&mut self, set: &ast::Spanned<ast::SetBlock<'_>>) -> PrintResult {
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
        Ok(())
    }

    fn call_block(&mut self, block: &ast::Spanned<ast::CallBlock<'_>>) -> PrintResult {
        self.open("{%", block.span());
        self.text += "call";
        self.parameters(&block.macro_decl)?;
        self.text.push(' ');
        self.call(&block.call)?;
        self.text += " %}";
        self.statements(&block.macro_decl.body)?;
        self.text += "{% endcall %}";
        Ok(())
    }

    fn descend(&mut self) -> PrintResult {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(refused("that many levels"));
        }
        Ok(())
    }

    fn emit(&mut self, emit: &ast::Spanned<ast::EmitExpr<'_>>) -> PrintResult {
        self.open("{{", emit.span());
        match &emit.expr {
            // A recursive loop call writes its output in place.
            Expr::Call(call) if matches!(&call.expr, Expr::Var(var) if var.id == "loop") => {
                self.call(call)?;
            }
            expression => self.within("emit", expression)?,
        }
        self.text += " }}";
        Ok(())
    }

    fn each(&mut self, each: &ast::Spanned<ast::ForLoop<'_>>) -> PrintResult {
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

    fn choice(&mut self, choice: &ast::Spanned<ast::IfCond<'_>>, word: &str) -> PrintResult {
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

    fn set(&mut self, set: &ast::Spanned<ast::Set<'_>>) -> PrintResult {
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

    fn parameters(&mut self, one: &ast::Macro<'_>) -> PrintResult {
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

    fn target(&mut self, target: &Expr<'_>, is_inner: bool) -> PrintResult {
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
