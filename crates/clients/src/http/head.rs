//! The head of a reply: its status, the headers that matter, and the framing of its body.

use std::fmt;
use std::mem::MaybeUninit;

use super::framing::Framing;

/// More headers are refused.
pub(super) const MOST_HEADERS: usize = 100;

/// A status line without the version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: u16,
    /// The service's reason phrase; may be empty.
    reason: String,
}

impl Status {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.code)?;
        match self.reason.as_str() {
            "" => Ok(()),
            reason => write!(formatter, " {reason}"),
        }
    }
}

/// The parsed head of a reply.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: Status,
    pub(crate) content_type: Option<String>,
    pub(crate) retry_after: Option<String>,
    /// The body's compression. No request of ours allows one.
    pub(crate) compression: Option<String>,
    pub(super) framing: Framing,
    /// Whether the connection may carry another request.
    pub(super) keeps_alive: bool,
}

impl Head {
    /// Parses the head at the start of `bytes` and returns its length; `None` while incomplete.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, httparse::Error> {
        let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            bytes,
            &mut headers,
        )?;
        let httparse::Status::Complete(length) = parsed else {
            return Ok(None);
        };
        Ok(Some((Self::of(&response)?, length)))
    }

    /// An HTTP/2 head. The stream marks the end of the body, and the connection stays usable.
    pub(super) fn of_http2(response: &http::response::Parts) -> Self {
        let text = |name: http::HeaderName| {
            let value = response.headers.get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        Self {
            status: Status {
                code: response.status.as_u16(),
                reason: String::new(),
            },
            content_type: text(http::header::CONTENT_TYPE),
            retry_after: text(http::header::RETRY_AFTER),
            compression: response
                .headers
                .get(http::header::CONTENT_ENCODING)
                .and_then(|value| compression(value.as_bytes())),
            framing: Framing::UntilClose,
            keeps_alive: false,
        }
    }

    /// Whether the final head is still to come (`100 Continue` and the like).
    pub(super) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status.code) && self.status.code != 101
    }

    fn of(response: &httparse::Response<'_, '_>) -> Result<Self, httparse::Error> {
        let status = Status {
            code: response.code.unwrap_or_default(),
            reason: response.reason.unwrap_or_default().to_owned(),
        };
        let (mut content_type, mut retry_after, mut packed) = (None, None, None);
        let (mut length, mut is_chunked, mut is_coded) = (None, false, false);
        let mut keeps_alive = response.version == Some(1);
        for header in response.headers.iter() {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            let value = || String::from_utf8_lossy(header.value.trim_ascii()).into_owned();
            if is("content-type") {
                content_type = Some(value());
            } else if is("retry-after") {
                retry_after = Some(value());
            } else if is("content-encoding") {
                packed = packed.or_else(|| compression(header.value));
            } else if is("content-length") {
                // With two different lengths the end of the reply is ambiguous.
                let said = number(header.value).ok_or(httparse::Error::HeaderValue)?;
                if length.is_some_and(|length| length != said) {
                    return Err(httparse::Error::HeaderValue);
                }
                length = Some(said);
            } else if is("transfer-encoding") {
                is_coded = true;
                packed = packed.or_else(|| compression(header.value));
                is_chunked = tokens(header.value).last() == Some(b"chunked".to_vec());
            } else if is("connection") {
                for token in tokens(header.value) {
                    match token.as_slice() {
                        b"close" => keeps_alive = false,
                        b"keep-alive" => keeps_alive = true,
                        _ => {}
                    }
                }
            }
        }
        let framing = match (status.code, is_coded, is_chunked, length) {
            (100..200 | 204 | 304, ..) => Framing::length(0),
            (_, true, true, _) => Framing::chunked(),
            (_, false, _, Some(length)) => Framing::length(length),
            _ => Framing::UntilClose,
        };
        Ok(Self {
            status,
            content_type,
            retry_after,
            compression: packed,
            keeps_alive: keeps_alive && !matches!(framing, Framing::UntilClose),
            framing,
        })
    }
}

/// Parses a number of digits only.
fn number(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    let text = std::str::from_utf8(digits).ok()?;
    text.parse().ok().filter(|_| !text.starts_with('+'))
}

/// The first coding in the list other than `identity`.
fn compression(value: &[u8]) -> Option<String> {
    tokens(value)
        .find(|token| !matches!(token.as_slice(), b"" | b"identity" | b"chunked"))
        .map(|token| String::from_utf8_lossy(&token).into_owned())
}

/// The items of a header's list, in lower case.
fn tokens(value: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    value
        .split(|byte| *byte == b',')
        .map(|token| token.trim_ascii().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        let text = text.replace('\n', "\r\n");
        let (head, length) = Head::parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(length, text.len());
        for cut in 0..text.len() {
            assert!(Head::parse(&text.as_bytes()[..cut]).unwrap().is_none());
        }
        head
    }

    #[test]
    fn a_head_says_where_its_reply_ends_and_whether_another_may_follow() {
        for (text, framing, keeps_alive) in [
            (
                "HTTP/1.1 200 OK\nContent-Length: 5\n\n",
                Framing::length(5),
                true,
            ),
            (
                "HTTP/1.1 200 OK\ntransfer-encoding: gzip, Chunked\n\n",
                Framing::chunked(),
                true,
            ),
            // Transfer coding overrides the length (RFC 9112 §6.3).
            (
                "HTTP/1.1 200\ncontent-length: 5\ntransfer-encoding: chunked\n\n",
                Framing::chunked(),
                true,
            ),
            ("HTTP/1.1 200 OK\n\n", Framing::UntilClose, false),
            (
                "HTTP/1.1 200 OK\ntransfer-encoding: gzip\ncontent-length: 5\n\n",
                Framing::UntilClose,
                false,
            ),
            (
                "HTTP/1.1 200 OK\nconnection: Close\ncontent-length: 5\n\n",
                Framing::length(5),
                false,
            ),
            (
                "HTTP/1.0 200 OK\ncontent-length: 5\n\n",
                Framing::length(5),
                false,
            ),
            (
                "HTTP/1.0 200 OK\nconnection: x, keep-alive\ncontent-length: 5\n\n",
                Framing::length(5),
                true,
            ),
            ("HTTP/1.1 204 No Content\n\n", Framing::length(0), true),
        ] {
            let head = head(text);
            assert_eq!(
                (head.framing, head.keeps_alive),
                (framing, keeps_alive),
                "{text}"
            );
        }
    }

    #[test]
    fn the_headers_that_count_are_found_in_any_case() {
        let head = head("HTTP/1.1 503 Busy\nCONTENT-TYPE:  text/html \nRetry-After: 2\n\n");
        assert_eq!(head.status.to_string(), "503 Busy");
        assert!(!head.status.is_success());
        assert_eq!(head.content_type.as_deref(), Some("text/html"));
        assert_eq!(head.retry_after.as_deref(), Some("2"));
    }

    #[test]
    fn a_compressed_body_is_told_by_either_header() {
        for (lines, compression) in [
            ("content-encoding: gzip\n", Some("gzip")),
            ("Content-Encoding: BR\n", Some("br")),
            ("content-encoding: identity\n", None),
            ("content-encoding: identity, zstd\n", Some("zstd")),
            ("transfer-encoding: deflate, chunked\n", Some("deflate")),
            ("transfer-encoding: chunked\n", None),
            ("", None),
        ] {
            let head = head(&format!("HTTP/1.1 200 OK\n{lines}\n"));
            assert_eq!(head.compression.as_deref(), compression, "{lines}");
        }
    }

    #[test]
    fn only_an_interim_head_is_followed_by_another() {
        assert!(head("HTTP/1.1 100 Continue\n\n").is_interim());
        assert!(!head("HTTP/1.1 101 Switching Protocols\n\n").is_interim());
        assert!(!head("HTTP/1.1 200 OK\n\n").is_interim());
    }

    #[test]
    fn what_is_no_head_is_refused() {
        for text in [
            "SSH-2.0-OpenSSH_9.2\r\n",
            "HTTP/2 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\na b: c\r\n\r\n",
        ] {
            assert!(Head::parse(text.as_bytes()).is_err(), "{text}");
        }
        let many = "a: b\r\n".repeat(MOST_HEADERS + 1);
        assert!(Head::parse(format!("HTTP/1.1 200 OK\r\n{many}\r\n").as_bytes()).is_err());
    }
}
