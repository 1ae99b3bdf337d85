//! In which form an endpoint's model is asked: what the start-up probe found, and what later calls taught.

use std::collections::HashMap;
use std::fmt;
use std::sync::{MutexGuard, PoisonError};

use nightforge_domain::Usage;
use nightforge_domain::contract::ModeProbe;
use nightforge_domain::fault::{Cost, FaultClass};
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::error::CallError;
use crate::ledger::{CallObserver, CallRecord, Level};
use crate::limits::TimeLimits;
use crate::request::{Message, Sampling, StructuredRequest};
use crate::server::ServerKind;
use crate::structured::Ladder;

/// Which modes the probe may choose, per model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModeRule {
    /// Whichever the probe finds. The default.
    #[default]
    Auto,
    /// Schema mode, at whichever level works.
    Schema,
    /// Native tool calls, whether or not the probe has one that is valid.
    Native,
}

/// How actions are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One object of the contract's schema.
    Schema,
    /// One native tool call. Contracts that are no action keep to the schema.
    Native,
}

/// What the probe chose. The client goes by it from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeChoice {
    /// How actions are asked for.
    pub mode: Mode,
    /// Where contracts begin on the ladder: [`Level::Tools`] in native mode.
    pub level: Level,
    /// Whether an answer in this form was valid. Where none was, the model is most likely too small.
    pub proven: bool,
    /// Calls that it took.
    pub calls: u32,
    /// Tokens of all of them, as far as the server counted.
    pub usage: Usage,
    /// Each form that was tried and did not work, with the reason.
    pub failed: Vec<(Level, String)>,
}

impl fmt::Display for ModeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            Level::ResponseFormat => "answers are held to the schema by the server",
            Level::JsonObject => "answers are held to JSON by the server, the schema stands in the prompt",
            Level::Prompt => "the schema stands in the prompt alone",
            Level::Tools => "actions are native tool calls",
        })?;
        if !self.proven {
            f.write_str("; no form that was tried gave a valid answer, use a larger model")?;
        }
        for (level, why) in &self.failed {
            write!(f, "; {level:?}: {why}")?;
        }
        Ok(())
    }
}

/// What a client knows about forms. Shared by its clones.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    /// Where a contract begins of which nothing is known.
    first: Option<Level>,
    /// The level that worked for each contract.
    levels: HashMap<&'static str, Level>,
    native: Option<Native>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Native {
    /// By the operator's word: it is not left when the server refuses it.
    forced: bool,
}

impl Remembered {
    /// Where a contract begins. `is_action` where it can be asked for as a native tool call.
    pub(crate) fn level(&self, contract: &str, is_action: bool) -> Level {
        if is_action && self.native.is_some() {
            return Level::Tools;
        }
        self.levels.get(contract).copied().or(self.first).unwrap_or(Level::ResponseFormat)
    }

    pub(crate) fn worked(&mut self, contract: &'static str, level: Level) {
        if level != Level::Tools {
            self.levels.insert(contract, level);
        }
    }
}

impl Client {
    pub(crate) fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.inner.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next level down for a server that refuses this one; `None` where there is none. What is left by
    /// native mode is left for all contracts.
    pub(crate) fn step_down(&self, level: Level) -> Option<Level> {
        match level {
            Level::ResponseFormat => Some(self.below_the_schema()),
            Level::JsonObject => Some(Level::Prompt),
            Level::Prompt => None,
            Level::Tools => {
                let mut remembered = self.remembered();
                if remembered.native.is_some_and(|native| native.forced) {
                    return None;
                }
                remembered.native = None;
                Some(remembered.first.unwrap_or(Level::ResponseFormat))
            }
        }
    }

    /// Level 2, but for LM Studio, which refuses `json_object`.
    pub(crate) fn below_the_schema(&self) -> Level {
        if self.server() == Some(ServerKind::LmStudio) { Level::Prompt } else { Level::JsonObject }
    }

    /// Finds out how this model is asked best at this endpoint, with at most four small calls, and remembers
    /// it. In this order: level 1, level 2, native tool calls, level 3; the first with a valid answer is
    /// chosen. Ask once before the first job, and again after another model was loaded.
    ///
    /// # Errors
    /// A failure that says nothing about forms: a server that is down, loading or overloaded, a key, a model
    /// that is missing, a limit of time. Nothing is remembered then. A rule that forces native mode fails with
    /// `SchemaRejected` where the server refuses tools.
    pub async fn choose_mode(
        &self,
        rule: ModeRule,
        limits: &TimeLimits,
        observer: &dyn CallObserver,
    ) -> Result<ModeChoice, CallError> {
        let ladder = Ladder::of::<ModeProbe>(self)?;
        let second = self.below_the_schema();
        let mut levels = match rule {
            ModeRule::Native => vec![Level::Tools],
            ModeRule::Auto => vec![Level::ResponseFormat, second, Level::Tools, Level::Prompt],
            ModeRule::Schema => vec![Level::ResponseFormat, second, Level::Prompt],
        };
        if second == Level::Prompt {
            levels.remove(1);
        }
        let spent = Spent { observer, usage: std::sync::Mutex::default() };
        let mut failed = Vec::new();
        let (mut proven, mut cut_at_first, mut was_answered) = (None, false, false);
        let mut unanswered = None;
        for level in &levels {
            let request = probe_request(*level);
            match ladder.ask_once::<ModeProbe>(&request, *level, limits, &spent).await {
                Ok(Ok(())) => {
                    proven = Some(*level);
                    break;
                }
                Ok(Err(why)) => {
                    was_answered = true;
                    failed.push((*level, why));
                }
                Err(error) if !is_about_the_form(error.class) => return Err(error),
                Err(error) if rule == ModeRule::Native && error.class == FaultClass::SchemaRejected => {
                    return Err(error);
                }
                Err(error) => {
                    cut_at_first |= *level == Level::ResponseFormat && error.class == FaultClass::Truncated;
                    let refused =
                        [FaultClass::SchemaRejected, FaultClass::BadRequest, FaultClass::ServerError];
                    was_answered |= !refused.contains(&error.class);
                    failed.push((*level, error.message.clone()));
                    unanswered = Some(error);
                }
            }
        }
        match unanswered {
            // The server refuses every form, so it is not the form.
            Some(error) if proven.is_none() && !was_answered => return Err(error),
            _ => {}
        }
        let level = proven.unwrap_or(match rule {
            ModeRule::Native => Level::Tools,
            // The server took the schema, and the model did not come to an end; the other levels hold it less.
            _ if cut_at_first => Level::ResponseFormat,
            _ => Level::Prompt,
        });
        let forced = rule == ModeRule::Native;
        *self.remembered() = Remembered {
            first: match level {
                // By force, so nothing was learned about the schema.
                Level::Tools if forced => None,
                Level::Tools => Some(Level::Prompt),
                level => Some(level),
            },
            levels: HashMap::new(),
            native: (level == Level::Tools).then_some(Native { forced }),
        };
        let mode = if level == Level::Tools { Mode::Native } else { Mode::Schema };
        let calls = failed.len() as u32 + u32::from(proven.is_some());
        Ok(ModeChoice { mode, level, proven: proven.is_some(), calls, usage: spent.total(), failed })
    }
}

/// Whether a failed probe call says something about the form that was asked for, and the next may work.
fn is_about_the_form(class: FaultClass) -> bool {
    match class.cost() {
        Cost::Counted => class != FaultClass::ContextOverflow,
        // Some servers refuse a field with nothing but a 400; some fail on it with nothing but a 500.
        Cost::DeadLetter => true,
        Cost::Infrastructure => class == FaultClass::ServerError,
        Cost::Operator => false,
    }
}

/// Longest answer of a probe: room for a reasoning model's thoughts about one small question.
const PROBE_TOKENS: u32 = 1_024;

/// The probe's conversation. For native mode it holds an earlier action and its result, to see whether the
/// server's template can render such a history. At the other levels it does not: the model would copy the
/// form of its earlier answer, and a server that ignores the schema would pass.
fn probe_request(level: Level) -> StructuredRequest {
    let mut messages = vec![
        Message::system("You take one small action at a time. Think in one short sentence."),
        Message::user("A project has the folders src and docs. List the files of the folder docs."),
    ];
    if level == Level::Tools {
        messages.push(Message::assistant(
            r#"{"thought":"I list docs.","action":{"tool":"list_files","path":"docs"}}"#,
        ));
        messages.push(Message::user("docs/guide.md\n\nNow read the file docs/guide.md."));
    }
    // No reasoning effort: Ollama refuses it for a model that does not reason.
    let sampling = Sampling { temperature: 0.3, max_tokens: PROBE_TOKENS, ..Sampling::default() };
    StructuredRequest { sampling, max_reasks: 0, ..StructuredRequest::new(messages) }
}

/// Adds up what the probe's calls cost, and passes them on.
struct Spent<'a> {
    observer: &'a dyn CallObserver,
    usage: std::sync::Mutex<Usage>,
}

impl Spent<'_> {
    fn total(&self) -> Usage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallObserver for Spent<'_> {
    fn record(&self, call: CallRecord) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        };
        add(&mut usage.prompt_tokens, call.usage.prompt_tokens);
        add(&mut usage.completion_tokens, call.usage.completion_tokens);
        add(&mut usage.cached_tokens, call.usage.cached_tokens);
        drop(usage);
        self.observer.record(call);
    }
}
