//! Model calls of a job: a slot, a seed that a replay would repeat, and a ledger entry for every wire call.

use std::time::Duration;

use nightforge_domain::contract::Contract;
use nightforge_domain::fault::FaultClass;
use nightforge_llm::{
    CallError, CallObserver, CallOutcome, CallRecord, Message, StructuredRequest, TimeLimits,
};
use nightforge_store::{LedgerEntry, Store, fresh_call_id};
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, watch};

use super::budget::{Budget, Reserved};
use super::slots::SlotGuard;
use super::working_time::WorkingTime;
use super::{Failure, Interruption, JobContext};

const FIRST_BOOKING_WAIT: Duration = Duration::from_millis(50);
const LONGEST_BOOKING_WAIT: Duration = Duration::from_secs(2);

/// The largest seed that every server takes.
const SEED_SPACE: u32 = 1 << 30;

impl JobContext {
    /// Asks the model for an answer in the shape of `T`. Call it inside a step.
    ///
    /// # Errors
    /// [`Failure::Model`] with the class of what went wrong.
    pub(crate) async fn ask<T: Contract>(&mut self, messages: Vec<Message>) -> Result<T, Failure> {
        Ok(self.ask_counted(messages).await?.0)
    }

    /// As [`JobContext::ask`], with the number of re-asks that it took.
    pub(crate) async fn ask_counted<T: Contract>(
        &mut self,
        messages: Vec<Message>,
    ) -> Result<(T, u32), Failure> {
        let mut request = StructuredRequest::new(messages);
        request.sampling = nightforge_llm::Sampling {
            seed: self.seed(),
            max_tokens: self.answer_tokens(),
            ..self.sampling.clone()
        };
        request.max_reasks = self.claim.task.limits.max_retries;
        let reserved = self.reserve_calls().await?;
        if let Some(reserved) = &reserved {
            let reasks = u32::try_from(reserved.calls() - 1).unwrap_or(u32::MAX);
            request.max_reasks = request.max_reasks.min(reasks);
        }
        let (observer, booked) = self.book_calls(reserved);
        let slot = self.slot().await?;
        request.slot = slot.number();
        self.endpoint.check_before_call().await.map_err(Failure::NotAsked)?;
        let mut whole = Duration::from_millis(self.claim.task.limits.agent_timeout_ms);
        if let Some(left) = self.time_left() {
            whole = whole.min(left);
        }
        let limits = TimeLimits { whole, ..self.time_limits.clone() };
        let answer = self.endpoint.client.structured::<T>(&request, &limits, &observer).await;
        drop(slot);
        drop(observer);
        if booked.await.is_err() {
            tracing::error!(job.id = %self.claim.job, "booking model calls ended early");
        }
        let answer = answer.map_err(|error| self.judged(error))?;
        self.endpoint.served();
        Ok((answer.value, answer.reasks))
    }

    /// Sets model calls aside, where the task's are limited; re-asks count as well.
    ///
    /// # Errors
    /// [`Failure::OutOfBudget`] when its calls or its tokens are used up.
    async fn reserve_calls(&self) -> Result<Option<Reserved>, Failure> {
        let Some(budget) = Budget::of(&self.claim.task) else { return Ok(None) };
        let wanted = u64::from(budget.limits.max_retries) + 1;
        let reserving = budget.reserve(&self.store, wanted);
        match unless_told(self.signal.clone(), &self.time, reserving).await?? {
            Some(reserved) => Ok(Some(reserved)),
            None => Err(self.out_of_budget()),
        }
    }

    /// A call that the task's own time has ended is no fault of its model or its server.
    fn judged(&self, error: CallError) -> Failure {
        let is_cut = matches!(error.class, FaultClass::TimedOut | FaultClass::Stalled);
        match self.time_left() {
            Some(left) if is_cut && left.is_zero() => self.out_of_time(),
            _ => Failure::Model(error),
        }
    }

    /// Waits for a slot, unless the execution has to end first: a call that has not begun is not begun then.
    async fn slot(&mut self) -> Result<SlotGuard, Failure> {
        unless_told(self.signal.clone(), &self.time, self.slots.acquire()).await
    }

    /// The same step of the same claim asks with the same seed.
    fn seed(&self) -> i64 {
        let digest = Sha256::digest(format!("{}/{}", self.claim.job, self.next_step()).as_bytes());
        i64::from(u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) % SEED_SPACE)
    }

    /// An observer whose records are booked by a task of their own: a call that is dropped in flight is booked, too.
    /// What was reserved for them is free again once they are.
    fn book_calls(&self, reserved: Option<Reserved>) -> (Booking, tokio::task::JoinHandle<()>) {
        let (send, mut receive) = mpsc::unbounded_channel::<CallRecord>();
        let (store, claim, endpoint) = (self.store.clone(), self.claim.clone(), self.endpoint.url.clone());
        let task = tokio::spawn(async move {
            while let Some(call) = receive.recv().await {
                let entry = LedgerEntry {
                    id: fresh_call_id(),
                    job: claim.job.clone(),
                    fence: claim.fence,
                    agent: claim.spec.agent().to_string(),
                    model: claim.model.to_string(),
                    endpoint: endpoint.clone(),
                    outcome: match call.outcome {
                        CallOutcome::Accepted => "ok".to_owned(),
                        CallOutcome::Failed(class) => class.to_string(),
                        CallOutcome::Abandoned => "abandoned".to_owned(),
                    },
                    usage: call.usage,
                    duration_ms: call.duration.as_millis() as i64,
                };
                book(&store, &entry).await;
            }
            drop(reserved);
        });
        (Booking(send), task)
    }
}

/// A wait that is no work, and that ends when the execution has to.
async fn unless_told<T>(
    mut signal: watch::Receiver<Option<Interruption>>,
    time: &WorkingTime,
    wait: impl Future<Output = T>,
) -> Result<T, Failure> {
    let waiting = async {
        tokio::select! {
            biased;
            Ok(told) = signal.wait_for(Option::is_some) => Err(*told),
            came = wait => Ok(came),
        }
    };
    time.without(waiting).await.map_err(|told| Failure::Interrupted(told.unwrap_or(Interruption::Draining)))
}

/// Books a call, however long the database is away: its tokens were used, and limits go by them.
async fn book(store: &Store, entry: &LedgerEntry) {
    let mut wait = FIRST_BOOKING_WAIT;
    while let Err(error) = store.book(entry).await {
        tracing::warn!(%error, job.id = %entry.job, "model call not booked yet; trying again");
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_BOOKING_WAIT);
    }
}

struct Booking(mpsc::UnboundedSender<CallRecord>);

impl CallObserver for Booking {
    fn record(&self, call: CallRecord) {
        // The receiver lives until this sender is dropped.
        let _ = self.0.send(call);
    }
}
