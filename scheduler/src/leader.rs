//! The leader: one scheduler at a time sweeps, under a lease of its own.

use std::time::Duration;

use nightforge_domain::Millis;
use nightforge_queue::Bells;
use nightforge_store::{Store, StoreError};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::SchedulerConfig;
use crate::sweep::sweep;

/// Wall and monotonic clock may differ by so much between two sweeps before it counts as a jump.
const CLOCK_SLACK_MS: i64 = 2_000;

/// Sweeps while it leads, until `shutdown`.
pub(crate) async fn serve(store: Store, bells: Bells, config: SchedulerConfig, shutdown: CancellationToken) {
    let mut ticks = tokio::time::interval(config.sweep_every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut watch = ClockWatch::default();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = shutdown.cancelled() => return,
        }
        if let Err(error) = lead_once(&store, &bells, &config, &mut watch).await {
            tracing::warn!(%error, "sweep failed; trying again");
            watch.hold(config.lease);
        }
    }
}

async fn lead_once(
    store: &Store,
    bells: &Bells,
    config: &SchedulerConfig,
    watch: &mut ClockWatch,
) -> Result<(), StoreError> {
    let ttl_ms = (config.sweep_every.as_millis() as i64 * 5).max(5_000);
    if store.lead(&config.boot, ttl_ms).await?.is_none() {
        return Ok(());
    }
    watch.observe(store.now().await?, config.lease);
    sweep(store, bells, config, watch.may_judge()).await
}

/// Notices that time did not pass evenly: a laptop slept, a clock was set, the database was away. Leases are then
/// not judged for one lease, so that live workers can renew them first.
#[derive(Default)]
struct ClockWatch {
    last: Option<(Millis, Instant)>,
    hold_until: Option<Instant>,
}

impl ClockWatch {
    fn observe(&mut self, now: Millis, lease: Duration) {
        let monotonic = Instant::now();
        if let Some((wall, at)) = self.last {
            let passed = monotonic.duration_since(at).as_millis() as i64;
            let drift = (now.0 - wall.0) - passed;
            if drift.abs() > CLOCK_SLACK_MS {
                tracing::warn!(drift_ms = drift, "the clock jumped; leases are judged one lease later");
                self.hold(lease);
            }
        }
        self.last = Some((now, monotonic));
    }

    fn hold(&mut self, lease: Duration) {
        self.hold_until = Some(Instant::now() + lease);
    }

    fn may_judge(&self) -> bool {
        self.hold_until.is_none_or(|until| Instant::now() >= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(15);

    #[tokio::test(start_paused = true)]
    async fn a_jump_of_the_wall_clock_holds_the_judgement_for_one_lease() {
        let mut watch = ClockWatch::default();
        watch.observe(Millis(0), LEASE);
        tokio::time::advance(Duration::from_secs(1)).await;
        watch.observe(Millis(1_000), LEASE);
        assert!(watch.may_judge());
        tokio::time::advance(Duration::from_secs(1)).await;
        watch.observe(Millis(3_600_000), LEASE);
        assert!(!watch.may_judge());
        tokio::time::advance(LEASE).await;
        assert!(watch.may_judge());
    }
}
