//! Operators, filters, tests and methods of templates, each with a limit.
//!
//! The result of a filter is charged once it exists. Filters that can make much of little
//! (`replace`, `join`, `indent`, …) compute the size first, and refuse what does not fit.

use minijinja::value::{Kwargs, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State, context, filters, tests};

use super::meter::{ITEM, fit, make, outer_size, read, size};
use super::rewrite::OURS;

type Arguments = Rest<ValueOrKwargs>;

/// Adds limits to everything in the environment.
pub(super) fn install(environment: &mut Environment<'static>) {
    // It shows all variables at once.
    environment.remove_global("debug");
    let mut add = |name: &str, function: fn(Value) -> Result<Value, Error>| {
        environment.add_function(format!("{OURS}{name}"), function);
    };
    add("emit", |value| make(size(&value)?).map(|()| value));
    add("deep", |value| size(&value).map(|_| value));
    add("look", |value| {
        read(16 + outer_size(&value)).map(|()| value)
    });
    add("new", |value| {
        size(&value)?;
        make(ITEM + outer_size(&value)).map(|()| value)
    });
    add("made", made);
    add("kept", kept);
    environment.add_function(format!("{OURS}add"), |terms: Rest<Value>| {
        folded(&terms, sum)
    });
    environment.add_function(format!("{OURS}cat"), |terms: Rest<Value>| {
        folded(&terms, concatenation)
    });
    environment.add_function(format!("{OURS}mul"), |terms: Rest<Value>| {
        folded(&terms, product)
    });
    install_filters(environment);
    install_tests(environment);
    environment.set_unknown_method_callback(|state, value, method, arguments| {
        let mut all = vec![value.clone()];
        all.extend_from_slice(arguments);
        if method == "join" && all.len() > 1 {
            all.swap(0, 1);
        }
        before(method, &all)?;
        let callback = minijinja_contrib::pycompat::unknown_method_callback;
        made(callback(state, value, method, arguments)?)
    });
}

/// Keeps minijinja's function under another name, and puts ours in front of it.
macro_rules! guarded {
    ($environment:expr, $add:ident, $module:ident, $after:expr, $($name:literal => $function:ident),+ $(,)?) => {
        $(
            $environment.$add(concat!("ipw__plain_", $name), $module::$function);
            $environment.$add($name, |state: &mut State, arguments: Arguments| {
                let arguments = arguments.into_values();
                before($name, &arguments)?;
                $after(state, concat!("ipw__plain_", $name), &arguments)
            });
        )+
    };
}

fn install_filters(environment: &mut Environment<'static>) {
    fn apply(state: &mut State, name: &str, arguments: &[Value]) -> Result<Value, Error> {
        made(state.apply_filter(name, arguments)?)
    }
    guarded!(environment, add_filter, filters, apply,
        "safe" => safe, "escape" => escape, "e" => escape, "lower" => lower, "upper" => upper,
        "title" => title, "capitalize" => capitalize, "replace" => replace, "length" => length,
        "count" => length, "dictsort" => dictsort, "items" => items, "reverse" => reverse,
        "trim" => trim, "join" => join, "split" => split, "lines" => lines, "default" => default,
        "d" => default, "attr" => attr, "first" => first, "last" => last, "min" => min,
        "max" => max, "sort" => sort, "list" => list, "string" => string, "bool" => bool,
        "batch" => batch, "slice" => slice, "sum" => sum, "indent" => indent, "select" => select,
        "reject" => reject, "selectattr" => selectattr, "rejectattr" => rejectattr, "map" => map,
        "groupby" => groupby, "unique" => unique, "chain" => chain, "zip" => zip,
        "pprint" => pprint, "format" => format, "int" => int, "float" => float,
        "round" => round, "abs" => abs,
    );
}

fn install_tests(environment: &mut Environment<'static>) {
    fn perform(state: &mut State, name: &str, arguments: &[Value]) -> Result<bool, Error> {
        state.perform_test(name, arguments)
    }
    guarded!(environment, add_test, tests, perform,
        "eq" => is_eq, "equalto" => is_eq, "==" => is_eq, "ne" => is_ne, "!=" => is_ne,
        "lt" => is_lt, "lessthan" => is_lt, "<" => is_lt, "le" => is_le, "<=" => is_le,
        "gt" => is_gt, "greaterthan" => is_gt, ">" => is_gt, "ge" => is_ge, ">=" => is_ge,
        "in" => is_in, "startingwith" => is_startingwith, "endingwith" => is_endingwith,
        "lower" => is_lower, "upper" => is_upper, "sameas" => is_sameas,
        "divisibleby" => is_divisibleby,
    );
}

/// Charges for a new value. A lazy value is evaluated now: chains of lazy values would nest.
fn made(value: Value) -> Result<Value, Error> {
    if value.kind() != ValueKind::Iterable {
        if value.kind() == ValueKind::Map {
            size(&value)?;
        }
        return make(outer_size(&value)).map(|()| value);
    }
    let mut items = Vec::new();
    for item in value.try_iter()? {
        make(ITEM)?;
        items.push(item);
    }
    Ok(Value::from(items))
}

/// A value that an attribute keeps. It must contain nothing mutable, else a chain could grow from
/// its end, which no check at its start limits.
fn kept(value: Value) -> Result<Value, Error> {
    size(&value)?;
    if holds_namespace(&value) {
        let text = "a namespace cannot be kept in a namespace";
        return Err(Error::new(minijinja::ErrorKind::InvalidOperation, text));
    }
    Ok(value)
}

fn holds_namespace(value: &Value) -> bool {
    let is_one = value
        .as_object()
        .is_some_and(|object| object.type_name().ends_with("::Namespace"));
    let items = || value.try_iter().ok().into_iter().flatten();
    is_one
        || match value.kind() {
            ValueKind::Seq | ValueKind::Iterable => items().any(|item| holds_namespace(&item)),
            ValueKind::Map => items().any(|key| {
                let item = value.get_item(&key);
                item.is_ok_and(|item| holds_namespace(&item))
            }),
            _ => false,
        }
}

fn folded(
    terms: &[Value],
    join: impl Fn(&Value, &Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let (first, rest) = terms
        .split_first()
        .ok_or(minijinja::ErrorKind::MissingArgument)?;
    // Neighbouring texts become one text at once.
    rest.iter()
        .try_fold(first.clone(), |left, right| join(&left, right))
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

fn whole(value: &Value) -> Option<i64> {
    value.is_integer().then(|| value.as_i64()).flatten()
}

fn sum(left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        return joined(left, right);
    }
    let whole = whole(left).zip(whole(right));
    if let Some(sum) = whole.and_then(|(left, right)| left.checked_add(right)) {
        return Ok(Value::from(sum));
    }
    if is_list(left) && is_list(right) {
        fit(outer_size(left) + outer_size(right))?;
    }
    made(plain("a + b", left, right)?)
}

fn concatenation(left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        return joined(left, right);
    }
    fit(size(left)? + size(right)?)?;
    made(plain("a ~ b", left, right)?)
}

fn joined(left: &str, right: &str) -> Result<Value, Error> {
    make((left.len() + right.len()) as u64)?;
    Ok(Value::from([left, right].concat()))
}

fn product(left: &Value, right: &Value) -> Result<Value, Error> {
    for (value, times) in [(left, right), (right, left)] {
        if let Some(times) = times.as_usize()
            && (value.as_str().is_some() || is_list(value))
        {
            fit(outer_size(value).saturating_mul(times as u64))?;
        }
    }
    made(plain("a * b", left, right)?)
}

/// The result of minijinja's own operator.
fn plain(expression: &'static str, a: &Value, b: &Value) -> Result<Value, Error> {
    let environment = Environment::empty();
    let compiled = environment.compile_expression(expression)?;
    compiled.eval(context! { a, b })
}

/// Filters and methods that read the items of their input, not their contents.
const SHALLOW: &[&str] = &[
    "length",
    "count",
    "first",
    "last",
    "default",
    "d",
    "attr",
    "items",
    "bool",
    "reverse",
    "list",
    "map",
    "select",
    "reject",
    "selectattr",
    "rejectattr",
    "get",
    "keys",
    "values",
];
/// Filters that make a list of a text's characters.
const LISTING: &[&str] = &[
    "list",
    "map",
    "select",
    "reject",
    "selectattr",
    "rejectattr",
    "sort",
    "unique",
    "batch",
    "slice",
    "zip",
    "chain",
    "groupby",
    "min",
    "max",
    "sum",
    "last",
];

/// Charges for reading the arguments, and checks whether the result will fit.
fn before(name: &str, arguments: &[Value]) -> Result<(), Error> {
    let Some((input, rest)) = arguments.split_first() else {
        return Ok(());
    };
    if SHALLOW.contains(&name) {
        read(16 + outer_size(input))?;
    } else {
        size(input)?;
    }
    let others = rest
        .iter()
        .try_fold(0, |sum, value| Ok::<_, Error>(sum + size(value)?))?;
    let text = input.as_str();
    let length = text.map_or(0, str::len) as u64;
    if LISTING.contains(&name) && text.is_some() {
        fit(length * ITEM)?;
    }
    match (name, text) {
        ("replace", _) => fit(replaced(input, rest)),
        ("join", _) => {
            let between = rest.first().map_or(0, outer_size);
            let count = input.len().unwrap_or(0) as u64;
            fit(size(input)?.saturating_add(between.saturating_mul(count)))
        }
        ("indent", Some(text)) => {
            let lines = text.lines().count() as u64 + 1;
            fit(length.saturating_add(lines.saturating_mul(whole_numbers(rest).max(4))))
        }
        ("format", Some(text)) => fit(formatted(text, rest, others)),
        ("batch" | "slice", _) => {
            let count = input.len().unwrap_or(0) as u64;
            fit(ITEM.saturating_mul(count.saturating_add(whole_numbers(rest))))
        }
        ("split", Some(text)) => {
            let by = rest.first().and_then(Value::as_str);
            let pieces = match by {
                Some("") => text.len(),
                Some(by) => text.matches(by).count(),
                None => text.split_whitespace().count(),
            };
            fit(length + ITEM * (pieces as u64 + 1))
        }
        ("lines" | "splitlines", Some(text)) => {
            fit(length + ITEM * (text.lines().count() as u64 + 1))
        }
        ("sum", _)
            if input
                .try_iter()?
                .any(|item| item.kind() != ValueKind::Number) =>
        {
            let count = input.len().unwrap_or(0) as u64;
            fit(size(input)?.saturating_mul(count.max(1)))
        }
        _ => Ok(()),
    }
}

/// Bytes of a text with every match replaced.
fn replaced(input: &Value, rest: &[Value]) -> u64 {
    let text = input.to_string();
    let [from, to, ..] = rest else {
        return 0;
    };
    let (from, to) = (from.to_string(), to.to_string());
    let matches = if from.is_empty() {
        text.chars().count() + 1
    } else {
        text.matches(&from).count()
    };
    (text.len() as u64).saturating_add((matches as u64).saturating_mul(to.len() as u64))
}

/// Upper bound for the bytes of a format: all arguments at each place, and each width in spaces.
fn formatted(format: &str, rest: &[Value], others: u64) -> u64 {
    let places = format.matches(['%', '{']).count() as u64;
    let widths = format
        .split(|character: char| !character.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse::<u64>().unwrap_or(u64::MAX))
        .fold(0, u64::saturating_add);
    let each = others
        .saturating_add(whole_numbers(rest))
        .saturating_add(64);
    (format.len() as u64)
        .saturating_add(widths)
        .saturating_add(places.saturating_mul(each))
}

/// All integers among the arguments, including the named ones.
fn whole_numbers(arguments: &[Value]) -> u64 {
    let number = |value: &Value| value.as_usize().map_or(0, |number| number as u64);
    let mut sum: u64 = 0;
    for argument in arguments {
        sum = sum.saturating_add(number(argument));
        if let Ok(named) = Kwargs::try_from(argument.clone()) {
            for name in named.args() {
                sum =
                    sum.saturating_add(named.peek::<Value>(name).map_or(0, |value| number(&value)));
            }
        }
    }
    sum
}
