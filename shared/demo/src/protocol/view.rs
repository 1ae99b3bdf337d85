//! The view that an agent of the research team gets: its sections, and fences around whatever comes from outside.

use std::collections::BTreeSet;

use super::messages::{Message, Role, is_reask};
use crate::contract_name::ContractName;
use crate::research::view::{FENCE_CLOSES, FENCE_OPENS, View};

/// What chat templates are made of; text from outside has it escaped.
const TEMPLATE_TOKENS: [&str; 14] = [
    "<|",
    "|>",
    "<｜",
    "｜>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<s>",
    "</s>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[TOOL_CALLS]",
    "[AVAILABLE_TOOLS]",
    "[SYSTEM_PROMPT]",
];

/// Who speaks, in the words of templates.
const ROLES: [&str; 5] = ["system", "assistant", "user", "human", "developer"];

/// Checks the messages of one research call: the rules, the view, and re-asks after it.
pub(super) fn check(contract: ContractName, messages: &[Message], wrong: &mut Vec<String>) {
    let Some(message) = messages.iter().find(|message| message.role == Role::User) else {
        return;
    };
    for (place, message) in messages.iter().enumerate().skip(2) {
        if message.role == Role::User && !is_reask(message) {
            wrong.push(format!(
                "messages[{place}]: a research call is a system message and one view, with re-asks after it"
            ));
        }
    }
    let text = message.content.as_str();
    let view = View::read(text);
    for name in needed(contract).iter().filter(|name| !view.has(name)) {
        wrong.push(format!("the view for {} has no section `{name}:` with a text", contract.as_str()));
    }
    let mut seen = BTreeSet::new();
    for name in view.headers().filter(|name| !seen.insert(*name)) {
        wrong.push(format!("the view has the section `{name}:` twice, so nobody knows which one holds"));
    }
    check_tokens(text, wrong);
    check_roles(text, wrong);
    check_fences(text, wrong);
}

fn needed(contract: ContractName) -> &'static [&'static str] {
    match contract {
        ContractName::ManagerDecision => &["OBJECTIVE", "LANGUAGE", "ITERATION", "MENU"],
        ContractName::ResearchQueries | ContractName::ResearchReport => {
            &["OBJECTIVE", "LANGUAGE", "ASSIGNMENT"]
        }
        ContractName::CriticReview => &["OBJECTIVE", "LANGUAGE", "REVIEW THESE"],
        ContractName::FinalSynthesis => &["OBJECTIVE", "LANGUAGE", "FINDINGS"],
        ContractName::ProjectPlan
        | ContractName::InitScript
        | ContractName::FeatureBatch
        | ContractName::FirstFile
        | ContractName::CodingAction
        | ContractName::ModeProbe => &[],
    }
}

fn check_tokens(text: &str, wrong: &mut Vec<String>) {
    for token in TEMPLATE_TOKENS.iter().filter(|token| text.contains(**token)) {
        wrong.push(format!("the view contains `{token}`, which chat templates read as their own; escape it"));
    }
}

/// A line that begins as if somebody else spoke.
fn check_roles(text: &str, wrong: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start().trim_start_matches(['#', '*', ' ']).to_lowercase();
        let role =
            ROLES.iter().find(|role| line.strip_prefix(**role).is_some_and(|rest| rest.starts_with(':')));
        if let Some(role) = role {
            wrong.push(format!(
                "line {} of the view begins with the role tag `{role}:`; escape it",
                number + 1
            ));
        }
    }
}

/// Stands in SOURCES where there is no source.
const NO_SOURCES: &str = "none";

/// A fence that is open.
struct Open<'a> {
    id: &'a str,
    marker: &'a str,
}

/// SOURCES is blocks of a first line and a fence; nowhere else is there a fence, or a line that looks like one.
fn check_fences(text: &str, wrong: &mut Vec<String>) {
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    let mut markers: BTreeSet<&str> = BTreeSet::new();
    let (mut is_sources, mut named, mut open): (bool, Option<&str>, Option<Open<'_>>) = (false, None, None);
    for (place, line) in text.lines().enumerate() {
        let number = place + 1;
        if let Some(fence) = &open {
            if line == format!("{FENCE_CLOSES}{} {}>>", fence.id, fence.marker) {
                open = None;
            } else if line.starts_with(FENCE_OPENS) || line.starts_with(FENCE_CLOSES) {
                wrong.push(format!(
                    "line {number} inside the fence of {} begins like a fence: {line}",
                    fence.id
                ));
            }
            continue;
        }
        if let Some((id, marker)) = opening(line) {
            match named.take() {
                Some(known) if known == id => {}
                Some(known) => {
                    wrong.push(format!("line {number}: the fence is of {id}, the line before names {known}"));
                }
                None if is_sources => {
                    wrong.push(format!("line {number}: no line `{id} | title | date` before the fence"));
                }
                None => wrong.push(format!("line {number}: a fence outside of SOURCES")),
            }
            if !markers.insert(marker) {
                wrong.push(format!("line {number}: the marker of {id} is that of another source too"));
            }
            open = Some(Open { id, marker });
        } else if line.starts_with(FENCE_OPENS) || line.starts_with(FENCE_CLOSES) {
            wrong.push(format!("line {number} begins like a fence and is none: {line}"));
        } else if is_header(line) {
            is_sources = line.starts_with("SOURCES:");
        } else if is_sources && !matches!(line.trim(), "" | NO_SOURCES) {
            match line.split_once(" | ").map(|(id, _)| id).filter(|id| is_source_id(id)) {
                Some(id) if named.is_some() => {
                    wrong.push(format!("line {number}: the source before {id} has no fence"));
                }
                Some(id) => {
                    if !ids.insert(id) {
                        wrong.push(format!("line {number}: the source {id} is listed twice"));
                    }
                    named = Some(id);
                }
                None => wrong.push(format!(
                    "line {number} of SOURCES is neither `S1 | title | date` nor in a fence: {:.80}",
                    line
                )),
            }
        }
    }
    if let Some(fence) = open {
        wrong.push(format!("the fence of {} is never closed", fence.id));
    }
    if let Some(id) = named {
        wrong.push(format!("the source {id} has no fence"));
    }
}

fn opening(line: &str) -> Option<(&str, &str)> {
    let (id, marker) = line.strip_prefix(FENCE_OPENS)?.strip_suffix(">>")?.split_once(' ')?;
    let is_marker = !marker.is_empty() && marker.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_source_id(id) && is_marker).then_some((id, marker))
}

fn is_source_id(text: &str) -> bool {
    text.strip_prefix('S').is_some_and(|digits| digits.parse::<u32>().is_ok_and(|number| number > 0))
}

fn is_header(line: &str) -> bool {
    View::read(line).headers().next().is_some()
}
