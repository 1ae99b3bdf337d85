//! Answers of a contract's shape. The ladder: the server holds the model to the schema (level 1); the schema
//! stands in the prompt and the server holds the model to JSON (2); the schema stands in the prompt alone (3);
//! the model is asked again with the validator's words (4); a typed failure (5). In native mode a contract
//! that is one action is asked for as a tool call instead. Whatever the server promised, the answer is
//! validated here.

use nightforge_domain::contract::Contract;
use nightforge_domain::fault::FaultClass;
use serde_json::Value;

use crate::client::{Answer, Client};
use crate::error::CallError;
use crate::ledger::{Call, CallObserver, Level};
use crate::limits::TimeLimits;
use crate::native::Tools;
use crate::prompt::Prompt;
use crate::request::StructuredRequest;
use crate::turns::{Again, Turns};
use crate::validate::{Fault, read_object, read_tool_call};
use crate::{estimate_tokens, portable_schema, wire};

/// A valid answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structured<T> {
    /// The answer, checked.
    pub value: T,
    /// The answer as it came.
    pub answer: Answer,
    /// How the form was given.
    pub level: Level,
    /// Re-asks that it took.
    pub reasks: u32,
}

impl Client {
    /// Asks for an answer of the contract `T`, with the ladder above.
    ///
    /// The last failure is returned: `ModelOutputInvalid`, `Truncated` or `Refusal` where the model's answer
    /// is at fault, else the class of the call that failed; only a form that the server refuses leads to
    /// another call at once, one level lower, which is no re-ask. `limits` hold for each call. `observer` hears
    /// of every call, also where this future is dropped. A prompt over the budget is refused with
    /// `ContextOverflow` and makes no call.
    pub async fn structured<T: Contract>(
        &self,
        request: &StructuredRequest,
        limits: &TimeLimits,
        observer: &dyn CallObserver,
    ) -> Result<Structured<T>, CallError> {
        let ladder = Ladder::of::<T>(self)?;
        let mut level = self.remembered().level(T::NAME, ladder.tools.is_some());
        let mut turns = Turns::new(request, T::NAME, &ladder.schema);
        let mut truncated_before = false;
        loop {
            let (answer, fault) = match ladder.call::<T>(&turns, level, limits, observer).await {
                Ok((answer, Ok(value))) => {
                    // A server that took the schema and ignored it needs it in the prompt next time.
                    let proven = if turns.schema_was_shown() { self.below_the_schema() } else { level };
                    self.remembered().worked(T::NAME, proven);
                    return Ok(Structured { value, answer, level, reasks: turns.reasks });
                }
                Ok((answer, Err(fault))) => (answer, fault),
                Err(error) => {
                    let lower = match error.class {
                        FaultClass::SchemaRejected => self.step_down(level),
                        _ => None,
                    };
                    let again = ladder.again(level, None, false);
                    match (error.class, lower) {
                        (_, Some(lower)) => level = lower,
                        (FaultClass::Truncated, _) if !truncated_before && turns.may_reask() => {
                            truncated_before = true;
                            turns.reask(None, "it was too long and was cut off; answer much shorter", again);
                        }
                        // Some servers read the answer themselves, and say 500 where they can't.
                        (FaultClass::ModelOutputInvalid, _) if turns.may_reask() => {
                            let form =
                                if level == Level::Tools { "no valid tool call" } else { "not valid JSON" };
                            turns.reask(None, &format!("it was {form}"), again);
                        }
                        _ => return Err(error),
                    }
                    continue;
                }
            };
            if !turns.may_reask() {
                let came_back =
                    format!("no valid {} after {} re-asks, {}", T::NAME, turns.reasks, fault.words);
                let error = CallError::new(&self.inner.endpoint, FaultClass::ModelOutputInvalid, &came_back);
                return Err(error.with_usage(answer.usage));
            }
            let again = ladder.again(level, fault.tool.as_deref(), fault.leaves_schema);
            turns.reask(fault.json.as_deref(), &fault.words, again);
        }
    }
}

/// What a contract is at one client: its schema, and its tools where it is an action.
pub(crate) struct Ladder<'a> {
    client: &'a Client,
    schema: Value,
    tools: Option<Tools>,
}

impl<'a> Ladder<'a> {
    pub(crate) fn of<T: Contract>(client: &'a Client) -> Result<Self, CallError> {
        let unusable = |why: &str| {
            CallError::new(&client.inner.endpoint, FaultClass::BadRequest, &format!("{}: {why}", T::NAME))
        };
        let schema = portable_schema::<T>().map_err(|error| unusable(&error.to_string()))?;
        let tools = Tools::of(&schema).map_err(|why| unusable(&why))?;
        Ok(Self { client, schema, tools })
    }

    /// One call without re-asks; why its answer is not valid.
    pub(crate) async fn ask_once<T: Contract>(
        &self,
        request: &StructuredRequest,
        level: Level,
        limits: &TimeLimits,
        observer: &dyn CallObserver,
    ) -> Result<Result<(), String>, CallError> {
        let turns = Turns::new(request, T::NAME, &self.schema);
        let (_, read) = self.call::<T>(&turns, level, limits, observer).await?;
        Ok(read.map(drop).map_err(|fault| fault.words))
    }

    /// One call, and what its answer says.
    async fn call<T: Contract>(
        &self,
        turns: &Turns<'_>,
        level: Level,
        limits: &TimeLimits,
        observer: &dyn CallObserver,
    ) -> Result<(Answer, Result<T, Fault>), CallError> {
        let (sampling, messages) = (turns.sampling(), turns.messages(level));
        let tools = self.tools.as_ref().filter(|_| level == Level::Tools);
        let prompt = Prompt {
            messages: &messages,
            tools: tools.map(|tools| &tools.wire),
            schema_tokens: match level {
                Level::ResponseFormat => estimate_tokens(&turns.schema_text),
                Level::JsonObject | Level::Prompt | Level::Tools => 0,
            },
        };
        let expected = self.client.admit(&prompt, sampling.max_tokens).await?;
        let with_calls = tools.map(|tools| turns.messages_with_calls::<T>(tools)).unwrap_or_default();
        let body = wire::Request::new(self.client.model(), &messages, &sampling)
            .with_slot(self.client.slot(turns.slot()));
        let body = match (level, tools) {
            (Level::ResponseFormat, _) => body.with_schema(turns.name, turns.schema),
            (Level::JsonObject, _) => body.with_json_object(),
            (Level::Tools, Some(tools)) => body.with_tools(&tools.wire, &with_calls),
            (Level::Prompt, _) | (Level::Tools, None) => body,
        };
        let call = Call::start(observer, T::NAME, level, turns.reasks, turns.seed());
        let answer = match self.client.send(&body, &expected, limits, &mut |text| observer.delta(text)).await
        {
            Ok(answer) => answer,
            Err(error) => {
                call.failed(error.class, error.usage.unwrap_or_default());
                return Err(error);
            }
        };
        let read = match tools {
            Some(tools) => read_tool_call(&answer, tools),
            None => read_object(&answer, &self.schema),
        };
        match &read {
            Ok(_) => call.accepted(answer.usage),
            Err(_) => call.failed(FaultClass::ModelOutputInvalid, answer.usage),
        }
        Ok((answer, read))
    }

    /// How a re-ask says what the answer must look like. A server that held the model to the schema can't have
    /// let an answer through that leaves it: it ignores the field, and the model has never seen the schema.
    fn again(&self, level: Level, tool: Option<&str>, leaves_schema: bool) -> Again {
        match (level, &self.tools) {
            (Level::Tools, Some(tools)) => Again::Call { example: tools.example(tool) },
            (Level::ResponseFormat, _) if leaves_schema => Again::Schema,
            _ => Again::Object,
        }
    }
}
