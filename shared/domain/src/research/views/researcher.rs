//! What a Researcher sees: its single assignment, why it was given, what is known already; then its sources.

use serde::{Deserialize, Serialize};

use super::Asked;
use super::fit::{Fit, LINE, Shown};
use super::lines::{IssueLine, TITLE_BYTES, objective_forms, summary_forms};
use super::text::{INDENT, block, cut, forms, line};
use crate::contract::research::Verdict;
use crate::research::outside::{cleaned, escaped};
use crate::research::passages::{best_passages, joined};
use crate::research::{Origin, Research, Source, SourceId, SourceStatus};

/// The longest marker of a fence that a budget has room for.
pub const MAX_MARKER_BYTES: usize = 32;

/// Of one source at least; where there is less room, sources are left out.
const LEAST_EXCERPT: usize = 300;

/// What a source has around its words beside its title and its date: its line, and the two of the fence.
const AROUND_EXCERPT: usize = 48 + 2 * (MAX_MARKER_BYTES + LINE);

/// Sources that could not be read, at most.
const NOT_READABLE: usize = 8;

/// A Researcher's view of its assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResearcherView {
    /// What was asked for.
    pub objective: String,
    /// Name of the language that people are answered in.
    pub language: String,
    /// Where researchers search.
    pub searched_in: Option<String>,
    /// The assignment's title.
    pub title: String,
    /// What has to be found out.
    pub description: String,
    /// What the Critic objected to, where it caused this assignment: its summary, then its issues.
    pub concerns: Vec<String>,
    /// Titles of findings that the team has.
    pub known: Vec<String>,
    /// What had no room, in words.
    pub left_out: Vec<String>,
}

impl ResearcherView {
    /// The view of the researcher of an assignment, in `budget_bytes`; `None` where there is no such assignment.
    pub fn of(asked: &Asked<'_>, research: &Research, subtask: u32, budget_bytes: usize) -> Option<Self> {
        let assignment = research.subtask(subtask)?;
        let cause = research.reviews.last().filter(|_| assignment.origin == Origin::Critic);
        let mut fit = Fit::new(budget_bytes);
        let objective = fit.require(objective_forms(asked.objective));
        let description =
            fit.require(forms(&[300, 1_200, 4_000], |size| block(&assignment.description, size)));
        let mut concerns: Vec<Vec<String>> = Vec::new();
        if let Some(review) = cause {
            concerns.push(summary_forms(review));
            concerns.extend(review.issues.iter().map(|issue| {
                let said = |issue: IssueLine| {
                    let IssueLine { severity, kind, description } = issue;
                    format!("[{}] {}: {description}", severity.as_str(), kind.as_str())
                };
                IssueLine::forms(issue).into_iter().map(said).collect()
            }));
        }
        let concerns = fit.offer("concerns of the critic", concerns, |index| index);
        let known = research.findings.iter().filter(|finding| finding.verdict != Some(Verdict::Rejected));
        let known =
            known.map(|finding| forms(&[60, TITLE_BYTES], |size| line(&finding.grounded.title, size)));
        let known = fit.offer_latest("titles of what is known", known.collect());
        let mut fitted = fit.decide();
        Some(Self {
            objective: fitted.one(objective).unwrap_or_default(),
            language: asked.language(),
            searched_in: asked.searched_in(),
            title: line(&assignment.title, TITLE_BYTES),
            description: fitted.one(description).unwrap_or_default(),
            concerns: fitted.taken(concerns),
            known: fitted.taken(known),
            left_out: fitted.left_out(),
        })
    }

    /// Bytes that it has in a prompt at most, beside what is always there.
    fn bytes(&self) -> usize {
        let lines = self.concerns.iter().chain(&self.known).map(Shown::bytes);
        self.objective.len() + self.description.len() + lines.sum::<usize>()
    }
}

/// A Researcher's view when it reports: its assignment and its sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportView {
    /// The same as when it chose its queries, perhaps shorter.
    #[serde(flatten)]
    pub assignment: ResearcherView,
    /// What it may quote.
    pub sources: Vec<Excerpt>,
    /// What it may not, and why.
    pub not_readable: Vec<NotReadable>,
}

/// Sources that are shown; what ranks below them has never answered an assignment, and costs as much as the rest.
const MAX_EXCERPTS: usize = 10;

/// The words of a source that matter for an assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// Its id.
    pub id: SourceId,
    /// On one line, without `|`.
    pub title: String,
    /// Its date, where one is known.
    pub published: Option<String>,
    /// Whether only what a search showed of it is known.
    pub snippet_only: bool,
    /// Cleaned and escaped, each line but blank ones indented; with `[…]` where something was left out. The prompt fences it.
    pub words: String,
}

impl Excerpt {
    /// Bytes beside its words.
    fn around(&self) -> usize {
        self.title.len() + self.published.as_deref().map_or(1, str::len) + AROUND_EXCERPT
    }
}

/// A source that gave no text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotReadable {
    /// Its id.
    pub id: SourceId,
    /// On one line.
    pub title: String,
    /// Why.
    pub reason: String,
}

impl Shown for NotReadable {
    fn bytes(&self) -> usize {
        self.title.len() + self.reason.len() + LINE
    }
}

impl ReportView {
    /// The view of a researcher that has searched for `queries` and found `sources`, the best first, in `budget_bytes`.
    /// `None` where there is no such assignment. The room goes evenly to the sources, and what one does not need to the
    /// others; of a long page the paragraphs are shown that the assignment and the queries ask for.
    pub fn of(
        asked: &Asked<'_>,
        research: &Research,
        subtask: u32,
        queries: &[String],
        sources: &[Source],
        budget_bytes: usize,
    ) -> Option<Self> {
        let mut assignment = ResearcherView::of(asked, research, subtask, budget_bytes / 4)?;
        let (readable, rest): (Vec<&Source>, Vec<&Source>) =
            sources.iter().partition(|source| is_readable(source));
        let not_readable: Vec<NotReadable> =
            rest.iter().take(NOT_READABLE).map(|source| not_readable(source)).collect();
        let room = budget_bytes.saturating_sub(assignment.bytes());
        // What can't be read matters least: it gets a tenth.
        let mut fit = Fit::new(room / 10);
        let listed =
            fit.offer("unreadable sources", not_readable.into_iter().map(|one| vec![one]).collect(), |at| at);
        let mut fitted = fit.decide();
        let not_readable = fitted.taken(listed);
        assignment.left_out.extend(fitted.left_out());
        let room = room.saturating_sub(not_readable.iter().map(Shown::bytes).sum());

        let heads: Vec<Excerpt> = readable.iter().take(MAX_EXCERPTS).map(|source| head(source)).collect();
        let mut needed = 0;
        let fitting = heads.iter().take_while(|head| {
            needed += head.around() + LEAST_EXCERPT;
            needed <= room
        });
        let fitting = fitting.count();
        let shown = &readable[..fitting];
        if fitting < readable.len() {
            assignment.left_out.push(format!("{} of {} sources", readable.len() - fitting, readable.len()));
        }
        let texts: Vec<String> = shown.iter().map(|source| safe(source.passage().0)).collect();
        let needs: Vec<usize> = texts.iter().map(|text| laid_out(text).len()).collect();
        let around: usize = heads[..fitting].iter().map(Excerpt::around).sum();
        let shares = shares(&needs, room - around);
        let subtask = research.subtask(subtask)?;
        let wanted = format!("{}\n{}\n{}", subtask.title, subtask.description, queries.join("\n"));
        let excerpts = heads.into_iter().zip(&texts).zip(&shares);
        let sources = excerpts
            .map(|((head, text), share)| Excerpt { words: excerpt(text, &wanted, *share), ..head })
            .collect();
        let cut = needs.iter().zip(&shares).filter(|(need, share)| need > share).count();
        if cut > 0 {
            let sources = if cut == 1 { "one source".to_owned() } else { format!("{cut} sources") };
            assignment.left_out.push(format!("parts of {sources}, where […] stands"));
        }
        Some(Self { assignment, sources, not_readable })
    }
}

fn is_readable(source: &Source) -> bool {
    let is_own = !matches!(source.status, SourceStatus::Placeholder | SourceStatus::Duplicate);
    is_own && !safe(source.passage().0).trim().is_empty()
}

fn not_readable(source: &Source) -> NotReadable {
    let reason = match source.status {
        SourceStatus::Placeholder => "it stands for \"nothing known\" and can't be cited",
        SourceStatus::Duplicate => "it has the same text as another source",
        status => source.note.as_deref().unwrap_or(status.as_str()),
    };
    NotReadable { id: source.id, title: line(&source.title, TITLE_BYTES / 2), reason: line(reason, 120) }
}

/// A source without its words.
fn head(source: &Source) -> Excerpt {
    Excerpt {
        id: source.id,
        title: line(&source.title, TITLE_BYTES).replace('|', "/"),
        published: source.published.as_deref().map(|date| line(date, 40).replace('|', "/")),
        snippet_only: !source.passage().1,
        words: String::new(),
    }
}

fn safe(text: &str) -> String {
    escaped(&cleaned(text))
}

/// Each line indented, and paragraphs one blank line apart.
fn laid_out(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut is_after_blank = false;
    for line in text.lines().map(str::trim) {
        is_after_blank |= line.is_empty();
        if line.is_empty() {
            continue;
        }
        if !made.is_empty() {
            made.push_str(if is_after_blank { "\n\n" } else { "\n" });
        }
        made.push_str(INDENT);
        made.push_str(line);
        is_after_blank = false;
    }
    made
}

/// The paragraphs of a safe text that matter most, laid out in at most `max_bytes`.
fn excerpt(text: &str, wanted: &str, max_bytes: usize) -> String {
    let whole = laid_out(text);
    if whole.len() <= max_bytes {
        return whole;
    }
    let mut chars = text.chars().count().min(max_bytes);
    // The choice is made in characters; where they take more bytes than the room has, with fewer of them.
    for _ in 0..4 {
        let made = laid_out(&joined(text, &best_passages(text, wanted, chars)));
        if made.len() <= max_bytes {
            return made;
        }
        chars = chars * max_bytes / made.len().max(1);
    }
    cut(&laid_out(&joined(text, &best_passages(text, wanted, chars))), max_bytes)
}

/// Room for each need: evenly, and what one does not need goes to the others.
fn shares(needs: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|index| needs[*index]);
    let mut shares = vec![0; needs.len()];
    let mut left = room;
    for (given, index) in order.into_iter().enumerate() {
        let share = needs[index].min(left / (needs.len() - given));
        shares[index] = share;
        left -= share;
    }
    shares
}
