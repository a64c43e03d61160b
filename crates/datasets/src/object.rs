//! Parses one line as one JSON object.

use serde_json::{Map, Value};

use crate::fault::Fault;

/// Limit of the values in one row.
const MOST_VALUES: usize = 1_000_000;

const EXPECTED: &str = "one JSON object on the line";

/// Parses the line as an object.
pub(crate) fn parse(line: &[u8]) -> Result<Map<String, Value>, Fault> {
    let text = utf8(line)?;
    if !is_small(text) {
        let expected = format!("a row of at most {MOST_VALUES} values");
        return Err(Fault::new(expected, "more").help("split the row, or leave out lists"));
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(with_help(Fault::new(EXPECTED, describe(&other)), text)),
        Err(error) => {
            let message = error.to_string();
            let what = message.split(" at line ").next().unwrap_or_default();
            // Its column counts bytes, up to and including the one at fault.
            let fault = Fault::new(EXPECTED, format!("broken JSON ({what})"))
                .at_byte(line, error.column().saturating_sub(1));
            Err(with_help(fault, text))
        }
    }
}

/// Whether the JSON in a text has at most [`MOST_VALUES`] values. A value can be written with two
/// bytes and takes far more in memory.
pub(crate) fn is_small(text: &str) -> bool {
    let (mut values, mut is_inside, mut is_escaped) = (0, false, false);
    if text.len() <= MOST_VALUES {
        return true;
    }
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_inside,
            b'"' => is_inside = !is_inside,
            b',' | b':' | b'[' | b'{' if !is_inside => values += 1,
            _ => {}
        }
    }
    values <= MOST_VALUES
}

/// The bytes as text.
pub(crate) fn utf8(line: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(line).map_err(|error| {
        let byte = error.valid_up_to();
        Fault::new("text in UTF-8", format!("the byte 0x{:02x}", line[byte]))
            .at_byte(line, byte)
            .help("save the file as UTF-8")
    })
}

fn with_help(fault: Fault, text: &str) -> Fault {
    match text.trim_start() {
        list if list.starts_with('[') => {
            fault.help("turn a JSON list into lines with `jq -c '.[]'`")
        }
        "{" => fault.help("put each object on one line with `jq -c .`"),
        _ => fault,
    }
}

/// Describes a value in words.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.is_empty() => "an empty string".to_owned(),
        Value::String(text) if text.trim().is_empty() => "a blank string".to_owned(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(line: &[u8]) -> (Option<u64>, String) {
        let fault = parse(line).unwrap_err();
        (fault.column, fault.to_string())
    }

    #[test]
    fn a_bad_line_says_what_was_expected_and_what_was_found() {
        let object = "expected one JSON object on the line, found";
        for (line, column, message) in [
            (&b"3"[..], None, format!("{object} the number 3")),
            (b"\"x\"", None, format!("{object} a string")),
            (
                b"[{}]",
                None,
                format!("{object} a list; turn a JSON list into lines with `jq -c '.[]'`"),
            ),
            (
                b"{",
                Some(1),
                format!(
                    "{object} broken JSON (EOF while parsing an object); \
                     put each object on one line with `jq -c .`"
                ),
            ),
            (
                b"{\"a\": nope}",
                Some(8),
                format!("{object} broken JSON (expected ident)"),
            ),
            (
                "{\"äöü\": }".as_bytes(),
                Some(9),
                format!("{object} broken JSON (expected value)"),
            ),
            (
                b"{} {}",
                Some(4),
                format!("{object} broken JSON (trailing characters)"),
            ),
            (
                b"{\"a\": \"\xff\"}",
                Some(8),
                "expected text in UTF-8, found the byte 0xff; save the file as UTF-8".to_owned(),
            ),
        ] {
            assert_eq!(fault(line), (column, message));
        }
    }

    #[test]
    fn endless_depth_is_an_error_and_not_a_crash() {
        let line = "{\"a\":".repeat(100_000);
        assert!(parse(line.as_bytes()).is_err());
    }
}
