//! Rows as each benchmark's card on the hub describes them, with contents of our own.

use serde_json::{Value, json};

/// What a published row must become.
pub(crate) struct Case {
    pub(crate) id: &'static str,
    pub(crate) rows: Vec<Value>,
    /// The first row's prompt, reference, subject and id.
    pub(crate) problem: &'static str,
    pub(crate) answer: Option<&'static str>,
    pub(crate) subject: Option<&'static str>,
    pub(crate) query_id: &'static str,
    /// The first row's metadata, without `row`.
    pub(crate) metadata: Value,
}

/// One for each benchmark, in the order of the table.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case {
            id: "mmlu",
            rows: vec![
                json!({"question": "What is 2 + 2?", "subject": "elementary_mathematics",
                       "choices": ["3", "4", "5", "6"], "answer": 1}),
                json!({"question": "Which is a noble gas?", "subject": "chemistry",
                       "choices": ["Iron", "Oxygen", "Argon", "Gold"], "answer": 2}),
            ],
            problem: "What is 2 + 2?\n\nA. 3\nB. 4\nC. 5\nD. 6\n\n\
                      Answer with the letter of the correct option.",
            answer: Some("B"),
            subject: Some("elementary_mathematics"),
            query_id: "0",
            metadata: json!({"scorer": "choice", "choices": ["3", "4", "5", "6"]}),
        },
        Case {
            id: "mmlu-pro",
            rows: vec![json!({
                "question_id": 70, "question": "Which is largest?",
                "options": ["a pea", "a plum", "a pear", "a pumpkin", "a peanut"],
                "answer": "D", "answer_index": 3, "cot_content": "", "category": "biology",
                "src": "ours",
            })],
            problem: "Which is largest?\n\nA. a pea\nB. a plum\nC. a pear\nD. a pumpkin\n\
                      E. a peanut\n\nAnswer with the letter of the correct option.",
            answer: Some("D"),
            subject: Some("biology"),
            query_id: "70",
            metadata: json!({
                "scorer": "choice", "src": "ours",
                "choices": ["a pea", "a plum", "a pear", "a pumpkin", "a peanut"],
            }),
        },
        Case {
            id: "supergpqa",
            rows: vec![json!({
                "uuid": "u-1", "question": "Which metal is liquid at room temperature?",
                "options": ["Iron", "Mercury"], "answer": "Mercury", "answer_letter": "B",
                "discipline": "Science", "field": "Chemistry", "subfield": "Inorganic Chemistry",
                "difficulty": "easy", "is_calculation": false,
            })],
            problem: "Which metal is liquid at room temperature?\n\nA. Iron\nB. Mercury\n\n\
                      Answer with the letter of the correct option.",
            answer: Some("B"),
            subject: Some("Science"),
            query_id: "u-1",
            metadata: json!({
                "scorer": "choice", "choices": ["Iron", "Mercury"], "field": "Chemistry",
                "subfield": "Inorganic Chemistry", "difficulty": "easy", "is_calculation": false,
            }),
        },
        Case {
            id: "gpqa",
            rows: vec![json!({
                "Record ID": "rec1", "Question": "Which planet is nearest to the sun?",
                "Correct Answer": "Mercury\n", "Incorrect Answer 1": "Venus",
                "Incorrect Answer 2": "Mars", "Incorrect Answer 3": "Earth",
                "Explanation": "it is", "Subdomain": "Astrophysics", "High-level domain": "Physics",
            })],
            problem: "",
            answer: None,
            subject: Some("Astrophysics"),
            query_id: "rec1",
            metadata: json!({"scorer": "choice", "choices": [], "High-level domain": "Physics"}),
        },
        Case {
            id: "gsm8k",
            rows: vec![json!({
                "question": "Ann has 3 boxes of 400 pens. How many pens?",
                "answer": "There are 3 * 400 = <<3*400=1200>>1200 pens.\n#### 1,200",
            })],
            problem: "Ann has 3 boxes of 400 pens. How many pens?",
            answer: Some("1,200"),
            subject: None,
            query_id: "0",
            metadata: json!({"scorer": "numeric"}),
        },
        Case {
            id: "math-500",
            rows: vec![json!({
                "problem": "Compute $\\frac12+\\frac13$.", "solution": "It is $\\boxed{\\frac56}$.",
                "answer": "\\frac56", "subject": "Prealgebra", "level": 2,
                "unique_id": "test/prealgebra/1.json",
            })],
            problem: "Compute $\\frac12+\\frac13$.",
            answer: Some("\\frac56"),
            subject: Some("Prealgebra"),
            query_id: "test/prealgebra/1.json",
            metadata: json!({"scorer": "math", "level": 2}),
        },
        Case {
            id: "aime",
            rows: vec![json!({
                "id": 60, "problem": "Find the remainder.", "solution": "long", "answer": "073",
                "url": "https://example.org", "year": "2024",
            })],
            problem: "Find the remainder.",
            answer: Some("073"),
            subject: None,
            query_id: "60",
            metadata: json!({"scorer": "numeric", "year": "2024"}),
        },
        Case {
            id: "aime-2025",
            rows: vec![json!({"id": "0", "problem": "Find the sum.", "answer": "70"})],
            problem: "Find the sum.",
            answer: Some("70"),
            subject: None,
            query_id: "0",
            metadata: json!({"scorer": "numeric"}),
        },
        Case {
            id: "arc",
            rows: vec![
                json!({
                    "id": "Mercury_1", "question": "What do plants need?", "answerKey": "C",
                    "choices": {"text": ["noise", "wheels", "light"], "label": ["A", "B", "C"]},
                }),
                json!({
                    "id": "NYSEDREGENTS_2", "question": "Ice is?", "answerKey": "2",
                    "choices": {"text": ["hot", "cold"], "label": ["1", "2"]},
                }),
            ],
            problem: "What do plants need?\n\nA. noise\nB. wheels\nC. light\n\n\
                      Answer with the letter of the correct option.",
            answer: Some("C"),
            subject: None,
            query_id: "Mercury_1",
            metadata: json!({"scorer": "choice", "choices": ["noise", "wheels", "light"]}),
        },
        Case {
            id: "hellaswag",
            rows: vec![json!({
                "ind": 24, "activity_label": "Roof shingle removal", "ctx_a": "A man sits on a roof.",
                "ctx_b": "he", "ctx": "A man sits on a roof. he", "source_id": "activitynet~v_1",
                "endings": ["sings.", "pulls up a shingle.", "swims.", "flies."],
                "split": "val", "split_type": "indomain", "label": "1",
            })],
            problem: "A man sits on a roof. he\n\nA. sings.\nB. pulls up a shingle.\nC. swims.\n\
                      D. flies.\n\nAnswer with the letter of the correct option.",
            answer: Some("B"),
            subject: Some("Roof shingle removal"),
            query_id: "24",
            metadata: json!({
                "scorer": "choice", "choices": ["sings.", "pulls up a shingle.", "swims.", "flies."],
                "source_id": "activitynet~v_1", "split_type": "indomain",
            }),
        },
        Case {
            id: "truthfulqa",
            rows: vec![json!({
                "question": "Is the moon made of cheese?",
                "mc1_targets": {"choices": ["No", "Yes", "Partly"], "labels": [1, 0, 0]},
                "mc2_targets": {"choices": ["No", "Yes"], "labels": [1, 0]},
            })],
            problem: "",
            answer: None,
            subject: None,
            query_id: "0",
            metadata: json!({"scorer": "choice", "choices": []}),
        },
        Case {
            id: "simpleqa",
            rows: vec![json!({
                "metadata": "{'topic': 'Art', 'answer_type': 'Person', 'urls': ['https://example.org']}",
                "problem": "Who painted the picture?", "answer": "A painter",
            })],
            problem: "Who painted the picture?",
            answer: Some("A painter"),
            subject: Some("Art"),
            query_id: "0",
            metadata: json!({
                "scorer": "judge",
                "metadata":
                    "{'topic': 'Art', 'answer_type': 'Person', 'urls': ['https://example.org']}",
            }),
        },
        Case {
            id: "natural-reasoning",
            rows: vec![
                json!({"question": "Why is the sky blue?", "reference_answer": "Scattering",
                       "responses": [{"response_model": "m", "response": "Because"}]}),
                json!({"question": "Prove it.", "reference_answer": "",
                       "responses": [{"response_model": "m", "response": "Thus"}]}),
            ],
            problem: "Why is the sky blue?",
            answer: Some("Scattering"),
            subject: None,
            query_id: "0",
            metadata: json!({"scorer": "judge"}),
        },
        Case {
            id: "wildchat",
            rows: vec![json!({
                "conversation_id": "c1", "model": "gpt", "turn": 2, "language": "English",
                "conversation": [
                    {"role": "user", "content": "Write a haiku", "language": "English", "toxic": false},
                    {"role": "assistant", "content": "Five, seven, five", "language": "English", "toxic": false},
                    {"role": "user", "content": "Another", "language": "English", "toxic": false},
                ],
                "toxic": false, "redacted": false,
            })],
            problem: "Write a haiku",
            answer: Some("Five, seven, five"),
            subject: Some("English"),
            query_id: "c1",
            metadata: json!({"scorer": "judge", "model": "gpt", "turn": 2}),
        },
        Case {
            id: "ifeval",
            rows: vec![json!({
                "key": 1000, "prompt": "Write without commas.",
                "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
                "kwargs": [{"num_words": null, "relation": null}, {"num_words": 30, "relation": "at least"}],
            })],
            problem: "Write without commas.",
            answer: None,
            subject: None,
            query_id: "1000",
            metadata: json!({
                "scorer": "instructions",
                "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
                "kwargs": [{"num_words": null, "relation": null}, {"num_words": 30, "relation": "at least"}],
            }),
        },
    ]
}
