//! The Manager: the next action, out of what MENU offers.

use nightforge_domain::contract::research::{Assignment, MAX_ASSIGNMENTS, ManagerAction, ManagerDecision};
use nightforge_domain::research::title_key;

use super::Call;
use super::findings::findings;
use super::words::key_words;

/// Assignments of a first plan at most.
const MOST_OF_A_PLAN: usize = 3;
const LONGEST_TITLE: usize = 160;

pub(super) fn decide(call: &Call) -> ManagerDecision {
    let offered = call.view.items("MENU");
    let offers = |action: ManagerAction| offered.iter().any(|line| line.starts_with(action.as_str()));
    let unreviewed = findings(call.view.section("FINDINGS").unwrap_or_default())
        .iter()
        .filter(|finding| finding.is("unreviewed"))
        .count();
    if offers(ManagerAction::Complete) && unreviewed == 0 {
        return complete(call);
    }
    if offers(ManagerAction::RequestReview) && unreviewed > 0 {
        return request_review(call, unreviewed);
    }
    if offers(ManagerAction::AssignResearch) {
        let room = offered.iter().find_map(|line| number_after(line, "at most ")).unwrap_or(MAX_ASSIGNMENTS);
        return assign(call, room.min(MAX_ASSIGNMENTS));
    }
    if offers(ManagerAction::RequestReview) {
        return request_review(call, unreviewed);
    }
    fail(call)
}

fn decision(action: ManagerAction, reason: String, message: String) -> ManagerDecision {
    ManagerDecision { reason, action, message, tasks: Vec::new(), review_focus: None }
}

fn complete(call: &Call) -> ManagerDecision {
    let reason = call.tongue.pick(
        "The critic has approved, and no finding came after the review.",
        "批評者が承認し、その後に新しい調査結果はありません。",
    );
    let message = call.tongue.pick("Completion criteria met.", "完了の条件を満たしました。");
    decision(ManagerAction::Complete, reason.to_owned(), message.to_owned())
}

fn request_review(call: &Call, unreviewed: usize) -> ManagerDecision {
    let reason = call.tongue.say(
        format!("Findings that nobody has reviewed: {unreviewed}."),
        format!("まだ検証されていない調査結果が{unreviewed}件あります。"),
    );
    let message = call
        .tongue
        .pick("Critic, please look at the new findings.", "批評者は新しい調査結果を検証してください。");
    let focus = call.tongue.pick(
        "Does what was found answer the objective, and do the quotes carry the figures?",
        "調査結果は目的に答えていますか。引用は数字を裏づけていますか。",
    );
    ManagerDecision {
        review_focus: Some(focus.to_owned()),
        ..decision(ManagerAction::RequestReview, reason, message.to_owned())
    }
}

fn fail(call: &Call) -> ManagerDecision {
    let reason = call.tongue.pick(
        "No other action is offered, and what was found does not answer the objective.",
        "ほかに選べる行動がなく、見つかったことは目的に答えていません。",
    );
    let message = call.tongue.pick("I give up on this objective.", "この目的の調査を断念します。");
    decision(ManagerAction::Fail, reason.to_owned(), message.to_owned())
}

fn assign(call: &Call, room: usize) -> ManagerDecision {
    let done: Vec<String> =
        call.view.items("ASSIGNMENTS").iter().map(|line| title_key(title(line))).collect();
    let is_new = |task: &Assignment| !done.contains(&title_key(&task.title));
    let requested: Vec<Assignment> =
        call.view.items("REQUESTED RESEARCH").iter().map(|line| requested(line)).filter(is_new).collect();
    let (reason, message, mut tasks) = if !requested.is_empty() {
        let reason = call.tongue.pick(
            "The critic has sent the work back and says what is missing.",
            "批評者が差し戻し、足りないものを示しました。",
        );
        let titles: Vec<&str> = requested.iter().map(|task| task.title.as_str()).collect();
        let message = call.tongue.say(
            format!("Researcher, investigate: {}.", titles.join(", ")),
            format!("調査者は次を調べてください：{}。", titles.join("、")),
        );
        (reason, message, requested)
    } else if let (Some(scenario), true) = (call.scenario, done.is_empty()) {
        let reason = call.tongue.pick("Nothing is known yet.", "まだ何も分かっていません。");
        (reason, scenario.plan_message.to_owned(), scenario.plan())
    } else {
        let (reason, message) = if done.is_empty() {
            (
                call.tongue.pick("Nothing is known yet.", "まだ何も分かっていません。"),
                call.tongue.pick("We need facts and figures from sources.", "資料から事実と数字を集めます。"),
            )
        } else {
            (
                call.tongue.pick("What was found is not enough.", "見つかったことだけでは足りません。"),
                call.tongue.pick("Let us look again, in other words.", "別の言葉でもう一度調べます。"),
            )
        };
        (reason, message.to_owned(), plan(call).into_iter().filter(is_new).collect())
    };
    tasks.truncate(room);
    ManagerDecision { tasks, ..decision(ManagerAction::AssignResearch, reason.to_owned(), message) }
}

/// `T1 [COMPLETED] title | outcome`
fn title(line: &str) -> &str {
    let title = line.split_once("] ").map_or(line, |(_, title)| title);
    title.split(" | ").next().unwrap_or(title)
}

/// `title: description`
fn requested(line: &str) -> Assignment {
    let (title, description) = line.split_once(": ").unwrap_or((line, line));
    Assignment { title: title.trim().to_owned(), description: description.trim().to_owned() }
}

/// An assignment for each question of the objective, or two or three on the whole of it. A later plan has other titles,
/// so that it is none that was done.
fn plan(call: &Call) -> Vec<Assignment> {
    let iteration = number_after(call.view.section("ITERATION").unwrap_or_default(), "").unwrap_or(1);
    let again = if iteration > 1 { format!(" {iteration}") } else { String::new() };
    let separator = call.tongue.pick(" - ", "・");
    let assignment = |kind: &str, about: &str| {
        let words = key_words(about, 8).join(" ");
        let words = if words.is_empty() { about } else { &words };
        let title = format!("{kind}{again}{separator}{words}").chars().take(LONGEST_TITLE).collect();
        Assignment { title, description: about.to_owned() }
    };
    let parts = questions(&call.objective);
    if parts.len() > 1 {
        let kind = call.tongue.pick("Question", "問い");
        return parts.iter().take(MOST_OF_A_PLAN).map(|part| assignment(kind, part)).collect();
    }
    let mut kinds = vec![call.tongue.pick("Facts", "事実"), call.tongue.pick("Figures", "数字")];
    if key_words(&call.objective, 8).len() > 4 {
        kinds.push(call.tongue.pick("Other sources", "別の資料"));
    }
    kinds.into_iter().map(|kind| assignment(kind, &call.objective)).collect()
}

/// The questions that an objective is made of.
fn questions(objective: &str) -> Vec<String> {
    const JOINTS: [&str; 8] =
        [", and what ", ", and how ", ", and which ", ", and why ", ", and on ", " Also ", "また、", "？"];
    let mut parts = vec![objective.to_owned()];
    for joint in JOINTS {
        // The word that opens the next question belongs to it.
        let opens = joint.trim_start_matches(", and ").trim_start();
        parts = parts
            .iter()
            .flat_map(|part| part.split(joint).enumerate())
            .map(|(place, part)| if place == 0 { part.to_owned() } else { format!("{opens}{part}") })
            .collect();
    }
    parts.retain(|part| key_words(part, 2).len() > 1);
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

fn number_after(text: &str, words: &str) -> Option<usize> {
    let (_, rest) = text.split_once(words)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
