//! A request in HTTP/2 form, converted from the HTTP/1.1 text so that both send the same.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri, Version};
use ipw_core::reply::Failure;
use ipw_core::witness::{ExchangeEvent, Witness};

use crate::http::{HttpError, shown};

/// The parser has room for this many headers of a request.
const MOST_HEADERS: usize = 256;

pub(super) struct Message {
    pub(super) head: Request<()>,
    pub(super) body: Bytes,
}

impl Message {
    /// Converts a request from its HTTP/1.1 form.
    pub(super) fn of(request: &[u8], is_encrypted: bool) -> Result<Self, HttpError> {
        Self::made(request, is_encrypted).map_err(|error| {
            let text = format!("cannot convert the request to HTTP/2: {error}");
            HttpError::new(Failure::Parameter, text)
        })
    }

    fn made(request: &[u8], is_encrypted: bool) -> Result<Self, Box<dyn std::error::Error>> {
        let mut headers = vec![httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let httparse::Status::Complete(length) = parsed.parse(request)? else {
            return Err("its head does not end".into());
        };
        let host = parsed.headers.iter().find(|header| header.name == "host");
        let uri = Uri::builder()
            .scheme(if is_encrypted { "https" } else { "http" })
            .authority(host.map_or(&b""[..], |host| host.value))
            .path_and_query(parsed.path.unwrap_or_default())
            .build()?;
        let mut head = Request::new(());
        *head.method_mut() = Method::from_bytes(parsed.method.unwrap_or_default().as_bytes())?;
        *head.uri_mut() = uri;
        *head.version_mut() = Version::HTTP_2;
        for header in parsed.headers.iter().filter(|header| header.name != "host") {
            let mut value = HeaderValue::from_bytes(header.value)?;
            // Keeps possible secrets out of the header compression tables (HPACK) on both sides.
            value.set_sensitive(!shown::is_plain(header.name));
            let name = HeaderName::from_bytes(header.name.as_bytes())?;
            head.headers_mut().append(name, value);
        }
        Ok(Self {
            head,
            body: Bytes::copy_from_slice(request.get(length..).unwrap_or_default()),
        })
    }

    /// Shows the request to the witness, if any; `request` is the HTTP/1.1 text it was made from.
    pub(super) fn show(&self, request: &[u8], witness: Option<&dyn Witness>) {
        let Some(witness) = witness else { return };
        let uri = self.head.uri();
        let pseudo = [
            (":method", self.head.method().as_str()),
            (":scheme", uri.scheme_str().unwrap_or_default()),
            (
                ":authority",
                uri.authority().map_or("", |name| name.as_str()),
            ),
            (":path", uri.path()),
        ];
        let mut head: Vec<_> = pseudo
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        let text = shown::request(request);
        let others = text
            .lines()
            .skip(1)
            .filter(|line| !line.starts_with("host: "));
        head.extend(others.map(str::to_owned));
        witness.saw(ExchangeEvent::Asked {
            head: &head.join("\n"),
            body: &self.body,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"POST /v1/chat HTTP/1.1\r\nhost: [::1]:8080\r\nuser-agent: ipw\r\nauthorization: Bearer very-secret\r\ncontent-length: 2\r\n\r\nhi";

    #[test]
    fn a_request_says_the_same_in_both() {
        for (is_encrypted, scheme) in [(false, "http"), (true, "https")] {
            let Message { head, body } = Message::of(REQUEST, is_encrypted).unwrap();
            assert_eq!(head.method(), Method::POST);
            assert_eq!(
                head.uri(),
                format!("{scheme}://[::1]:8080/v1/chat").as_str()
            );
            assert_eq!(&body[..], b"hi");
            let headers: Vec<_> = head.headers().iter().collect();
            let names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["user-agent", "authorization", "content-length"]);
            let is_secret: Vec<_> = headers
                .iter()
                .map(|(_, value)| value.is_sensitive())
                .collect();
            assert_eq!(is_secret, [false, true, false]);
        }
    }

    #[test]
    fn a_request_that_cannot_be_converted_is_not_sent() {
        for request in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"GET / HTTP/1.1\r\nhost: a b\r\n\r\n",
        ] {
            let error = Message::of(request, false).err().unwrap();
            assert_eq!(error.failure, Failure::Parameter);
        }
    }
}
