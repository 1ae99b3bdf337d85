//! One coding session: bearings, turns, gate, clean exit. Everything that has an effect is a journaled step, so a
//! session that lost its worker goes on where it was.

mod clean_exit;

use nightforge_domain::build::{Build, Feature, Project};
use nightforge_domain::contract::{Action, CodingAction};
use nightforge_domain::fault::FaultClass;
use nightforge_domain::{CommitId, FeatureId, SessionOutcome, SessionReport};
use serde::{Deserialize, Serialize};

use super::bearings::{self, Facts};
use super::conversation::Conversation;
use super::init_script;
use super::progress::one_line;
use super::repetition::{Calls, Repetition};
use super::runner::Runner;
use super::toolbox::{Before, End, ToolOutcome, Toolbox};
use super::workspace::Workspace;
use crate::engine::{Failure, JobContext};
use crate::prompts::{Prompt, version};

/// Refusals of the gate before a session is given up: its agent does not see what is wrong.
const MAX_REFUSALS: u32 = 6;

/// The longest note for the next session, in characters.
const MAX_NOTE: usize = 1_000;

/// A coding session on one feature.
pub(crate) struct Session<'a> {
    workspace: &'a Workspace,
    runner: &'a Runner,
    project: &'a Project,
    build: &'a Build,
    feature: &'a Feature,
    first_commit: &'a CommitId,
    /// The last good commit.
    base: CommitId,
    /// The files as the agent found them: `base`, and what `init.sh` made.
    start: CommitId,
    number: u32,
    attempt: u32,
    conversation: Conversation,
    /// The files after the last step that is kept.
    checkpoint: CommitId,
    red: bool,
    tool_calls: u32,
    refusals: u32,
    calls: Calls,
    /// Whether the workspace's files are there: a replay needs none.
    live: bool,
}

/// How a session begins; journaled.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Beginning {
    /// The first message.
    text: String,
    start: CommitId,
}

/// How the turns ended.
struct Ending {
    outcome: SessionOutcome,
    note: String,
}

/// What the clean exit made; journaled.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Exit {
    head: CommitId,
    changed: bool,
}

impl<'a> Session<'a> {
    /// A session on `feature`, from the commit `base`.
    ///
    /// # Errors
    /// When the task's state does not hold what a session needs.
    pub(crate) fn new(
        workspace: &'a Workspace,
        runner: &'a Runner,
        build: &'a Build,
        feature: &FeatureId,
        base: &CommitId,
        number: u32,
        attempt: u32,
    ) -> anyhow::Result<Self> {
        let (Some(project), Some(first_commit), Some(feature)) =
            (&build.project, &build.first_commit, build.feature(feature))
        else {
            anyhow::bail!("the task has no project, or no feature {feature}");
        };
        Ok(Self {
            workspace,
            runner,
            project,
            build,
            feature,
            first_commit,
            base: base.clone(),
            start: base.clone(),
            number,
            attempt,
            conversation: Conversation::default(),
            checkpoint: base.clone(),
            // A feature that passed before has its test, and the verification saw it fail.
            red: feature.reopened > 0,
            tool_calls: 0,
            refusals: 0,
            calls: Calls::default(),
            live: false,
        })
    }

    /// Runs the session to its commit.
    ///
    /// # Errors
    /// When the model or this machine fails; the session then goes on in a later claim.
    pub(crate) async fn run(mut self, context: &mut JobContext) -> Result<SessionReport, Failure> {
        self.get_bearings(context).await?;
        let ending = self.turns(context).await?;
        let exit = self.clean_exit(context, &ending).await?;
        Ok(SessionReport {
            feature: self.feature.id.clone(),
            outcome: ending.outcome,
            note: ending.note,
            head: exit.head,
            changed: exit.changed,
            duration_ms: context.spent_ms(),
        })
    }

    async fn get_bearings(&mut self, context: &mut JobContext) -> Result<(), Failure> {
        let prompts = version(&[Prompt::CoderSystem, Prompt::CoderBearings]);
        let (passed, total) = self.build.progress();
        let inputs = (prompts, self.feature.id.clone(), self.attempt, self.base.clone());
        let beginning: Beginning = context
            .step("bearings", &inputs, async |context| {
                let init = self.go_live().await?;
                let facts = Facts {
                    directory: self.runner.directory().display().to_string(),
                    project: self.project,
                    feature: self.feature,
                    attempt: self.attempt,
                    passed,
                    total,
                    base: &self.base,
                    init,
                    turns: context.claim.task.limits.max_turns,
                };
                let text = bearings::message(self.workspace, &facts).await?;
                let now = context.store.now().await?;
                // What `init.sh` makes is not the agent's doing, so the rule that the test comes first spares it.
                let before = Before { checkpoint: self.base.clone(), red: true, now };
                let start = self.toolbox().keep(&before).await?.checkpoint;
                Ok(Beginning { text, start })
            })
            .await?;
        self.start = beginning.start.clone();
        self.checkpoint = beginning.start;
        self.conversation = Conversation::new(Prompt::CoderSystem.render(())?, beginning.text);
        Ok(())
    }

    /// Puts the workspace to the last checkpoint and wakes the environment up, once per claim. Returns what
    /// `init.sh` said.
    async fn go_live(&mut self) -> Result<String, Failure> {
        if self.live {
            return Ok(String::new());
        }
        self.workspace.materialise(&self.checkpoint).await?;
        let init = init_script::run_once(self.runner).await?;
        self.live = true;
        Ok(init.text)
    }

    async fn turns(&mut self, context: &mut JobContext) -> Result<Ending, Failure> {
        let limits = context.claim.task.limits.clone();
        for turn in 1..=limits.max_turns {
            if context.spent_ms() > limits.session_ms as i64 {
                return Ok(self.failed(format!("the session took over {} min", limits.session_ms / 60_000)));
            }
            if !self.conversation.fit(context.prompt_budget()) {
                return Ok(self.failed("the context was used up".to_owned()));
            }
            let (messages, shortest) = (self.conversation.messages(), self.conversation.shortest());
            let answer: CodingAction = context
                .step("model", &("CodingAction", turn), async |context| match context.ask(messages).await {
                    Err(Failure::Model(error)) if error.class == FaultClass::ContextOverflow => {
                        context.ask(shortest).await
                    }
                    answered => answered,
                })
                .await?;
            let outcome: ToolOutcome = context
                .step("tool", &(turn, &answer.action), async |context| {
                    self.go_live().await?;
                    let now = context.store.now().await?;
                    let before = Before { checkpoint: self.checkpoint.clone(), red: self.red, now };
                    self.toolbox().run(&answer.action, &before).await
                })
                .await?;
            if let Some(ending) = self.take(&answer, outcome, turn, limits.max_turns) {
                return Ok(ending);
            }
        }
        let why = if self.tool_calls == 0 { "no tool was called" } else { "the turns were used up" };
        Ok(self.failed(format!("{why} ({} turns)", limits.max_turns)))
    }

    /// Takes one turn into the conversation; `Some` when it was the last.
    fn take(&mut self, answer: &CodingAction, outcome: ToolOutcome, turn: u32, turns: u32) -> Option<Ending> {
        self.checkpoint = outcome.checkpoint;
        self.red = outcome.red;
        self.tool_calls += u32::from(!matches!(answer.action, Action::Finish { .. }));
        self.refusals += u32::from(outcome.refused);
        let note = match &answer.action {
            Action::Finish { note, .. } => note.chars().take(MAX_NOTE).collect(),
            _ => String::new(),
        };
        let text = serde_json::to_string(answer).expect("an action is plain data");
        let action = serde_json::to_string(&answer.action).expect("an action is plain data");
        let mut result = format!("RESULT of {}:\n{}", answer.action.tool(), outcome.text);
        match outcome.end {
            Some(End::Proven) => return Some(Ending { outcome: SessionOutcome::Passed, note }),
            Some(End::AlreadySatisfied) => {
                return Some(Ending { outcome: SessionOutcome::AlreadySatisfied, note });
            }
            Some(End::Blocked) => {
                let reason = format!("the agent gave up: {}", one_line(&note, 500));
                return Some(Ending { outcome: SessionOutcome::Failed { reason }, note });
            }
            None => {}
        }
        if self.refusals >= MAX_REFUSALS {
            let last = both_ends(&outcome.text);
            return Some(self.failed(format!("the gate refused {MAX_REFUSALS} times; last: {last}")));
        }
        match self.calls.note(action, &outcome.text) {
            Repetition::None => {}
            Repetition::Warn => result.push_str(
                "\nYou have made this call before, with the same result. Do something else: read the message, change the code, or finish with outcome blocked.",
            ),
            Repetition::End => return Some(self.failed("the same calls were repeated without any progress".to_owned())),
        }
        let left = turns - turn;
        if left > 0 && (left <= 5 || left.is_multiple_of(10)) {
            result.push_str(&format!("\n({left} turns left)"));
        }
        self.conversation.add(text, result);
        None
    }

    fn failed(&self, reason: String) -> Ending {
        Ending { outcome: SessionOutcome::Failed { reason }, note: String::new() }
    }

    fn toolbox(&self) -> Toolbox<'_> {
        Toolbox {
            workspace: self.workspace,
            runner: self.runner,
            project: self.project,
            features: &self.build.features,
            feature: self.feature,
            base: &self.base,
            start: &self.start,
            first_commit: self.first_commit,
        }
    }
}

/// What the next session reads of a failure: how it begins says why, how it ends says most of the rest.
fn both_ends(text: &str) -> String {
    const FIRST: usize = 400;
    const LAST: usize = 1_100;
    let length = text.chars().count();
    if length <= FIRST + LAST {
        return text.to_owned();
    }
    let first: String = text.chars().take(FIRST).collect();
    let last: String = text.chars().skip(length - LAST).collect();
    format!("{first}\n[…]\n{last}")
}
