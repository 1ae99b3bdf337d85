//! What all tasks of this process share: where Redis is, and what this process is called.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redis::Client;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::keys::Keys;
use super::outage::Outage;
use crate::exchange::Listener;

pub(super) struct Site {
    pub(super) client: Client,
    pub(super) outage: Outage,
    /// Ends everything.
    pub(super) stop: CancellationToken,
    prefix: String,
    runtime: Handle,
    boot: String,
    names: AtomicU64,
}

impl Site {
    /// # Panics
    /// Outside of a tokio runtime.
    pub(super) fn new(client: Client, prefix: &str, stop: CancellationToken) -> Site {
        Site {
            client,
            outage: Outage::default(),
            stop,
            prefix: prefix.to_owned(),
            runtime: Handle::current(),
            boot: boot(),
            names: AtomicU64::new(0),
        }
    }

    pub(super) fn keys(&self, listener: &Listener) -> Keys {
        Keys::of(&self.prefix, listener)
    }

    pub(super) fn desk(&self) -> Arc<Desk> {
        Arc::new(Desk::new(self.stop.child_token()))
    }

    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// A name that nothing else has, for a life of a worker or for a message.
    pub(super) fn fresh_name(&self) -> String {
        format!("{}-{}", self.boot, self.names.fetch_add(1, Ordering::Relaxed))
    }
}

#[expect(clippy::disallowed_methods, reason = "names a boot of bells; it is in no row and decides nothing")]
fn boot() -> String {
    ulid::Ulid::generate().to_string()
}
