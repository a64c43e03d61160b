//! Failed queries by kind, each with an example and advice.

use std::borrow::Cow;

use ipw_core::setting::Setting;
use ipw_core::text::{excerpt, printable};
use ipw_core::warning::{PageKind, Warning};
use ipw_store::Overview;
use ipw_store::overview::FailureKind;

/// One warning per kind, for a page; without examples if `redact` is set.
pub fn warnings(overview: &Overview, redact: bool) -> Vec<Warning> {
    each(overview, |failure| {
        let example = failure.error.as_deref().filter(|_| !redact);
        // Backticks would make an error's text look like this tool's own.
        let example = example.map_or(String::new(), |error| {
            format!(
                ", the first: {}",
                excerpt(&printable(error), 200).replace('`', "'")
            )
        });
        format!(
            "{} of {} queries have no answer (`{}`{example})",
            failure.rows,
            overview.rows,
            printable(&failure.outcome)
        )
    })
}

fn each(overview: &Overview, words: impl Fn(&FailureKind) -> String) -> Vec<Warning> {
    let failures = overview.failures.iter();
    let warning = |failure: &FailureKind| Warning {
        advice: advice(&failure.outcome).map(Cow::into_owned),
        ..Warning::new(PageKind::Unanswered, words(failure))
    };
    failures.map(warning).collect()
}

/// For each kind: its count, its first example, and advice.
pub fn lines(overview: &Overview) -> Vec<String> {
    let mut lines = Vec::new();
    if overview.failures.is_empty() {
        return lines;
    }
    lines.push(format!(
        "{} of {} queries have no answer:",
        overview.unanswered(),
        overview.rows
    ));
    let words = |failure: &FailureKind| {
        let text = failure.error.as_deref().unwrap_or("no text");
        format!(
            "{} × {}, first `{}`: {}",
            failure.rows,
            printable(&failure.outcome),
            excerpt(&printable(&failure.query_id), 40),
            excerpt(&printable(text), 160)
        )
    };
    for warning in each(overview, words) {
        lines.push(format!("  {}", warning.text));
        lines.extend(warning.advice.map(|advice| format!("      {advice}")));
    }
    lines
}

/// Advice for an outcome.
pub fn advice(outcome: &str) -> Option<Cow<'static, str>> {
    let fewer_tokens = Setting::Param.to("max_tokens=…");
    let fixed = match outcome {
        "timed_out" => {
            return Some(Cow::Owned(format!(
                "raise the limit (`{}`, `{}`, `{}`), or request fewer tokens (`{fewer_tokens}`)",
                Setting::RequestTimeout,
                Setting::FirstTokenTimeout,
                Setting::IdleTimeout
            )));
        }
        "failed:dns" => {
            return Some(Cow::Owned(format!(
                "check the name in `{}`",
                Setting::ClientBaseUrl
            )));
        }
        "failed:connect" => "check whether the service still runs; it stopped or is overloaded",
        "failed:tls" => {
            return Some(Cow::Owned(format!(
                "check that the URL's scheme and host match the certificate, and that its issuer is trusted here (`{}`)",
                Setting::CaFile
            )));
        }
        "failed:protocol" => return Some(Cow::Owned(format!("remove `{}`", Setting::Http2))),
        "failed:reset" | "failed:closed" => {
            "check the service's log; it closed the connection, often because it ran out of memory"
        }
        "failed:http_400" => {
            return Some(Cow::Owned(format!(
                "check the parameters (`{}`) and the length of the prompt; the service refuses the request",
                Setting::Param
            )));
        }
        "failed:http_401" | "failed:http_403" => "check the API key; it is wrong or has expired",
        "failed:http_404" => {
            return Some(Cow::Owned(format!(
                "check `{}` and the URL's path",
                Setting::Model
            )));
        }
        "failed:http_408" => "the service or a proxy timed out; it may be overloaded",
        "failed:http_413" => "shorten the prompt; it is too long for the service",
        "failed:http_429" => {
            "send fewer queries, or request more quota; the service limits its clients"
        }
        "failed:http_503" => {
            "wait or send less; the service is overloaded or still loading its model"
        }
        "failed:not_a_stream" => {
            "check the URL; it is not a chat API, or a proxy answers in its place"
        }
        "failed:bad_event" => "try another client; the replies do not follow this API",
        "failed:service" => "check the service's log; the service reports this error",
        "failed:empty" => "check the prompt, `stop` and `max_tokens`; the model returned no text",
        "failed:too_large" => {
            return Some(Cow::Owned(format!(
                "request fewer tokens (`{fewer_tokens}`), or allow larger replies (`{}`)",
                Setting::MaxReply
            )));
        }
        "failed:parameter" => "see `ipw list clients` and the guide for the parameters",
        "failed:context" => "shorten the prompt, or use a model with a longer context",
        "failed:history" => "see why the turn before it failed",
        "failed:template" => {
            return Some(Cow::Owned(format!(
                "the model's chat template rejects the messages, often because of `{}`",
                Setting::System
            )));
        }
        "failed:engine" => "this is a bug in ipw: please report it",
        other if other.starts_with("failed:http_5") => "check the service's log",
        other if other.starts_with("failed:http_") => "the service refuses the request",
        _ => return None,
    };
    Some(Cow::Borrowed(fixed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipw_core::reply::{Failure, Outcome};

    #[test]
    fn every_failure_has_advice() {
        let http = [400, 401, 403, 404, 408, 413, 418, 429, 500, 502, 503].map(Failure::Http);
        let others = [
            Failure::Dns,
            Failure::Connect,
            Failure::Tls,
            Failure::Protocol,
            Failure::Reset,
            Failure::Closed,
            Failure::NotAStream,
            Failure::BadEvent,
            Failure::Service,
            Failure::Empty,
            Failure::TooLarge,
            Failure::Parameter,
            Failure::Context,
            Failure::History,
            Failure::Template,
            Failure::Engine,
        ];
        for failure in http.into_iter().chain(others) {
            let label = Outcome::Failed(failure).label();
            assert!(advice(&label).is_some(), "{label}");
        }
        assert!(advice("timed_out").is_some());
        assert_eq!(advice("complete"), None);
    }
}
