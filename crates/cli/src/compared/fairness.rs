//! Whether two runs may be compared at all, and what to bear in mind if they are.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{Compared, Facts, How, Overlap};

/// How grave a doubt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// The comparison would say nothing: it is made on request only.
    Refuse,
    /// It is made, and this belongs beside it.
    Warn,
}

/// What of a comparison a doubt is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// All of it.
    All,
    /// Whatever has energy in it.
    Energy,
}

/// Kinds of doubt about a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    /// The same run twice.
    SameRun,
    /// No question in common.
    OtherQuestions,
    /// Datasets of other names that share questions.
    OtherDataset,
    /// Ids in both that stand for other prompts.
    OtherPrompts,
    /// Questions that only one of them asked.
    OtherQueries,
    /// An estimate against a measurement.
    EstimatedAgainstMeasured,
    /// Estimates of different machines.
    EstimatesOfOtherHardware,
    /// Both are estimates of one machine.
    Estimated,
    /// Joules made from other parts of the machine.
    OtherBasis,
    /// Counters against integrated power.
    OtherMethod,
    /// Queries were sent otherwise.
    OtherLoad,
    /// Other generation parameters, or another system text.
    OtherParameters,
    /// Tokens were counted otherwise.
    OtherTokenCounts,
    /// More than one thing differs.
    SeveralDifferences,
    /// Another version of ipw.
    OtherVersion,
    /// One machine kept the bounds of `ipw calibrate` and the other did not.
    OtherCalibration,
    /// A run that did not finish.
    Unfinished,
    /// A doubt about one run's own numbers.
    Quality,
}

/// Why a comparison may not be fair, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Doubt {
    pub(crate) id: Cause,
    pub(crate) level: Level,
    pub(crate) about: Part,
    /// What was found.
    pub(crate) finding: String,
    /// What to do about it, or what it means.
    pub(crate) advice: String,
}

/// A run with the name that it has in a comparison.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) run: &'a Compared,
}

/// Notes of a run that matter to a comparison; others are said elsewhere.
const GRAVE: [&str; 10] = [
    "coverage",
    "gaps",
    "resets",
    "fault",
    "idle_drift",
    "temperature",
    "throttled",
    "power_limit",
    "other_load",
    "counter_against_power",
];

/// All that speaks against comparing `b` with `a`, the gravest first.
pub(crate) fn unfair(a: Named<'_>, b: Named<'_>) -> (Overlap, Vec<Doubt>) {
    let overlap = a.run.overlap(b.run);
    let pair = Pair {
        names: [a.name, b.name],
        facts: [&a.run.facts, &b.run.facts],
    };
    let mut doubts = pair.questions(overlap);
    doubts.extend(pair.energy());
    doubts.extend(pair.conditions());
    doubts.extend(pair.each_run());
    doubts.sort_by_key(|doubt| doubt.level);
    (overlap, doubts)
}

struct Pair<'a> {
    names: [&'a str; 2],
    facts: [&'a Facts; 2],
}

fn doubt(id: Cause, level: Level, finding: String, advice: &str) -> Doubt {
    Doubt {
        id,
        level,
        about: Part::All,
        finding,
        advice: advice.to_owned(),
    }
}

fn warn(id: Cause, finding: String, advice: &str) -> Doubt {
    doubt(id, Level::Warn, finding, advice)
}

impl Doubt {
    fn of_energy(self) -> Self {
        Self {
            about: Part::Energy,
            ..self
        }
    }
}

impl Pair<'_> {
    fn both(&self, what: impl Fn(&Facts) -> Option<String>) -> Option<[String; 2]> {
        Some([what(self.facts[0])?, what(self.facts[1])?])
    }

    /// What both know and is not the same.
    fn differ(&self, what: impl Fn(&Facts) -> Option<String>) -> Option<[String; 2]> {
        self.both(what).filter(|[a, b]| a != b)
    }

    fn questions(&self, overlap: Overlap) -> Vec<Doubt> {
        let [a, b] = self.names;
        let [of_a, of_b] = self.facts;
        if Path::new(&of_a.directory) == Path::new(&of_b.directory) {
            let finding = format!("{a} and {b} are the same run");
            return vec![warn(Cause::SameRun, finding, "name another one")];
        }
        let dataset = self.differ(|facts| {
            Some(format!(
                "{:?} {}",
                facts.dataset.as_ref()?,
                facts.dataset_label()
            ))
        });
        let common = overlap.common;
        let clash = overlap.same_id_other_prompt;
        let is_empty = overlap.a == 0 || overlap.b == 0;
        if common == 0 && !is_empty && (dataset.is_some() || clash > 0) {
            let finding = format!(
                "{a} and {b} have no question in common (`{}`, `{}`)",
                of_a.dataset_label(),
                of_b.dataset_label()
            );
            return vec![doubt(
                Cause::OtherQuestions,
                Level::Refuse,
                finding,
                "run both on the same dataset",
            )];
        }
        let mut doubts = Vec::new();
        if dataset.is_some() {
            let finding = format!(
                "{a} asked `{}` and {b} asked `{}`",
                of_a.dataset_label(),
                of_b.dataset_label()
            );
            let advice = format!("{common} questions are in both, and only they are paired");
            doubts.push(warn(Cause::OtherDataset, finding, &advice));
        }
        if clash > 0 {
            let finding = format!("{clash} queries have the same id and another prompt");
            let advice = "they are not paired; was the dataset changed in between?";
            doubts.push(warn(Cause::OtherPrompts, finding, advice));
        }
        doubts.extend(self.overlap(overlap));
        doubts
    }

    fn overlap(&self, overlap: Overlap) -> Option<Doubt> {
        let [a, b] = self.names;
        let Overlap {
            a: of_a,
            b: of_b,
            common,
            ..
        } = overlap;
        let most = of_a.max(of_b);
        if common == most {
            return None;
        }
        let finding = format!("{a} asked {of_a} queries and {b} {of_b}; {common} are in both");
        let advice = if 2 * common >= most {
            "only these are compared"
        } else {
            "too few to pair them, so all stand against all, which sees only large differences; run both on the same queries"
        };
        Some(warn(Cause::OtherQueries, finding, advice))
    }

    fn energy(&self) -> Vec<Doubt> {
        let [a, b] = self.names;
        let how = self.facts.map(|facts| facts.energy);
        if how.contains(&How::Unknown) {
            return Vec::new();
        }
        let other_hardware = self.differ(|facts| facts.hardware.clone());
        let mut doubts = Vec::new();
        if how[0] != how[1] {
            let finding = format!(
                "{a}'s energy is {} and {b}'s is {}",
                how[0].words(),
                how[1].words()
            );
            let advice =
                "an estimate may be off by half; measure both (`ipw doctor` says what would)";
            let cause = Cause::EstimatedAgainstMeasured;
            doubts.push(doubt(cause, Level::Refuse, finding, advice));
        } else if how[0].is_estimated() {
            doubts.push(match other_hardware {
                Some([of_a, of_b]) => doubt(
                    Cause::EstimatesOfOtherHardware,
                    Level::Refuse,
                    format!("the energies of {a} (`{of_a}`) and {b} (`{of_b}`) are estimates of different machines"),
                    "estimates compare runs of one machine; measure both (`ipw doctor` says what would)",
                ),
                None => warn(
                    Cause::Estimated,
                    format!("the energies of {a} and {b} are estimated from CPU time, not measured"),
                    "a difference is one of CPU time; what a meter would say may differ",
                ),
            });
        }
        if let Some([of_a, of_b]) = self.differ(Facts::basis_label)
            && how[0] == how[1]
        {
            let finding = format!("{a}'s joules are those of `{of_a}` and {b}'s of `{of_b}`");
            let advice = "they stand for other parts of the machine";
            doubts.push(warn(Cause::OtherBasis, finding, advice));
        }
        let methods =
            |facts: &Facts| (!facts.methods.is_empty()).then(|| facts.methods.join(" and "));
        if let Some([of_a, of_b]) = self.differ(methods)
            && how[0] == how[1]
        {
            let finding = format!("{a}'s joules are by {of_a} and {b}'s by {of_b}");
            let advice = "integrated power misses what happens between two readings";
            doubts.push(warn(Cause::OtherMethod, finding, advice));
        }
        doubts.into_iter().map(Doubt::of_energy).collect()
    }

    fn conditions(&self) -> Vec<Doubt> {
        let [a, b] = self.names;
        let mut doubts = Vec::new();
        if let Some([of_a, of_b]) = self.differ(|facts| facts.load.clone()) {
            let finding = format!("{a}'s queries were sent {of_a}, {b}'s {of_b}");
            let advice = "latency and energy per query depend on it; use the same load";
            doubts.push(warn(Cause::OtherLoad, finding, advice));
        }
        if let Some([of_a, of_b]) = self.generation() {
            let finding = format!("{a} asked with {of_a} and {b} with {of_b}");
            let advice =
                "answers and their lengths depend on it; use the same `--param` and `--system`";
            doubts.push(warn(Cause::OtherParameters, finding, advice));
        }
        let counted = |facts: &Facts| {
            let by_chunks = facts.rows_counted_by_chunks? > 0;
            let by_tokenizer = facts.rows_counted_by_tokenizer.is_some_and(|rows| rows > 0);
            Some(format!("{by_chunks} {by_tokenizer}"))
        };
        if self.differ(counted).is_some() {
            let finding = format!(
                "tokens of {a} and {b} were counted otherwise, as one service gave no usage"
            );
            let advice = "what is per token or tokens per second is not comparable";
            doubts.push(warn(Cause::OtherTokenCounts, finding, advice));
        }
        doubts.extend(self.several());
        if let Some([of_a, of_b]) = self.differ(|facts| facts.ipw.clone()) {
            let finding = format!("{a} was made by ipw {of_a} and {b} by ipw {of_b}");
            doubts.push(warn(
                Cause::OtherVersion,
                finding,
                "see CHANGELOG.md for what is measured otherwise",
            ));
        }
        if let Some([of_a, _]) = self.differ(|facts| Some(facts.calibration_passed?.to_string())) {
            let bad = if of_a == "true" { b } else { a };
            let finding = format!("`ipw calibrate` found {bad}'s machine out of its bounds");
            doubts.push(warn(
                Cause::OtherCalibration,
                finding,
                "`ipw show` says in what: its times are worse known",
            ));
        }
        doubts
    }

    /// One thing that differs is what is compared; of two nobody knows which it was.
    fn several(&self) -> Option<Doubt> {
        let [a, b] = self.names;
        let model = self.differ(|facts| Some(facts.model.clone()));
        let hardware = self.differ(|facts| facts.hardware.clone());
        let ([of_a, of_b], [on_a, on_b]) = model.zip(hardware)?;
        let finding = format!("{a} is `{of_a}` on `{on_a}` and {b} is `{of_b}` on `{on_b}`");
        let advice = "whether the model or the hardware makes a difference cannot be told";
        Some(warn(Cause::SeveralDifferences, finding, advice))
    }

    fn generation(&self) -> Option<[String; 2]> {
        let [a, b] = self.facts.map(|facts| facts.generation.as_ref());
        let (a, b) = a.zip(b)?;
        let (a, b) = (asked(a), asked(b));
        let only = |mine: &[(String, Value)], theirs: &[(String, Value)]| {
            let differs = mine.iter().filter(|one| !theirs.contains(one));
            let texts: Vec<String> = differs
                .map(|(name, value)| match name.as_str() {
                    // A text may be long, and is nobody's business here.
                    "system" => "a system text".to_owned(),
                    _ => format!("`{name}={value}`"),
                })
                .collect();
            if texts.is_empty() {
                "without it".to_owned()
            } else {
                texts.join(", ")
            }
        };
        (a != b).then(|| [only(&a, &b), only(&b, &a)])
    }

    fn each_run(&self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        for (name, facts) in self.names.iter().zip(self.facts) {
            if let Some(why) = facts.unfinished() {
                let finding = format!("{name} is {why}");
                let advice =
                    "what is missing may not be like the rest; `ipw profile --resume` goes on";
                doubts.push(warn(Cause::Unfinished, finding, advice));
            }
            let grave = facts
                .notes
                .iter()
                .filter(|note| GRAVE.contains(&note.id.as_str()));
            for note in grave {
                let finding = format!("{name}: {}", note.finding);
                doubts.push(warn(Cause::Quality, finding, &note.advice));
            }
        }
        doubts
    }
}

/// Parameters and system text by name, sorted.
fn asked(generation: &Value) -> Vec<(String, Value)> {
    let mut asked: Vec<(String, Value)> = Vec::new();
    for (name, value) in generation.as_object().into_iter().flatten() {
        match value.as_object() {
            Some(table) if name == "parameters" => {
                asked.extend(
                    table
                        .iter()
                        .map(|(name, value)| (name.clone(), value.clone())),
                );
            }
            _ if value.is_null() => {}
            _ => asked.push((name.clone(), value.clone())),
        }
    }
    asked.sort_by(|left, right| left.0.cmp(&right.0));
    asked
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::facts::Remark;
    use super::*;

    fn facts() -> Facts {
        Facts {
            directory: "runs/a".to_owned(),
            model: "m".to_owned(),
            dataset: Some("starter".to_owned()),
            dataset_name: Some("starter".to_owned()),
            hardware: Some("H".to_owned()),
            status: Some("complete".to_owned()),
            load: Some("one after the other".to_owned()),
            generation: Some(json!({"parameters": {"temperature": 0}})),
            energy: How::Measured,
            basis: vec!["cpu".to_owned()],
            methods: vec!["counter".to_owned()],
            rows_counted_by_chunks: Some(0),
            rows_counted_by_tokenizer: Some(0),
            ipw: Some("0.1.0".to_owned()),
            ..Facts::default()
        }
    }

    fn found(b: Facts, ids: [&[u8]; 2]) -> Vec<Doubt> {
        let run = |facts: Facts, ids: &[u8]| Compared {
            facts,
            keys: ids.iter().map(|id| format!("{:016x}{id}", 7)).collect(),
            subjects: Vec::new(),
            lines: Vec::new(),
        };
        let (a, b) = (run(facts(), ids[0]), run(b, ids[1]));
        let name = |name, run| Named { name, run };
        unfair(name("A", &a), name("B", &b)).1
    }

    fn other() -> Facts {
        Facts {
            directory: "runs/b".to_owned(),
            ..facts()
        }
    }

    const SAME: [&[u8]; 2] = [&[1, 2, 3], &[1, 2, 3]];

    fn only(doubts: &[Doubt]) -> &Doubt {
        assert_eq!(doubts.len(), 1, "{doubts:#?}");
        &doubts[0]
    }

    #[test]
    fn two_runs_alike_raise_no_doubt() {
        assert_eq!(found(other(), SAME), []);
        assert_eq!(only(&found(facts(), SAME)).id, Cause::SameRun);
    }

    #[test]
    fn other_questions_are_refused_and_other_parts_of_them_are_not() {
        let mut b = other();
        b.dataset_name = Some("mine".to_owned());
        let doubts = found(b.clone(), [&[1, 2], &[3, 4]]);
        let refused = only(&doubts);
        assert_eq!(
            (refused.id, refused.level, refused.about),
            (Cause::OtherQuestions, Level::Refuse, Part::All)
        );
        assert!(refused.finding.contains("`starter`, `mine`"), "{refused:?}");
        let doubts = found(b, SAME);
        assert_eq!(only(&doubts).id, Cause::OtherDataset);
        let doubts = found(other(), [&[1, 2, 3], &[2, 3]]);
        let fewer = only(&doubts);
        assert_eq!((fewer.id, fewer.level), (Cause::OtherQueries, Level::Warn));
        assert!(fewer.advice.contains("only these"), "{fewer:?}");
        let doubts = found(other(), [&[1, 2, 3], &[3, 4, 5]]);
        assert!(only(&doubts).advice.contains("all stand against all"));
    }

    #[test]
    fn an_estimate_is_never_held_against_a_measurement() {
        let mut b = other();
        b.energy = How::Estimated;
        b.basis = vec!["cpu_estimated".to_owned()];
        b.methods = vec!["estimated".to_owned()];
        let doubts = found(b, SAME);
        let refused = only(&doubts);
        assert_eq!(
            (refused.id, refused.level, refused.about),
            (Cause::EstimatedAgainstMeasured, Level::Refuse, Part::Energy)
        );
        // Nothing is said of energy that is not there.
        let mut b = other();
        b.energy = How::Unknown;
        b.basis = Vec::new();
        b.methods = Vec::new();
        assert_eq!(found(b, SAME), []);
    }

    #[test]
    fn what_differs_is_said_with_what_to_do() {
        let mut b = other();
        b.basis = vec!["gpu+cpu".to_owned()];
        b.methods = vec!["counter".to_owned(), "integrated".to_owned()];
        b.load = Some("8 at a time".to_owned());
        b.generation = Some(json!({"parameters": {"temperature": 1}, "system": "be brief"}));
        b.rows_counted_by_chunks = Some(3);
        b.ipw = Some("0.2.0".to_owned());
        b.model = "n".to_owned();
        b.hardware = Some("I".to_owned());
        b.status = Some("interrupted".to_owned());
        b.notes = vec![
            Remark {
                id: "throttled".to_owned(),
                finding: "`gpu0`: the board was held back".to_owned(),
                advice: "cool it".to_owned(),
            },
            Remark {
                id: "few_samples".to_owned(),
                finding: "few".to_owned(),
                advice: "more".to_owned(),
            },
        ];
        let doubts = found(b, SAME);
        let ids: Vec<Cause> = doubts.iter().map(|doubt| doubt.id).collect();
        assert_eq!(
            ids,
            [
                Cause::OtherBasis,
                Cause::OtherMethod,
                Cause::OtherLoad,
                Cause::OtherParameters,
                Cause::OtherTokenCounts,
                Cause::SeveralDifferences,
                Cause::OtherVersion,
                Cause::Unfinished,
                Cause::Quality,
            ]
        );
        assert!(
            doubts
                .iter()
                .all(|doubt| doubt.level == Level::Warn && !doubt.advice.is_empty())
        );
        let said = &doubts[3].finding;
        assert!(
            said.contains("`temperature=0`") && said.contains("a system text, `temperature=1`"),
            "{said}"
        );
        assert!(!said.contains("brief"), "{said}");
    }

    #[test]
    fn estimates_of_one_machine_may_be_compared_and_of_two_may_not() {
        let pair = |hardware: &str| {
            let estimated = |facts: Facts| Facts {
                energy: How::Estimated,
                ..facts
            };
            let (a, mut b) = (estimated(facts()), estimated(other()));
            b.hardware = Some(hardware.to_owned());
            Pair {
                names: ["A", "B"],
                facts: [&a, &b],
            }
            .energy()
        };
        assert_eq!(only(&pair("H")).id, Cause::Estimated);
        let doubts = pair("I");
        assert_eq!(
            (only(&doubts).id, only(&doubts).level),
            (Cause::EstimatesOfOtherHardware, Level::Refuse)
        );
    }
}
