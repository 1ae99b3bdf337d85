//! What the robots.txt of each place says, kept for an hour.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::page::PageProblem;

/// Longest robots.txt that is looked at, in bytes (RFC 9309 asks for 500 KiB at least).
pub(super) const MAX_ROBOTS_BYTES: usize = 512 * 1024;
/// A robots.txt that could not be had is asked for again after this.
const FAILURE_AGE: Duration = Duration::from_secs(60);
/// Places that are remembered; the oldest goes first. Their rules are at most 64 MiB together.
const REMEMBERED: usize = 128;

/// What a place lets us read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Robots {
    /// There are no rules.
    Open,
    /// The text of its rules.
    Rules(Arc<[u8]>),
    /// It could not be had, so nothing is read for now.
    Closed(PageProblem),
}

impl Robots {
    /// From what was fetched; of a cut one the last line is left out, half a path forbids too much.
    pub(super) fn rules(mut bytes: Vec<u8>, whole: bool) -> Self {
        if !whole {
            let lines = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            bytes.truncate(lines);
        }
        if bytes.trim_ascii().is_empty() { Self::Open } else { Self::Rules(bytes.into()) }
    }
}

/// By origin: scheme, host and port.
#[derive(Debug)]
pub(super) struct RobotsCache {
    age: Duration,
    places: Mutex<HashMap<String, (Instant, Robots)>>,
}

impl RobotsCache {
    pub(super) fn new(age: Duration) -> Self {
        Self { age, places: Mutex::default() }
    }

    pub(super) fn get(&self, origin: &str, now: Instant) -> Option<Robots> {
        // Whole after every statement, so a panic elsewhere does no harm.
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let (fetched, robots) = places.get(origin)?;
        let age = if matches!(robots, Robots::Closed(_)) { FAILURE_AGE.min(self.age) } else { self.age };
        (now.duration_since(*fetched) < age).then(|| robots.clone())
    }

    pub(super) fn put(&self, origin: String, robots: Robots, now: Instant) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= REMEMBERED && !places.contains_key(&origin) {
            let oldest =
                places.iter().min_by_key(|(_, (fetched, _))| *fetched).map(|(origin, _)| origin.clone());
            oldest.and_then(|origin| places.remove(&origin));
        }
        places.insert(origin, (now, robots));
    }
}

#[cfg(test)]
mod tests {
    use nightforge_domain::research::SourceStatus;

    use super::*;

    #[test]
    fn kept_for_its_time() {
        let cache = RobotsCache::new(Duration::from_secs(3600));
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        cache.put("a".to_owned(), Robots::Open, now);
        let closed = Robots::Closed(PageProblem::new(SourceStatus::Disallowed, "503"));
        cache.put("b".to_owned(), closed.clone(), now);
        assert_eq!(cache.get("a", after(3599)), Some(Robots::Open));
        assert_eq!(cache.get("a", after(3600)), None);
        assert_eq!(cache.get("b", after(59)), Some(closed));
        assert_eq!(cache.get("b", after(60)), None);
        for n in 0..REMEMBERED as u64 {
            cache.put(format!("{n}"), Robots::Open, after(n + 1));
        }
        assert_eq!(cache.get("a", after(1)), None, "the oldest went");
        assert_eq!(cache.places.lock().unwrap().len(), REMEMBERED);
    }

    #[test]
    fn half_a_line_is_no_rule() {
        let cut = Robots::rules(b"User-agent: *\nDisallow: /pri".to_vec(), false);
        assert_eq!(cut, Robots::Rules(b"User-agent: *".as_slice().into()));
        assert_eq!(Robots::rules(b" \n".to_vec(), true), Robots::Open);
    }
}
