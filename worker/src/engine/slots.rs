//! Slots: permits for model calls at one endpoint. A job keeps its permit for a short while after a call, so that
//! quick tools keep the server's prefix cache warm; a long command gives it to another job.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The slots of one endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    permits: Arc<Semaphore>,
    /// Numbers of the slots that nobody holds; as many as there are permits left, or one more for a moment.
    free: Arc<Mutex<BTreeSet<u32>>>,
    sticky: Duration,
}

/// The right to make one call, with the number of its slot.
#[derive(Debug)]
struct Permit {
    number: u32,
    free: Arc<Mutex<BTreeSet<u32>>>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Permit {
    fn drop(&mut self) {
        // Before the permit itself goes back, so that whoever gets it finds a number.
        locked(&self.free).insert(self.number);
    }
}

impl Slots {
    /// `count` calls at a time; a permit stays with its job for `sticky` after a call.
    pub(crate) fn new(count: u32, sticky: Duration) -> Self {
        let count = count.max(1);
        Self {
            permits: Arc::new(Semaphore::new(count as usize)),
            free: Arc::new(Mutex::new((0..count).collect())),
            sticky,
        }
    }

    /// One job's hold on the slots.
    pub(crate) fn holder(&self) -> SlotHolder {
        SlotHolder { slots: self.clone(), kept: Arc::default() }
    }

    /// Waits for a permit; of the free slots the one that was `last`, whose server has the job's prefix cached.
    async fn permit(&self, last: Option<u32>) -> Permit {
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed");
        let mut free = locked(&self.free);
        let number = last.filter(|last| free.contains(last)).or_else(|| free.first().copied());
        let number = number.expect("a permit stands for a number");
        free.remove(&number);
        Permit { number, free: Arc::clone(&self.free), _permit: permit }
    }
}

/// One job's hold on the slots. Dropping it gives a kept permit back at once.
#[derive(Debug)]
pub(crate) struct SlotHolder {
    slots: Slots,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    permit: Option<Permit>,
    /// The slot of the job's latest call.
    last: Option<u32>,
    /// Counts the calls, so that the timer of an earlier one takes nothing away.
    turn: u64,
}

impl SlotHolder {
    /// Waits for a slot and holds it until the guard is dropped, then for the sticky time.
    pub(crate) async fn acquire(&self) -> SlotGuard {
        let (kept, last) = {
            let mut kept = locked(&self.kept);
            (kept.permit.take(), kept.last)
        };
        let permit = match kept {
            Some(permit) => permit,
            None => self.slots.permit(last).await,
        };
        SlotGuard { permit: Some(permit), kept: Arc::clone(&self.kept), sticky: self.slots.sticky }
    }
}

impl Drop for SlotHolder {
    fn drop(&mut self) {
        let mut kept = locked(&self.kept);
        kept.turn += 1;
        kept.permit = None;
    }
}

/// A slot in use.
#[derive(Debug)]
pub(crate) struct SlotGuard {
    permit: Option<Permit>,
    kept: Arc<Mutex<Kept>>,
    sticky: Duration,
}

impl SlotGuard {
    /// Which of the endpoint's slots it is, from 0.
    pub(crate) fn number(&self) -> Option<u32> {
        self.permit.as_ref().map(|permit| permit.number)
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        let turn = {
            let mut kept = locked(&self.kept);
            kept.turn += 1;
            kept.last = self.number();
            kept.permit = self.permit.take();
            kept.turn
        };
        let (kept, sticky) = (Arc::clone(&self.kept), self.sticky);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // Without a runtime nobody can give it back later.
            locked(&kept).permit = None;
            return;
        };
        runtime.spawn(async move {
            tokio::time::sleep(sticky).await;
            let mut kept = locked(&kept);
            if kept.turn == turn {
                kept.permit = None;
            }
        });
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STICKY: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_job_keeps_its_slot_for_the_sticky_time() {
        let slots = Slots::new(1, STICKY);
        let (first, second) = (slots.holder(), slots.holder());
        drop(first.acquire().await);
        let started = tokio::time::Instant::now();
        drop(first.acquire().await);
        assert_eq!(started.elapsed(), Duration::ZERO, "its own slot is at hand");
        drop(second.acquire().await);
        assert!(started.elapsed() >= STICKY, "another job waits for the sticky time");
        assert!(started.elapsed() < STICKY + Duration::from_millis(100), "and not longer");
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_that_ends_gives_its_slot_back_at_once() {
        let slots = Slots::new(1, STICKY);
        let (first, second) = (slots.holder(), slots.holder());
        drop(first.acquire().await);
        drop(first);
        let started = tokio::time::Instant::now();
        drop(second.acquire().await);
        assert_eq!(started.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_never_exceed_the_slots() {
        let slots = Slots::new(2, Duration::ZERO);
        let (running, most) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let mut jobs = tokio::task::JoinSet::new();
        for _ in 0..10 {
            let (holder, running, most) = (slots.holder(), running.clone(), most.clone());
            jobs.spawn(async move {
                for _ in 0..5 {
                    let _slot = holder.acquire().await;
                    let now = {
                        let mut running = running.lock().unwrap();
                        *running += 1;
                        *running
                    };
                    let highest = (*most.lock().unwrap()).max(now);
                    *most.lock().unwrap() = highest;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    *running.lock().unwrap() -= 1;
                }
            });
        }
        while let Some(ended) = jobs.join_next().await {
            ended.unwrap();
        }
        assert_eq!(*most.lock().unwrap(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_comes_back_to_its_own_slot_where_that_is_free() {
        let slots = Slots::new(2, STICKY);
        let (first, second) = (slots.holder(), slots.holder());
        let (one, two) = (first.acquire().await, second.acquire().await);
        assert_eq!((one.number(), two.number()), (Some(0), Some(1)));
        drop((one, two));
        tokio::time::sleep(STICKY * 2).await;
        let two = second.acquire().await;
        assert_eq!(two.number(), Some(1), "its prefix is cached there");
        let third = slots.holder();
        assert_eq!(third.acquire().await.number(), Some(0));
    }
}
