//! The known benchmarks, one literal each: where it is published and what its columns mean.
//!
//! Columns are those of the dataset's card on the Hugging Face hub, which is the page of
//! `repository`. Where the right option is always at the same place, the options are shuffled: a
//! model that prefers the letter A must not gain by it.

use super::{Answer, Benchmark, Choices, Key, Subject, Wording};

/// The values that most benchmarks share.
const PLAIN: Benchmark = Benchmark {
    id: "",
    aliases: &[],
    title: "",
    repository: None,
    config: "default",
    split: "test",
    revision: "main",
    rows: 0,
    license: "",
    is_gated: false,
    scorer: "choice",
    question: Wording::Column("question"),
    answer: Answer::None,
    subject: Subject::None,
    id_columns: &[],
    keep: &[],
    leaves_out: false,
};

/// All benchmarks, in the order of `ipw list`.
pub(super) const TABLE: &[Benchmark] = &[
    Benchmark {
        id: "mmlu",
        title: "MMLU",
        repository: Some("cais/mmlu"),
        config: "all",
        rows: 14_042,
        license: "MIT",
        answer: Answer::Choice(Choices::List {
            column: "choices",
            answer: "answer",
            key: Key::Index,
        }),
        subject: Subject::Column("subject"),
        ..PLAIN
    },
    Benchmark {
        id: "mmlu-pro",
        title: "MMLU-Pro",
        repository: Some("TIGER-Lab/MMLU-Pro"),
        rows: 12_032,
        license: "MIT",
        answer: Answer::Choice(Choices::List {
            column: "options",
            answer: "answer",
            key: Key::Letter,
        }),
        subject: Subject::Column("category"),
        id_columns: &["question_id"],
        keep: &["src"],
        ..PLAIN
    },
    Benchmark {
        id: "supergpqa",
        title: "SuperGPQA",
        repository: Some("m-a-p/SuperGPQA"),
        split: "train",
        rows: 26_529,
        license: "ODC-BY",
        answer: Answer::Choice(Choices::List {
            column: "options",
            answer: "answer_letter",
            key: Key::Letter,
        }),
        subject: Subject::Column("discipline"),
        id_columns: &["uuid"],
        keep: &["field", "subfield", "difficulty", "is_calculation"],
        ..PLAIN
    },
    Benchmark {
        id: "gpqa",
        title: "GPQA Diamond",
        repository: Some("Idavidrein/gpqa"),
        config: "gpqa_diamond",
        split: "train",
        rows: 198,
        license: "CC-BY-4.0",
        is_gated: true,
        question: Wording::Column("Question"),
        answer: Answer::Choice(Choices::Columns {
            right: "Correct Answer",
            wrong: &[
                "Incorrect Answer 1",
                "Incorrect Answer 2",
                "Incorrect Answer 3",
            ],
        }),
        subject: Subject::Column("Subdomain"),
        id_columns: &["Record ID"],
        keep: &["High-level domain"],
        ..PLAIN
    },
    Benchmark {
        id: "gsm8k",
        title: "GSM8K",
        repository: Some("openai/gsm8k"),
        config: "main",
        rows: 1_319,
        license: "MIT",
        scorer: "numeric",
        answer: Answer::Behind {
            column: "answer",
            mark: "####",
        },
        ..PLAIN
    },
    Benchmark {
        id: "math-500",
        aliases: &["math500"],
        title: "MATH-500",
        repository: Some("HuggingFaceH4/MATH-500"),
        rows: 500,
        license: "not stated",
        scorer: "math",
        question: Wording::Column("problem"),
        answer: Answer::Column("answer"),
        subject: Subject::Column("subject"),
        id_columns: &["unique_id"],
        keep: &["level"],
        ..PLAIN
    },
    Benchmark {
        id: "aime",
        aliases: &["aime-2024"],
        title: "AIME 2024",
        repository: Some("HuggingFaceH4/aime_2024"),
        split: "train",
        rows: 30,
        license: "not stated",
        scorer: "numeric",
        question: Wording::Column("problem"),
        answer: Answer::Column("answer"),
        id_columns: &["id"],
        keep: &["year"],
        ..PLAIN
    },
    Benchmark {
        id: "aime-2025",
        title: "AIME 2025",
        repository: Some("math-ai/aime25"),
        rows: 30,
        license: "not stated",
        scorer: "numeric",
        question: Wording::Column("problem"),
        answer: Answer::Column("answer"),
        id_columns: &["id"],
        ..PLAIN
    },
    Benchmark {
        id: "arc",
        aliases: &["arc-challenge"],
        title: "ARC-Challenge",
        repository: Some("allenai/ai2_arc"),
        config: "ARC-Challenge",
        rows: 1_172,
        license: "CC-BY-SA-4.0",
        answer: Answer::Choice(Choices::Labelled {
            column: "choices",
            answer: "answerKey",
        }),
        id_columns: &["id"],
        ..PLAIN
    },
    Benchmark {
        id: "hellaswag",
        title: "HellaSwag",
        repository: Some("Rowan/hellaswag"),
        split: "validation",
        rows: 10_042,
        license: "not stated",
        question: Wording::Column("ctx"),
        answer: Answer::Choice(Choices::List {
            column: "endings",
            answer: "label",
            key: Key::Index,
        }),
        subject: Subject::Column("activity_label"),
        id_columns: &["ind"],
        keep: &["source_id", "split_type"],
        ..PLAIN
    },
    Benchmark {
        id: "truthfulqa",
        title: "TruthfulQA (MC1)",
        repository: Some("truthfulqa/truthful_qa"),
        config: "multiple_choice",
        split: "validation",
        rows: 817,
        license: "Apache-2.0",
        answer: Answer::Choice(Choices::Marked {
            column: "mc1_targets",
        }),
        ..PLAIN
    },
    Benchmark {
        id: "simpleqa",
        title: "SimpleQA",
        repository: Some("basicv8vc/SimpleQA"),
        rows: 4_326,
        license: "MIT",
        scorer: "judge",
        question: Wording::Column("problem"),
        answer: Answer::Column("answer"),
        subject: Subject::Inside {
            column: "metadata",
            key: "topic",
        },
        keep: &["metadata"],
        ..PLAIN
    },
    Benchmark {
        id: "natural-reasoning",
        title: "NaturalReasoning",
        repository: Some("facebook/natural_reasoning"),
        split: "train",
        rows: 1_145_824,
        license: "CC-BY-NC-4.0",
        scorer: "judge",
        answer: Answer::Column("reference_answer"),
        ..PLAIN
    },
    Benchmark {
        id: "wildchat",
        title: "WildChat",
        repository: Some("allenai/WildChat"),
        split: "train",
        rows: 529_428,
        license: "ODC-BY",
        scorer: "judge",
        question: Wording::FirstTurn {
            column: "conversation",
            role: "user",
        },
        answer: Answer::FirstTurn {
            column: "conversation",
            role: "assistant",
        },
        subject: Subject::Column("language"),
        id_columns: &["conversation_id", "conversation_hash"],
        keep: &["model", "turn"],
        // Some of the published messages are blank.
        leaves_out: true,
        ..PLAIN
    },
    Benchmark {
        id: "ifeval",
        title: "IFEval",
        repository: Some("google/IFEval"),
        split: "train",
        rows: 541,
        license: "Apache-2.0",
        scorer: "instructions",
        question: Wording::Column("prompt"),
        id_columns: &["key"],
        keep: &["instruction_id_list", "kwargs"],
        ..PLAIN
    },
    Benchmark {
        id: "ipw",
        title: "IPW mixed 1k",
        split: "train",
        rows: 1_000,
        license: "not stated",
        scorer: "judge",
        question: Wording::Column("problem"),
        answer: Answer::Column("answer"),
        subject: Subject::Column("subject"),
        keep: &["config", "anthropic_index_category"],
        ..PLAIN
    },
];
