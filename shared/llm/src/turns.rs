//! The conversation of one structured request: what is asked first, and what each re-ask adds.

use serde_json::Value;

use crate::ledger::Level;
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

impl<'a> Turns<'a> {
    pub(crate) fn new(request: &'a StructuredRequest, name: &'static str, schema: &'a Value) -> Self {
        let schema_text = schema.to_string();
        Self { request, name, schema, schema_text, added: Vec::new(), reasks: 0, schema_shown: false }
    }

    pub(crate) fn may_reask(&self) -> bool {
        self.reasks < self.request.max_reasks
    }

    pub(crate) fn reask(&mut self, json: Option<&str>, words: &str, show_schema: bool) {
        self.reasks += 1;
        self.added.push(Message::assistant(json.unwrap_or("(an answer that can't be used)")));
        let again = if show_schema {
            self.passage()
        } else {
            format!("Answer again with one whole {} object.", self.name)
        };
        self.schema_shown |= show_schema;
        self.added.push(Message::user(format!("Your answer was not accepted: {words}.\n\n{again}")));
    }

    /// The level to begin with next time: a server that took the schema and ignored it needs it in the prompt.
    pub(crate) fn proven_level(&self, level: Level) -> Level {
        if self.schema_shown { Level::Prompt } else { level }
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
        if level == Level::Prompt {
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

    fn passage(&self) -> String {
        format!(
            "Answer with one JSON object of this schema, named {}:\n{}\nWrite the JSON object only.",
            self.name, self.schema_text
        )
    }
}
