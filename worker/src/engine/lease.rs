//! Leases: a thread of its own renews them, and only of claims whose execution is alive.
//!
//! The thread has its own runtime and its own database connections, so a busy worker, a blocked runtime or a full
//! connection pool never costs a live job its lease.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use nightforge_domain::{BootId, Fence, JobId};
use nightforge_store::{Renewal, Store};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Interruption;

/// The longest time between two renewals: a cancel is seen so soon.
const LONGEST_PERIOD: Duration = Duration::from_secs(2);

/// How often it is looked whether a lease is over: its execution is ended so soon, whatever the database does.
const EXPIRY_PERIOD: Duration = Duration::from_millis(100);

type Claims = HashMap<(JobId, Fence), Entry>;

struct Entry {
    signal: watch::Sender<Option<Interruption>>,
    /// On this machine's monotonic clock, counted from before the renewal was sent.
    expires: Instant,
}

/// The claims that this worker executes.
#[derive(Clone)]
pub(crate) struct Leases {
    claims: Arc<Mutex<Claims>>,
    lease: Duration,
}

/// One claim's lease. Dropping it ends the renewals.
pub(crate) struct Lease {
    leases: Leases,
    key: (JobId, Fence),
    signal: watch::Receiver<Option<Interruption>>,
}

impl Leases {
    /// Starts the renewing thread. It ends when `stop` is cancelled.
    ///
    /// # Errors
    /// When the thread can't be started.
    pub(crate) fn start(
        store: &Store,
        boot: BootId,
        lease: Duration,
        stop: CancellationToken,
    ) -> anyhow::Result<Self> {
        let leases = Self { claims: Arc::default(), lease };
        let (thread_leases, store) = (leases.clone(), store.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new()
            .name("leases".to_owned())
            .spawn(move || runtime.block_on(thread_leases.keep(&store, &boot, &stop)))
            .context("the lease thread can't be started")?;
        Ok(leases)
    }

    /// Takes a claim under renewal. `claimed` is when its claim was sent, on the monotonic clock.
    pub(crate) fn hold(&self, job: JobId, fence: Fence, claimed: Instant) -> Lease {
        let (signal, receiver) = watch::channel(None);
        let key = (job, fence);
        self.lock().insert(key.clone(), Entry { signal, expires: claimed + self.lease });
        Lease { leases: self.clone(), key, signal: receiver }
    }

    /// Tells every execution to hand its job back after the step in flight.
    pub(crate) fn drain(&self) {
        self.raise_all(Interruption::Draining);
    }

    /// Tells every execution to give up the step in flight and to hand its job back now.
    pub(crate) fn cut(&self) {
        self.raise_all(Interruption::Cut);
    }

    fn raise_all(&self, interruption: Interruption) {
        for entry in self.lock().values() {
            raise(&entry.signal, interruption);
        }
    }

    async fn keep(&self, store: &Store, boot: &BootId, stop: &CancellationToken) {
        tokio::select! {
            () = self.keep_renewing(store, boot) => {}
            () = self.keep_judging() => {}
            () = stop.cancelled() => {}
        }
    }

    /// Never returns.
    async fn keep_renewing(&self, store: &Store, boot: &BootId) {
        let period = (self.lease / 3).min(LONGEST_PERIOD);
        let mut own: Option<Store> = None;
        loop {
            tokio::time::sleep(period).await;
            match tokio::time::timeout(self.lease / 3, self.renew(store, &mut own, boot)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "leases not renewed; trying again"),
                Err(_) => tracing::warn!("renewing leases took too long; trying again"),
            }
        }
    }

    /// Beside the renewals, which may hang. Never returns.
    async fn keep_judging(&self) {
        loop {
            tokio::time::sleep(EXPIRY_PERIOD).await;
            self.expire();
        }
    }

    async fn renew(&self, store: &Store, own: &mut Option<Store>, boot: &BootId) -> anyhow::Result<()> {
        let own = match own {
            Some(own) => own,
            None => own.insert(store.reopen().await?),
        };
        own.heartbeat(boot).await?;
        let held: Vec<(JobId, Fence)> = self.lock().keys().cloned().collect();
        for claim in held {
            let sent = Instant::now();
            let found = own.renew(boot, std::slice::from_ref(&claim), self.lease.as_millis() as i64).await?;
            let mut claims = self.lock();
            let (Some(entry), Some(renewal)) = (claims.get_mut(&claim), found.first()) else { continue };
            let told = match renewal {
                Renewal::Lost => Some(Interruption::Lost),
                Renewal::Stop => Some(Interruption::Stopping),
                Renewal::Pause => Some(Interruption::Paused),
                Renewal::Held => None,
            };
            if let Some(told) = told {
                raise(&entry.signal, told);
            }
            if *renewal != Renewal::Lost {
                entry.expires = sent + self.lease;
            }
        }
        Ok(())
    }

    fn expire(&self) {
        let now = Instant::now();
        for ((job, fence), entry) in self.lock().iter() {
            if entry.expires <= now && raise(&entry.signal, Interruption::Lost) {
                tracing::warn!(job.id = %job, fence = fence.0, "the lease ran out; its execution is ended");
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Raises a signal unless a stronger one stands; true when it changed.
pub(super) fn raise(signal: &watch::Sender<Option<Interruption>>, new: Interruption) -> bool {
    let strength = |interruption: Interruption| match interruption {
        Interruption::Paused => 1,
        Interruption::Draining => 2,
        Interruption::Cut => 3,
        Interruption::Stopping => 4,
        Interruption::Lost => 5,
    };
    signal.send_if_modified(|current| {
        let stronger = current.is_none_or(|current| strength(new) > strength(current));
        if stronger {
            *current = Some(new);
        }
        stronger
    })
}

impl Lease {
    /// What the execution has been told, if anything.
    pub(crate) fn signal(&self) -> watch::Receiver<Option<Interruption>> {
        self.signal.clone()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.leases.lock().remove(&self.key);
    }
}
