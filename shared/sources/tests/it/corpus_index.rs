//! The corpus index file: damaged, of another version, of another program, and shared by two workers.

use std::fs;
use std::path::{Path, PathBuf};

use nightforge_sources::{Corpus, CorpusError, Extractor, SearchAnswer};
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

fn folder_with(root: &TempDir, count: usize) -> (PathBuf, PathBuf) {
    let folder = root.path().join("notes");
    fs::create_dir(&folder).unwrap();
    for number in 0..count {
        fs::write(folder.join(format!("{number}.md")), format!("# Note {number}\n\nAbout lamp{number}.\n"))
            .unwrap();
    }
    (folder, root.path().join("corpus.sqlite"))
}

async fn open(folder: &Path, index: &Path) -> Result<Corpus, CorpusError> {
    Corpus::open(folder, index, Extractor::new(env!("CARGO_BIN_EXE_extract").into(), Vec::new())).await
}

async fn finds(corpus: &Corpus, query: &str) -> bool {
    match corpus.search(query, 3).await {
        SearchAnswer::Hits { hits } => hits[0].text.as_deref().unwrap().contains(query),
        SearchAnswer::Empty => false,
        other @ SearchAnswer::Unavailable { .. } => panic!("{other:?}"),
    }
}

async fn execute(index: &Path, sql: &'static str) {
    let mut connection =
        SqliteConnection::connect(&format!("sqlite:{}?mode=rwc", index.display())).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_damaged_file_is_put_aside_and_made_anew() {
    let root = TempDir::new().unwrap();
    let (folder, index) = folder_with(&root, 3);
    fs::write(&index, "not a database, but perhaps dear to somebody ".repeat(100)).unwrap();
    assert!(finds(&open(&folder, &index).await.unwrap(), "lamp2").await);
    let kept = fs::read_to_string(root.path().join("corpus.sqlite.damaged")).unwrap();
    assert!(kept.starts_with("not a database"));
}

#[tokio::test]
async fn a_file_that_is_damaged_within_is_made_anew() {
    let root = TempDir::new().unwrap();
    let (folder, index) = folder_with(&root, 300);
    drop(open(&folder, &index).await.unwrap());
    // Everything into the file itself, then noise over its middle.
    execute(&index, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE").await;
    let mut bytes = fs::read(&index).unwrap();
    let (from, to) = (4096, bytes.len() - 4096);
    bytes[from..to].fill(0xa5);
    fs::write(&index, bytes).unwrap();
    assert!(finds(&open(&folder, &index).await.unwrap(), "lamp299").await);
}

#[tokio::test]
async fn damage_while_it_is_open_is_made_good() {
    let root = TempDir::new().unwrap();
    let (folder, index) = folder_with(&root, 3);
    let corpus = open(&folder, &index).await.unwrap();
    execute(&index, "DROP TABLE words; PRAGMA user_version = 0").await;
    assert!(finds(&corpus, "lamp1").await);
}

#[tokio::test]
async fn another_version_is_made_anew() {
    let root = TempDir::new().unwrap();
    let (folder, index) = folder_with(&root, 3);
    drop(open(&folder, &index).await.unwrap());
    execute(&index, "PRAGMA user_version = 999; UPDATE passages SET body = 'of another version'").await;
    let corpus = open(&folder, &index).await.unwrap();
    assert!(finds(&corpus, "lamp1").await, "not the old passage");
}

#[tokio::test]
async fn a_database_of_something_else_is_never_touched() {
    let root = TempDir::new().unwrap();
    let (folder, index) = folder_with(&root, 1);
    execute(&index, "CREATE TABLE tasks (id TEXT); INSERT INTO tasks VALUES ('dear')").await;
    let before = fs::read(&index).unwrap();
    let error = open(&folder, &index).await.unwrap_err();
    assert!(matches!(error, CorpusError::ForeignIndex { .. }), "{error}");
    assert!(error.to_string().contains("name another file"), "{error}");
    assert_eq!(fs::read(&index).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_share_one_file() {
    let root = TempDir::new().unwrap();
    let (folder, index) = folder_with(&root, 60);
    let (one, other) = tokio::join!(open(&folder, &index), open(&folder, &index));
    let (one, other) = (one.unwrap(), other.unwrap());
    for round in 0..5 {
        for number in 0..60 {
            let path = folder.join(format!("{number}.md"));
            match (number + round) % 3 {
                0 => fs::write(path, format!("# Note\n\nAbout lamp{number} in round{round}.\n")).unwrap(),
                1 if round > 0 => drop(fs::remove_file(path)),
                _ => {}
            }
        }
        let (first, second, answer) = tokio::join!(one.refresh(), other.refresh(), one.search("lamp5", 3));
        let (first, second) = (first.unwrap(), second.unwrap());
        assert!(!matches!(answer, SearchAnswer::Unavailable { .. }), "{answer:?}");
        let files = fs::read_dir(&folder).unwrap().count();
        // The one that counts last has seen the other's work.
        assert!([first.documents, second.documents].contains(&files), "{files}: {first:?} {second:?}");
        let report = one.refresh().await.unwrap();
        assert_eq!((report.documents, report.passages), (files, files), "nothing twice, nothing left over");
    }
}
