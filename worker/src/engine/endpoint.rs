//! The worker's endpoint: parked while it can't serve, looked at until it can, and before a call when it has been
//! silent.

mod watch;

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nightforge_domain::JobId;
use nightforge_domain::fault::FaultClass;
use nightforge_llm::{CallError, Client, EndpointState, Sighting};
use tokio::sync::Notify;

pub(crate) use watch::Watch;

/// A server that was heard of so lately is called without another look.
const FRESH: Duration = Duration::from_secs(2);

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
    /// When it was last seen able to serve: by a look, or by an answer.
    heard: Option<Instant>,
    /// Times that it was parked since its last good answer: a server whose probe is fine and whose calls fail is
    /// asked less and less often.
    strikes: u32,
    /// Jobs whose requests it has called wrong since its last good answer.
    refused: HashSet<JobId>,
}

impl Endpoint {
    /// An endpoint that has not been looked at: parked until it answers.
    pub(crate) fn new(client: Client, url: String) -> Self {
        let state = State {
            parked: Some("not looked at yet".to_owned()),
            heard: None,
            strikes: 0,
            refused: HashSet::new(),
        };
        Self { client, url, state: Mutex::new(state), changed: Notify::new() }
    }

    /// A call failed: no job is claimed until a look finds the endpoint ready.
    pub(crate) fn park(&self, reason: &str) {
        let mut state = self.lock();
        if state.parked.is_none() {
            state.strikes += 1;
            tracing::warn!(endpoint = %self.url, reason, "endpoint parked; its jobs wait");
        }
        state.parked = Some(reason.to_owned());
        state.heard = None;
        self.changed.notify_waiters();
    }

    /// A call was answered.
    pub(crate) fn served(&self) {
        let mut state = self.lock();
        state.heard = Some(Instant::now());
        state.strikes = 0;
        state.refused.clear();
    }

    /// A request of this job was called wrong. Returns how many jobs that happened to since the last good answer.
    pub(crate) fn refused(&self, job: &JobId) -> usize {
        let mut state = self.lock();
        state.refused.insert(job.clone());
        state.refused.len()
    }

    /// Before a call: looks at a server that has not been heard of for 2 s, and loads a model that is not loaded.
    ///
    /// # Errors
    /// When it can't serve now, with what a look found.
    pub(crate) async fn check_before_call(&self) -> Result<(), CallError> {
        if self.lock().heard.is_some_and(|heard| heard.elapsed() < FRESH) {
            return Ok(());
        }
        let mut seen = self.client.look().await;
        if seen.state == EndpointState::Cold {
            tracing::info!(endpoint = %self.url, "the model is not loaded; loading it");
            self.client.load().await?;
            seen = self.client.look().await;
        }
        if !seen.state.can_be_asked() {
            return Err(unable(seen));
        }
        self.lock().heard = Some(Instant::now());
        Ok(())
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

    fn is_parked(&self) -> bool {
        self.lock().parked.is_some()
    }

    /// A look found it able to serve.
    fn unpark(&self) {
        let mut state = self.lock();
        state.heard = Some(Instant::now());
        if state.parked.take().is_some() {
            tracing::info!(endpoint = %self.url, "endpoint ready");
            self.changed.notify_waiters();
        }
    }

    /// A look found it unable to serve, which is no fault of a call.
    pub(crate) fn withdraw(&self, reason: &str) {
        let mut state = self.lock();
        if state.parked.as_deref() != Some(reason) {
            tracing::warn!(endpoint = %self.url, "{reason}");
        }
        state.heard = None;
        if state.parked.replace(reason.to_owned()).is_none() {
            self.changed.notify_waiters();
        }
    }

    /// Why no job is claimed, and how often that happened since the last good answer.
    fn parked(&self) -> (Option<String>, u32) {
        let state = self.lock();
        (state.parked.clone(), state.strikes)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a look at a server that can't serve means for the call that was about to be made.
fn unable(seen: Sighting) -> CallError {
    let class = match seen.state {
        EndpointState::Cold | EndpointState::Loading => FaultClass::Loading,
        EndpointState::AuthNeeded => FaultClass::Auth,
        // A person has to do something: none of these is over by waiting.
        EndpointState::Alive
        | EndpointState::WrongModel
        | EndpointState::ContextTooSmall
        | EndpointState::ContextUnknown => FaultClass::ModelMissing,
        EndpointState::Unreachable | EndpointState::Ready | EndpointState::Busy | EndpointState::Degraded => {
            FaultClass::ServerDown
        }
    };
    CallError { class, message: seen.message, status: None, retry_after: None, usage: None }
}
