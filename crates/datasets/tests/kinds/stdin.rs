//! Standard input: the test runs itself again with something piped into it.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

use ipw_datasets::open;

use crate::{queries, spec};

const CHILD: &str = "IPW_TEST_STDIN_PARAMS";

/// Does nothing unless it is the child.
#[test]
fn child() {
    let Ok(params) = env::var(CHILD) else { return };
    let pairs: Vec<_> = params
        .split_whitespace()
        .filter_map(|p| p.split_once('='))
        .collect();
    match open(&spec("-", &pairs)) {
        Ok(dataset) => {
            assert_eq!((dataset.id(), dataset.name()), ("stdin", "stdin"));
            let found = queries(dataset.as_ref());
            assert_eq!(found, queries(dataset.as_ref()), "it can be read again");
            let problems: Vec<_> = found.iter().map(|query| query.problem.as_str()).collect();
            println!("found <{}>", problems.join(" "));
        }
        Err(error) => println!("found <{error}>"),
    }
}

fn piped(input: &[u8], params: &str) -> String {
    let mut child = Command::new(env::current_exe().expect("this program"))
        .args(["--exact", "stdin::child", "--nocapture"])
        .env(CHILD, params)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut pipe = child.stdin.take().expect("a pipe");
    // One that refuses its parameters does not read.
    let _ = pipe.write_all(input);
    drop(pipe);
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    let (_, found) = text.split_once("found <").expect("an answer");
    found.split_once('>').expect("an end").0.to_owned()
}

#[test]
fn standard_input_is_a_dataset() {
    let lines = b"{\"problem\": \"a\"}\n{\"problem\": \"b\"}\n{\"problem\": \"c\"}\n";
    assert_eq!(piped(lines, ""), "a b c");
    assert_eq!(piped(lines, "offset=1 shuffle=true").split(' ').count(), 2);
    assert_eq!(piped(b"question;n\nx,y;1\n", "format=csv"), "x,y");
    assert_eq!(piped(b"question\tn\nx,y\t1\n", "format=tsv"), "x,y");
    assert_eq!(piped(b"", ""), "");
    assert_eq!(
        piped(b"{\"problem\": 1}", ""),
        "`(standard input)` line 1: expected a non-empty string in `problem`, found the number 1, \
         in `{\"problem\": 1}`; the parameter `problem` can name another column"
    );
    assert_eq!(
        piped(b"", "format=xml"),
        "parameter `format` of `stdin` is `xml`, expected `jsonl` (default), `csv` or `tsv`"
    );
}
