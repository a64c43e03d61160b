//! Reports a stream to a witness; without one it costs nothing.

use ipw_core::reply::{Stamp, TokenSource};
use ipw_core::time::Timestamp;
use ipw_core::witness::{ExchangeEvent, Meaning, Witness};

use super::Chat;

/// Observes the reads and events of one stream.
pub(super) trait Watch {
    /// Reports a read of `bytes` bytes.
    fn read(&self, bytes: usize, stamp: Stamp);

    /// Passes an event to `chat` and reports it.
    fn event(&self, chat: &mut impl Chat, data: &[u8], at: Timestamp);
}

pub(super) struct NoWitness;

impl Watch for NoWitness {
    fn read(&self, _bytes: usize, _stamp: Stamp) {}

    fn event(&self, chat: &mut impl Chat, data: &[u8], at: Timestamp) {
        chat.event(data, at);
    }
}

pub(super) struct WitnessWatch<'a>(pub(super) &'a dyn Witness);

impl Watch for WitnessWatch<'_> {
    fn read(&self, bytes: usize, stamp: Stamp) {
        self.0.saw(ExchangeEvent::Read { stamp, bytes });
    }

    /// Reports the event's changes to the transcript: this works for every API.
    fn event(&self, chat: &mut impl Chat, data: &[u8], at: Timestamp) {
        let was = chat.transcript();
        let (answer, reasoning) = (was.answer.len(), was.reasoning.len());
        let (chunks, finish) = (was.chunks.len(), was.finish_reason.clone());
        let (tokens, timings) = (chat.tokens(), chat.service_timing());
        chat.event(data, at);
        let is = chat.transcript();
        let added = |text: &'_ str| !text.is_empty();
        let new_answer = is.answer.get(answer..).filter(|text| added(text));
        let new_reasoning = is.reasoning.get(reasoning..).filter(|text| added(text));
        let is_text = new_answer.is_some() || new_reasoning.is_some();
        let now = chat.tokens();
        let reported = now.1.filter(|source| *source != TokenSource::Chunks);
        let meaning = Meaning {
            reasoning: new_reasoning,
            answer: new_answer,
            is_call: is.chunks.len() > chunks && !is_text,
            finish: is
                .finish_reason
                .as_deref()
                .filter(|_| is.finish_reason != finish),
            tokens: reported
                .filter(|_| now != tokens)
                .map(|source| (now.0, source)),
            timings: Some(chat.service_timing()).filter(|now| *now != timings),
            is_last: chat.is_done(),
            is_fault: chat.is_broken(),
        };
        self.0.saw(ExchangeEvent::Event {
            at,
            data,
            meaning: &meaning,
        });
    }
}
