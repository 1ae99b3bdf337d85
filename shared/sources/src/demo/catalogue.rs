//! The documents of the demo, each with its address. All of them are invented.

/// A document as a server would give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoDocument {
    /// Its content.
    pub bytes: &'static [u8],
    /// Its media type, without parameters. Text is in UTF-8.
    pub media_type: &'static str,
}

/// A document and what the demo's search knows of it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) address: &'static str,
    /// As the document itself has it.
    pub(super) title: &'static str,
    pub(super) published: &'static str,
    /// Words that people ask with, in both languages; searched, never shown.
    pub(super) keywords: &'static str,
    pub(super) document: DemoDocument,
}

/// One entry; the address is the path within `documents/`.
macro_rules! entry {
    ($path:literal, $media_type:literal, $published:literal, $title:literal, $keywords:literal) => {
        Entry {
            address: concat!("demo://", $path),
            title: $title,
            published: $published,
            keywords: $keywords,
            document: DemoDocument {
                bytes: include_bytes!(concat!("../../demo/documents/", $path)),
                media_type: $media_type,
            },
        }
    };
}

pub(super) const ENTRIES: [Entry; 16] = [
    entry!(
        "nassau/studios/harbour-street-pilates.html",
        "text/html",
        "2025-11-12",
        "[Demo data] Harbour Street Pilates, classes and prices in Nassau",
        "Nassau Pilates studio resident prices drop-in class card membership competitors"
    ),
    entry!(
        "nassau/studios/palm-and-core.md",
        "text/markdown",
        "2025-11-14",
        "[Demo data] Palm and Core, the members' studio at Cable Beach",
        "Nassau Pilates studio membership resident competitors waiting list"
    ),
    entry!(
        "nassau/resorts/guest-classes.html",
        "text/html",
        "2025-11-18",
        "[Demo data] Pilates in the resorts of Nassau is for guests only",
        "Nassau resort hotel Pilates classes guests competitors day pass"
    ),
    entry!(
        "nassau/pricing/visitor-bundles.html",
        "text/html",
        "2025-11-24",
        "[Demo data] What visitor Pilates bundles cost on comparable islands",
        "tourist visitor package bundle price pricing willingness to pay margin commission"
    ),
    entry!(
        "nassau/tourism/cruise-arrivals.md",
        "text/markdown",
        "2026-01-20",
        "[Demo data] Cruise passengers in Nassau in 2025",
        "Nassau cruise arrivals passengers time ashore excursions spending"
    ),
    entry!(
        "nassau/tourism/visitor-yearbook.pdf",
        "application/pdf",
        "2026-03-02",
        "[Demo data] Visitor yearbook for Nassau and Paradise Island, 2025",
        "Nassau stopover visitors number tourists arrivals statistics average stay spending"
    ),
    entry!(
        "nassau/tourism/stopover-bulletin.md",
        "text/markdown",
        "2026-02-11",
        "[Demo data] Stopover bulletin, Nassau and Paradise Island, 2025",
        "Nassau stopover visitors number tourists arrivals statistics average stay"
    ),
    entry!(
        "nassau/tourism/seasonality.html",
        "text/html",
        "2026-01-28",
        "[Demo data] Seasons of tourism in Nassau",
        "Nassau seasonality hotel occupancy high season low season hurricane months"
    ),
    entry!(
        "nassau/staffing/instructors.md",
        "text/markdown",
        "2025-10-30",
        "[Demo data] Pilates instructors in Nassau: how many, what they cost",
        "Nassau Pilates instructors staffing pay wages work permit training"
    ),
    entry!(
        "nassau/regulation/licences-and-permits.html",
        "text/html",
        "2025-10-09",
        "[Demo data] Licences and permits for a class for visitors in Nassau",
        "Nassau regulation business licence permit insurance beach tax"
    ),
    entry!(
        "nassau/demand/visitor-survey.html",
        "text/html",
        "2025-03-17",
        "[Demo data] Would visitors to Nassau buy Pilates classes? A survey",
        "Nassau tourist demand survey interest willingness to pay Pilates package"
    ),
    entry!(
        "nassau/diary/island-wellness.html",
        "text/html",
        "2025-03-05",
        "[Demo data] Island wellness diary, a week of classes in Nassau",
        "Nassau Pilates beach class visitor experience blog review"
    ),
    entry!(
        "kyoto/market/taiken-juyou.html",
        "text/html",
        "2025-12-08",
        "[Demo data] 京都の茶道体験の需要調査",
        "京都 茶道 体験 外国人観光客 需要 市場 関心 参加 Kyoto tea ceremony demand survey"
    ),
    entry!(
        "kyoto/pricing/taiken-ryoukin.md",
        "text/markdown",
        "2025-11-27",
        "[Demo data] 京都の茶道体験、料金のくらべ",
        "京都 茶道 体験 料金 価格 相場 競合 手数料 Kyoto tea ceremony price"
    ),
    entry!(
        "kyoto/regulation/kyoka-to-hoken.html",
        "text/html",
        "2025-09-19",
        "[Demo data] 茶道の体験コースに必要な許可と保険",
        "京都 茶道 教室 規制 許可 保険 届出 消防 Kyoto tea ceremony permit insurance regulation"
    ),
    entry!(
        "kyoto/case/shoufuuan.md",
        "text/markdown",
        "2026-04-06",
        "[Demo data] 小さな茶道教室「松風庵」の一年目",
        "京都 茶道教室 体験コース 事例 売上 費用 通訳 生徒 Kyoto tea ceremony school case revenue"
    ),
];
