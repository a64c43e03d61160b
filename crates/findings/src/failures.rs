//! Queries that failed: by kind, with an example and what to do.

use std::borrow::Cow;

use ipw_core::setting::Setting;
use ipw_core::text::{excerpt, printable};
use ipw_core::warning::{PageKind, Warning};
use ipw_store::Overview;
use ipw_store::overview::FailureKind;

/// A warning for each kind, in the words of a page; without examples where `redact` is set.
pub fn warnings(overview: &Overview, redact: bool) -> Vec<Warning> {
    each(overview, |failure| {
        let example = failure.error.as_deref().filter(|_| !redact);
        // Backticks would make an error's words look like ours.
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

/// A line for each kind, one for its first example, one for what to do.
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

/// What to do about an outcome.
pub fn advice(outcome: &str) -> Option<Cow<'static, str>> {
    let fewer_tokens = Setting::Param.to("max_tokens=…");
    let fixed = match outcome {
        "timed_out" => {
            return Some(Cow::Owned(format!(
                "allow more (`{}`, `{}`, `{}`), or ask for less (`{fewer_tokens}`)",
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
        "failed:connect" => "the service went away or is overloaded: look whether it still runs",
        "failed:tls" => {
            return Some(Cow::Owned(format!(
                "check that the URL's scheme and name fit the certificate, and that its issuer is trusted here (`{}`)",
                Setting::CaFile
            )));
        }
        "failed:protocol" => return Some(Cow::Owned(format!("leave `{}` out", Setting::Http2))),
        "failed:reset" | "failed:closed" => {
            "the service broke off: look into its log, often it ran out of memory"
        }
        "failed:http_400" => {
            return Some(Cow::Owned(format!(
                "the service refuses the request: look at the parameters (`{}`) and the prompt's length",
                Setting::Param
            )));
        }
        "failed:http_401" | "failed:http_403" => "the key is wrong, or has run out",
        "failed:http_404" => {
            return Some(Cow::Owned(format!(
                "check `{}` and the URL's path",
                Setting::Model
            )));
        }
        "failed:http_408" => {
            "the service gave up waiting: it is overloaded, or a proxy is in between"
        }
        "failed:http_413" => "the prompt is too long for the service",
        "failed:http_429" => "the service limits its clients: send less, or ask for more quota",
        "failed:http_503" => "the service is overloaded or still loading its model",
        "failed:not_a_stream" => {
            "the URL is not that of a chat API, or a proxy answers in its place"
        }
        "failed:bad_event" => {
            "the service's replies are not what its API promises: try another client"
        }
        "failed:service" => "the service says so itself: look into its log",
        "failed:empty" => {
            "the model said nothing: look at the prompt, and at `stop` and `max_tokens`"
        }
        "failed:too_large" => {
            return Some(Cow::Owned(format!(
                "ask for less (`{fewer_tokens}`), or allow larger replies (`{}`)",
                Setting::MaxReply
            )));
        }
        "failed:parameter" => "`ipw list clients` and the guide have the parameters",
        "failed:context" => "shorten the prompt, or take a model with a longer context",
        "failed:history" => "see why the turn before it failed",
        "failed:template" => {
            return Some(Cow::Owned(format!(
                "the model's chat template refuses it, often because of `{}`",
                Setting::System
            )));
        }
        "failed:engine" => "a fault of ours: please report it",
        other if other.starts_with("failed:http_5") => "look into the service's own log",
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
