//! Answers of a contract's shape. The ladder: the server holds the model to the schema (level 1); the schema
//! stands in the prompt (level 3); the model is asked again with the validator's words (4); a typed failure
//! (5). Whatever the server promised, the answer is validated here.

use std::sync::PoisonError;
use std::time::Duration;

use nightforge_domain::Usage;
use nightforge_domain::contract::Contract;
use nightforge_domain::fault::FaultClass;
use serde_json::Value;
use tokio::time::Instant;

use crate::client::{Answer, Client};
use crate::conform::first_departure;
use crate::error::CallError;
use crate::extract::{Extracted, extract};
use crate::ledger::{CallObserver, CallOutcome, CallRecord, Level};
use crate::limits::TimeLimits;
use crate::request::{StructuredRequest, estimate_messages};
use crate::turns::Turns;
use crate::{estimate_tokens, portable_schema, wire};

/// A valid answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structured<T> {
    /// The answer, checked.
    pub value: T,
    /// The answer as it came.
    pub answer: Answer,
    /// How the schema was given.
    pub level: Level,
    /// Re-asks that it took.
    pub reasks: u32,
}

impl Client {
    /// Asks for an answer of the contract `T`, with the ladder above.
    ///
    /// The last failure is returned: `ModelOutputInvalid`, `Truncated` or `Refusal` where the model's answer
    /// is at fault, else the class of the call that failed; only a schema that the server refuses leads to
    /// another call at once. `limits` hold for each call. `observer` hears of every call, also where this future is dropped.
    pub async fn structured<T: Contract>(
        &self,
        request: &StructuredRequest,
        limits: &TimeLimits,
        observer: &dyn CallObserver,
    ) -> Result<Structured<T>, CallError> {
        let schema = portable_schema::<T>().map_err(|error| {
            CallError::new(&self.inner.endpoint, FaultClass::BadRequest, &error.to_string())
        })?;
        let mut level = self.remembered_level(T::NAME);
        let mut turns = Turns::new(request, T::NAME, &schema);
        let mut truncated_before = false;
        loop {
            let call = Call::start(observer, T::NAME, level, &turns);
            let answer = match self.ask(&turns, level, limits, observer).await {
                Ok(answer) => answer,
                Err(error) => {
                    call.failed(error.class, error.usage.unwrap_or_default());
                    match error.class {
                        FaultClass::SchemaRejected if level == Level::ResponseFormat => level = Level::Prompt,
                        FaultClass::Truncated if !truncated_before && turns.may_reask() => {
                            truncated_before = true;
                            turns.reask(None, "it was too long and was cut off; answer much shorter", false);
                        }
                        // Some servers read the answer themselves, and say 500 where they can't.
                        FaultClass::ModelOutputInvalid if turns.may_reask() => {
                            turns.reask(None, "it was not valid JSON", false);
                        }
                        _ => return Err(error),
                    }
                    continue;
                }
            };
            let fault = match read::<T>(&answer, &schema) {
                Ok(value) => {
                    call.accepted(answer.usage);
                    self.remember_level(T::NAME, turns.proven_level(level));
                    return Ok(Structured { value, answer, level, reasks: turns.reasks });
                }
                Err(fault) => fault,
            };
            call.failed(FaultClass::ModelOutputInvalid, answer.usage);
            if !turns.may_reask() {
                let came_back =
                    format!("no valid {} after {} re-asks, {}", T::NAME, turns.reasks, fault.words);
                let error = CallError::new(&self.inner.endpoint, FaultClass::ModelOutputInvalid, &came_back);
                return Err(error.with_usage(answer.usage));
            }
            // A server that held the model to the schema can't have let this through; it ignores the field,
            // and the model has never seen the schema.
            let show_schema = level == Level::ResponseFormat && fault.leaves_schema;
            turns.reask(fault.json.as_deref(), &fault.words, show_schema);
        }
    }

    async fn ask(
        &self,
        turns: &Turns<'_>,
        level: Level,
        limits: &TimeLimits,
        observer: &dyn CallObserver,
    ) -> Result<Answer, CallError> {
        let sampling = turns.sampling();
        let messages = turns.messages(level);
        let prompt_tokens = estimate_messages(&messages) + estimate_tokens(&turns.schema_text);
        let body = wire::Request::new(self.model(), &messages, &sampling);
        let body = match level {
            Level::ResponseFormat => body.with_schema(turns.name, turns.schema),
            Level::Prompt => body,
        };
        self.send(&body, prompt_tokens, limits, &mut |text| observer.delta(text)).await
    }

    fn remembered_level(&self, contract: &'static str) -> Level {
        let levels = self.inner.levels.lock().unwrap_or_else(PoisonError::into_inner);
        levels.get(contract).copied().unwrap_or(Level::ResponseFormat)
    }

    fn remember_level(&self, contract: &'static str, level: Level) {
        self.inner.levels.lock().unwrap_or_else(PoisonError::into_inner).insert(contract, level);
    }
}

/// Why an answer is not valid.
struct Fault {
    /// For the model: what was wrong.
    words: String,
    /// The answer, where it is a JSON object. Broken text never goes back: servers then fail later turns.
    json: Option<String>,
    /// Whether it leaves the schema itself, not only the contract's own rules.
    leaves_schema: bool,
}

fn read<T: Contract>(answer: &Answer, schema: &Value) -> Result<T, Fault> {
    let found = if answer.text.trim().is_empty() && !answer.reasoning.trim().is_empty() {
        only_in_reasoning(&answer.reasoning)
    } else {
        extract(&answer.text).map_err(|error| error.to_string())
    };
    let Extracted { json, value } =
        found.map_err(|words| Fault { words, json: None, leaves_schema: true })?;
    // From the text, because a `Value` has already dropped fields that were given twice.
    let contract: T = match serde_json::from_str(&json) {
        Ok(contract) => contract,
        Err(error) => {
            let departure = first_departure(&value, schema);
            let leaves_schema = departure.is_some();
            return Err(Fault {
                words: departure.unwrap_or_else(|| error.to_string()),
                json: Some(json),
                leaves_schema,
            });
        }
    };
    match contract.check() {
        Ok(()) => Ok(contract),
        Err(words) => Err(Fault { words, json: Some(json), leaves_schema: false }),
    }
}

/// An answer that a model gave as reasoning alone counts where all of it is the object.
fn only_in_reasoning(reasoning: &str) -> Result<Extracted, String> {
    let json = reasoning.trim().to_owned();
    match serde_json::from_str(&json) {
        Ok(value @ Value::Object(_)) => Ok(Extracted { json, value }),
        _ => Err("the answer was empty".to_owned()),
    }
}

/// A call that has not ended. Dropped without an end, it reports itself as abandoned.
struct Call<'a> {
    observer: &'a dyn CallObserver,
    record: Option<CallRecord>,
    started: Instant,
}

impl<'a> Call<'a> {
    fn start(
        observer: &'a dyn CallObserver,
        contract: &'static str,
        level: Level,
        turns: &Turns<'_>,
    ) -> Self {
        let record = CallRecord {
            contract,
            level,
            reask: turns.reasks,
            seed: turns.seed(),
            duration: Duration::ZERO,
            usage: Usage::default(),
            outcome: CallOutcome::Abandoned,
        };
        Self { observer, record: Some(record), started: Instant::now() }
    }

    fn accepted(mut self, usage: Usage) {
        self.end(CallOutcome::Accepted, usage);
    }

    fn failed(mut self, class: FaultClass, usage: Usage) {
        self.end(CallOutcome::Failed(class), usage);
    }

    fn end(&mut self, outcome: CallOutcome, usage: Usage) {
        if let Some(record) = self.record.take() {
            self.observer.record(CallRecord { outcome, usage, duration: self.started.elapsed(), ..record });
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.end(CallOutcome::Abandoned, Usage::default());
    }
}
