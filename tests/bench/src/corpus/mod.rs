//! A folder of documents, indexed and searched as research does it, beside SQLite's own full-text search.
//!
//! The bare side reads and hashes the same files and has one row for each. It knows no passages, no lines to cite, no
//! folding of scripts, no title or heading, and shows no text.

mod bare;
mod documents;
mod language;
mod random;

use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use nightforge_sources::{Corpus, Extractor, SearchAnswer};

use crate::args::Form;
use crate::samples::Samples;
use crate::table::{Limit, Row};
use bare::Bare;
use documents::Documents;
use language::Script;

/// For the slowest query but one in twenty. A search stands between two model calls, which take seconds.
const QUERY_P95_MS: f64 = 50.0;

/// What a look at an unchanged folder may take: every search whose last look is older than 30 s waits for one.
const REFRESH_MS: f64 = 1_000.0;

/// Hits that a query asks for.
const HITS: usize = 10;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
struct Amount {
    documents: usize,
    /// Of each script.
    queries: usize,
    refreshes: usize,
}

/// # Errors
/// When the folder can't be indexed, or a query that stands in it finds nothing.
pub(crate) async fn run(form: Form) -> anyhow::Result<Vec<Row>> {
    let amount = form.pick(
        Amount { documents: 10_000, queries: 200, refreshes: 9 },
        Amount { documents: 2_000, queries: 50, refreshes: 3 },
    );
    let place = tempfile::tempdir()?;
    let folder = place.path().join("documents");
    let documents = Documents::new(amount.documents);
    let bytes = documents.write(&folder)?;

    let started = Instant::now();
    let mut bare = Bare::index(&folder, amount.documents, &place.path().join("bare.db")).await?;
    let bare_rate = amount.documents as f64 / started.elapsed().as_secs_f64();
    let started = Instant::now();
    let corpus = opened(&folder, &place.path().join("corpus.db")).await?;
    let rate = amount.documents as f64 / started.elapsed().as_secs_f64();

    let mut refreshes = Vec::with_capacity(amount.refreshes);
    let mut passages = 0;
    for _ in 0..amount.refreshes {
        let report = corpus.refresh().await?;
        ensure!(
            report.documents == amount.documents && report.skipped.is_empty(),
            "{} of {} documents are indexed, left out are {:?}",
            report.documents,
            amount.documents,
            report.skipped
        );
        passages = report.passages;
        refreshes.push(report.took.as_secs_f64() * 1_000.0);
    }
    let mut rows = vec![
        Row::new(format!("corpus, {} documents indexed", amount.documents), "/s", rate)
            .beside(bare_rate)
            .noting(format!("{passages} passages, {:.0} MB; bare: one row a file", bytes as f64 / 1e6)),
        Row::new("corpus, look at an unchanged folder, p50", "ms", Samples::new(refreshes)?.median())
            .limited(Limit::Below(REFRESH_MS)),
    ];
    for (name, script) in [("words", Script::Spaced), ("Japanese", Script::Japanese)] {
        let queries = documents.queries(script, amount.queries);
        rows.extend(asked(name, script, &queries, &corpus, &mut bare).await?);
    }
    bare.close().await?;
    Ok(rows)
}

/// The corpus of a folder that holds nothing for an extractor, so none is ever started.
async fn opened(folder: &Path, file: &Path) -> anyhow::Result<Corpus> {
    let extractor = Extractor::new(std::env::current_exe()?, Vec::new());
    Ok(Corpus::open(folder, file, extractor).await?)
}

/// Every query on both sides in turn.
async fn asked(
    name: &str,
    script: Script,
    queries: &[String],
    corpus: &Corpus,
    bare: &mut Bare,
) -> anyhow::Result<Vec<Row>> {
    // A search that comes 30 s after the last look would measure a look, which has a row of its own.
    corpus.refresh().await?;
    let (mut ours, mut theirs) = (Vec::with_capacity(queries.len()), Vec::with_capacity(queries.len()));
    for query in queries {
        let started = Instant::now();
        let answer = corpus.search(query, HITS).await;
        ours.push(started.elapsed().as_secs_f64() * 1_000.0);
        ensure!(
            matches!(answer, SearchAnswer::Hits { .. }),
            "`{query}` stands in the folder, but is not found: {answer:?}"
        );
        let started = Instant::now();
        let found = bare.search(script, query).await?;
        theirs.push(started.elapsed().as_secs_f64() * 1_000.0);
        ensure!(found > 0, "`{query}` stands in the folder, but the bare index does not find it");
    }
    let (ours, theirs) = (Samples::new(ours)?, Samples::new(theirs)?);
    let row = |what: &str, of: fn(&Samples) -> f64| {
        Row::new(format!("corpus, query of {name}, {what}"), "ms", of(&ours)).beside(of(&theirs))
    };
    Ok(vec![
        row("p50", Samples::median).noting(format!("{} queries", ours.count())),
        row("p95", Samples::p95).limited(Limit::Below(QUERY_P95_MS)),
        row("max", Samples::largest),
    ])
}
