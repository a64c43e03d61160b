//! Files that no engine can run: a message each, no panic, no memory for what is not there.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::io::Cursor;
use std::sync::Arc;

use ipw_engine::gguf::{Gguf, GgufError};
use ipw_engine::{Engine, LoadError, Options};
use ipw_testkit::ManualClock;
use ipw_testkit::tiny_model::{GgufBuilder, GgufValue, TinyModel};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn load(bytes: &[u8]) -> Result<Engine, LoadError> {
    let mut file = Gguf::read(Cursor::new(bytes))?;
    Engine::start(
        &mut file,
        Options {
            threads: 1,
            context: None,
        },
        Arc::new(ManualClock::default()),
    )
}

fn refused(bytes: &[u8]) -> String {
    ipw_core::text::with_causes(&load(bytes).unwrap_err())
}

fn with(change: impl FnOnce(&mut GgufBuilder)) -> Vec<u8> {
    let mut builder = TinyModel::default().builder();
    change(&mut builder);
    builder.bytes()
}

#[test]
fn what_is_no_model_is_named() {
    let good = TinyModel::default().bytes();
    assert_eq!(refused(b""), "it is empty");
    assert!(refused(b"PK\x03\x04 a zip file").contains("not a GGUF file"));
    assert!(refused(b"GGUF").contains("ends too early"));
    let mut other = good.clone();
    other[4] = 9;
    assert!(refused(&other).contains("GGUF version 9"));
    // Cut anywhere: the header, or a tensor.
    for length in [5, 30, 200, good.len() / 2, good.len() - 1] {
        let error = refused(&good[..length]);
        assert!(error.contains("ends too early"), "{length}: {error}");
    }
}

/// A key, what it says, and what is said about that.
fn absurdities() -> Vec<(&'static str, GgufValue, &'static str)> {
    let whole = |number: u32| GgufValue::U32(number);
    vec![
        ("general.alignment", whole(0), "`general.alignment` is 0"),
        ("general.alignment", whole(24), "a power of two"),
        (
            "general.architecture",
            GgufValue::text("mamba"),
            "architecture is `mamba`; the embedded engine supports llama",
        ),
        ("llama.block_count", whole(0), "`llama.block_count` is 0"),
        (
            "llama.block_count",
            whole(4_000_000_000),
            "between 1 and 1024",
        ),
        (
            "llama.embedding_length",
            whole(1 << 30),
            "llama.embedding_length",
        ),
        (
            "llama.feed_forward_length",
            whole(100),
            "not a multiple of 32",
        ),
        (
            "llama.attention.head_count",
            whole(0),
            "llama.attention.head_count",
        ),
        (
            "llama.attention.head_count",
            whole(3),
            "cannot be shared by 3 heads",
        ),
        (
            "llama.attention.head_count_kv",
            whole(3),
            "cannot share 3 key heads",
        ),
        (
            "llama.attention.head_count",
            GgufValue::text("four"),
            "is `four`; expected a whole number",
        ),
        ("llama.context_length", whole(0), "llama.context_length"),
        ("llama.rope.dimension_count", whole(7), "rotated in pairs"),
        (
            "llama.rope.freq_base",
            GgufValue::F32(f32::NAN),
            "llama.rope.freq_base",
        ),
        (
            "llama.rope.scaling.type",
            GgufValue::text("yarn"),
            "scaled by `yarn`",
        ),
        ("llama.expert_count", whole(8), "mixture of experts"),
        ("llama.feed_forward_length", whole(96), "not 96 × 64"),
        (
            "tokenizer.ggml.model",
            GgufValue::text("wordpiece"),
            "wordpiece",
        ),
        (
            "tokenizer.ggml.eos_token_id",
            whole(1_000_000),
            "vocabulary cannot be used",
        ),
        (
            "tokenizer.ggml.tokens",
            whole(3),
            "expected a list of texts",
        ),
    ]
}

#[test]
fn absurd_metadata_is_refused_before_it_is_used() {
    for (key, value, says) in absurdities() {
        let error = refused(&with(|file| {
            file.set(key, value.clone());
        }));
        assert!(error.contains(says), "{key}: {error}");
    }
    for key in [
        "general.architecture",
        "llama.block_count",
        "tokenizer.ggml.tokens",
        "tokenizer.ggml.merges",
    ] {
        let error = refused(&with(|file| {
            file.remove(key);
        }));
        assert!(error.contains(&format!("it has no `{key}`")), "{error}");
    }
}

#[test]
fn a_quantisation_that_is_not_built_is_named_with_those_that_are() {
    let mut bytes = TinyModel::default().bytes();
    // The kind is behind the name, the count of dimensions and the dimensions.
    let name = b"output_norm.weight";
    let at = bytes
        .windows(name.len())
        .position(|window| window == name)
        .unwrap();
    bytes[at + name.len() + 4 + 8] = 23;
    match load(&bytes).unwrap_err() {
        LoadError::File(GgufError::Quantisation {
            tensor,
            kind,
            known,
        }) => {
            assert_eq!(
                (tensor.as_str(), kind.as_str()),
                ("output_norm.weight", "IQ4_XS")
            );
            assert!(known.contains("Q4_K"));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn weights_that_are_not_numbers_are_damage() {
    let mut bytes = TinyModel::default().bytes();
    let length = bytes.len();
    bytes[length - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(refused(&bytes).contains("not finite"));
}

/// A hundred thousand headers with random damage, in a small address space: a parser that
/// trusts a length in the file would run out of memory.
#[test]
fn damaged_headers_cost_a_message_and_nothing_else() {
    let good = TinyModel::default().bytes();
    // Where the weights begin; the last entry of the header is the last tensor's.
    let header = good.len() - 64 * 320 * 4 - 2 * 4 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 128);
    let before = getrlimit(Resource::As);
    let room = 1 << 30;
    let now = rustix::process::getpid();
    let statm = std::fs::read_to_string(format!("/proc/{}/statm", now.as_raw_pid())).unwrap();
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    let most = Some(pages * 4096 + room);
    setrlimit(
        Resource::As,
        Rlimit {
            current: most,
            maximum: before.maximum,
        },
    )
    .unwrap();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random >> 1).unwrap()
    };
    let (mut opened, mut loaded) = (0, 0);
    for round in 0..100_000 {
        let mut bytes = good.clone();
        for _ in 0..=next() % 4 {
            let at = next() % header;
            match next() % 4 {
                // A huge or an odd length where one may be.
                0 => bytes[at..at + 8].copy_from_slice(&(next() as u64).to_le_bytes()),
                1 => bytes[at] = 0xff,
                2 => bytes[at] ^= 1 << (next() % 8),
                _ => bytes[at] = u8::try_from(next() % 256).unwrap(),
            }
        }
        let Ok(mut file) = Gguf::read(Cursor::new(&bytes)) else {
            continue;
        };
        opened += 1;
        // Loading takes longer: one in fifty.
        if round % 50 == 0 {
            let options = Options {
                threads: 1,
                context: None,
            };
            loaded += u32::from(
                Engine::start(&mut file, options, Arc::new(ManualClock::default())).is_ok(),
            );
        }
    }
    setrlimit(Resource::As, before).unwrap();
    // Neither all nor none: the damage was real, and so were the files.
    assert!((1_000..99_000).contains(&opened), "{opened}");
    assert!(loaded > 0);
}
