//! A folder of real files, searched: in four scripts, while files come, change and go, and when things break.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nightforge_sources::{Corpus, CorpusError, CorpusReport, Demo, Extractor, Hit, SearchAnswer};
use tempfile::TempDir;

struct Place {
    root: TempDir,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self { root: TempDir::new().unwrap() };
        fs::create_dir(place.folder()).unwrap();
        for (path, text) in files {
            place.write(path, text.as_bytes());
        }
        place
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("notes")
    }

    fn index(&self) -> PathBuf {
        self.root.path().join("state/corpus.sqlite")
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.folder().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    async fn open(&self) -> Corpus {
        Corpus::open(&self.folder(), &self.index(), extractor()).await.unwrap()
    }
}

fn extractor() -> Extractor {
    Extractor::new(env!("CARGO_BIN_EXE_extract").into(), Vec::new())
}

async fn hits(corpus: &Corpus, query: &str) -> Vec<Hit> {
    match corpus.search(query, 10).await {
        SearchAnswer::Hits { hits } => hits,
        SearchAnswer::Empty => Vec::new(),
        other @ SearchAnswer::Unavailable { .. } => panic!("{query}: {other:?}"),
    }
}

async fn urls(corpus: &Corpus, query: &str) -> Vec<String> {
    hits(corpus, query).await.into_iter().map(|hit| hit.url).collect()
}

fn reason(report: &CorpusReport, path: &str) -> String {
    let found = report.skipped.iter().find(|(skipped, _)| skipped == path);
    found.unwrap_or_else(|| panic!("{path} is not among {:?}", report.skipped)).1.clone()
}

fn four_scripts() -> Place {
    Place::new(&[
        (
            "harbour.md",
            "# Harbour notes\n\n## Boats\n\nThe ferry leaves at nine.\n\n## Prices\n\nA ticket costs 12 dollars.\n",
        ),
        (
            "pt/manutencao.md",
            "# Manutenção da piscina\n\nA manutenção é feita às terças. São três técnicos.\n",
        ),
        (
            "ja/chado.txt",
            "京都の茶道教室について。\n体験の料金は四千八百円で、\n予約は電話で受け付けます。\n",
        ),
        ("ja/ramen.txt", "東京のラーメン店の家賃は上がりました。\n"),
        ("ar/souq.md", "# سوق المدينة\n\nالأسعار في السُّوق مرتفعة هذا العام.\n"),
    ])
}

#[tokio::test]
async fn four_scripts_are_found_and_cited_by_line() {
    let place = four_scripts();
    let corpus = place.open().await;
    for (query, url) in [
        ("ticket price dollars", "harbour.md#L7-L9"),
        ("FERRY", "harbour.md#L1-L5"),
        ("manutencao técnicos", "pt/manutencao.md#L1-L3"),
        ("Manutenção", "pt/manutencao.md#L1-L3"),
        ("京都の茶道体験", "ja/chado.txt#L1-L3"),
        ("料金", "ja/chado.txt#L1-L3"),
        ("茶", "ja/chado.txt#L1-L3"),
        ("受け付けます", "ja/chado.txt#L1-L3"),
        ("ラーメン 家賃", "ja/ramen.txt#L1-L1"),
        ("السوق", "ar/souq.md#L1-L3"),
        ("أسعار السوق", "ar/souq.md#L1-L3"),
    ] {
        assert_eq!(urls(&corpus, query).await.first().map(String::as_str), Some(url), "{query}");
    }
    assert_eq!(urls(&corpus, "submarine").await, [""; 0]);
    assert_eq!(corpus.search("潜水艦", 5).await, SearchAnswer::Empty);
    let hit = hits(&corpus, "ticket").await.remove(0);
    assert_eq!(hit.title, "Harbour notes: Prices");
    assert_eq!(hit.text.as_deref(), Some("## Prices\n\nA ticket costs 12 dollars."));
    assert!(hit.snippet.contains("A ticket costs 12 dollars."), "{}", hit.snippet);
}

#[tokio::test]
async fn syntax_of_the_index_in_a_query_is_only_text() {
    let corpus = four_scripts().open_kept().await;
    for query in [
        "\"ferry",
        "ferry*",
        "NEAR(ferry, 2)",
        "-ferry",
        "title:ferry",
        "ferry AND",
        "(ferry OR",
        "^ferry",
        "ferry; DROP TABLE words",
        "{title} : ferry",
        "ferry + \"\"",
    ] {
        assert_eq!(
            urls(&corpus.0, query).await.first().map(String::as_str),
            Some("harbour.md#L1-L5"),
            "{query}"
        );
    }
    for query in ["", "\"", "*", "-- ' %", "()", "\0"] {
        assert_eq!(corpus.0.search(query, 5).await, SearchAnswer::Empty, "{query:?}");
    }
}

impl Place {
    /// The corpus together with its folder, for tests that never touch the files again.
    async fn open_kept(self) -> (Corpus, Self) {
        (self.open().await, self)
    }
}

#[tokio::test]
async fn the_index_follows_the_folder() {
    let place = Place::new(&[("a.md", "# Apples\n\nRed apples.\n"), ("b.md", "# Pears\n\nGreen pears.\n")]);
    let corpus = place.open().await;
    assert_eq!(urls(&corpus, "apples").await, ["a.md#L1-L3"]);

    fs::rename(place.folder().join("a.md"), place.folder().join("c.md")).unwrap();
    place.write("b.md", b"# Plums\n\nBlue plums.\n");
    let report = corpus.refresh().await.unwrap();
    assert_eq!((report.documents, report.passages, report.skipped), (2, 2, vec![]));
    assert_eq!(urls(&corpus, "apples").await, ["c.md#L1-L3"], "renamed");
    assert_eq!(urls(&corpus, "pears").await, [""; 0], "replaced");
    assert_eq!(urls(&corpus, "plums").await, ["b.md#L1-L3"]);

    // The same size and the same time, as tools that restore times leave it.
    let before = fs::metadata(place.folder().join("b.md")).unwrap().modified().unwrap();
    place.write("b.md", b"# Limes\n\nBlue limes.\n");
    fs::File::options().write(true).open(place.folder().join("b.md")).unwrap().set_modified(before).unwrap();
    fs::remove_file(place.folder().join("c.md")).unwrap();
    let report = corpus.refresh().await.unwrap();
    assert_eq!((report.documents, report.passages), (1, 1));
    assert_eq!(urls(&corpus, "apples").await, [""; 0], "deleted");
    assert_eq!(urls(&corpus, "limes").await, ["b.md#L1-L3"]);
    assert_eq!(urls(&corpus, "plums").await, [""; 0]);
}

#[tokio::test]
async fn all_words_win_and_a_document_shows_two_passages_at_most() {
    let section = |n: usize| format!("## Part {n}\n\nThe tide tables of part {n}.\n\n");
    let long: String = (1..=9).map(section).collect();
    let place = Place::new(&[
        ("tides.md", &format!("# Tide tables\n\n{long}")),
        ("both.md", "# Log\n\nWe read the tide by the lighthouse.\n"),
        ("light.md", "# Light\n\nThe lighthouse has a new lamp, and the lighthouse keeper a dog.\n"),
    ]);
    let corpus = place.open().await;
    let found = urls(&corpus, "tide lighthouse").await;
    assert_eq!(found.iter().filter(|url| url.starts_with("tides.md")).count(), 2, "{found:?}");
    assert_eq!(found[0], "both.md#L1-L3", "{found:?}");
    let SearchAnswer::Hits { hits } = corpus.search("tide", 1).await else { panic!("no hits") };
    assert_eq!(hits.len(), 1);
}

#[tokio::test]
async fn html_and_pdf_go_through_the_child() {
    let place = Place::new(&[]);
    for (name, address) in [
        ("survey.html", "demo://nassau/demand/visitor-survey.html"),
        ("yearbook.PDF", "demo://nassau/tourism/visitor-yearbook.pdf"),
    ] {
        place.write(name, Demo::document(address).unwrap().bytes);
    }
    let corpus = place.open().await;
    let hit = hits(&corpus, "margin of error of the survey").await.remove(0);
    assert!(hit.url.starts_with("survey.html#L"), "{hit:?}");
    assert!(hit.title.starts_with("[Demo data] Would visitors to Nassau buy"), "{}", hit.title);
    let hit = hits(&corpus, "yearbook 1,742,000").await.remove(0);
    assert!(hit.url.starts_with("yearbook.PDF#L") && hit.text.unwrap().contains("1,742,000"), "{}", hit.url);
}

#[tokio::test]
async fn what_cannot_be_read_is_left_out_and_told() {
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("secret.md"), "# Secret treasure\n").unwrap();
    let place = Place::new(&[
        ("good.md", "# Good\n\nA treasure map.\n"),
        (".hidden/x.md", "# Hidden treasure\n"),
        ("code.rs", "// treasure"),
        ("empty.md", "\n\n"),
        ("broken.pdf", "%PDF-1.4 treasure and nothing else"),
    ]);
    place.write("latin1.txt", b"A informa\xe7\xe3o sobre o tesouro.\n");
    place.write("binary.txt", b"treasure\0\0\0");
    place.write("large.txt", &vec![b'x'; 8 * 1024 * 1024 + 1]);
    symlink(outside.path().join("secret.md"), place.folder().join("link.md")).unwrap();
    symlink(outside.path(), place.folder().join("links")).unwrap();
    symlink(place.folder(), place.folder().join("loop")).unwrap();
    let corpus = place.open().await;
    let report = corpus.refresh().await.unwrap();
    assert_eq!(urls(&corpus, "treasure secret hidden").await, ["good.md#L1-L3"]);
    assert_eq!(
        urls(&corpus, "sobre").await,
        ["latin1.txt#L1-L1"],
        "what is no UTF-8 loses only those letters"
    );
    assert_eq!((report.documents, report.not_now), (2, 3), "{report:?}");
    assert!(reason(&report, "large.txt").contains("8 MiB"));
    assert!(reason(&report, "binary.txt").contains("UTF-8"));
    assert!(reason(&report, "empty.md").contains("no text"));
    assert!(reason(&report, "link.md").contains("leaves the folder"));
    assert!(reason(&report, "links").contains("leaves the folder"));
    assert!(!reason(&report, "broken.pdf").is_empty());
    assert_eq!(report.skipped.len(), 6, "{:?}", report.skipped);
    place.write("large.txt", b"A small treasure now.\n");
    corpus.refresh().await.unwrap();
    assert!(urls(&corpus, "small treasure").await.contains(&"large.txt#L1-L1".to_owned()));
}

#[tokio::test]
async fn a_pdf_that_kills_its_extractor_stops_nothing() {
    let place = Place::new(&[("good.md", "# Good\n\nWords.\n"), ("bad.pdf", "%PDF-1.4\n")]);
    let killed = Extractor::new("/bin/sh".into(), vec!["-c".into(), "kill -9 $$".into()]);
    let corpus = Corpus::open(&place.folder(), &place.index(), killed).await.unwrap();
    let report = corpus.refresh().await.unwrap();
    assert_eq!((report.documents, report.skipped.len(), report.not_now), (1, 1, 0), "{report:?}");
    let later = Corpus::open(&place.folder(), &place.index(), extractor()).await.unwrap();
    assert_ne!(later.refresh().await.unwrap().skipped, report.skipped, "each process tries once");
}

#[tokio::test]
async fn without_the_extractor_nothing_is_known_to_be_absent() {
    let place = Place::new(&[("page.html", "<p>words</p>")]);
    let missing = Extractor::new("/nowhere/extract".into(), Vec::new());
    let corpus = Corpus::open(&place.folder(), &place.index(), missing).await.unwrap();
    let SearchAnswer::Unavailable { reason, .. } = corpus.search("words", 5).await else {
        panic!("available")
    };
    assert!(reason.contains("page.html") && reason.contains("/nowhere/extract"), "{reason}");
}

#[tokio::test]
async fn a_missing_folder_is_unavailable_and_leaves_the_index() {
    let place = four_scripts();
    let error = Corpus::open(Path::new("/nowhere/notes"), &place.index(), extractor()).await.unwrap_err();
    assert!(matches!(error, CorpusError::Folder { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("/nowhere/notes") && text.contains("name another one"), "{text}");

    let corpus = place.open().await;
    let away = place.root.path().join("away");
    fs::rename(place.folder(), &away).unwrap();
    assert!(corpus.refresh().await.is_err());
    let SearchAnswer::Unavailable { reason, .. } = corpus.search("ferry", 5).await else {
        panic!("available")
    };
    assert!(reason.contains(&place.folder().display().to_string()), "{reason}");
    fs::rename(away, place.folder()).unwrap();
    assert_eq!(urls(&corpus, "ferry").await, ["harbour.md#L1-L5"]);
}

#[tokio::test]
async fn a_piece_that_is_everywhere_hides_none_that_is_rare_and_is_found_where_it_stands_alone() {
    let place = Place::new(&[("tea.md", "日本の茶道。\n")]);
    let everywhere = format!("{}。\n", "日本".repeat(40)).repeat(10);
    for number in 0..60 {
        place.write(&format!("{number}.md"), everywhere.as_bytes());
    }
    let corpus = place.open().await;
    assert_eq!(urls(&corpus, "日本の茶道").await[0], "tea.md#L1-L1");
    assert_eq!(urls(&corpus, "日本").await.len(), 10);
}
