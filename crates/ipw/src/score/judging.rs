//! Grades answers with a judge model, several at a time, with a limited number of attempts for
//! each.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ipw_clients::{Canceller, Client, ClientSpec, Request};
use ipw_core::price::Price;
use ipw_core::query::Query;
use ipw_core::reply::TokenCounts;
use ipw_core::setting::Setting;
use ipw_core::time::Clock;
use ipw_core::verdict::Grade;
use ipw_hub::Progress;
use ipw_runner::SystemClock;
use ipw_scoring::judge;
use ipw_store::Run;
pub use ipw_store::summary::Judging;
use ipw_store::verdicts::{Answer, Answers};
use serde_json::{Map, Value};
use tokio::task::JoinSet;

use super::Grading;
use super::ledger::{Entry, Ledger, asked};
use crate::error::{Error, Kind};
use crate::{clients, prices};

/// Grades by the row's place in the run.
pub(super) type Grades = BTreeMap<u64, Grade>;

/// Timeout for one answer.
const PATIENCE: Duration = Duration::from_mins(5);
/// The first pause after a failure. Each further pause is twice as long.
const PAUSE: Duration = Duration::from_millis(500);

/// Which model judges, and how to reach it.
#[derive(Debug, Clone)]
pub struct JudgeSpec {
    /// How to reach the judge.
    pub client: ClientSpec,
    /// Name of the model.
    pub model: String,
    /// Generation parameters for the judge.
    pub parameters: Map<String, Value>,
    /// Number of answers in flight to the judge.
    pub concurrency: NonZeroUsize,
    /// Number of retries after a failure.
    pub retries: u32,
}

/// A model that grades.
pub(super) struct Judge {
    client: Arc<dyn Client>,
    clock: Arc<dyn Clock>,
    pub(super) model: String,
    parameters: Map<String, Value>,
    concurrency: usize,
    retries: u32,
    price: Option<Price>,
    http2: bool,
}

/// An answer in flight to the judge.
struct Case {
    index: u64,
    asked: u64,
    prompt: String,
}

impl Judge {
    /// Connects to the judge. `progress` gets the progress of downloading its model.
    pub(super) fn new(judge: JudgeSpec, progress: &mut dyn FnMut(Progress)) -> Result<Self, Error> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let JudgeSpec {
            client: spec,
            model,
            parameters,
            concurrency,
            retries,
        } = judge;
        let price = prices::find(None, spec.base_url.as_deref(), &model)?;
        let client = clients::connect(&spec, &model, Arc::clone(&clock), progress)?;
        Ok(Self {
            client: client.into(),
            clock,
            model,
            parameters,
            concurrency: concurrency.get(),
            retries,
            price,
            http2: spec.network.http2,
        })
    }

    /// Grades every answer that needs a judge and has no entry in the ledger.
    pub(super) fn ask(
        self,
        run: &Run,
        asking: &Grading<'_>,
        ledger: &mut Ledger,
    ) -> Result<Judging, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("starting the runtime")?;
        let judge = Arc::new(self);
        let told = runtime.block_on(Arc::clone(&judge).go_through(run, asking, ledger));
        let _ = runtime.block_on(judge.client.close());
        let told = told?;
        match ledger.silence() {
            Some(reason) if told.asked + told.asked_before > 0 => Err(silent(&told, reason)),
            _ => Ok(told),
        }
    }

    async fn go_through(
        self: Arc<Self>,
        run: &Run,
        asking: &Grading<'_>,
        ledger: &mut Ledger,
    ) -> Result<Judging, Error> {
        let mut told = Judging {
            client: self.client.id().to_owned(),
            place: self.client.place(),
            model: self.model.clone(),
            prompt: judge::PROMPT.into(),
            parameters: self.parameters.clone().into(),
            ..Judging::default()
        };
        let mut cases = Cases::of(run, asking);
        let Some(first) = cases.next(ledger)? else {
            told.asked_before = cases.asked_before;
            return Ok(told);
        };
        if let Err(error) = self.client.health().await {
            let or = if self.http2 {
                format!(", or remove `{}`", Setting::Http2)
            } else {
                String::new()
            };
            return Err(Error::new(Kind::Service, error).with_help(format!(
                "check the address of the judge with `{}`{or}; nothing was changed",
                Setting::JudgeBaseUrl.to("URL")
            )));
        }
        let begun = self.clock.now();
        let mut flying: JoinSet<Entry> = JoinSet::new();
        let mut next = Some(first);
        loop {
            while flying.len() < self.concurrency
                && let Some(case) = next.take()
            {
                let judge = Arc::clone(&self);
                flying.spawn(async move { judge.judge(case).await });
                next = cases.next(ledger)?;
            }
            let Some(entry) = flying.join_next().await else {
                break;
            };
            let entry = entry.context("a judge's task")?;
            count(&mut told, &entry);
            ledger.add(&entry)?;
            if let (true, Some(reason)) = (told.asked >= GIVING_UP, ledger.silence()) {
                return Err(silent(&told, reason));
            }
        }
        told.asked_before = cases.asked_before;
        let tokens = TokenCounts {
            input: told.input_tokens,
            output: told.output_tokens,
            ..TokenCounts::default()
        };
        let price = self.price.as_ref();
        told.cost_usd = price.and_then(|price| price.of(&tokens).total());
        told.seconds = self.clock.now().since(begun).as_secs_f64();
        Ok(told)
    }

    async fn judge(&self, case: Case) -> Entry {
        let begun = self.clock.now();
        let (mut input, mut output) = (None, None);
        let mut attempts = 0;
        let grade = loop {
            attempts += 1;
            let (grade, tokens) = self.attempt(&case.prompt).await;
            add(&mut input, tokens.0);
            add(&mut output, tokens.1);
            match grade {
                Ok(grade) => break grade,
                Err(grade) if attempts > self.retries => break grade,
                Err(_) => tokio::time::sleep(PAUSE * 2_u32.pow((attempts - 1).min(6))).await,
            }
        };
        let said = grade.judge.as_ref().map(|judge| judge.output.clone());
        Entry {
            query_index: case.index,
            asked: case.asked,
            model: self.model.clone(),
            prompt: judge::PROMPT.to_owned(),
            is_correct: grade.verdict.is_correct(),
            extracted: grade.extracted,
            reason: grade.reason,
            output: said.unwrap_or_default(),
            attempts,
            input_tokens: input,
            output_tokens: output,
            seconds: self.clock.now().since(begun).as_secs_f64(),
        }
    }

    /// One attempt: a verdict, or the grade to store if it was the last attempt.
    async fn attempt(&self, prompt: &str) -> (Result<Grade, Grade>, (Option<u64>, Option<u64>)) {
        let (_canceller, cancel) = Canceller::new();
        let query = Query::asking(prompt.to_owned());
        let request = Request {
            query: &query,
            model: &self.model,
            system: None,
            parameters: &self.parameters,
            timeout: PATIENCE,
            first_token_timeout: None,
            idle_timeout: None,
            max_reply: ipw_clients::MAX_REPLY,
            cancel,
            witness: None,
        };
        let reply = self.client.send(request).await;
        let tokens = (reply.tokens.input, reply.tokens.output);
        if !reply.outcome.is_answered() {
            let why = reply.error.as_deref().unwrap_or("no reply");
            let reason = format!("the judge did not answer: {why}");
            return (Err(judge::ungraded(&self.model, "", &reason)), tokens);
        }
        let grade = judge::grade(&self.model, &reply.answer).ok_or_else(|| {
            judge::ungraded(&self.model, &reply.answer, "the judge said no verdict")
        });
        (grade, tokens)
    }
}

/// A judge that gave no verdict after this many answers is given up.
const GIVING_UP: u64 = 10;

/// The error of a judge that gave no verdict on any answer.
fn silent(told: &Judging, reason: &str) -> Error {
    let answers = told.asked + told.asked_before;
    let said = format!("the judge gave no verdict on any of {answers} answers: {reason}");
    Error::new(Kind::Service, anyhow::anyhow!(said))
        .with_help("try the judge with `ipw ping`, or choose another model; the run is unchanged")
}

fn count(told: &mut Judging, entry: &Entry) {
    told.asked += 1;
    told.attempts += u64::from(entry.attempts);
    told.without_verdict += u64::from(entry.is_correct.is_none());
    add(&mut told.input_tokens, entry.input_tokens);
    add(&mut told.output_tokens, entry.output_tokens);
}

fn add(total: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *total = Some(total.unwrap_or(0) + more);
    }
}

/// Answers that need a judge and have no entry in the ledger, read in batches.
struct Cases<'a> {
    rows: Answers<'a>,
    asking: &'a Grading<'a>,
    held: VecDeque<Case>,
    asked_before: u64,
}

impl<'a> Cases<'a> {
    fn of(run: &'a Run, asking: &'a Grading<'a>) -> Self {
        Self {
            rows: Answers::of(run),
            asking,
            held: VecDeque::new(),
            asked_before: 0,
        }
    }

    fn next(&mut self, ledger: &Ledger) -> Result<Option<Case>, Error> {
        while self.held.is_empty() {
            let (asking, held) = (self.asking, &mut self.held);
            let known = &mut self.asked_before;
            let is_more = self.rows.read(|answer| {
                if !asking.wants_judge(answer) {
                    return;
                }
                if ledger.has(answer) {
                    *known += 1;
                } else {
                    held.push_back(Case::of(answer));
                }
            });
            if !is_more.context("reading the rows")? {
                break;
            }
        }
        Ok(self.held.pop_front())
    }
}

impl Case {
    fn of(answer: &Answer<'_>) -> Self {
        let reference = answer.reference.unwrap_or("(there is none)");
        Self {
            index: answer.index,
            asked: asked(answer),
            prompt: judge::prompt(answer.problem, reference, answer.answer),
        }
    }
}
