//! Token prices: the user's table, or the built-in one of known providers.

use std::path::Path;

use anyhow::Context;
use ipw_core::price::Price;
use serde::Deserialize;

use crate::error::{Error, Kind};

const OURS: &str = include_str!("../assets/prices.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    model: Vec<Price>,
}

/// The price of this model at this service; `None` if no table has it.
pub fn find(
    own: Option<&Path>,
    base_url: Option<&str>,
    model: &str,
) -> Result<Option<Price>, Error> {
    let host = base_url.map(host);
    let fits = |price: &Price| {
        let is_there = match (&price.host, host) {
            (None, _) => true,
            (Some(theirs), here) => here == Some(theirs.as_str()),
        };
        is_there && is_same(&price.model, model)
    };
    if let Some(path) = own {
        let prices = read(path)?;
        if let Some(price) = prices.into_iter().find(fits) {
            return Ok(Some(price));
        }
    }
    let ours: Table = toml::from_str(OURS).context("reading the built-in prices")?;
    Ok(ours.model.into_iter().find(fits))
}

fn read(path: &Path) -> Result<Vec<Price>, Error> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))
        .map_err(|error| Error::new(Kind::Invalid, error))?;
    let table: Table = toml::from_str(&text)
        .with_context(|| format!("cannot read prices from `{}`", path.display()))
        .map_err(|error| Error::new(Kind::Invalid, error).with_help(FORM))?;
    let is_price = |price: f64| price.is_finite() && price >= 0.0;
    for price in &table.model {
        let all = [
            Some(price.input),
            Some(price.output),
            price.cached,
            price.reasoning,
        ];
        if !all.into_iter().flatten().all(is_price) {
            return Err(Error::invalid(format!(
                "`{}`: the price of `{}` is not an amount",
                path.display(),
                price.model
            ))
            .with_help(FORM));
        }
    }
    Ok(table.model)
}

const FORM: &str = "write `[[model]]` with model, input, output (US dollars per million tokens), date and source; optionally cached, reasoning and host";

/// Whether the names are equal, or the requested one adds the date of a version.
fn is_same(known: &str, asked: &str) -> bool {
    let Some(rest) = asked.strip_prefix(known) else {
        return false;
    };
    let is_date = |rest: &str| {
        let digits = rest.chars().filter(char::is_ascii_digit).count();
        digits == 8 && rest.chars().all(|one| one.is_ascii_digit() || one == '-')
    };
    rest.is_empty() || rest.strip_prefix('-').is_some_and(is_date)
}

fn host(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    let end = behind.find(['/', ':', '?']).unwrap_or(behind.len());
    &behind[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(base_url: &str, model: &str) -> Option<f64> {
        find(None, Some(base_url), model)
            .unwrap()
            .map(|price| price.input)
    }

    #[test]
    fn our_table_reads_and_every_price_says_whose_and_since_when() {
        let table: Table = toml::from_str(OURS).unwrap();
        assert!(table.model.len() >= 8);
        for price in table.model {
            assert!(
                price.host.is_some() && !price.source.is_empty(),
                "{price:?}"
            );
            assert!(price.output > price.input && price.input > 0.0, "{price:?}");
            assert!(price.cached.is_none_or(|cached| cached < price.input));
            assert_eq!(price.date.len(), 10);
        }
    }

    #[test]
    fn a_price_is_for_its_own_seller_and_for_dated_versions() {
        assert_eq!(input("https://api.openai.com/v1", "gpt-4o"), Some(2.5));
        assert_eq!(
            input("https://api.openai.com", "gpt-4o-2024-08-06"),
            Some(2.5)
        );
        assert_eq!(input("https://api.openai.com", "gpt-4o-mini"), Some(0.15));
        assert_eq!(input("https://api.openai.com", "gpt-4o-audio"), None);
        assert_eq!(input("http://127.0.0.1:8080", "gpt-4o"), None);
        assert_eq!(input("https://api.openai.com.evil.example", "gpt-4o"), None);
        assert!(find(None, None, "gpt-4o").unwrap().is_none());
    }

    #[test]
    fn the_users_table_comes_first_and_is_checked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("prices.toml");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        let entry =
            "model = \"gpt-4o\"\noutput = 3\ndate = \"2026-01-01\"\nsource = \"contract\"\n";
        write(&format!("[[model]]\ninput = 1\n{entry}"));
        let found = find(Some(&path), Some("https://api.openai.com"), "gpt-4o").unwrap();
        assert_eq!(found.unwrap().source, "contract");
        for (text, words) in [
            (format!("[[model]]\ninput = -1\n{entry}"), "not an amount"),
            (format!("[[model]]\n{entry}"), "cannot read prices from"),
            ("x".to_owned(), "cannot read prices from"),
        ] {
            write(&text);
            let error = find(Some(&path), None, "gpt-4o").unwrap_err();
            assert!(format!("{error:?}").contains(words), "{error:?}");
        }
    }
}
