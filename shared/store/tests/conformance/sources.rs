//! Sources: numbered once, the same page once, a text that never changes.

use nightforge_domain::TaskId;
use nightforge_domain::research::{Source, SourceId, SourceStatus};
use nightforge_store::{Claim, FoundSource, MAX_SOURCE_CHARS, ReadPage, StoreError};

use crate::bed::{Bed, on_every_database};
use crate::work::{LEASE, new_task};

/// A hit of a search at a page with this name.
pub(crate) fn hit(name: &str) -> FoundSource {
    FoundSource {
        url: format!("https://example.com/{name}?from=search"),
        canonical_url: format!("https://example.com/{name}"),
        title: format!("About {name}"),
        snippet: format!("… {name} …"),
        text: None,
        tool: "corpus".to_owned(),
        is_demo: false,
        placeholder: false,
        published: None,
    }
}

/// A page that was read.
pub(crate) fn page(text: &str) -> ReadPage {
    ReadPage {
        status: SourceStatus::Read,
        note: None,
        title: None,
        text: Some(text.to_owned()),
        sha256: None,
        media_type: Some("text/html".to_owned()),
        published: None,
    }
}

fn problem(status: SourceStatus) -> ReadPage {
    let note = Some(format!("it is {status}"));
    ReadPage { status, note, text: None, media_type: None, ..page("") }
}

impl Bed {
    /// Ids of the hits, `new` behind those that their job was the first to find.
    async fn find(&self, claim: &Claim, hits: &[FoundSource]) -> Vec<String> {
        let recorded = self.store.record_sources(&claim.job, claim.fence, hits).await.unwrap().unwrap();
        let told = |is_new| if is_new { " new" } else { "" };
        recorded.iter().map(|row| format!("{}{}", row.source.id, told(row.is_new))).collect()
    }

    async fn read(&self, claim: &Claim, source: u32, page: &ReadPage) -> Source {
        self.store.record_page(&claim.job, claim.fence, SourceId(source), page).await.unwrap().unwrap()
    }

    /// Two claims of one task, as researchers of one round have.
    async fn two_researchers(&self) -> (TaskId, Claim, Claim) {
        let (task, first, boot) = self.claimed().await;
        self.execute(&format!(
            "INSERT INTO jobs (task_id, number, kind, spec, model, owner, priority, state, run_after, fence, steps,
                progress, faults, deaths, infra_failures, created_at)
             SELECT task_id, 2, kind, spec, model, owner, priority, 'ready', run_after, 0, 0, 0, 0, 0, 0, created_at
             FROM jobs WHERE task_id = '{task}'"
        ))
        .await;
        let second = self.claim(&boot).await.unwrap();
        (task, first, second)
    }

    /// Each source with its status and the one it repeats.
    async fn statuses(&self) -> Vec<String> {
        self.rows("SELECT number, status, same_as FROM sources ORDER BY task_id, number").await
    }
}

#[tokio::test]
async fn hits_are_rows_in_their_order_and_the_same_page_is_one_source() {
    on_every_database(async |bed| {
        let (task, first, second) = bed.two_researchers().await;
        assert_eq!(bed.find(&first, &[hit("a"), hit("b"), hit("a")]).await, ["S1 new", "S2 new", "S1 new"]);
        let elsewhere = FoundSource { url: "http://example.com/b#part".to_owned(), ..hit("b") };
        assert_eq!(bed.find(&second, &[hit("c"), elsewhere]).await, ["S3 new", "S2"]);
        assert_eq!(bed.find(&second, &[]).await, Vec::<String>::new());
        // After a crash the same search is recorded again.
        assert_eq!(bed.find(&first, &[hit("a"), hit("b"), hit("a")]).await, ["S1 new", "S2 new", "S1 new"]);
        assert_eq!(bed.find(&second, &[hit("c"), hit("b")]).await, ["S3 new", "S2"]);
        let sources = bed.store.sources(&task).await.unwrap();
        let told: Vec<_> = sources.iter().map(|source| (source.id.0, source.url.as_str())).collect();
        let url = |name| format!("https://example.com/{name}?from=search");
        assert_eq!(told, [(1, &*url("a")), (2, &*url("b")), (3, &*url("c"))], "as it was found first");
        let found = &sources[0];
        assert_eq!(
            (found.title.as_str(), found.snippet.as_str(), found.tool.as_str()),
            ("About a", "… a …", "corpus")
        );
        assert_eq!((found.status, found.at.0, found.is_demo), (SourceStatus::Found, bed.now(), false));
        assert_eq!((&found.text, &found.sha256, &found.note, &found.published), (&None, &None, &None, &None));
    })
    .await;
}

#[tokio::test]
async fn numbers_have_no_gap_and_belong_to_their_task() {
    on_every_database(async |bed| {
        let (_, claim, boot) = bed.claimed().await;
        assert_eq!(bed.find(&claim, &[hit("a")]).await, ["S1 new"]);
        bed.read(&claim, 1, &problem(SourceStatus::Unreadable)).await;
        // Refused, so its number is not used.
        bed.pass(LEASE + 1);
        let lease = bed.store.expired_leases(1).await.unwrap().remove(0);
        bed.store.sweep_lease(&lease).await.unwrap().unwrap();
        bed.store.record_sources(&claim.job, claim.fence, &[hit("b")]).await.unwrap().unwrap_err();
        let again = bed.claim(&boot).await.unwrap();
        assert_eq!(
            bed.find(&again, &[hit("c"), hit("a")]).await,
            ["S2 new", "S1 new"],
            "S1 is not used again"
        );
        let other = bed.started(&new_task()).await;
        let claim = bed.claim(&boot).await.unwrap();
        assert_eq!(claim.job.task, other);
        assert_eq!(bed.find(&claim, &[hit("c")]).await, ["S1 new"]);
    })
    .await;
}

#[tokio::test]
async fn of_a_page_that_was_only_found_the_longer_snippet_and_a_text_are_taken_over() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        bed.find(&claim, &[hit("a")]).await;
        let again = |snippet: &str, text: Option<&str>| FoundSource {
            snippet: snippet.to_owned(),
            title: "Another title".to_owned(),
            text: text.map(str::to_owned),
            ..hit("a")
        };
        let stored = async || bed.store.sources_with_text(&task, &[SourceId(1)]).await.unwrap().remove(0);
        bed.find(&claim, &[again("…", None)]).await;
        assert_eq!(stored().await.snippet, "… a …", "a shorter one is not");
        bed.find(&claim, &[again("a much longer one", None)]).await;
        assert_eq!(stored().await.snippet, "a much longer one");
        bed.find(&claim, &[again("", Some("the text"))]).await;
        let read = stored().await;
        assert_eq!((read.status, read.text.as_deref()), (SourceStatus::Read, Some("the text")));
        assert_eq!((read.title.as_str(), read.snippet.as_str()), ("About a", "a much longer one"));
        bed.find(&claim, &[again("the very longest snippet of all", Some("another text"))]).await;
        assert_eq!(stored().await, read, "its text was read; nothing changes any more");
    })
    .await;
}

#[tokio::test]
async fn a_hit_may_bring_its_text_and_a_placeholder_stays_one() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        let with_text = |name: &str| FoundSource { text: Some("the same".to_owned()), ..hit(name) };
        let nothing = FoundSource { placeholder: true, is_demo: true, ..with_text("nothing") };
        bed.find(&claim, &[with_text("a"), nothing, with_text("b")]).await;
        assert_eq!(bed.statuses().await, ["1 | read | -", "2 | placeholder | -", "3 | duplicate | 1"]);
        let page = bed.read(&claim, 2, &page("something")).await;
        assert_eq!((page.status, page.text, page.is_demo), (SourceStatus::Placeholder, None, true));
        let known = FoundSource { snippet: "a snippet that is longer".to_owned(), ..with_text("nothing") };
        bed.find(&claim, &[known]).await;
        assert_eq!(bed.statuses().await[1], "2 | placeholder | -");
        assert_eq!(bed.store.source_count_found_by(&claim.job).await.unwrap(), 1);
        assert_eq!(bed.store.sources(&task).await.unwrap().len(), 3);
    })
    .await;
}

#[tokio::test]
async fn what_reading_gave_is_stored_and_what_was_found_stays() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        bed.find(&claim, &[hit("a"), hit("b"), hit("c")]).await;
        bed.pass(5);
        let title = Some("Tides\0".to_owned());
        let published = Some("2026-01-02".to_owned());
        let read = bed.read(&claim, 1, &ReadPage { title, published, ..page("high\0 water") }).await;
        assert_eq!((read.status, read.at.0), (SourceStatus::Read, bed.now()));
        assert_eq!(
            (read.title.as_str(), read.text.as_deref()),
            ("Tides\u{fffd}", Some("high\u{fffd} water"))
        );
        assert_eq!(read.published.as_deref(), Some("2026-01-02"));
        assert_eq!(read.sha256.as_deref().map(str::len), Some(64));
        let refused = bed.read(&claim, 2, &problem(SourceStatus::Refused)).await;
        assert_eq!((refused.status, refused.note.as_deref()), (SourceStatus::Refused, Some("it is refused")));
        assert_eq!((refused.title.as_str(), refused.text), ("About b", None));
        let types = bed.rows("SELECT media_type FROM sources ORDER BY number").await;
        assert_eq!(types, ["text/html", "-", "-"]);
        let without: Vec<_> = bed.store.sources(&task).await.unwrap();
        assert!(without.iter().all(|source| source.text.is_none()), "a list holds no texts");
        assert_eq!(without[0].sha256, read.sha256);
        let some =
            bed.store.sources_with_text(&task, &[SourceId(3), SourceId(1), SourceId(9)]).await.unwrap();
        assert_eq!(some.iter().map(|source| source.id.0).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(some[0], read);
        assert!(bed.store.sources_with_text(&task, &[]).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_page_that_could_not_be_read_may_be_read_later_and_never_the_other_way() {
    on_every_database(async |bed| {
        let (_, first, second) = bed.two_researchers().await;
        bed.find(&first, &[hit("a")]).await;
        bed.read(&first, 1, &problem(SourceStatus::Unreachable)).await;
        let read = bed.read(&second, 1, &page("low water")).await;
        assert_eq!((read.status, read.note.as_deref()), (SourceStatus::Read, None));
        bed.pass(5);
        let before = bed.rows("SELECT * FROM sources").await;
        assert_eq!(bed.read(&first, 1, &problem(SourceStatus::Unreachable)).await, read);
        assert_eq!(bed.read(&first, 1, &page("the page has changed")).await, read);
        assert_eq!(bed.rows("SELECT * FROM sources").await, before, "findings quote the text that is stored");
    })
    .await;
}

#[tokio::test]
async fn a_long_text_is_clipped_with_a_mark() {
    on_every_database(async |bed| {
        let (_, claim, _) = bed.claimed().await;
        bed.find(&claim, &[hit("a"), hit("b"), hit("c")]).await;
        let full = "水".repeat(MAX_SOURCE_CHARS);
        assert_eq!(bed.read(&claim, 1, &page(&full)).await.text.unwrap(), full);
        let long = bed.read(&claim, 2, &page(&format!("{full}!"))).await;
        let text = long.text.unwrap();
        assert!(
            text.chars().count() <= MAX_SOURCE_CHARS && text.ends_with("[…]"),
            "{}",
            text.chars().count()
        );
        let other = bed.read(&claim, 3, &page(&format!("{full}?"))).await;
        assert_eq!(other.status, SourceStatus::Read, "what was cut off counts for the content");
    })
    .await;
}

#[tokio::test]
async fn the_same_content_under_another_address_is_a_duplicate() {
    on_every_database(async |bed| {
        let (_, first, second) = bed.two_researchers().await;
        bed.find(&first, &[hit("a"), hit("b")]).await;
        bed.find(&second, &[hit("c"), hit("d")]).await;
        let same = ReadPage { sha256: Some("5a".to_owned()), ..page("the same") };
        bed.read(&second, 3, &same).await;
        let twin = bed.read(&first, 1, &same).await;
        assert_eq!((twin.status, twin.text.as_deref()), (SourceStatus::Duplicate, Some("the same")));
        assert_eq!(twin.note.as_deref(), Some("it has the same content as S3"));
        bed.read(&first, 2, &same).await;
        bed.read(&second, 4, &page("something else")).await;
        assert_eq!(
            bed.statuses().await,
            ["1 | duplicate | 3", "2 | duplicate | 3", "3 | read | -", "4 | read | -"]
        );
        let counts = async |claim: &Claim| bed.store.source_count_found_by(&claim.job).await.unwrap();
        assert_eq!((counts(&first).await, counts(&second).await), (0, 2));
    })
    .await;
}

#[tokio::test]
async fn a_source_that_nobody_found_cannot_be_read() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        let before = bed.rows("SELECT * FROM sources").await;
        let recorded = bed.store.record_page(&claim.job, claim.fence, SourceId(7), &page("x")).await;
        let error = recorded.unwrap_err();
        assert!(matches!(&error, StoreError::NoSource(of, SourceId(7)) if *of == task), "{error}");
        assert_eq!(bed.rows("SELECT * FROM sources").await, before);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_jobs_that_find_and_read_the_same_at_once_agree() {
    on_every_database(async |bed| {
        let (task, first, second) = bed.two_researchers().await;
        let other = bed.store.reopen().await.unwrap();
        for round in 0..10_u32 {
            let hits: Vec<_> = ["x", "y", "z"].map(|name| hit(&format!("{name}{round}"))).into();
            let turned: Vec<_> = hits.iter().rev().cloned().collect();
            let (one, two) = tokio::join!(
                bed.store.record_sources(&first.job, first.fence, &hits),
                other.record_sources(&second.job, second.fence, &turned),
            );
            let (one, mut two) = (one.unwrap().unwrap(), two.unwrap().unwrap());
            two.reverse();
            let ids = |rows: &[nightforge_store::RecordedSource]| -> Vec<SourceId> {
                rows.iter().map(|row| row.source.id).collect()
            };
            assert_eq!(ids(&one), ids(&two));
            assert!(one.iter().zip(&two).all(|(one, two)| one.is_new != two.is_new), "one of them was first");

            // The same source with two contents, then two sources with the same content.
            let source = ids(&one);
            let pages = [page(&format!("first {round}")), page(&format!("second {round}"))];
            let (one, two) = tokio::join!(
                bed.store.record_page(&first.job, first.fence, source[0], &pages[0]),
                other.record_page(&second.job, second.fence, source[0], &pages[1]),
            );
            assert_eq!(one.unwrap().unwrap(), two.unwrap().unwrap(), "both see the text that was stored");
            let same = page(&format!("same {round}"));
            let (one, two) = tokio::join!(
                bed.store.record_page(&first.job, first.fence, source[1], &same),
                other.record_page(&second.job, second.fence, source[2], &same),
            );
            let statuses = [one.unwrap().unwrap().status, two.unwrap().unwrap().status];
            assert!(
                statuses.contains(&SourceStatus::Read) && statuses.contains(&SourceStatus::Duplicate),
                "{statuses:?}"
            );
        }
        let sources = bed.store.sources(&task).await.unwrap();
        assert_eq!(
            sources.iter().map(|source| source.id.0).collect::<Vec<_>>(),
            (1..=30).collect::<Vec<_>>()
        );
        other.close().await;
    })
    .await;
}
