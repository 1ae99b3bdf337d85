//! From a question to the text of its answer.

use nightforge_domain::contract::{
    Action, CodingAction, FeatureBatch, FinishOutcome, ModeProbe, ProbeAction,
};
use serde::Serialize;

use crate::OBJECTIVE;
use crate::question::{Question, Turn};
use crate::research;
use crate::script::{self, Feature, project};

/// The answer's JSON.
pub(crate) fn answer(question: &Question) -> String {
    match question {
        Question::Plan { objective } => json(&project::plan(objective.trim() == OBJECTIVE)),
        Question::InitScript => json(&project::init_script()),
        Question::Features { so_far, wanted } => json(&batch(*so_far, *wanted)),
        Question::FirstFile(file) => json(file),
        Question::Action(turn) => json(&action(turn)),
        Question::ModeProbe => json(&mode_probe()),
        Question::Research(call) => research::answer(call),
    }
}

fn json(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("contracts hold nothing but text, numbers and lists")
}

fn batch(so_far: usize, wanted: usize) -> FeatureBatch {
    // The contract takes ten at most.
    let features: Vec<_> =
        script::FEATURES.iter().skip(so_far).take(wanted.min(10)).map(Feature::proposal).collect();
    let last = so_far + features.len();
    FeatureBatch {
        thought: format!("Features {} to {last}, each built on those before.", so_far + 1),
        features,
    }
}

fn action(turn: &Turn) -> CodingAction {
    let steps = turn.feature.attempt(turn.attempt);
    let Some(step) = steps.get(turn.position) else {
        return give_up(turn);
    };
    let surprise = turn
        .position
        .checked_sub(1)
        .and_then(|last| steps.get(last))
        .is_some_and(|last| !last.may_fail && turn.last_result.starts_with("ERROR"));
    let thought = if surprise {
        format!(
            "I did not expect this: {}. I go on and look again at the tests. {}",
            said(turn),
            step.thought
        )
    } else {
        step.thought.to_owned()
    };
    CodingAction { thought, action: step.action(&turn.test_file) }
}

/// The script has come to its end and the gate has still refused: the next attempt begins anew.
fn give_up(turn: &Turn) -> CodingAction {
    let note =
        format!("I did all that I know for {}, and it was not accepted: {}", turn.test_file, said(turn));
    CodingAction {
        thought: "I have no further idea for this feature.".to_owned(),
        action: Action::Finish { outcome: FinishOutcome::Blocked, note },
    }
}

/// What a client's start-up probe asks for.
fn mode_probe() -> ModeProbe {
    let action = ProbeAction::ListFiles { path: "docs".to_owned() };
    ModeProbe { thought: "I list the files of the folder.".to_owned(), action }
}

/// The first line of the last result, short enough for a sentence.
fn said(turn: &Turn) -> String {
    turn.last_result.lines().next().unwrap_or_default().chars().take(200).collect()
}
