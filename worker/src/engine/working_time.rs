//! The time that a job works: all of its steps but their waits for a slot, which are other jobs' time.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Counts the working time of the step in flight.
#[derive(Debug, Clone)]
pub(super) struct WorkingTime(watch::Sender<Step>);

#[derive(Debug, Clone, Copy)]
struct Step {
    started: Instant,
    waited: Duration,
    /// Since when it waits for a slot.
    waits_since: Option<Instant>,
}

impl Step {
    fn worked(self) -> Duration {
        let waits = self.waits_since.map_or(Duration::ZERO, |since| since.elapsed());
        self.started.elapsed().saturating_sub(self.waited + waits)
    }
}

impl WorkingTime {
    pub(super) fn new() -> Self {
        let step = Step { started: Instant::now(), waited: Duration::ZERO, waits_since: None };
        Self(watch::Sender::new(step))
    }

    /// The next step begins.
    pub(super) fn begin(&self) {
        self.0.send_replace(Step { started: Instant::now(), waited: Duration::ZERO, waits_since: None });
    }

    /// Time of the step so far.
    pub(super) fn worked(&self) -> Duration {
        self.0.borrow().worked()
    }

    /// Waits for something that is no work; also a wait that is given up counts as one.
    pub(super) async fn without<T>(&self, wait: impl Future<Output = T>) -> T {
        struct Waiting<'a>(&'a watch::Sender<Step>);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.send_modify(|step| {
                    let waited = step.waits_since.take().map_or(Duration::ZERO, |since| since.elapsed());
                    step.waited += waited;
                });
            }
        }
        self.0.send_modify(|step| step.waits_since = Some(Instant::now()));
        let _waiting = Waiting(&self.0);
        wait.await
    }

    /// Returns once the step has worked for `limit`.
    pub(super) async fn until(&self, limit: Duration) {
        let mut changes = self.0.subscribe();
        loop {
            let step = *changes.borrow_and_update();
            let left = limit.saturating_sub(step.worked());
            if left.is_zero() {
                return;
            }
            if step.waits_since.is_some() {
                // This clock holds the sender, so it can't be gone.
                let _ = changes.changed().await;
            } else {
                let _ = tokio::time::timeout(left, changes.changed()).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn waiting_is_no_work() {
        let time = WorkingTime::new();
        tokio::time::sleep(SECOND).await;
        time.without(tokio::time::sleep(10 * SECOND)).await;
        tokio::time::sleep(SECOND).await;
        assert_eq!(time.worked(), 2 * SECOND);
        let given_up = time.without(tokio::time::sleep(60 * SECOND));
        assert!(tokio::time::timeout(5 * SECOND, given_up).await.is_err());
        assert_eq!(time.worked(), 2 * SECOND);
        time.begin();
        assert_eq!(time.worked(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_moves_with_the_wait() {
        let time = WorkingTime::new();
        let began = Instant::now();
        let work = async {
            tokio::time::sleep(SECOND).await;
            time.without(tokio::time::sleep(100 * SECOND)).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = work => {}
            () = time.until(3 * SECOND) => {}
        }
        assert_eq!(began.elapsed().as_secs(), 103);
    }
}
