//! Prints expressions as source, with the meter around what can grow.

use std::fmt::Write as _;

use minijinja::machinery::ast::{self, BinOpKind, CallArg, CompareOpKind, Expr, UnaryOpKind};
use minijinja::value::{Value, ValueKind};

use super::{OURS, PrintResult, Printer, quoted};

impl Printer {
    /// The expression as the argument of one of our functions.
    pub(super) fn within(&mut self, function: &str, expression: &Expr<'_>) -> PrintResult {
        let _ = write!(self.text, "{OURS}{function}(");
        self.expression(expression)?;
        self.text.push(')');
        Ok(())
    }

    /// The same; constants need no metering.
    fn looked_at(&mut self, function: &str, expression: &Expr<'_>) -> PrintResult {
        match expression {
            Expr::Const(_) => self.expression(expression),
            _ => self.within(function, expression),
        }
    }

    pub(super) fn expression(&mut self, expression: &Expr<'_>) -> PrintResult {
        self.descend()?;
        match expression {
            Expr::Var(var) => self.text += var.id,
            Expr::Const(one) => self.text += &constant(&one.value),
            Expr::Slice(slice) => self.slice(slice)?,
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
            Expr::IfExpr(choice) => self.either(choice)?,
            Expr::Filter(filter) => self.filter(filter)?,
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
                // A range stores two numbers, whatever its length.
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
            Expr::Map(map) => self.map(map)?,
        }
        self.depth -= 1;
        Ok(())
    }

    fn slice(&mut self, slice: &ast::Slice<'_>) -> PrintResult {
        let _ = write!(self.text, "{OURS}made(");
        self.within("look", &slice.expr)?;
        self.text.push('[');
        let parts = [&slice.start, &slice.stop, &slice.step];
        for (number, part) in parts.into_iter().enumerate() {
            self.text += if number > 0 { ":" } else { "" };
            part.iter().try_for_each(|part| self.expression(part))?;
        }
        self.text += "])";
        Ok(())
    }

    /// A chain of filters in one pair of brackets: each pair is a level for the parser.
    fn filter(&mut self, filter: &ast::Filter<'_>) -> PrintResult {
        let is_whole = !is_open(filter);
        self.text += if is_whole { "(" } else { "" };
        self.bare_filter(filter)?;
        self.text += if is_whole { ")" } else { "" };
        Ok(())
    }

    fn bare_filter(&mut self, filter: &ast::Filter<'_>) -> PrintResult {
        match &filter.expr {
            Some(Expr::Filter(inner)) => self.bare_filter(inner)?,
            Some(input) => self.expression(input)?,
            None => {}
        }
        self.text += if filter.expr.is_some() { "|" } else { "" };
        self.text += filter.name;
        self.arguments(&filter.args)
    }

    fn either(&mut self, choice: &ast::IfExpr<'_>) -> PrintResult {
        self.text.push('(');
        self.expression(&choice.true_expr)?;
        self.text += " if ";
        self.expression(&choice.test_expr)?;
        if let Some(other) = &choice.false_expr {
            self.text += " else ";
            self.expression(other)?;
        }
        self.text.push(')');
        Ok(())
    }

    fn map(&mut self, map: &ast::Map<'_>) -> PrintResult {
        let _ = write!(self.text, "{OURS}new({{");
        for (key, value) in map.keys.iter().zip(&map.values) {
            self.looked_at("deep", key)?;
            self.text += ": ";
            self.expression(value)?;
            self.text += ", ";
        }
        self.text += "})";
        Ok(())
    }

    /// The object of an attribute.
    fn base(&mut self, expression: &Expr<'_>) -> PrintResult {
        let is_number = matches!(expression, Expr::Const(_));
        self.text += if is_number { "(" } else { "" };
        self.expression(expression)?;
        self.text += if is_number { ")" } else { "" };
        Ok(())
    }

    fn items(&mut self, open: &str, items: &[Expr<'_>], close: &str) -> PrintResult {
        let _ = write!(self.text, "{OURS}new({open}");
        for item in items {
            self.expression(item)?;
            self.text += ", ";
        }
        let _ = write!(self.text, "{close})");
        Ok(())
    }

    fn binary(&mut self, binary: &ast::BinOp<'_>) -> PrintResult {
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
        self.text.push('(');
        if matches!(binary.op, BinOpKind::ScAnd | BinOpKind::ScOr) {
            self.logic(binary, word)?;
        } else {
            self.looked_at("deep", &binary.left)?;
            self.text += word;
            self.looked_at("deep", &binary.right)?;
        }
        self.text.push(')');
        Ok(())
    }

    /// A chain of `and` or `or`, without brackets for the same reason.
    fn logic(&mut self, binary: &ast::BinOp<'_>, word: &str) -> PrintResult {
        match &binary.left {
            Expr::BinOp(inner) if is_same(inner.op, binary.op) => self.logic(inner, word)?,
            left => self.expression(left)?,
        }
        self.text += word;
        self.expression(&binary.right)
    }

    /// A chain of one operator as one call, without intermediate values.
    fn sum(&mut self, function: &str, binary: &ast::BinOp<'_>) -> PrintResult {
        let mut terms = vec![&binary.right];
        let mut left = &binary.left;
        while let Expr::BinOp(inner) = left {
            if !is_same(inner.op, binary.op) {
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

    pub(super) fn call(&mut self, call: &ast::Call<'_>) -> PrintResult {
        self.base(&call.expr)?;
        self.arguments(&call.args)?;
        // Always with brackets, even without arguments.
        if call.args.is_empty() {
            self.text += "()";
        }
        Ok(())
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) -> PrintResult {
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

/// Whether the chain of filters starts without an input, as in a filter block.
fn is_open(filter: &ast::Filter<'_>) -> bool {
    match &filter.expr {
        None => true,
        Some(Expr::Filter(inner)) => is_open(inner),
        Some(_) => false,
    }
}

fn is_same(one: BinOpKind, other: BinOpKind) -> bool {
    std::mem::discriminant(&one) == std::mem::discriminant(&other)
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
