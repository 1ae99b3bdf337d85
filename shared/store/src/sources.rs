//! Sources of a research task: every hit of every search, and what reading it gave. A source that has a number keeps
//! it for ever, and a text that is stored never changes, because findings quote it.

use nightforge_domain::research::outside::clipped;
use nightforge_domain::research::{Source, SourceId, SourceStatus};
use nightforge_domain::{Fence, JobId, Millis, TaskId};
use sha2::{Digest, Sha256};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use crate::fenced::held;
use crate::rows::{number, parsed, without_nul};
use crate::task_tx::TaskTx;
use crate::{Fenced, Lost, Store, StoreError};

/// Characters of a stored text at most; a longer one is clipped with a mark.
pub const MAX_SOURCE_CHARS: usize = 200_000;

/// All columns of a [`Source`] but its text.
const COLUMNS: &str = "number, url, title, snippet, sha256, tool, is_demo, status, note, published,
    COALESCE(read_at, found_at) AS at";

/// A hit of a search, or an address that the user gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSource {
    /// As it is shown and asked.
    pub url: String,
    /// The form by which two addresses are the same page.
    pub canonical_url: String,
    /// As the search gave it.
    pub title: String,
    /// What the search showed of it.
    pub snippet: String,
    /// The whole text, where the search has it: then there is nothing left to read.
    pub text: Option<String>,
    /// The search back-end, or `user`.
    pub tool: String,
    /// Whether it is invented for demonstrations.
    pub is_demo: bool,
    /// It stands for "nothing known" and can't be cited.
    pub placeholder: bool,
    /// Its date, where the search told one.
    pub published: Option<String>,
}

/// A hit as a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedSource {
    /// As it stands in the database, its text included.
    pub source: Source,
    /// Whether the job that recorded it was the first to find it, now or in an earlier claim.
    pub is_new: bool,
}

/// What reading a source gave: a text with the status `read`, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPage {
    /// `read` when there is a text; otherwise why there is none.
    pub status: SourceStatus,
    /// Why it could not be read, for people.
    pub note: Option<String>,
    /// As the page names itself.
    pub title: Option<String>,
    /// Its text, not clipped yet.
    pub text: Option<String>,
    /// SHA-256 of that text, in hexadecimal.
    pub sha256: Option<String>,
    /// Its content type.
    pub media_type: Option<String>,
    /// Its date, where it tells one.
    pub published: Option<String>,
}

impl Store {
    /// Makes a row of every hit, in one transaction, and returns the rows in the order of the hits. The same canonical
    /// URL is the same source: it keeps its number, and while only its snippet is known, a longer snippet or a text
    /// that was missing is taken over.
    ///
    /// # Errors
    /// [`Lost`] when the claim is over.
    pub async fn record_sources(
        &self,
        job: &JobId,
        fence: Fence,
        hits: &[FoundSource],
    ) -> Fenced<Vec<RecordedSource>> {
        let mut tx = self.lock(&job.task).await?;
        if held(&mut tx, job, fence).await?.is_none() {
            tx.roll_back().await?;
            return Ok(Err(Lost));
        }
        let mut recorded = Vec::with_capacity(hits.len());
        for hit in hits {
            let id = match same_page(&mut tx, &hit.canonical_url).await? {
                Some(known) => {
                    take_over(&mut tx, &known, hit).await?;
                    known.id
                }
                None => insert(&mut tx, job, hit).await?,
            };
            recorded.push(id);
        }
        let mut rows = Vec::with_capacity(hits.len());
        for id in recorded {
            let (source, found_by) = stored(&mut tx, id).await?;
            rows.push(RecordedSource { source, is_new: found_by == i64::from(job.no.0) });
        }
        tx.commit().await?;
        Ok(Ok(rows))
    }

    /// Stores what reading a source gave and returns its row, text included. When another source of the task has the
    /// same content, this one becomes its duplicate. A source that has its text already keeps it, whoever reads it
    /// again and whatever that gives; so does a placeholder.
    ///
    /// # Errors
    /// [`Lost`] when the claim is over; [`StoreError::NoSource`] when the task has no such source.
    pub async fn record_page(
        &self,
        job: &JobId,
        fence: Fence,
        source: SourceId,
        page: &ReadPage,
    ) -> Fenced<Source> {
        debug_assert_eq!(
            page.status == SourceStatus::Read,
            page.text.is_some(),
            "read means that there is a text"
        );
        let mut tx = self.lock(&job.task).await?;
        if held(&mut tx, job, fence).await?.is_none() {
            tx.roll_back().await?;
            return Ok(Err(Lost));
        }
        let (before, _) = stored(&mut tx, source).await?;
        if is_settled(before.status) {
            tx.roll_back().await?;
            return Ok(Ok(before));
        }
        describe(&mut tx, source, page).await?;
        match &page.text {
            Some(text) => store_text(&mut tx, source, text, page.sha256.clone()).await?,
            None => store_problem(&mut tx, source, page).await?,
        }
        let (after, _) = stored(&mut tx, source).await?;
        tx.commit().await?;
        Ok(Ok(after))
    }

    /// How many sources this job was the first to find; placeholders and duplicates are not counted.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn source_count_found_by(&self, job: &JobId) -> Result<u32, StoreError> {
        let row = sqlx::query(
            "SELECT count(*) AS sources FROM sources
             WHERE task_id = $1 AND found_by = $2 AND status NOT IN ('placeholder', 'duplicate')",
        )
        .bind(job.task.as_str())
        .bind(i64::from(job.no.0))
        .fetch_one(&self.read)
        .await?;
        number(&row, "sources")
    }

    /// Every source of a task, in the order of their numbers, without their texts.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn sources(&self, task: &TaskId) -> Result<Vec<Source>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, CAST(NULL AS TEXT) AS text FROM sources WHERE task_id = $1 ORDER BY number"
        );
        let rows = sqlx::query(AssertSqlSafe(sql)).bind(task.as_str()).fetch_all(&self.read).await?;
        rows.iter().map(source_row).collect()
    }

    /// These sources of a task with their texts, in the order of their numbers; ids that it does not have are left
    /// out.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn sources_with_text(
        &self,
        task: &TaskId,
        ids: &[SourceId],
    ) -> Result<Vec<Source>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let marks: Vec<String> = (2..ids.len() + 2).map(|place| format!("${place}")).collect();
        let sql = format!(
            "SELECT {COLUMNS}, text FROM sources WHERE task_id = $1 AND number IN ({}) ORDER BY number",
            marks.join(", ")
        );
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(task.as_str());
        for id in ids {
            query = query.bind(i64::from(id.0));
        }
        query.fetch_all(&self.read).await?.iter().map(source_row).collect()
    }
}

/// Whether nothing that a search or a reading brings changes it any more.
fn is_settled(status: SourceStatus) -> bool {
    matches!(status, SourceStatus::Read | SourceStatus::Duplicate | SourceStatus::Placeholder)
}

/// What decides whether a new hit of a known page is taken over.
struct Known {
    id: SourceId,
    status: SourceStatus,
    snippet: String,
}

async fn same_page(tx: &mut TaskTx<'_>, canonical_url: &str) -> Result<Option<Known>, StoreError> {
    let row =
        sqlx::query("SELECT number, status, snippet FROM sources WHERE task_id = $1 AND canonical_url = $2")
            .bind(tx.task.as_str())
            .bind(without_nul(canonical_url))
            .fetch_optional(&mut *tx.tx)
            .await?;
    row.map(|row| {
        Ok(Known {
            id: SourceId(number(&row, "number")?),
            status: parsed(&row, "status")?,
            snippet: row.try_get("snippet")?,
        })
    })
    .transpose()
}

async fn take_over(tx: &mut TaskTx<'_>, known: &Known, hit: &FoundSource) -> Result<(), StoreError> {
    if known.status != SourceStatus::Found {
        return Ok(());
    }
    let snippet = without_nul(&hit.snippet);
    if snippet.chars().count() > known.snippet.chars().count() {
        sqlx::query("UPDATE sources SET snippet = $3 WHERE task_id = $1 AND number = $2")
            .bind(tx.task.as_str())
            .bind(i64::from(known.id.0))
            .bind(snippet)
            .execute(&mut *tx.tx)
            .await?;
    }
    match &hit.text {
        Some(text) if !hit.placeholder => store_text(tx, known.id, text, None).await,
        _ => Ok(()),
    }
}

/// Rows are never removed while their task is there, so the next number was never used.
async fn insert(tx: &mut TaskTx<'_>, job: &JobId, hit: &FoundSource) -> Result<SourceId, StoreError> {
    let status = if hit.placeholder { SourceStatus::Placeholder } else { SourceStatus::Found };
    let row = sqlx::query(
        "INSERT INTO sources (task_id, number, url, canonical_url, title, snippet, tool, is_demo, status, published,
            found_by, found_at)
         SELECT $1, COALESCE(max(number), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
         FROM sources WHERE task_id = $1
         RETURNING number",
    )
    .bind(tx.task.as_str())
    .bind(without_nul(&hit.url))
    .bind(without_nul(&hit.canonical_url))
    .bind(without_nul(&hit.title))
    .bind(without_nul(&hit.snippet))
    .bind(&hit.tool)
    .bind(i64::from(hit.is_demo))
    .bind(status.as_str())
    .bind(hit.published.as_deref().map(without_nul))
    .bind(i64::from(job.no.0))
    .bind(tx.now.0)
    .fetch_one(&mut *tx.tx)
    .await?;
    let id = SourceId(number(&row, "number")?);
    if let (Some(text), false) = (&hit.text, hit.placeholder) {
        store_text(tx, id, text, None).await?;
    }
    Ok(id)
}

/// Stores a text. Of sources with the same content, the first one that was stored is read and the others are its
/// duplicates; they keep their text too, so that a quote of theirs can be checked.
async fn store_text(
    tx: &mut TaskTx<'_>,
    source: SourceId,
    text: &str,
    sha256: Option<String>,
) -> Result<(), StoreError> {
    let sha256 = sha256.unwrap_or_else(|| hash(text));
    let twin = sqlx::query(
        "SELECT number FROM sources WHERE task_id = $1 AND sha256 = $2 AND number <> $3 AND status = 'read'
         ORDER BY number LIMIT 1",
    )
    .bind(tx.task.as_str())
    .bind(&sha256)
    .bind(i64::from(source.0))
    .fetch_optional(&mut *tx.tx)
    .await?;
    let twin: Option<SourceId> = twin.map(|row| number(&row, "number").map(SourceId)).transpose()?;
    let status = if twin.is_some() { SourceStatus::Duplicate } else { SourceStatus::Read };
    sqlx::query(
        "UPDATE sources SET text = $3, sha256 = $4, status = $5, same_as = $6, note = $7, read_at = $8
         WHERE task_id = $1 AND number = $2",
    )
    .bind(tx.task.as_str())
    .bind(i64::from(source.0))
    .bind(clipped(&without_nul(text), MAX_SOURCE_CHARS))
    .bind(sha256)
    .bind(status.as_str())
    .bind(twin.map(|twin| i64::from(twin.0)))
    .bind(twin.map(|twin| format!("it has the same content as {twin}")))
    .bind(tx.now.0)
    .execute(&mut *tx.tx)
    .await?;
    Ok(())
}

/// What a page says of itself replaces what a search said of it.
async fn describe(tx: &mut TaskTx<'_>, source: SourceId, page: &ReadPage) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE sources SET title = COALESCE($3, title), media_type = COALESCE($4, media_type),
            published = COALESCE($5, published)
         WHERE task_id = $1 AND number = $2",
    )
    .bind(tx.task.as_str())
    .bind(i64::from(source.0))
    .bind(page.title.as_deref().map(without_nul))
    .bind(page.media_type.as_deref().map(without_nul))
    .bind(page.published.as_deref().map(without_nul))
    .execute(&mut *tx.tx)
    .await?;
    Ok(())
}

async fn store_problem(tx: &mut TaskTx<'_>, source: SourceId, page: &ReadPage) -> Result<(), StoreError> {
    sqlx::query("UPDATE sources SET status = $3, note = $4, read_at = $5 WHERE task_id = $1 AND number = $2")
        .bind(tx.task.as_str())
        .bind(i64::from(source.0))
        .bind(page.status.as_str())
        .bind(page.note.as_deref().map(without_nul))
        .bind(tx.now.0)
        .execute(&mut *tx.tx)
        .await?;
    Ok(())
}

/// A source as this transaction sees it, and the job that found it first.
async fn stored(tx: &mut TaskTx<'_>, source: SourceId) -> Result<(Source, i64), StoreError> {
    let sql = format!("SELECT {COLUMNS}, text, found_by FROM sources WHERE task_id = $1 AND number = $2");
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(tx.task.as_str())
        .bind(i64::from(source.0))
        .fetch_optional(&mut *tx.tx)
        .await?
        .ok_or_else(|| StoreError::NoSource(tx.task.clone(), source))?;
    Ok((source_row(&row)?, row.try_get("found_by")?))
}

fn source_row(row: &AnyRow) -> Result<Source, StoreError> {
    Ok(Source {
        id: SourceId(number(row, "number")?),
        url: row.try_get("url")?,
        title: row.try_get("title")?,
        snippet: row.try_get("snippet")?,
        text: row.try_get("text")?,
        sha256: row.try_get("sha256")?,
        tool: row.try_get("tool")?,
        is_demo: row.try_get::<i64, _>("is_demo")? != 0,
        status: parsed(row, "status")?,
        note: row.try_get("note")?,
        published: row.try_get("published")?,
        at: Millis(row.try_get("at")?),
    })
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
