//! The Critic: a verdict for each finding, and whether they are enough.

use nightforge_domain::contract::research::{
    Assignment, CriticReview, FindingVerdict, Issue, IssueKind, MAX_REQUESTS, ReviewDecision, Severity,
    Verdict,
};

use super::Call;
use super::findings::{FindingLine, Level, Statement, disagree, findings};
use super::sources::gives_orders;
use super::words::{key_words, terms};

/// Words that an open question needs in common with the objective to hold up the answer.
const TOUCHES: usize = 2;

pub(super) fn review(call: &Call) -> CriticReview {
    let new = findings(call.view.section("REVIEW THESE").unwrap_or_default());
    let seen = findings(call.view.section("SEEN BEFORE").unwrap_or_default());
    let reviews =
        call.view.items("EARLIER REVIEWS").iter().filter(|line| line.starts_with("review ")).count();
    let verdicts: Vec<FindingVerdict> = new.iter().map(|finding| verdict(call, finding)).collect();
    let mut issues = weak_ones(call, &verdicts);
    issues.extend(contradictions(call, &new, &seen));
    if let Some(scenario) = call.scenario {
        return scenario.gap.review(reviews, &new, &seen, verdicts, issues);
    }
    let open: Vec<String> =
        call.view.items("OPEN QUESTIONS").into_iter().filter(|open| touches(call, open)).collect();
    let holds = verdicts.iter().filter(|verdict| verdict.verdict == Verdict::Supported).count();
    let is_weak = holds * 2 < verdicts.len();
    if reviews > 0 || !is_weak && open.is_empty() {
        let summary = call.tongue.say(
            format!(
                "Of {} findings {holds} are carried by their quotes. That is enough for an answer.",
                new.len()
            ),
            format!(
                "{}件の調査結果のうち{holds}件は引用に裏づけられています。答えるのに足ります。",
                new.len()
            ),
        );
        let (requested_research, decision) = (Vec::new(), ReviewDecision::Approved);
        return CriticReview { summary, verdicts, issues, requested_research, decision };
    }
    let mut requested_research: Vec<Assignment> = open.iter().map(|open| request(call, open)).collect();
    if is_weak {
        requested_research.push(request(call, &call.objective));
    }
    requested_research.truncate(MAX_REQUESTS);
    let missing = call.tongue.pick(
        "Part of the objective has no finding that holds.",
        "目的の一部に、裏づけのある結果がありません。",
    );
    issues.insert(0, issue(IssueKind::MissingInformation, Severity::High, missing.to_owned()));
    let summary = call.tongue.say(
        format!("Of {} findings {holds} are carried by their quotes. More is needed.", new.len()),
        format!(
            "{}件の調査結果のうち{holds}件だけが引用に裏づけられています。さらに調査が必要です。",
            new.len()
        ),
    );
    CriticReview { summary, verdicts, issues, requested_research, decision: ReviewDecision::NeedsMoreWork }
}

pub(super) fn issue(kind: IssueKind, severity: Severity, description: String) -> Issue {
    Issue { kind, description, severity }
}

/// By the level that code has given, whatever the texts say.
fn verdict(call: &Call, finding: &FindingLine) -> FindingVerdict {
    let orders =
        gives_orders(&finding.text) || finding.passages.iter().any(|(_, passage)| gives_orders(passage));
    let (verdict, english, japanese) = match finding.level {
        _ if orders => (
            Verdict::Rejected,
            "It speaks to its reader instead of telling a fact.",
            "事実ではなく、読み手への命令が書かれています。",
        ),
        Level::G3 | Level::G2 => {
            (Verdict::Supported, "The quote carries the claim.", "引用が主張を裏づけています。")
        }
        Level::G1 => (
            Verdict::Weak,
            "Its words or figures were not found in the source.",
            "言葉か数字が資料の中に見つかりません。",
        ),
        Level::G0 => {
            (Verdict::Rejected, "It cites no source that exists.", "実在する資料を引用していません。")
        }
    };
    let note = call.tongue.pick(english, japanese).to_owned();
    FindingVerdict { finding_id: finding.id.clone(), note, verdict }
}

fn weak_ones(call: &Call, verdicts: &[FindingVerdict]) -> Vec<Issue> {
    let of = |verdict: Verdict| {
        let ids: Vec<&str> = verdicts
            .iter()
            .filter(|given| given.verdict == verdict)
            .map(|given| given.finding_id.as_str())
            .collect();
        ids.join(call.tongue.pick(", ", "、"))
    };
    let (rejected, weak) = (of(Verdict::Rejected), of(Verdict::Weak));
    let mut issues = Vec::new();
    if !rejected.is_empty() {
        let said = call.tongue.say(
            format!("No source that exists carries this: {rejected}."),
            format!("次の結果には根拠となる資料がありません：{rejected}。"),
        );
        issues.push(issue(IssueKind::UnsupportedAssumption, Severity::Medium, said));
    }
    if !weak.is_empty() {
        let said = call.tongue.say(
            format!("The cited sources do not say this in these words or figures: {weak}."),
            format!("次の結果は、引用された資料の言葉や数字と合いません：{weak}。"),
        );
        issues.push(issue(IssueKind::WeakEvidence, Severity::Medium, said));
    }
    issues
}

/// Findings that give other figures for the same thing, one of them new.
fn contradictions(call: &Call, new: &[FindingLine], seen: &[FindingLine]) -> Vec<Issue> {
    let holds = |finding: &&FindingLine| finding.level >= Level::G2;
    let mut issues = Vec::new();
    for (place, one) in new.iter().enumerate().filter(|(_, finding)| holds(finding)) {
        for other in new[place + 1..].iter().chain(seen).filter(holds) {
            let (left, right) = (sources(one), sources(other));
            let left = Statement { text: claim(one), sources: &left };
            let right = Statement { text: claim(other), sources: &right };
            if disagree(&left, &right) {
                let said = call.tongue.say(
                    format!("{} and {} give different figures for the same thing.", one.id, other.id),
                    format!("{}と{}は同じ事柄について異なる数字を挙げています。", one.id, other.id),
                );
                issues.push(issue(IssueKind::Contradiction, Severity::Medium, said));
            }
        }
    }
    issues
}

fn sources(finding: &FindingLine) -> Vec<String> {
    finding.passages.iter().map(|(id, _)| id.clone()).collect()
}

/// What stands after the title.
pub(super) fn claim(finding: &FindingLine) -> &str {
    finding.text.split_once(": ").map_or(&finding.text, |(_, claim)| claim)
}

fn touches(call: &Call, open: &str) -> bool {
    let is_about_reading = open.starts_with("Not readable")
        || open.starts_with("読めなかった")
        || open.contains("gives orders")
        || open.contains("命令している");
    !is_about_reading && terms(open).intersection(&terms(&call.objective)).count() >= TOUCHES
}

fn request(call: &Call, text: &str) -> Assignment {
    let words = key_words(text, 8);
    let about = if words.is_empty() { text.to_owned() } else { words.join(" ") };
    let about: String = about.chars().take(120).collect();
    let title = format!("{}{about}", call.tongue.pick("Still open - ", "未解決・"));
    Assignment { title, description: text.to_owned() }
}
