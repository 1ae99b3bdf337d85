//! One execution of one job: runs it, watches for its end, and books how it ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nightforge_domain::JobResult;
use nightforge_domain::fault::{Cost, FaultClass, backoff_ms};
use nightforge_llm::{Sampling, TimeLimits};
use nightforge_queue::{Bell, Bells};
use nightforge_store::{Claim, Ended, HandBack, Store};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::context::{JobContext, Progress, retrying};
use super::endpoint::Endpoint;
use super::lease::Lease;
use super::slots::Slots;
use super::{Failure, Interruption};
use crate::research::SearchSetup;
use crate::sandbox::Sandbox;
use crate::{branch, jobs};

/// Failures in a row at one step before a job is a dead letter although nothing was counted.
const POISON_AFTER: u32 = 5;

/// How long a job waits at most for a search back-end that does not say when it can look again: 5 s after the first
/// claim, doubled with each further one.
const UNAVAILABLE_WAIT: Duration = Duration::from_secs(30);

/// However soon a search back-end may be asked again, its jobs do not spin.
const SHORTEST_RETRY_AFTER: Duration = Duration::from_secs(5);

/// However long a search back-end wants to be left alone, its jobs look again after this.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// What all executions of a worker share.
pub(crate) struct Workshop {
    pub(crate) store: Store,
    pub(crate) bells: Bells,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) slots: Slots,
    pub(crate) sampling: Sampling,
    pub(crate) time_limits: TimeLimits,
    pub(crate) data: PathBuf,
    pub(crate) sandbox: Sandbox,
    pub(crate) search: Option<Arc<SearchSetup>>,
}

/// Whether the server itself calls the request wrong, before any model has looked at it.
fn is_refusal_by_the_server(class: FaultClass) -> bool {
    matches!(class, FaultClass::BadRequest | FaultClass::SchemaRejected | FaultClass::ContextOverflow)
}

/// One execution of one job.
pub(crate) struct Execution {
    workshop: Arc<Workshop>,
    claim: Claim,
    lease: Lease,
    progress: Progress,
}

impl Execution {
    pub(crate) fn new(workshop: Arc<Workshop>, claim: Claim, lease: Lease) -> Self {
        Self { workshop, claim, lease, progress: Progress::default() }
    }

    /// For tests: what tells whether a step was journaled under this claim.
    #[cfg(test)]
    pub(super) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Runs the job to its end, whatever it is. Errors are booked, not returned.
    pub(crate) async fn run(self) {
        let span = tracing::info_span!(
            "job",
            task.id = %self.claim.job.task,
            job.id = %self.claim.job,
            kind = self.claim.spec.kind(),
            fence = self.claim.fence.0
        );
        async {
            let outcome = self.work().await;
            if let Err(error) = self.book(outcome).await {
                // The lease is not renewed any more: the sweeper gives the job to another claim.
                tracing::error!(%error, "the end of the job was not recorded");
            }
            self.workshop.bells.ring(Bell::Task(self.claim.job.task.clone()));
        }
        .instrument(span)
        .await;
    }

    async fn work(&self) -> Result<JobResult, Failure> {
        let (claim, workshop) = (self.claim.clone(), Arc::clone(&self.workshop));
        let (signal, progress) = (self.lease.signal(), self.progress.clone());
        let told = signal.clone();
        let job = async move {
            let mut context = JobContext::new(claim, &workshop, told, progress).await?;
            jobs::run(&workshop, &mut context).await
        };
        run_until_told(job, signal).await
    }

    pub(super) async fn book(&self, outcome: Result<JobResult, Failure>) -> Result<(), Failure> {
        match outcome {
            Ok(result) => self.finish(&result).await,
            Err(Failure::Interrupted(Interruption::Lost)) => {
                tracing::warn!("the claim is over; nothing is written");
                Ok(())
            }
            Err(Failure::Interrupted(Interruption::Stopping)) => {
                self.fenced(|store, claim| async move { store.end_cancelled(&claim.job, claim.fence).await })
                    .await
            }
            Err(Failure::Interrupted(interruption)) => {
                self.hand_back(&format!("{interruption:?}").to_lowercase(), 0, false).await
            }
            Err(Failure::NotAsked(error)) => {
                // It says nothing about the request; whichever endpoint is ready first takes the job.
                self.workshop.endpoint.withdraw(&error.message);
                self.hand_back(&error.message, 0, false).await
            }
            Err(Failure::Database(error)) => {
                tracing::warn!(%error, "the database failed; the job waits for it");
                self.hand_back(&format!("the database failed: {error}"), backoff_ms(0), false).await
            }
            Err(Failure::Model(error)) => {
                self.model_failed(error.class, &error.message, error.retry_after).await
            }
            Err(Failure::OutOfTime { working_ms }) => self.finish(&JobResult::OutOfTime { working_ms }).await,
            Err(Failure::OutOfBudget { working_ms }) => {
                self.finish(&JobResult::OutOfBudget { working_ms }).await
            }
            Err(Failure::Unavailable { reason, retry_after }) => {
                // However often, it is not what a dead letter is made for: no failure of this machine is counted.
                let claims = u32::try_from(self.claim.fence.0).unwrap_or(u32::MAX).clamp(1, 16);
                let grown = SHORTEST_RETRY_AFTER * (1 << (claims - 1));
                let wait = retry_after.unwrap_or(grown.min(UNAVAILABLE_WAIT));
                let wait = wait.clamp(SHORTEST_RETRY_AFTER, LONGEST_RETRY_AFTER);
                self.hand_back(&reason, wait.as_millis() as i64, false).await
            }
            Err(Failure::Fault { class, reason }) => self.model_failed(class, &reason, None).await,
            Err(Failure::Machine(error)) => {
                let reason = format!("{error:#}");
                tracing::error!(reason, "this machine failed the job");
                if self.failures() + 1 >= POISON_AFTER {
                    self.bury(&format!(
                        "failed {POISON_AFTER} times at the same step on this machine: {reason}"
                    ))
                    .await
                } else {
                    self.hand_back(&reason, backoff_ms(self.failures()), true).await
                }
            }
        }
    }

    /// Failures in a row at the step that failed now, before this one.
    fn failures(&self) -> u32 {
        if self.progress.made() { 0 } else { self.claim.infra_failures }
    }

    async fn finish(&self, result: &JobResult) -> Result<(), Failure> {
        self.fenced(|store, claim| {
            let result = result.clone();
            async move { store.finish(&claim.job, claim.fence, &result).await }
        })
        .await?;
        tracing::info!("done");
        // The database has the head; should this process end here, the keeper moves the branch later.
        let head = match result {
            JobResult::Initialized(made) => Some(&made.head),
            JobResult::Session(report) => Some(&report.head),
            _ => None,
        };
        if let Some(head) = head {
            let (data, task, head) = (self.workshop.data.clone(), self.claim.job.task.clone(), head.clone());
            let moved = tokio::task::spawn_blocking(move || branch::repair(&data, &task, &head)).await;
            if let Err(error) = moved.map_err(anyhow::Error::new).and_then(|moved| moved) {
                tracing::warn!(%error, "the branch is moved later");
            }
        }
        Ok(())
    }

    async fn model_failed(
        &self,
        class: FaultClass,
        reason: &str,
        retry_after: Option<Duration>,
    ) -> Result<(), Failure> {
        let failures = self.failures();
        if is_refusal_by_the_server(class) {
            // Every job that is refused may be right and the server wrong: set up anew, updated, too small a context.
            // One more try, later; and as long as it refuses others as well, it is the server's doing.
            let refused = self.workshop.endpoint.refused(&self.claim.job);
            if failures == 0 || refused > 1 {
                self.workshop.endpoint.park(reason);
                return self.hand_back(reason, backoff_ms(failures), true).await;
            }
        }
        match class.cost() {
            Cost::Infrastructure => {
                if failures + 1 >= POISON_AFTER && self.hurts_its_server().await? {
                    let why = format!(
                        "the same request failed {POISON_AFTER} times while its endpoint served others: {reason}"
                    );
                    return self.bury(&why).await;
                }
                self.workshop.endpoint.park(reason);
                let asked = retry_after.map_or(0, |wait| wait.as_millis() as i64);
                self.hand_back(reason, backoff_ms(failures).max(asked), true).await
            }
            Cost::Operator => {
                self.workshop.endpoint.park(reason);
                self.hand_back(reason, backoff_ms(0), false).await
            }
            Cost::Counted => {
                let max_retries = self.claim.task.limits.max_retries;
                tracing::warn!(%class, reason, "fault");
                self.fenced(|store, claim| {
                    let reason = reason.to_owned();
                    async move { store.fault(&claim.job, claim.fence, class, &reason, max_retries).await }
                })
                .await?;
                Ok(())
            }
            Cost::DeadLetter => self.bury(reason).await,
        }
    }

    async fn hurts_its_server(&self) -> Result<bool, Failure> {
        Ok(self.workshop.store.endpoint_served_others(&self.claim.job, &self.workshop.endpoint.url).await?)
    }

    async fn bury(&self, reason: &str) -> Result<(), Failure> {
        tracing::error!(reason, "dead letter");
        self.fenced(|store, claim| {
            let reason = reason.to_owned();
            async move { store.bury(&claim.job, claim.fence, &reason).await }
        })
        .await?;
        Ok(())
    }

    async fn hand_back(&self, reason: &str, delay_ms: i64, infrastructure: bool) -> Result<(), Failure> {
        tracing::info!(reason, delay_ms, "handed back");
        let why = HandBack { reason: reason.to_owned(), delay_ms, infrastructure };
        let ended = self
            .fenced(|store, claim| {
                let why = why.clone();
                async move { store.hand_back(&claim.job, claim.fence, &why).await }
            })
            .await?;
        if ended == Ended::Ready {
            self.workshop.bells.ring(Bell::Model(self.claim.model.clone()));
        }
        Ok(())
    }

    /// A fenced write that is tried again while the database fails and the lease holds.
    async fn fenced<T, W>(&self, write: impl Fn(Store, Claim) -> W) -> Result<T, Failure>
    where
        W: Future<Output = nightforge_store::Fenced<T>>,
    {
        retrying(&self.lease.signal(), || write(self.workshop.store.clone(), self.claim.clone())).await
    }
}

/// Runs a job to its end, or until it is told to end in the middle of a step.
pub(super) async fn run_until_told(
    job: impl Future<Output = Result<JobResult, Failure>> + Send + 'static,
    signal: watch::Receiver<Option<Interruption>>,
) -> Result<JobResult, Failure> {
    // A task of its own, so that a panic ends this job and not the worker; it ends with this execution.
    let mut job = AbortOnDropHandle::new(tokio::spawn(job.in_current_span()));
    let ended = tokio::select! {
        ended = &mut job => ended,
        interruption = must_end(signal) => {
            // Dropping the future closes the model's stream and kills the sandbox.
            job.abort();
            match job.await {
                Err(error) if error.is_cancelled() => return Err(Failure::Interrupted(interruption)),
                ended => ended,
            }
        }
    };
    ended.unwrap_or_else(|panic| Err(Failure::Machine(anyhow::anyhow!("the job's code panicked: {panic}"))))
}

/// Waits for a signal that ends the execution in the middle of a step.
async fn must_end(mut signal: watch::Receiver<Option<Interruption>>) -> Interruption {
    loop {
        if let Some(interruption @ (Interruption::Stopping | Interruption::Lost | Interruption::Cut)) =
            *signal.borrow_and_update()
        {
            return interruption;
        }
        if signal.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
