//! Several back-ends as one: asked at once, answers put together.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Backend, ConfigError, Looked};
use crate::answer::{Hit, SearchAnswer};
use crate::canonical::canonical_url;

/// Every configured back-end, in the order of the configuration.
#[derive(Debug)]
pub struct Search {
    backends: Vec<Backend>,
}

/// What all of them together found. Stored as the output of a job's step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Hits of all, or empty when every back-end looked and found nothing, or unavailable when one that could not look
    /// might have found something and no other did.
    #[serde(flatten)]
    pub answer: SearchAnswer<NamedHit>,
    /// What kept a back-end from finding more, beside hits of others; for the operator.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// A hit and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedHit {
    /// The hit.
    #[serde(flatten)]
    pub hit: Hit,
    /// Name of the back-end that found it; of several, the one that ranked it best.
    pub backend: String,
    /// Whether it is invented for demonstrations.
    pub is_demo: bool,
}

impl Search {
    /// At least one back-end; one that stands first wins where two rank a page alike.
    pub fn new(backends: Vec<Backend>) -> Result<Self, ConfigError> {
        if backends.is_empty() {
            return Err(ConfigError::Nothing("no search back-end is configured; name at least one"));
        }
        Ok(Self { backends })
    }

    /// The back-ends, in order.
    pub fn backends(&self) -> &[Backend] {
        &self.backends
    }

    /// Asks all at once, each for at most `limit` hits, and gives at most `limit` in all.
    pub async fn search(&self, query: &str, limit: usize) -> Found {
        let limit = limit.max(1);
        let looks = self.backends.iter().map(|backend| backend.look(query, limit));
        let looked = futures_util::future::join_all(looks).await;
        merged(self.backends.iter().map(Origin::of).zip(looked), limit)
    }
}

/// What a hit is labelled with.
#[derive(Clone, Copy)]
struct Origin {
    name: &'static str,
    is_demo: bool,
}

impl Origin {
    fn of(backend: &Backend) -> Self {
        Self { name: backend.name(), is_demo: backend.is_demo() }
    }
}

fn merged(looked: impl IntoIterator<Item = (Origin, Looked)>, limit: usize) -> Found {
    let mut rankings: Vec<(Origin, Vec<Hit>)> = Vec::new();
    let (mut reasons, mut problems) = (Vec::new(), Vec::new());
    let mut pauses: Vec<Duration> = Vec::new();
    for (origin, looked) in looked {
        problems.extend(looked.problems);
        match looked.answer {
            SearchAnswer::Hits { hits } => rankings.push((origin, hits)),
            SearchAnswer::Empty => {}
            SearchAnswer::Unavailable { reason, retry_after } => {
                reasons.push(reason);
                pauses.extend(retry_after);
            }
        }
    }
    let hits = interleaved(rankings, limit);
    if hits.is_empty() && !reasons.is_empty() {
        let answer =
            SearchAnswer::Unavailable { reason: reasons.join("; "), retry_after: pauses.into_iter().min() };
        return Found { answer, problems };
    }
    problems.extend(reasons);
    Found { answer: SearchAnswer::of(hits), problems }
}

/// The first of each, the second of each, and so on; a page that was there before is left out. A hit that can be cited
/// goes before every placeholder.
fn interleaved(rankings: Vec<(Origin, Vec<Hit>)>, limit: usize) -> Vec<NamedHit> {
    let deepest = rankings.iter().map(|(_, hits)| hits.len()).max().unwrap_or(0);
    let mut rankings: Vec<(Origin, std::vec::IntoIter<Hit>)> =
        rankings.into_iter().map(|(origin, hits)| (origin, hits.into_iter())).collect();
    let mut seen = HashSet::new();
    let mut merged = Vec::new();
    for _ in 0..deepest {
        for (origin, hits) in &mut rankings {
            let Some(hit) = hits.next() else { continue };
            if seen.insert(canonical_url(&hit.url)) {
                merged.push(NamedHit { hit, backend: origin.name.to_owned(), is_demo: origin.is_demo });
            }
        }
    }
    merged.sort_by_key(|named| named.hit.placeholder);
    merged.truncate(limit);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a:x,y -: !why@9` is three back-ends: hits x and y, nothing, unavailable for 9 seconds. `?x` is a placeholder,
    /// `a~:` has a problem beside its hits.
    fn told(script: &str, limit: usize) -> String {
        let looked = script.split(' ').zip(["a", "b", "c", "d"]).map(|(answer, name)| {
            let problems = answer.contains('~').then(|| format!("{name} half")).into_iter().collect();
            let answer = answer.trim_end_matches('~');
            let answer = match answer.strip_prefix('!') {
                Some(why) => {
                    let (why, pause) = why.split_once('@').unwrap_or((why, ""));
                    SearchAnswer::Unavailable {
                        reason: why.to_owned(),
                        retry_after: pause.parse().ok().map(Duration::from_secs),
                    }
                }
                None => SearchAnswer::of(answer.split(',').filter(|url| *url != "-").map(hit).collect()),
            };
            (Origin { name, is_demo: name == "d" }, Looked { answer, problems })
        });
        let found = merged(looked.collect::<Vec<_>>(), limit);
        let stored = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Found>(&stored).unwrap(), found, "{stored}");
        let answer = match &found.answer {
            SearchAnswer::Hits { hits } => hits
                .iter()
                .map(|named| {
                    let demo = if named.is_demo { "!" } else { "" };
                    format!("{}={}{demo}", named.hit.url, named.backend)
                })
                .collect::<Vec<_>>()
                .join(" "),
            SearchAnswer::Empty => "empty".to_owned(),
            SearchAnswer::Unavailable { reason, retry_after } => {
                format!("unavailable {reason} {:?}", retry_after.map(|pause| pause.as_secs()))
            }
        };
        if found.problems.is_empty() { answer } else { format!("{answer} | {}", found.problems.join(", ")) }
    }

    fn hit(url: &str) -> Hit {
        let (placeholder, url) = url.strip_prefix('?').map_or((false, url), |url| (true, url));
        Hit {
            url: url.to_owned(),
            title: url.to_owned(),
            snippet: String::new(),
            published: None,
            text: None,
            placeholder,
        }
    }

    #[test]
    fn answers_are_put_together_by_rank() {
        for (script, merged) in [
            ("x,y,z", "x=a y=a z=a"),
            ("x,y u,v", "x=a u=b y=a v=b"),
            ("x,y,z u", "x=a u=b y=a z=a"),
            ("x,y y,x", "x=a y=b"),
            ("x x,x", "x=a"),
            ("?n x - d1", "x=b d1=d! n=a"),
            ("f.md#L1-L2 f.md#L3-L4", "f.md#L1-L2=a f.md#L3-L4=b"),
            ("https://h/p https://H/p?utm_source=x#part,https://h/q", "https://h/p=a https://h/q=b"),
            ("https://h/p?a=1 https://h/p?a=2", "https://h/p?a=1=a https://h/p?a=2=b"),
        ] {
            assert_eq!(told(script, 10), merged, "{script}");
        }
    }

    #[test]
    fn the_limit_is_for_all_together() {
        assert_eq!(told("x,y u,v", 3), "x=a u=b y=a");
        assert_eq!(told("?n x", 1), "x=b", "a placeholder takes no place from a page");
    }

    #[test]
    fn unavailable_is_never_evidence_of_absence() {
        for (script, merged) in [
            ("- -", "empty"),
            ("!down", "unavailable down None"),
            ("!down -", "unavailable down None"),
            ("- !busy@9", "unavailable busy Some(9)"),
            ("!down !busy@9 !limit@4", "unavailable down; busy; limit Some(4)"),
            ("x !down", "x=a | down"),
            ("!down x~ !busy@9", "x=b | b half, down, busy"),
        ] {
            assert_eq!(told(script, 10), merged, "{script}");
        }
    }
}
