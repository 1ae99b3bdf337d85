//! The agents' contracts: what a schema can't say.

use nightforge_domain::contract::Contract;
use nightforge_domain::contract::research::{
    CriticReview, FinalSynthesis, ManagerDecision, ResearchQueries, ResearchReport,
};
use serde_json::{Value, json};

/// What the model is told about an answer; empty when it is taken.
fn told<T: Contract>(answer: &Value) -> String {
    match serde_json::from_value::<T>(answer.clone()) {
        Ok(answer) => answer.check().err().unwrap_or_default(),
        Err(error) => error.to_string(),
    }
}

/// An answer with some of its fields replaced.
fn with(base: &Value, changes: &Value) -> Value {
    let mut answer = base.clone();
    for (name, value) in changes.as_object().unwrap() {
        answer[name] = value.clone();
    }
    answer
}

fn check<T: Contract>(base: &Value, table: &[(Value, &str)]) {
    assert_eq!(told::<T>(base), "", "the base is taken");
    for (changes, expected) in table {
        let told = told::<T>(&with(base, changes));
        match *expected {
            "" => assert_eq!(told, "", "{changes}"),
            expected => assert!(told.contains(expected), "{changes}: {told}"),
        }
    }
}

#[test]
fn the_managers_decision() {
    let task = json!({"title": "Prices", "description": "What do tourists pay?"});
    let base = json!({"reason": "r", "action": "ASSIGN_RESEARCH", "message": "m", "tasks": [task], "review_focus": null});
    check::<ManagerDecision>(
        &base,
        &[
            (json!({"tasks": []}), "needs at least one task"),
            (json!({"tasks": vec![task.clone(); 5]}), "at most 4"),
            (json!({"tasks": vec![task.clone(); 4]}), ""),
            (json!({"tasks": [{"title": " ", "description": "x"}]}), "title and a description"),
            (json!({"tasks": [{"title": "t".repeat(500), "description": "d".repeat(9_000)}]}), ""),
            (json!({"action": "COMPLETE", "tasks": []}), ""),
            (json!({"action": "RESEARCH"}), "unknown variant"),
            (json!({"reason": " "}), "reason must not be empty"),
            (json!({"extra": 1}), "unknown field"),
        ],
    );
}

#[test]
fn the_researchers_queries() {
    let base = json!({"thought": "t", "queries": ["pilates nassau prices"]});
    check::<ResearchQueries>(
        &base,
        &[
            (json!({"queries": []}), "at least one query"),
            (json!({"queries": ["a", "b", "c", "d"]}), "at most 3"),
            (json!({"queries": ["a", ""]}), "a query is empty"),
            (json!({"queries": "a"}), "invalid type"),
        ],
    );
}

#[test]
fn the_researchers_report() {
    let quote = json!({"source_id": "S1", "quote": "a class costs $15 for residents"});
    let finding = json!({"title": "t", "claim": "c", "evidence": [quote], "confidence": "high"});
    let base = json!({"summary": "s", "findings": [finding], "uncertainties": [], "status": "COMPLETED", "blocked_reason": null});
    check::<ResearchReport>(
        &base,
        &[
            (json!({"findings": []}), "COMPLETED needs at least one finding"),
            (json!({"findings": [], "status": "BLOCKED"}), "BLOCKED needs a blocked_reason"),
            (
                json!({"findings": [], "status": "BLOCKED", "blocked_reason": " "}),
                "BLOCKED needs a blocked_reason",
            ),
            (json!({"findings": [], "status": "BLOCKED", "blocked_reason": "nothing there"}), ""),
            (json!({"findings": [with(&finding, &json!({"evidence": []}))]}), "has no evidence"),
            (json!({"findings": [with(&finding, &json!({"confidence": "certain"}))]}), "unknown variant"),
            (json!({"findings": [with(&finding, &json!({"claim": ""}))]}), "claim must not be empty"),
        ],
    );
}

#[test]
fn the_critics_review() {
    let issue =
        |severity: &str| json!({"kind": "MISSING_INFORMATION", "description": "d", "severity": severity});
    let request = json!({"title": "t", "description": "d"});
    let base = json!({"summary": "s", "verdicts": [{"finding_id": "F1.1", "note": "n", "verdict": "SUPPORTED"}],
        "issues": [], "requested_research": [], "decision": "APPROVED"});
    check::<CriticReview>(
        &base,
        &[
            (json!({"issues": [issue("high")]}), "APPROVED does not go with a high issue"),
            (json!({"issues": [issue("medium"), issue("low")]}), ""),
            (json!({"decision": "NEEDS_MORE_WORK"}), "must say what is missing"),
            (json!({"decision": "NEEDS_MORE_WORK", "issues": [issue("high")]}), ""),
            (json!({"decision": "NEEDS_MORE_WORK", "requested_research": [request]}), ""),
            (
                json!({"decision": "NEEDS_MORE_WORK", "requested_research": vec![request.clone(); 4]}),
                "at most 3",
            ),
            (
                json!({"verdicts": [{"finding_id": "F1.1", "note": "n", "verdict": "MAYBE"}]}),
                "unknown variant",
            ),
        ],
    );
}

#[test]
fn the_final_answer() {
    let finding = json!({"statement": "s", "source_ids": ["S1"]});
    let base = json!({"summary": "s", "key_findings": [finding], "uncertainties": [], "recommendations": [],
        "conclusion": "c", "confidence": "medium"});
    check::<FinalSynthesis>(
        &base,
        &[
            (json!({"key_findings": []}), "at least one statement"),
            (json!({"key_findings": [{"statement": "s", "source_ids": []}]}), "names no source"),
            (json!({"summary": ""}), "summary must not be empty"),
            (json!({"conclusion": " "}), "conclusion must not be empty"),
        ],
    );
}
