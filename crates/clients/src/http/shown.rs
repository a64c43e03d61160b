//! Heads with possible secrets replaced by `…`.

use ipw_core::secret::looks_secret;

const HIDDEN: &str = "…";
/// Request headers without secrets; all others are hidden.
const PLAIN: [&str; 6] = [
    "accept",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "user-agent",
];
/// Reply headers that may hold credentials.
const TELLING: [&str; 3] = [
    "set-cookie",
    "authentication-info",
    "proxy-authentication-info",
];

pub(crate) fn request(bytes: &[u8]) -> String {
    let (first, headers) = lines(bytes);
    let mut text = first;
    for (name, value) in headers {
        let value = if is_plain(&name.to_ascii_lowercase()) {
            value.as_str()
        } else {
            HIDDEN
        };
        text.extend(["\n", &name, ": ", value]);
    }
    text
}

/// Whether a request header, its name in lower case, may be shown.
pub(super) fn is_plain(name: &str) -> bool {
    PLAIN.contains(&name)
}

pub(crate) fn headers(bytes: &[u8]) -> Vec<(String, String)> {
    let (_, headers) = lines(bytes);
    headers.into_iter().map(header).collect()
}

/// A reply header with secrets hidden.
pub(super) fn header((name, value): (String, String)) -> (String, String) {
    let lower = name.to_ascii_lowercase();
    let is_secret = TELLING.contains(&lower.as_str()) || looks_secret(&lower, &value);
    let value = if is_secret { HIDDEN.to_owned() } else { value };
    (name, value)
}

/// The first line, and the headers up to the empty line.
fn lines(bytes: &[u8]) -> (String, Vec<(String, String)>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let first = text(lines.next().unwrap_or_default());
    let headers = lines.map(text).take_while(|line| !line.is_empty());
    let headers = headers.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_owned(), value.trim().to_owned()))
    });
    (first, headers.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_request_only_what_is_no_secret_is_shown() {
        let shown = request(
            b"POST /v1 HTTP/1.1\r\nhost: h\r\nauthorization: Bearer very-secret\r\nx-team: very-secret\r\nProxy-Authorization: Basic very-secret\r\ncontent-length: 5\r\n\r\nbody: very-secret",
        );
        assert_eq!(
            shown,
            "POST /v1 HTTP/1.1\nhost: h\nauthorization: …\nx-team: …\nProxy-Authorization: …\ncontent-length: 5"
        );
    }

    #[test]
    fn of_a_reply_all_but_secrets_is_shown() {
        let shown = headers(
            b"HTTP/1.1 200 OK\r\nServer: x\r\nSet-Cookie: session=very-secret\r\nx-api-key: very-secret\r\nx-ratelimit-limit-tokens: 10\r\n\r\na: b",
        );
        let shown: Vec<_> = shown
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        assert_eq!(
            shown,
            [
                "Server: x",
                "Set-Cookie: …",
                "x-api-key: …",
                "x-ratelimit-limit-tokens: 10"
            ]
        );
    }
}
