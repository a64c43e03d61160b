//! Replies of a tiny model with random weights.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::io::Cursor;
use std::sync::Arc;

use ipw_core::reply::Failure;
use ipw_engine::gguf::Gguf;
use ipw_engine::template::Message;
use ipw_engine::{Ending, Engine, Finish, LoadError, Options, Part, Prompt, Sampling, Settings};
use ipw_testkit::ManualClock;
use ipw_testkit::tiny_model::{GgufBuilder, GgufValue, TensorType, TinyModel};

fn start(builder: &GgufBuilder, options: Options) -> Result<Engine, LoadError> {
    let mut file = Gguf::read(Cursor::new(builder.bytes()))?;
    Engine::start(&mut file, options, Arc::new(ManualClock::default()))
}

fn engine(model: &TinyModel) -> Engine {
    start(
        &model.builder(),
        Options {
            threads: 2,
            context: None,
        },
    )
    .unwrap()
}

fn prompt(text: &str, settings: Settings) -> Prompt {
    Prompt {
        messages: vec![Message::new("user", text)],
        settings,
    }
}

fn most(max_tokens: usize) -> Settings {
    Settings {
        max_tokens,
        ignore_end: true,
        ..Settings::default()
    }
}

/// The text and the end.
fn reply(engine: &Engine, prompt: Prompt) -> (Vec<String>, Ending) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut generation = engine.generate(prompt);
    let mut texts = Vec::new();
    runtime.block_on(async {
        loop {
            match generation.next().await.unwrap() {
                Part::Text(text, _) => texts.push(text),
                Part::Ended(ended) => return (texts, ended),
            }
        }
    })
}

#[test]
fn a_reply_is_as_long_as_it_may_be_and_the_same_again() {
    let engine = engine(&TinyModel::default());
    let (texts, ended) = reply(&engine, prompt("Hello there", most(20)));
    assert_eq!(
        (ended.finish.clone(), ended.reply_tokens),
        (Finish::Length, 20)
    );
    assert!(ended.prompt_tokens.unwrap() > 5);
    let (again, _) = reply(&engine, prompt("Hello there", most(20)));
    assert_eq!(texts, again);
    // A longer prompt in between leaves nothing behind.
    reply(&engine, prompt(&"word ".repeat(30), most(4)));
    assert_eq!(reply(&engine, prompt("Hello there", most(20))).0, texts);
}

#[test]
fn threads_and_batches_change_nothing() {
    let model = TinyModel {
        context: 2048,
        ..TinyModel::default()
    };
    let long = prompt(&"one two three ".repeat(90), most(12));
    let options = |threads| Options {
        threads,
        context: None,
    };
    let one = reply(&start(&model.builder(), options(1)).unwrap(), long.clone());
    let three = reply(&start(&model.builder(), options(3)).unwrap(), long);
    // More than a batch of 512.
    assert!(
        one.1.prompt_tokens.unwrap() > 600,
        "{:?}",
        one.1.prompt_tokens
    );
    assert_eq!(one.0, three.0);
}

#[test]
fn every_kind_of_weights_runs() {
    for kind in [
        TensorType::F16,
        TensorType::Q8_0,
        TensorType::Q4_0,
        TensorType::Q4_1,
    ] {
        let engine = engine(&TinyModel::default().stored_as(kind));
        let (_, ended) = reply(&engine, prompt("Hello", most(5)));
        assert_eq!(
            (ended.finish, ended.reply_tokens),
            (Finish::Length, 5),
            "{kind:?}"
        );
    }
    let own = TinyModel {
        output_type: Some(TensorType::Q8_0),
        ..TinyModel::default()
    };
    assert_eq!(engine(&own).about().weights, "Q8_0 from F32, Q8_0");
}

#[test]
fn a_prompt_longer_than_the_context_is_an_outcome() {
    let engine = engine(&TinyModel::default());
    let (texts, ended) = reply(&engine, prompt(&"abc ".repeat(300), most(5)));
    assert!(texts.is_empty());
    match ended.finish {
        Finish::Failed(Failure::Context, text) => {
            assert!(text.contains("context is 256"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    // The engine is as good as before.
    assert_eq!(reply(&engine, prompt("Hello", most(3))).1.reply_tokens, 3);
}

#[test]
fn a_prompt_that_cannot_fit_is_refused_without_counting_its_tokens() {
    let engine = engine(&TinyModel::default());
    let (_, ended) = reply(&engine, prompt(&" ".repeat(15 << 20), most(5)));
    match ended.finish {
        Finish::Failed(Failure::Context, text) => {
            assert!(text.contains("at least"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_full_context_ends_the_reply() {
    let options = Options {
        threads: 1,
        context: Some(128),
    };
    let engine = start(&TinyModel::default().builder(), options).unwrap();
    let (_, ended) = reply(&engine, prompt("Hello", most(1000)));
    assert_eq!(ended.finish, Finish::Length);
    assert_eq!(ended.prompt_tokens.unwrap() + ended.reply_tokens, 128);
}

#[test]
fn a_stop_text_ends_the_reply_and_is_not_part_of_it() {
    let engine = engine(&TinyModel::default());
    let whole = reply(&engine, prompt("Hello", most(30))).0.concat();
    let stop: String = whole.chars().skip(8).take(3).collect();
    let settings = Settings {
        stop: vec![stop.clone()],
        ..most(30)
    };
    let (texts, ended) = reply(&engine, prompt("Hello", settings));
    assert_eq!(ended.finish, Finish::Stop);
    assert_eq!(texts.concat(), whole.split_once(&stop).unwrap().0);
}

#[test]
fn what_comes_out_is_whole_characters() {
    // Random weights draw random bytes: most are halves of characters.
    let engine = engine(&TinyModel {
        seed: 5,
        ..TinyModel::default()
    });
    let warm = Sampling {
        temperature: 5.0,
        seed: 11,
        ..Sampling::default()
    };
    let (texts, ended) = reply(
        &engine,
        prompt(
            "Hello",
            Settings {
                sampling: warm,
                ..most(150)
            },
        ),
    );
    assert_eq!(ended.reply_tokens, 150);
    // A text is a `String`: it cannot hold half a character. None may be empty, and broken bytes
    // are shown as such.
    assert!(texts.iter().all(|text| !text.is_empty()));
    assert!(texts.concat().contains('\u{fffd}'));
}

#[test]
fn a_seed_draws_the_same_reply() {
    let engine = engine(&TinyModel::default());
    let drawn = |seed| {
        let sampling = Sampling {
            temperature: 1.5,
            seed,
            ..Sampling::default()
        };
        reply(
            &engine,
            prompt(
                "Hello",
                Settings {
                    sampling,
                    ..most(30)
                },
            ),
        )
        .0
        .concat()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn cancel_ends_it_between_tokens_and_the_next_in_line_goes_on() {
    let model = TinyModel {
        context: 4096,
        ..TinyModel::default()
    };
    let engine = engine(&model);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut first = engine.generate(prompt("Hello", most(4000)));
        let mut second = engine.generate(prompt("Hello", most(5)));
        assert!(matches!(first.next().await, Some(Part::Text(..))));
        first.cancel();
        let ended = loop {
            if let Part::Ended(ended) = first.next().await.unwrap() {
                break ended;
            }
        };
        assert_eq!(ended.finish, Finish::Cancelled);
        assert!((1..4000).contains(&ended.reply_tokens), "{ended:?}");
        while !matches!(second.next().await.unwrap(), Part::Ended(_)) {}
        // A dropped receiver ends it, too.
        let third = engine.generate(prompt("Hello", most(4000)));
        drop(third);
        let mut fourth = engine.generate(prompt("Hello", most(2)));
        while !matches!(fourth.next().await.unwrap(), Part::Ended(_)) {}
    });
}

#[test]
fn a_template_that_fails_is_an_outcome_and_one_that_is_broken_an_error() {
    let mut builder = TinyModel::default().builder();
    builder.set(
        "tokenizer.chat_template",
        GgufValue::text("{{ raise_exception('no system') }}"),
    );
    let engine = start(&builder, Options::default()).unwrap();
    match reply(&engine, prompt("Hello", most(3))).1.finish {
        Finish::Failed(Failure::Template, text) => assert!(text.contains("no system"), "{text}"),
        other => panic!("{other:?}"),
    }
    builder.set("tokenizer.chat_template", GgufValue::text("{% for"));
    let error = start(&builder, Options::default()).unwrap_err();
    assert!(matches!(error, LoadError::Template(_)), "{error}");
}

#[test]
fn the_work_grows_with_prompt_and_reply() {
    let engine = engine(&TinyModel::default());
    let about = engine.about();
    assert_eq!(
        about.parameters,
        2 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 128) + 320 * 64 + 5 * 64
    );
    let short = reply(&engine, prompt("Hello", most(2))).1;
    let long = reply(&engine, prompt("Hello", most(12))).1;
    // Ten passes of one token, each a little more than the weights' own work.
    let added = (long.compute.flops - short.compute.flops) / 10.0;
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let weights = about.flops_per_token as f64;
    assert!(
        (weights..weights * 1.3).contains(&added),
        "{added} {weights}"
    );
    assert!(long.compute.bytes > short.compute.bytes);
}
