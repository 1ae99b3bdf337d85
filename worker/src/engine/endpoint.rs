//! The worker's endpoint: parked while it can't serve, probed until it can.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nightforge_domain::JobId;
use nightforge_llm::{Client, Probe};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const FIRST_PROBE: Duration = Duration::from_millis(500);
const SLOWEST_PROBE: Duration = Duration::from_secs(10);

/// One endpoint and whether jobs may be claimed for it.
pub(crate) struct Endpoint {
    /// Makes the calls.
    pub(crate) client: Client,
    /// Its URL, as the ledger and the log show it.
    pub(crate) url: String,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// Why no job is claimed, while that is so.
    parked: Option<String>,
    /// Times that it was parked since its last good answer: a server whose probe is fine and whose calls fail is
    /// asked less and less often.
    strikes: u32,
    /// Jobs whose requests it has called wrong since its last good answer.
    refused: HashSet<JobId>,
}

impl Endpoint {
    /// An endpoint that has not been probed: parked until it answers.
    pub(crate) fn new(client: Client, url: String) -> Self {
        let state = State { parked: Some("not probed yet".to_owned()), strikes: 0, refused: HashSet::new() };
        Self { client, url, state: Mutex::new(state), changed: Notify::new() }
    }

    /// No job is claimed until a probe finds the endpoint ready.
    pub(crate) fn park(&self, reason: &str) {
        let mut state = self.lock();
        if state.parked.is_none() {
            state.strikes += 1;
            tracing::warn!(endpoint = %self.url, reason, "endpoint parked; its jobs wait");
        }
        state.parked = Some(reason.to_owned());
        self.changed.notify_waiters();
    }

    /// A call was answered.
    pub(crate) fn served(&self) {
        let mut state = self.lock();
        state.strikes = 0;
        state.refused.clear();
    }

    /// A request of this job was called wrong. Returns how many jobs that happened to since the last good answer.
    pub(crate) fn refused(&self, job: &JobId) -> usize {
        let mut state = self.lock();
        state.refused.insert(job.clone());
        state.refused.len()
    }

    fn is_parked(&self) -> bool {
        self.lock().parked.is_some()
    }

    /// How long after it was parked the first probe is sent.
    fn first_wait(&self) -> Duration {
        match self.lock().strikes {
            0 | 1 => Duration::ZERO,
            strikes => FIRST_PROBE.saturating_mul(1 << strikes.min(16)).min(SLOWEST_PROBE),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until jobs may be claimed.
    pub(crate) async fn ready(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.is_parked() {
                return;
            }
            changed.await;
        }
    }

    /// Probes the endpoint while it is parked, until `stop`.
    pub(crate) async fn watch(&self, stop: CancellationToken) {
        let mut wait = Duration::ZERO;
        let mut said = String::new();
        loop {
            let changed = self.changed.notified();
            if !self.is_parked() {
                tokio::select! {
                    () = changed => wait = self.first_wait(),
                    () = stop.cancelled() => return,
                }
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stop.cancelled() => return,
            }
            match self.client.probe().await {
                Probe::Ready { .. } => {
                    tracing::info!(endpoint = %self.url, "endpoint ready");
                    self.lock().parked = None;
                    self.changed.notify_waiters();
                    said.clear();
                }
                other => {
                    let message = other.to_string();
                    if message != said {
                        tracing::warn!(endpoint = %self.url, "{message}");
                        said = message;
                    }
                }
            }
            wait = (wait * 2).clamp(FIRST_PROBE, SLOWEST_PROBE);
        }
    }
}
