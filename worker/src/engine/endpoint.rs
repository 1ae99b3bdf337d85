//! The worker's endpoint: parked while it can't serve, probed until it can.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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
    parked: Mutex<Option<String>>,
    changed: Notify,
}

impl Endpoint {
    /// An endpoint that has not been probed: parked until it answers.
    pub(crate) fn new(client: Client, url: String) -> Self {
        Self { client, url, parked: Mutex::new(Some("not probed yet".to_owned())), changed: Notify::new() }
    }

    /// No job is claimed until a probe finds the endpoint ready.
    pub(crate) fn park(&self, reason: &str) {
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        if parked.is_none() {
            tracing::warn!(endpoint = %self.url, reason, "endpoint parked; its jobs wait");
        }
        *parked = Some(reason.to_owned());
        self.changed.notify_waiters();
    }

    fn is_parked(&self) -> bool {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner).is_some()
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
                wait = Duration::ZERO;
                tokio::select! {
                    () = changed => continue,
                    () = stop.cancelled() => return,
                }
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stop.cancelled() => return,
            }
            match self.client.probe().await {
                Probe::Ready { .. } => {
                    tracing::info!(endpoint = %self.url, "endpoint ready");
                    *self.parked.lock().unwrap_or_else(PoisonError::into_inner) = None;
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
