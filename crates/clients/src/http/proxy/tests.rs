//! Which proxy is used, and what its URL may contain.

use super::*;

fn find(url: &str, variables: &[(&str, &str)]) -> Result<Option<Proxy>, NetworkError> {
    let url = BaseUrl::parse(url).unwrap();
    Proxy::find(&url, &|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn place(url: &str, variables: &[(&str, &str)]) -> Option<String> {
    let found = find(url, variables).unwrap();
    found.map(|proxy| proxy.place().to_owned())
}

#[test]
fn the_environment_names_the_proxy_as_curl_has_it() {
    const FAR: &str = "https://service.example";
    const PLAIN: &str = "http://service.example:8080";
    for (url, variables, expected) in [
        (FAR, &[][..], None),
        (FAR, &[("HTTPS_PROXY", "http://p:1")], Some("p:1")),
        (
            FAR,
            &[("https_proxy", "p:2"), ("HTTPS_PROXY", "p:1")],
            Some("p:2"),
        ),
        (
            FAR,
            &[("https_proxy", " "), ("HTTPS_PROXY", "p:1")],
            Some("p:1"),
        ),
        (FAR, &[("HTTP_PROXY", "p:1")], None),
        (FAR, &[("ALL_PROXY", "p:1")], Some("p:1")),
        (
            FAR,
            &[("all_proxy", "p:3"), ("HTTPS_PROXY", "p:1")],
            Some("p:1"),
        ),
        (FAR, &[("HTTPS_PROXY", "http://p")], Some("p:80")),
        (
            FAR,
            &[("HTTPS_PROXY", "http://[::1]:3128/")],
            Some("[::1]:3128"),
        ),
        (PLAIN, &[("HTTP_PROXY", "p:1")], Some("p:1")),
        (PLAIN, &[("HTTPS_PROXY", "p:1")], None),
        (
            FAR,
            &[("HTTPS_PROXY", "p:1"), ("NO_PROXY", ".example")],
            None,
        ),
        (
            FAR,
            &[("HTTPS_PROXY", "p:1"), ("no_proxy", "x"), ("NO_PROXY", "*")],
            Some("p:1"),
        ),
        // Services on this machine are never reached through a proxy.
        ("http://127.0.0.1:1", &[("HTTP_PROXY", "p:1")], None),
        ("https://localhost:1", &[("ALL_PROXY", "p:1")], None),
        ("http://[::1]:1", &[("ALL_PROXY", "p:1")], None),
        ("unix:/run/x.sock", &[("ALL_PROXY", "p:1")], None),
    ] {
        assert_eq!(
            place(url, variables).as_deref(),
            expected,
            "{url} {variables:?}"
        );
    }
}

#[test]
fn user_and_password_become_a_header_and_nothing_else() {
    let variables = [("HTTPS_PROXY", "http://Aladdin:open%20sesame@p:3128")];
    let proxy = find("https://service.example", &variables)
        .unwrap()
        .unwrap();
    // RFC 7617 §2.
    assert_eq!(
        proxy.authorization_line(),
        "proxy-authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"
    );
    assert_eq!(proxy.place(), "p:3128");
    assert!(!proxy.named().contains("sesame"));
    for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v")] {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
}

#[test]
fn what_is_no_http_proxy_is_refused_without_its_text() {
    for text in [
        "socks5://u:secret@p:1",
        "https://u:secret@p:1",
        "http://u:secret@:x",
        "://secret",
    ] {
        let error = find("https://service.example", &[("HTTPS_PROXY", text)])
            .err()
            .unwrap();
        let error = error.to_string();
        assert!(
            error.contains("`HTTPS_PROXY`") && error.contains("help:"),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
    }
}
