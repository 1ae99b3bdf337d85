//! What a running job has at hand: its claim, its journal, its model.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nightforge_domain::{Millis, Step};
use nightforge_llm::{Sampling, TimeLimits};
use nightforge_store::{Claim, Store};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::endpoint::Endpoint;
use super::slots::SlotHolder;
use super::{Failure, Interruption, Workshop};

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
    /// Time of the step in flight in which it waited for a slot: another job's time, not its own.
    pub(super) waited: Duration,
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
        Ok(Self {
            claim,
            store: workshop.store.clone(),
            endpoint: Arc::clone(&workshop.endpoint),
            slots: workshop.slots.holder(),
            sampling: workshop.sampling.clone(),
            time_limits: workshop.time_limits.clone(),
            signal,
            waited: Duration::ZERO,
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
        context.map_or(0, |context| nightforge_llm::prompt_budget(context, self.sampling.max_tokens, server))
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
        let started = Instant::now();
        self.waited = Duration::ZERO;
        let output = run(self).await?;
        let step = Step {
            ordinal,
            name: name.to_owned(),
            input_hash: hash,
            output: serde_json::to_value(&output).map_err(anyhow::Error::new)?,
            duration_ms: started.elapsed().saturating_sub(self.waited).as_millis() as i64,
            at: Millis(0),
        };
        self.record(&step).await?;
        self.progress.0.store(true, Ordering::Release);
        self.next += 1;
        self.spent_ms += step.duration_ms;
        Ok(output)
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
    async fn record(&self, step: &Step) -> Result<(), Failure> {
        let claim = &self.claim;
        retrying(&self.signal, || self.store.record_step(&claim.job, claim.fence, step)).await
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
