//! Bringing the index up to date with the folder: only what changed is read, one transaction a file.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use futures_util::{StreamExt, stream};
use sqlx::{Row, SqliteConnection, SqlitePool};

use super::document::{Content, Prepared, prepare};
use super::extraction::Extraction;
use super::fold::{fold, spaced_part, unspaced_part};
use super::folder::{Found, Signature, list};
use super::index::Index;
use super::{CorpusError, CorpusReport};

/// Files that are read, and extracted, at the same time.
const AT_ONCE: usize = 4;

/// What the index knows of a file.
struct Known {
    id: i64,
    signature: Signature,
    sha256: Vec<u8>,
}

/// Looks through the folder and replaces, adds and removes what differs.
pub(super) async fn bring_up_to_date(
    folder: &Path,
    index: &Index,
    extraction: &Extraction,
) -> Result<CorpusReport, CorpusError> {
    let began = Instant::now();
    let pool = index.pool();
    // Before the folder is listed: a file that another worker adds afterwards must not look deleted.
    let mut known = known(&pool).await.map_err(|source| index.failed(source))?;
    let listing = listed(folder).await?;
    let mut skipped = listing.skipped;
    let mut changed = Vec::new();
    for found in listing.files {
        match known.remove(&found.path) {
            Some(entry) if entry.signature == found.signature => {}
            entry => changed.push((found, entry.map(|entry| entry.sha256))),
        }
    }
    let mut preparing = stream::iter(changed)
        .map(|(found, hash)| async move { (found.clone(), prepare(found, hash, extraction).await) })
        .buffer_unordered(AT_ONCE);
    while let Some((found, prepared)) = preparing.next().await {
        if let Prepared::NotNow(reason) = &prepared {
            skipped.push((found.path.clone(), reason.clone()));
        }
        store(&pool, &found, prepared).await.map_err(|source| index.failed(source))?;
    }
    for (path, entry) in known {
        remove(&pool, &path, entry.id).await.map_err(|source| index.failed(source))?;
    }
    let not_now = skipped.len();
    let mut report = counted(&pool).await.map_err(|source| index.failed(source))?;
    report.not_now = not_now;
    report.skipped.append(&mut skipped);
    report.skipped.sort();
    report.took = began.elapsed();
    Ok(report)
}

async fn listed(folder: &Path) -> Result<super::folder::Listing, CorpusError> {
    let looking = folder.to_owned();
    let failed = |source| CorpusError::Folder { folder: folder.to_owned(), source };
    tokio::task::spawn_blocking(move || list(&looking))
        .await
        .map_err(|stopped| failed(std::io::Error::other(stopped)))?
        .map_err(failed)
}

async fn known(pool: &SqlitePool) -> Result<HashMap<String, Known>, sqlx::Error> {
    let rows = sqlx::query("SELECT id, path, size, modified_ns, changed_ns, sha256 FROM documents")
        .fetch_all(pool)
        .await?;
    rows.iter()
        .map(|row| {
            let signature = Signature {
                size: row.try_get("size")?,
                modified_ns: row.try_get("modified_ns")?,
                changed_ns: row.try_get("changed_ns")?,
            };
            let entry = Known { id: row.try_get("id")?, signature, sha256: row.try_get("sha256")? };
            Ok((row.try_get("path")?, entry))
        })
        .collect()
}

async fn counted(pool: &SqlitePool) -> Result<CorpusReport, sqlx::Error> {
    let documents: i64 =
        sqlx::query_scalar("SELECT count(*) FROM documents WHERE skipped IS NULL").fetch_one(pool).await?;
    let passages: i64 = sqlx::query_scalar("SELECT count(*) FROM passages").fetch_one(pool).await?;
    let skipped = sqlx::query_as("SELECT path, skipped FROM documents WHERE skipped IS NOT NULL")
        .fetch_all(pool)
        .await?;
    let count = |number: i64| usize::try_from(number).unwrap_or(0);
    Ok(CorpusReport {
        documents: count(documents),
        passages: count(passages),
        skipped,
        ..CorpusReport::default()
    })
}

/// Replaces all that the index holds of one file.
async fn store(pool: &SqlitePool, found: &Found, prepared: Prepared) -> Result<(), sqlx::Error> {
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    match prepared {
        Prepared::Same => {
            sqlx::query("UPDATE documents SET size = $2, modified_ns = $3, changed_ns = $4 WHERE path = $1")
                .bind(&found.path)
                .bind(found.signature.size)
                .bind(found.signature.modified_ns)
                .bind(found.signature.changed_ns)
                .execute(&mut *tx)
                .await?;
        }
        Prepared::NotNow(_) => remove_path(&mut tx, &found.path).await?,
        Prepared::Content { sha256, content } => {
            remove_path(&mut tx, &found.path).await?;
            let title = content.as_ref().map_or("", |content| &content.title);
            let document: i64 = sqlx::query_scalar(
                "INSERT INTO documents (path, size, modified_ns, changed_ns, sha256, title, skipped)
                 VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
            )
            .bind(&found.path)
            .bind(found.signature.size)
            .bind(found.signature.modified_ns)
            .bind(found.signature.changed_ns)
            .bind(sha256)
            .bind(title)
            .bind(content.as_ref().err())
            .fetch_one(&mut *tx)
            .await?;
            if let Ok(content) = content {
                add_passages(&mut tx, document, content).await?;
            }
        }
    }
    tx.commit().await
}

async fn add_passages(tx: &mut SqliteConnection, document: i64, content: Content) -> Result<(), sqlx::Error> {
    let title = fold(&content.title);
    for passage in content.passages {
        let folded = [title.clone(), fold(&passage.heading), fold(&passage.text)];
        let mut lines = format!("L{}-L{}", passage.first_line, passage.last_line);
        // Pieces of one line need addresses of their own.
        if passage.piece > 1 {
            lines = format!("{lines}.{}", passage.piece);
        }
        let id: i64 = sqlx::query_scalar(
            "INSERT INTO passages (document, lines, heading, body) VALUES ($1, $2, $3, $4) RETURNING id",
        )
        .bind(document)
        .bind(lines)
        .bind(passage.heading)
        .bind(passage.text)
        .fetch_one(&mut *tx)
        .await?;
        let words = folded.each_ref().map(|text| spaced_part(text));
        insert_words(tx, id, words).await?;
        let pieces = folded.map(|text| unspaced_part(&text));
        if pieces.iter().any(|text| !text.is_empty()) {
            insert_pieces(tx, id, pieces).await?;
        }
    }
    Ok(())
}

async fn insert_words(tx: &mut SqliteConnection, id: i64, text: [String; 3]) -> Result<(), sqlx::Error> {
    let [title, heading, body] = text;
    let insert = "INSERT INTO words (rowid, title, heading, body) VALUES ($1, $2, $3, $4)";
    sqlx::query(insert).bind(id).bind(title).bind(heading).bind(body).execute(tx).await?;
    Ok(())
}

async fn insert_pieces(tx: &mut SqliteConnection, id: i64, text: [String; 3]) -> Result<(), sqlx::Error> {
    let [title, heading, body] = text;
    let insert = "INSERT INTO pieces (rowid, title, heading, body) VALUES ($1, $2, $3, $4)";
    sqlx::query(insert).bind(id).bind(title).bind(heading).bind(body).execute(tx).await?;
    Ok(())
}

/// Removes what the index holds of a file, unless another worker has replaced it meanwhile: ids are used again.
async fn remove(pool: &SqlitePool, path: &str, document: i64) -> Result<(), sqlx::Error> {
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    if id_of(&mut tx, path).await? == Some(document) {
        remove_document(&mut tx, document).await?;
    }
    tx.commit().await
}

async fn remove_path(tx: &mut SqliteConnection, path: &str) -> Result<(), sqlx::Error> {
    match id_of(tx, path).await? {
        Some(document) => remove_document(tx, document).await,
        None => Ok(()),
    }
}

async fn id_of(tx: &mut SqliteConnection, path: &str) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar("SELECT id FROM documents WHERE path = $1").bind(path).fetch_optional(tx).await
}

async fn remove_document(tx: &mut SqliteConnection, document: i64) -> Result<(), sqlx::Error> {
    for statement in [
        "DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE document = $1)",
        "DELETE FROM pieces WHERE rowid IN (SELECT id FROM passages WHERE document = $1)",
        "DELETE FROM passages WHERE document = $1",
        "DELETE FROM documents WHERE id = $1",
    ] {
        sqlx::query(statement).bind(document).execute(&mut *tx).await?;
    }
    Ok(())
}
