//! The two steps that every agent run of a research task has: the view that the agent saw, and its answer.

use nightforge_domain::Event;
use nightforge_domain::contract::Contract;
use nightforge_domain::research::Research;
use nightforge_llm::Message;
use nightforge_store::{MODEL_STEP, VIEW_STEP};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::{Failure, JobContext};

/// The state of the claimed job's task, as it was when the claim committed.
pub(crate) fn state(context: &JobContext) -> Result<Research, Failure> {
    let state = context.claim.task.state.research().cloned();
    state.ok_or_else(|| Failure::Machine(anyhow::anyhow!("the task is no research")))
}

/// Journals the view that the agent sees. A later claim works with this one, whatever has happened since.
pub(crate) async fn view<V>(
    context: &mut JobContext,
    inputs: &impl Serialize,
    subject: &str,
    view: V,
) -> Result<V, Failure>
where
    V: Serialize + DeserializeOwned,
{
    context
        .step_told(VIEW_STEP, inputs, async |context| {
            let (job, agent) = (context.claim.job.no, context.claim.spec.agent());
            Ok((view, vec![Event::AgentStarted { job, agent, subject: subject.to_owned() }]))
        })
        .await
}

/// A model call as a step.
pub(crate) async fn ask<T>(
    context: &mut JobContext,
    name: &str,
    inputs: &impl Serialize,
    messages: Vec<Message>,
) -> Result<T, Failure>
where
    T: Contract + Serialize,
{
    context
        .step_told(&answer_step(name), inputs, async |context| {
            let (answer, reasks) = context.ask_counted::<T>(messages).await?;
            Ok((answer, retries(context, reasks)))
        })
        .await
}

/// The name of a step that holds a model's answer.
pub(crate) fn answer_step(name: &str) -> String {
    format!("{MODEL_STEP}-{name}")
}

/// What the log says of a call that took re-asks.
pub(crate) fn retries(context: &JobContext, reasks: u32) -> Vec<Event> {
    let (job, agent) = (context.claim.job.no, context.claim.spec.agent());
    if reasks == 0 { Vec::new() } else { vec![Event::AgentRetry { job, agent, reasks }] }
}
