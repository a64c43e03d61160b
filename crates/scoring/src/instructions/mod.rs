//! `instructions`: the answer satisfies all constraints that a program can verify.
//!
//! The 25 constraints of `IFEval`, as defined by its own code (google-research/google-research,
//! `instruction_following_eval`), in strict mode: the answer is not modified. Where that code uses
//! a trained model, this one differs and documents it: languages (`language`), sentences (`count`)
//! and words in capitals (`shape`). A constraint without its argument is unscored.

mod count;
mod keywords;
mod language;
mod rule;
mod shape;

use ipw_core::verdict::Grade;
use rule::{Arguments, Compliance, rules};
use serde_json::Value;

use crate::{Question, Scorer, correct, shown, wrong};

/// The scorer's id in datasets and flags.
pub(crate) const ID: &str = "instructions";

pub(crate) struct Instructions;

impl Scorer for Instructions {
    fn id(&self) -> &'static str {
        ID
    }

    fn grade(&self, question: &Question<'_>) -> Grade {
        let rules = match rules(question.rules) {
            Ok(rules) => rules,
            Err(reason) => return Grade::unscored(Some(ID), reason),
        };
        if let Some((id, _)) = rules.iter().find(|(id, _)| !is_known(id)) {
            let reason = format!("`{}` is not a known instruction", shown(id));
            return Grade::unscored(Some(ID), reason);
        }
        let answer = question.answer.trim();
        if answer.is_empty() {
            return wrong(ID, None, "empty answer");
        }
        let all: Vec<(&str, Compliance)> = rules
            .iter()
            .map(|(id, arguments)| (*id, check(id, *arguments, answer)))
            .collect();
        let kept = all
            .iter()
            .filter(|(_, kept)| *kept == Compliance::Yes)
            .count();
        let extracted = format!("{kept} of {} kept", all.len());
        // A broken constraint decides, even if others are undecided.
        let broken = all.iter().find_map(|(id, kept)| match kept {
            Compliance::No(why) => Some(format!("`{id}` is not kept: {why}")),
            _ => None,
        });
        let untold = all.iter().find_map(|(id, kept)| match kept {
            Compliance::Undecided(why) => Some(format!("`{id}` cannot be decided: {why}")),
            _ => None,
        });
        match (broken, untold) {
            (Some(reason), _) => wrong(ID, Some(&extracted), reason),
            (_, Some(reason)) => Grade::unscored(Some(ID), reason),
            _ => correct(ID, &extracted, "every instruction is kept"),
        }
    }
}

/// All known instructions.
const KNOWN: [&str; 25] = [
    "keywords:existence",
    "keywords:frequency",
    "keywords:forbidden_words",
    "keywords:letter_frequency",
    "language:response_language",
    "length_constraints:number_sentences",
    "length_constraints:number_paragraphs",
    "length_constraints:number_words",
    "length_constraints:nth_paragraph_first_word",
    "detectable_content:number_placeholders",
    "detectable_content:postscript",
    "detectable_format:number_bullet_lists",
    "detectable_format:constrained_response",
    "detectable_format:number_highlighted_sections",
    "detectable_format:multiple_sections",
    "detectable_format:json_format",
    "detectable_format:title",
    "combination:two_responses",
    "combination:repeat_prompt",
    "startend:end_checker",
    "startend:quotation",
    "change_case:capital_word_frequency",
    "change_case:english_capital",
    "change_case:english_lowercase",
    "punctuation:no_comma",
];

fn is_known(id: &str) -> bool {
    KNOWN.contains(&id)
}

/// Whether the answer satisfies the instruction with this known id.
fn check(id: &str, arguments: Arguments<'_>, answer: &str) -> Compliance {
    let checked = match id {
        "keywords:existence" => keywords::existence(arguments, answer),
        "keywords:frequency" => keywords::frequency(arguments, answer),
        "keywords:forbidden_words" => keywords::forbidden(arguments, answer),
        "keywords:letter_frequency" => keywords::letter_frequency(arguments, answer),
        "language:response_language" => language::response_language(arguments, answer),
        "length_constraints:number_sentences" => count::sentences(arguments, answer),
        "length_constraints:number_paragraphs" => count::paragraphs(arguments, answer),
        "length_constraints:number_words" => count::words(arguments, answer),
        "length_constraints:nth_paragraph_first_word" => count::first_word(arguments, answer),
        "detectable_content:number_placeholders" => count::placeholders(arguments, answer),
        "detectable_content:postscript" => shape::postscript(arguments, answer),
        "detectable_format:number_bullet_lists" => count::bullets(arguments, answer),
        "detectable_format:constrained_response" => Ok(shape::constrained(answer)),
        "detectable_format:number_highlighted_sections" => count::highlights(arguments, answer),
        "detectable_format:multiple_sections" => count::sections(arguments, answer),
        "detectable_format:json_format" => Ok(shape::json(answer)),
        "detectable_format:title" => Ok(shape::title(answer)),
        "combination:two_responses" => Ok(shape::two_responses(answer)),
        "combination:repeat_prompt" => shape::repeated_prompt(arguments, answer),
        "startend:end_checker" => shape::end(arguments, answer),
        "startend:quotation" => Ok(shape::quotation(answer)),
        "change_case:capital_word_frequency" => shape::capital_words(arguments, answer),
        "change_case:english_capital" => Ok(language::capital(answer)),
        "change_case:english_lowercase" => Ok(language::lowercase(answer)),
        _ => Ok(Compliance::when(!answer.contains(','), "it has a comma")),
    };
    checked.unwrap_or_else(Compliance::Undecided)
}

/// The constraints in a row's metadata, for [`Question::rules`]: the key `instructions`, or
/// `IFEval`'s pair `instruction_id_list` and `kwargs`.
pub fn rules_of(metadata: &serde_json::Map<String, Value>) -> Option<Value> {
    // Tables with differing columns have null for columns that a row lacks.
    let known = |name: &str| metadata.get(name).filter(|value| !value.is_null());
    if let Some(rules) = known("instructions") {
        return Some(rules.clone());
    }
    let ids = known("instruction_id_list")?;
    let arguments = known("kwargs").cloned().unwrap_or(Value::Null);
    Some(serde_json::json!({ "instruction_id_list": ids, "kwargs": arguments }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_come_from_either_column_and_null_is_none() {
        let of = |row: Value| rules_of(row.as_object().unwrap());
        let pair = json!({"instruction_id_list": ["a:b"], "kwargs": [{}]});
        assert_eq!(
            of(json!({"instructions": [1], "kwargs": null})),
            Some(json!([1]))
        );
        assert_eq!(
            of(json!({"instructions": null, "instruction_id_list": ["a:b"], "kwargs": [{}]})),
            Some(pair)
        );
        assert_eq!(
            of(json!({"instructions": null, "instruction_id_list": null})),
            None
        );
        assert_eq!(of(json!({})), None);
    }
}
