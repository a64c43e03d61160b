//! Suggestions for misspelt names: "Did you mean …".

/// The known name nearest to `wanted`, if it is near enough to be a typo.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    known
        .into_iter()
        .map(|name| (score(&wanted, &name.to_lowercase()), name))
        .filter(|(score, _)| *score >= 0.7)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, name)| name)
}

/// The suggestion for an unknown name; empty if no name is near.
pub fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// Help for an unknown name: the nearest name and the list of known names.
pub fn known_are<'a>(nearest: Option<&str>, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<_> = known.into_iter().map(|name| format!("`{name}`")).collect();
    let known = format!("known are {}", known.join(", "));
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`? {known}"),
        None => known,
    }
}

/// The `count` known names nearest to `wanted`, best first, at any distance.
pub fn nearest_few<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<_> = known
        .into_iter()
        .map(|name| (score(&wanted, &name.to_lowercase()), name))
        .collect();
    scored.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    scored
        .into_iter()
        .take(count)
        .map(|(_, name)| name)
        .collect()
}

fn score(wanted: &str, name: &str) -> f64 {
    strsim::jaro_winkler(wanted, name).max(strsim::normalized_levenshtein(wanted, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_nonsense_is_not() {
        let known = ["openai", "ollama", "embedded"];
        assert_eq!(nearest("opneai", known), Some("openai"));
        assert_eq!(nearest("Openai", known), Some("openai"));
        assert_eq!(nearest("zzz", known), None);
        assert_eq!(nearest_few("olama", known, 1), ["ollama"]);
    }
}
