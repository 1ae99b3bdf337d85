//! The conversation of one structured request: what is asked first, and what each re-ask adds.

use nightforge_domain::contract::Contract;
use serde_json::{Value, json};

use crate::ledger::Level;
use crate::native::{Tools, with_calls};
use crate::request::{Message, Role, Sampling, StructuredRequest};

/// Temperature of a re-ask.
pub const REASK_TEMPERATURE: f64 = 0.3;

/// The conversation, which only grows: what a server has in its prefix cache stays valid.
pub(crate) struct Turns<'a> {
    request: &'a StructuredRequest,
    pub(crate) name: &'static str,
    pub(crate) schema: &'a Value,
    pub(crate) schema_text: String,
    added: Vec<Message>,
    pub(crate) reasks: u32,
    schema_shown: bool,
}

/// How a re-ask says what the answer must look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Again {
    /// One whole object: the model has seen the schema, or is held to it.
    Object,
    /// The schema, which the model has never seen.
    Schema,
    /// One tool call, with an example.
    Call {
        /// A call that would be taken.
        example: String,
    },
}

impl<'a> Turns<'a> {
    pub(crate) fn new(request: &'a StructuredRequest, name: &'static str, schema: &'a Value) -> Self {
        let schema_text = schema.to_string();
        Self { request, name, schema, schema_text, added: Vec::new(), reasks: 0, schema_shown: false }
    }

    pub(crate) fn may_reask(&self) -> bool {
        self.reasks < self.request.max_reasks
    }

    /// `json` is the answer where it is a JSON object. Broken text never goes back: servers then fail later
    /// turns.
    pub(crate) fn reask(&mut self, json: Option<&str>, words: &str, again: Again) {
        self.reasks += 1;
        self.added.push(Message::assistant(json.unwrap_or("(an answer that can't be used)")));
        let again = match again {
            Again::Object => format!("Answer again with one whole {} object.", self.name),
            Again::Schema => {
                self.schema_shown = true;
                self.passage()
            }
            Again::Call { example } => format!("Call exactly one tool, for example {example}."),
        };
        self.added.push(Message::user(format!("Your answer was not accepted: {words}.\n\n{again}")));
    }

    /// Whether a server took the schema and ignored it, so that it had to be shown.
    pub(crate) fn schema_was_shown(&self) -> bool {
        self.schema_shown
    }

    pub(crate) fn seed(&self) -> i64 {
        self.request.sampling.seed.wrapping_add(i64::from(self.reasks))
    }

    pub(crate) fn sampling(&self) -> Sampling {
        let mut sampling = Sampling { seed: self.seed(), ..self.request.sampling.clone() };
        if self.reasks > 0 {
            sampling.temperature = REASK_TEMPERATURE;
        }
        sampling
    }

    pub(crate) fn messages(&self, level: Level) -> Vec<Message> {
        let mut messages = self.request.messages.clone();
        if level.shows_schema() {
            let fixed = messages.iter().position(|message| message.role == Role::System);
            let at = fixed.or_else(|| messages.len().checked_sub(1));
            match at.and_then(|at| messages.get_mut(at)) {
                Some(message) => message.content = format!("{}\n\n{}", message.content, self.passage()),
                None => messages.push(Message::user(self.passage())),
            }
        }
        messages.extend(self.added.iter().cloned());
        messages
    }

    /// The conversation for native mode. Re-asks stay texts: a call that was not accepted is none.
    pub(crate) fn messages_with_calls<T: Contract>(&self, tools: &Tools) -> Vec<Value> {
        let mut messages = with_calls::<T>(&self.request.messages, tools);
        let texts = self.added.iter();
        messages.extend(texts.map(|message| json!({ "role": message.role, "content": message.content })));
        messages
    }

    pub(crate) fn slot(&self) -> Option<u32> {
        self.request.slot
    }

    fn passage(&self) -> String {
        format!(
            "Answer with one JSON object of this schema, named {}:\n{}\nWrite the JSON object only.",
            self.name, self.schema_text
        )
    }
}
