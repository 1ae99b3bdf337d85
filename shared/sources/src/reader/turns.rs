//! When a host may be asked again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// One request a second per host.
const INTERVAL: Duration = Duration::from_secs(1);
/// So many hosts are remembered before those whose turn has passed are forgotten.
const REMEMBERED: usize = 1024;

/// Says when a host may be asked again. The reader waits for a turn before every request, also for robots.txt and
/// for each redirect.
pub trait HostTurns: Send + Sync {
    /// Waits until this host may be asked. The time does not count towards the time of the reading.
    fn turn(&self, host: &str) -> impl Future<Output = ()> + Send;
}

/// Turns within one process, first come first served.
#[derive(Debug)]
pub struct LocalTurns {
    interval: Duration,
    next: Mutex<HashMap<String, Instant>>,
}

impl LocalTurns {
    /// With another time between two requests to a host than one second.
    pub fn every(interval: Duration) -> Self {
        Self { interval, next: Mutex::default() }
    }

    /// Takes the host's next free instant.
    fn take(&self, host: &str, now: Instant) -> Instant {
        // A map of instants is whole after every statement, so a panic elsewhere does no harm.
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.len() >= REMEMBERED {
            next.retain(|_, free| *free > now);
        }
        let free = next.entry(host.to_owned()).or_insert(now);
        let mine = (*free).max(now);
        *free = mine + self.interval;
        mine
    }
}

impl Default for LocalTurns {
    fn default() -> Self {
        Self::every(INTERVAL)
    }
}

impl HostTurns for LocalTurns {
    async fn turn(&self, host: &str) {
        sleep_until(self.take(host, Instant::now())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_second_for_each_host() {
        let turns = LocalTurns::default();
        let now = Instant::now();
        let second = |n: u64| now + Duration::from_secs(n);
        assert_eq!(turns.take("a.example", now), now);
        assert_eq!(turns.take("a.example", now), second(1));
        assert_eq!(turns.take("b.example", now), now);
        assert_eq!(turns.take("a.example", now), second(2));
        assert_eq!(turns.take("a.example", second(9)), second(9));
    }

    #[test]
    fn hosts_are_forgotten() {
        let turns = LocalTurns::default();
        let now = Instant::now();
        for n in 0..REMEMBERED {
            turns.take(&format!("{n}.example"), now);
        }
        turns.take("last.example", now + INTERVAL * 2);
        assert_eq!(turns.next.lock().unwrap().len(), 1);
    }
}
