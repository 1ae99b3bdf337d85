//! Which pages a researcher reads: code picks them, no model and no page does.

use std::collections::HashMap;

use nightforge_domain::Millis;
use nightforge_domain::research::{Source, SourceId, SourceStatus};
use url::Url;

/// Pages of one assignment.
pub(super) const MAX_PAGES: usize = 4;

/// Addresses of one assignment that are tried, those that may not be asked included.
const MAX_TRIED: usize = 8;

/// Addresses of the user among them, while the hits have others: if none of them may be asked, some hits are read.
const MAX_GIVEN: usize = 6;

/// Pages of one host, while others have something to offer.
const MAX_OF_HOST: usize = 2;

/// The hits of several queries as one ranking: the best of each, the second of each, and so on, each once.
pub(crate) fn ranking(queries: &[Vec<SourceId>]) -> Vec<SourceId> {
    let deepest = queries.iter().map(Vec::len).max().unwrap_or(0);
    let mut ranking = Vec::new();
    for rank in 0..deepest {
        for id in queries.iter().filter_map(|query| query.get(rank)) {
            if !ranking.contains(id) {
                ranking.push(*id);
            }
        }
    }
    ranking
}

/// The pages to try, in order, until [`MAX_PAGES`] [count](counts): those that the user named, then the best hits; none that was read, or tried, before
/// the round of assignments began. What another researcher of the round has read meanwhile is picked all the same:
/// which of them came first must not decide what each of them knows.
pub(super) fn to_read(
    given: &[SourceId],
    ranking: &[SourceId],
    sources: &[Source],
    round_began: Millis,
) -> Vec<SourceId> {
    let is_open = |source: &&Source| was_unread(source, round_began);
    let of = |id: &SourceId| sources.iter().find(|source| source.id == *id).filter(is_open);
    let mut pages: Vec<SourceId> = Vec::new();
    let mut hosts: HashMap<String, usize> = HashMap::new();
    let turns = [
        (given, MAX_GIVEN, MAX_PAGES),
        (ranking, MAX_TRIED, MAX_OF_HOST),
        (ranking, MAX_TRIED, MAX_TRIED),
        (given, MAX_TRIED, MAX_TRIED),
    ];
    for (ids, most, most_of_host) in turns {
        for source in ids.iter().filter_map(of) {
            let of_host = hosts.entry(host(&source.url)).or_default();
            if pages.len() < most && *of_host < most_of_host && !pages.contains(&source.id) {
                *of_host += 1;
                pages.push(source.id);
            }
        }
    }
    pages
}

/// Whether an address that came to this was one of the assignment's pages. One that its own form or its host's
/// robots.txt keeps from being asked was none, or a few of them would leave nothing of what was found to be read.
pub(super) fn counts(status: SourceStatus) -> bool {
    !matches!(status, SourceStatus::Refused | SourceStatus::Disallowed)
}

/// Whether there is a page behind it that nobody had read or tried to read when the round began.
pub(super) fn was_unread(source: &Source, round_began: Millis) -> bool {
    let has_page = ["http://", "https://", "demo://"]
        .iter()
        .any(|scheme| source.url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    has_page
        && match source.status {
            SourceStatus::Placeholder => false,
            SourceStatus::Found => source.text.is_none(),
            // Of a page that was read, or tried, this is the time when.
            _ => source.at >= round_began,
        }
}

/// Whose machine would be asked. The demo's documents are no host's: each stands for one of its own.
fn host(url: &str) -> String {
    let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    parsed.and_then(|url| url.host_str().map(str::to_lowercase)).unwrap_or_else(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGAN: Millis = Millis(10);

    fn source(number: u32, url: &str) -> Source {
        Source {
            id: SourceId(number),
            url: url.to_owned(),
            title: "t".to_owned(),
            snippet: "s".to_owned(),
            text: None,
            sha256: None,
            tool: "searxng".to_owned(),
            is_demo: false,
            status: SourceStatus::Found,
            note: None,
            published: None,
            at: Millis(0),
        }
    }

    fn ids(numbers: &[u32]) -> Vec<SourceId> {
        numbers.iter().map(|number| SourceId(*number)).collect()
    }

    #[test]
    fn queries_take_turns() {
        let ranking = ranking(&[ids(&[1, 2, 3]), ids(&[4, 1]), ids(&[])]);
        assert_eq!(ranking, ids(&[1, 4, 2, 3]));
    }

    #[test]
    fn two_pages_of_a_host_while_others_have_something() {
        let sources: Vec<Source> = [
            "https://a.example/1",
            "https://A.example/2",
            "https://a.example/3",
            "https://b.example/",
            "https://a.example/4",
        ]
        .into_iter()
        .zip(1..)
        .map(|(url, number)| source(number, url))
        .collect();
        assert_eq!(to_read(&[], &ids(&[1, 2, 3, 4, 5]), &sources, BEGAN), ids(&[1, 2, 4, 3, 5]));
    }

    #[test]
    fn what_the_user_named_comes_first_and_nothing_is_read_twice() {
        let mut sources: Vec<Source> =
            (1..=8).map(|number| source(number, &format!("https://h{number}.example/"))).collect();
        sources[1].status = SourceStatus::Read;
        sources[2].status = SourceStatus::Unreachable;
        sources[3].status = SourceStatus::Placeholder;
        sources[4].url = "notes/plan.md#L1-L9".to_owned();
        let ranked = ids(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(to_read(&ids(&[8, 2]), &ranked, &sources, BEGAN), ids(&[8, 1, 6]));
        assert_eq!(
            to_read(&ids(&[8, 7, 6, 1, 2]), &ranked, &sources, BEGAN),
            ids(&[8, 7, 6, 1]),
            "each once"
        );
        // Another researcher of the same round has read it.
        sources[1].at = BEGAN;
        assert_eq!(to_read(&[], &ranked, &sources, BEGAN), ids(&[1, 2, 6]));
    }

    #[test]
    fn however_many_addresses_the_user_names_some_hits_have_their_turn() {
        let sources: Vec<Source> =
            (1..=20).map(|number| source(number, &format!("https://h{number}.example/"))).collect();
        let (given, ranked) = ((1..=10).collect::<Vec<u32>>(), (11..=20).collect::<Vec<u32>>());
        let tried = to_read(&ids(&given), &ids(&ranked), &sources, BEGAN);
        assert_eq!(tried, ids(&[1, 2, 3, 4, 5, 6, 11, 12]));
        let tried = to_read(&ids(&given), &[], &sources, BEGAN);
        assert_eq!(tried, ids(&[1, 2, 3, 4, 5, 6, 7, 8]), "no hits, no turns for them");
    }
}
