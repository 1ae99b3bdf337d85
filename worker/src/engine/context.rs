//! What a running job has at hand: its claim, its journal, its model.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nightforge_domain::{Event, JobSpec, Kind, Millis, Step};
use nightforge_llm::{Sampling, TimeLimits};
use nightforge_store::{Claim, Store};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::endpoint::Endpoint;
use super::slots::SlotHolder;
use super::working_time::WorkingTime;
use super::{Failure, Interruption, Workshop};

/// Tokens of an answer of a research agent, at most.
const MAX_TEAM_ANSWER_TOKENS: u32 = 4_096;

/// One execution of one job.
pub(crate) struct JobContext {
    /// The claim.
    pub(crate) claim: Claim,
    /// The state of record.
    pub(crate) store: Store,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) slots: SlotHolder,
    pub(super) sampling: Sampling,
    pub(super) time_limits: TimeLimits,
    pub(super) signal: watch::Receiver<Option<Interruption>>,
    /// Of the step in flight.
    pub(super) time: WorkingTime,
    /// What the job's steps may take together; `None` for jobs that count in other ways.
    budget: Option<Duration>,
    progress: Progress,
    journal: Vec<Step>,
    next: u32,
    spent_ms: i64,
}

/// Whether this claim has journaled a step; then what fails next is another step than what failed before.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress(Arc<AtomicBool>);

impl Progress {
    pub(super) fn made(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl JobContext {
    /// Reads the journal of a claim that has committed.
    ///
    /// # Errors
    /// When the database fails.
    pub(super) async fn new(
        claim: Claim,
        workshop: &Workshop,
        signal: watch::Receiver<Option<Interruption>>,
        progress: Progress,
    ) -> Result<Self, Failure> {
        let journal = workshop.store.journal(&claim.job).await?;
        let budget = time_left_ms(&claim.spec).map(|left| Duration::from_millis(left.max(0) as u64));
        Ok(Self {
            claim,
            store: workshop.store.clone(),
            endpoint: Arc::clone(&workshop.endpoint),
            slots: workshop.slots.holder(),
            sampling: workshop.sampling.clone(),
            time_limits: workshop.time_limits.clone(),
            signal,
            time: WorkingTime::new(),
            budget,
            progress,
            journal,
            next: 0,
            spent_ms: 0,
        })
    }

    /// Time in steps so far, those of earlier claims included, without what was spent waiting for a slot.
    pub(crate) fn spent_ms(&self) -> i64 {
        self.spent_ms
    }

    /// Tokens that a prompt may have; none while nobody knows the length of the context, which no endpoint that
    /// serves is without.
    pub(crate) fn prompt_budget(&self) -> u64 {
        let client = &self.endpoint.client;
        let server = client.server().unwrap_or(nightforge_llm::ServerKind::Other);
        let context = client.context_tokens();
        context.map_or(0, |context| nightforge_llm::prompt_budget(context, self.answer_tokens(), server))
    }

    /// Tokens that one answer may have: as configured, which is for code; the team's answers are short, and leave three
    /// quarters of a small context to what they are about.
    pub(super) fn answer_tokens(&self) -> u32 {
        let configured = self.sampling.max_tokens;
        if self.claim.task.kind != Kind::Research {
            return configured;
        }
        let quarter = self.endpoint.client.context_tokens().map_or(u64::MAX, |context| context / 4);
        configured.min(MAX_TEAM_ANSWER_TOKENS).min(u32::try_from(quarter).unwrap_or(u32::MAX))
    }

    /// The ordinal of the next step.
    pub(crate) fn next_step(&self) -> u32 {
        self.next
    }

    /// The journaled output when the step is recorded, else runs it and records what it gave.
    ///
    /// `inputs` are the step's logical inputs. When they differ from those that the journal holds (another
    /// program, an edited prompt), the journal is cut here and the work goes on from here.
    ///
    /// # Errors
    /// Whatever `run` fails with; an interruption before the step; [`Interruption::Lost`] when the claim is over.
    pub(crate) async fn step<T, F>(
        &mut self,
        name: &str,
        inputs: &impl Serialize,
        run: F,
    ) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut Self) -> Result<T, Failure>,
    {
        self.step_told(name, inputs, async |context| Ok((run(context).await?, Vec::new()))).await
    }

    /// As [`JobContext::step`], with entries for the task's log. They are written in the transaction that records the
    /// step, so once, however often the job is claimed.
    ///
    /// # Errors
    /// As those of [`JobContext::step`].
    pub(crate) async fn step_told<T, F>(
        &mut self,
        name: &str,
        inputs: &impl Serialize,
        run: F,
    ) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut Self) -> Result<(T, Vec<Event>), Failure>,
    {
        let ordinal = self.next;
        let hash = hash(name, inputs)?;
        if let Some(recorded) = self.journal.get(ordinal as usize) {
            match replay(recorded, &hash) {
                Ok(output) => {
                    self.next += 1;
                    self.spent_ms += recorded.duration_ms;
                    return Ok(output);
                }
                Err(reason) => self.cut(ordinal, &reason).await?,
            }
        }
        self.check_interruption()?;
        self.time.begin();
        let (output, events) = self.within_budget(run).await?;
        let step = Step {
            ordinal,
            name: name.to_owned(),
            input_hash: hash,
            output: serde_json::to_value(&output).map_err(anyhow::Error::new)?,
            duration_ms: self.time.worked().as_millis() as i64,
            at: Millis(0),
        };
        self.record(&step, &events).await?;
        self.progress.0.store(true, Ordering::Release);
        self.next += 1;
        self.spent_ms += step.duration_ms;
        Ok(output)
    }

    /// Whether the journal's next step is this one.
    ///
    /// # Errors
    /// Inputs that can't be hashed.
    pub(crate) fn is_recorded_next(&self, name: &str, inputs: &impl Serialize) -> Result<bool, Failure> {
        let hash = hash(name, inputs)?;
        Ok(self.journal.get(self.next as usize).is_some_and(|step| step.input_hash == hash))
    }

    /// Working time that the task has left for this job now; `None` where it is not limited.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let spent = Duration::from_millis(self.spent_ms.max(0) as u64);
        self.budget.map(|budget| budget.saturating_sub(spent + self.time.worked()))
    }

    /// The end of a job whose task has no working time left.
    pub(super) fn out_of_time(&self) -> Failure {
        let step_ms = self.time.worked().as_millis() as i64;
        // Never less than what was left, or the task would go on with the rest.
        let least_ms = self.budget.map_or(0, |budget| budget.as_millis() as i64);
        Failure::OutOfTime { working_ms: (self.spent_ms + step_ms).max(least_ms) }
    }

    /// The end of a job whose task may make no further model call.
    pub(super) fn out_of_budget(&self) -> Failure {
        Failure::OutOfBudget { working_ms: self.spent_ms + self.time.worked().as_millis() as i64 }
    }

    /// Runs a step to its end, or until the task's working time is over; then what it does is dropped.
    async fn within_budget<T>(
        &mut self,
        run: impl AsyncFnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Some(left) = self.time_left() else {
            return run(self).await;
        };
        if left.is_zero() {
            return Err(self.out_of_time());
        }
        let time = self.time.clone();
        let ended = tokio::select! {
            biased;
            ended = run(self) => Some(ended),
            () = time.until(left) => None,
        };
        ended.unwrap_or_else(|| Err(self.out_of_time()))
    }

    /// A fenced write that is tried again while the database fails and the lease holds.
    ///
    /// # Errors
    /// [`Interruption::Lost`] when the claim is over.
    pub(crate) async fn fenced<T, W>(&self, write: impl Fn(Store, Claim) -> W) -> Result<T, Failure>
    where
        W: Future<Output = nightforge_store::Fenced<T>>,
    {
        retrying(&self.signal, || write(self.store.clone(), self.claim.clone())).await
    }

    /// What the execution has been told, if anything.
    pub(super) fn interruption(&self) -> Option<Interruption> {
        *self.signal.borrow()
    }

    pub(super) fn check_interruption(&self) -> Result<(), Failure> {
        self.interruption().map_or(Ok(()), |interruption| Err(Failure::Interrupted(interruption)))
    }

    async fn cut(&mut self, from: u32, reason: &str) -> Result<(), Failure> {
        tracing::warn!(job.id = %self.claim.job, from, reason, "journal cut");
        self.store.cut_journal(&self.claim.job, self.claim.fence, from, reason).await??;
        self.journal.truncate(from as usize);
        Ok(())
    }

    /// A step that is done must not be lost to a passing fault of the database: while the lease holds, try again.
    async fn record(&self, step: &Step, events: &[Event]) -> Result<(), Failure> {
        let claim = &self.claim;
        retrying(&self.signal, || self.store.record_step(&claim.job, claim.fence, step, events)).await
    }
}

/// Repeats a fenced write while the database fails and the lease holds; one that hangs is given up with the lease. A
/// write whose answer was lost is found done or refused by its fence, never doubled.
pub(super) async fn retrying<T, W>(
    signal: &watch::Receiver<Option<Interruption>>,
    mut write: impl FnMut() -> W,
) -> Result<T, Failure>
where
    W: Future<Output = nightforge_store::Fenced<T>>,
{
    let writing = async {
        let mut wait = Duration::from_millis(50);
        loop {
            match write().await {
                Ok(written) => return Ok(written?),
                Err(error) => tracing::warn!(%error, "write failed; trying again while the lease holds"),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(2));
        }
    };
    tokio::select! {
        biased;
        written = writing => written,
        () = lost(signal.clone()) => Err(Failure::Interrupted(Interruption::Lost)),
    }
}

/// Waits until the lease is over.
async fn lost(mut signal: watch::Receiver<Option<Interruption>>) {
    let told = signal.wait_for(|told| *told == Some(Interruption::Lost)).await.map(|_| ());
    if told.is_err() {
        // Nobody watches the lease any more; whoever held it decides.
        std::future::pending::<()>().await;
    }
}

/// What is left of a task's working time, for jobs that are held to it.
fn time_left_ms(spec: &JobSpec) -> Option<i64> {
    match spec {
        JobSpec::Manage { time_left_ms, .. }
        | JobSpec::Research { time_left_ms, .. }
        | JobSpec::Review { time_left_ms, .. }
        | JobSpec::Synthesize { time_left_ms } => Some(*time_left_ms),
        JobSpec::Initialize { .. } | JobSpec::Code { .. } | JobSpec::Verify { .. } => None,
    }
}

fn replay<T: DeserializeOwned>(recorded: &Step, hash: &str) -> Result<T, String> {
    if recorded.input_hash != hash {
        return Err(format!("step `{}` has other inputs now", recorded.name));
    }
    serde_json::from_value(recorded.output.clone())
        .map_err(|error| format!("step `{}` has another form now: {error}", recorded.name))
}

fn hash(name: &str, inputs: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(&(name, inputs)).map_err(anyhow::Error::new)?;
    Ok(Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect())
}
