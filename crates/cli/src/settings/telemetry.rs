//! From what is typed after `--telemetry` to the sources of a plan.

use ipw::sources::{self, LOCAL, NONE, REPLAY};
use ipw_core::params::Params;
use ipw_core::plan::SourceSpec;

use crate::error::CliError;

/// Takes `--telemetry` apart: sources divided by commas, each with its own `K=V` behind it.
pub(crate) fn parse(texts: &[String]) -> Result<Vec<SourceSpec>, CliError> {
    let mut specs: Vec<SourceSpec> = Vec::new();
    for piece in texts.iter().flat_map(|text| text.split(',')) {
        let piece = piece.trim();
        let option = piece.split_once('=').filter(|_| !is_place(piece));
        match (option, specs.last_mut()) {
            (Some((key, value)), Some(spec)) => {
                super::refuse_secret("--telemetry", key, value)?;
                spec.params.insert(key.trim(), value.trim());
            }
            _ if piece.is_empty() => {}
            (Some((key, _)), None) => return Err(unknown(&format!("{key}=…"))),
            (None, _) => specs.push(SourceSpec {
                place: place(piece)?,
                params: Params::default(),
            }),
        }
    }
    let is_none = |spec: &SourceSpec| spec.place == NONE;
    if specs.len() > 1 && specs.iter().any(is_none) {
        return Err(CliError::usage("`--telemetry none` stands alone"));
    }
    specs.iter().try_for_each(sources::check)?;
    Ok(specs)
}

/// The monitor that the environment names, as the original writes it.
pub(crate) fn monitor(target: &str) -> Result<Vec<SourceSpec>, CliError> {
    Ok(vec![sources::monitor(target)?])
}

fn is_place(piece: &str) -> bool {
    let schemes = ["grpc://", "unix:", "http://", "https://", REPLAY];
    schemes.iter().any(|scheme| piece.starts_with(scheme))
}

/// A place as the plan has it.
fn place(piece: &str) -> Result<String, CliError> {
    let authority = piece.split_once("://").map_or("", |(_, rest)| rest);
    if authority
        .split(['/', '?'])
        .next()
        .is_some_and(|at| at.contains('@'))
    {
        return Err(CliError::usage("`--telemetry` has credentials in an address")
            .help("flags are visible to everybody on the machine: use `,basic-file=PATH` or `,token-file=PATH`"));
    }
    match piece {
        LOCAL | NONE => Ok(piece.to_owned()),
        _ if is_place(piece) => Ok(piece.to_owned()),
        // A host and a port, as the original's target is written.
        _ if piece.contains(':') => Ok(format!("grpc://{piece}")),
        _ => Err(unknown(piece)),
    }
}

fn unknown(piece: &str) -> CliError {
    CliError::usage(format!("`--telemetry {piece}` is no source")).help(
        "known: `local`, `grpc://HOST:PORT`, `unix:PATH`, `http://…` or `https://…`, `replay:RUN`, `none`; options behind it as `,role=client,name=NAME`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<(String, String)>, String> {
        let specs = parse(&[text.to_owned()]).map_err(|error| format!("{:#}", error.error))?;
        let specs = specs.into_iter().map(|spec| {
            let params: Vec<String> = spec
                .params
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            (spec.place, params.join(" "))
        });
        Ok(specs.collect())
    }

    fn one(place: &str, params: &str) -> (String, String) {
        (place.to_owned(), params.to_owned())
    }

    #[test]
    fn several_sources_each_have_their_own_options() {
        assert_eq!(
            parsed("local,grpc://gpu1:50053,name=a,role=client, gpu2:7,unix:/run/x.sock").unwrap(),
            [
                one("local", ""),
                one("grpc://gpu1:50053", "name=a role=client"),
                one("grpc://gpu2:7", ""),
                one("unix:/run/x.sock", ""),
            ]
        );
        assert_eq!(parsed("none").unwrap(), [one("none", "")]);
        assert_eq!(parsed("").unwrap(), []);
    }

    #[test]
    fn what_is_no_source_or_no_option_is_named() {
        for (text, words) in [
            ("lokal", "`--telemetry lokal` is no source"),
            ("name=x", "`--telemetry name=…` is no source"),
            ("local,none", "stands alone"),
            ("local,role=client", "unknown parameter `role`"),
            ("grpc://a:1,rol=client", "did you mean `role`"),
            ("grpc://a:1,role=both", "`service` or `client`"),
            ("grpc://a:0", "no address of a monitor"),
            ("grpc://me:pass@a:1", "credentials in an address"),
            ("grpc://a:1,token=abc", "looks like a secret"),
            ("http://plug.lan/x,preset=shely", "shely"),
            ("http://plug.lan/x", "http"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
