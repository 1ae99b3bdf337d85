//! The model as Manager, Researcher, Critic and Synthesizer: what it answers follows from the request alone.
//!
//! For any objective it plans, quotes what its sources say, judges by the levels that code has given, and writes down
//! what the findings carry. For the demo's own objectives `scenario` says what to look at and in which words, and
//! where to slip. Start reading at [`answer`], then one role after the other.

mod critic;
mod findings;
mod manager;
mod rank;
mod researcher;
mod scenario;
mod sources;
mod synthesizer;
mod tongue;
pub(crate) mod view;
mod words;

use nightforge_domain::contract::research::ResearchReport;

use crate::contract_name::ContractName;
use scenario::Scenario;
pub(crate) use scenario::{JAPANESE_OBJECTIVE, RESEARCH_OBJECTIVE};
use tongue::Tongue;
use view::View;

/// One call of an agent, with all that its answer depends on.
#[derive(Debug)]
pub(crate) struct Call {
    contract: ContractName,
    view: View,
    objective: String,
    tongue: Tongue,
    scenario: Option<&'static Scenario>,
    /// Answers of this call that were not accepted.
    reasks: usize,
}

impl Call {
    pub(crate) fn new(contract: ContractName, text: &str, reasks: usize) -> Self {
        let view = View::read(text);
        let objective = view.section("OBJECTIVE").unwrap_or_default().trim().to_owned();
        let tongue = Tongue::of(&view, &objective);
        let scenario = Scenario::of(&objective);
        Self { contract, view, objective, tongue, scenario, reasks }
    }

    /// What the assignment asks for: its title, and all of its words.
    fn assignment(&self) -> (&str, &str) {
        let whole = self.view.section("ASSIGNMENT").unwrap_or_default().trim();
        (whole.lines().next().unwrap_or_default().trim(), whole)
    }
}

/// The text of the answer.
pub(crate) fn answer(call: &Call) -> String {
    if scenario::is_garbled(call) {
        return scenario::GARBLED.to_owned();
    }
    match call.contract {
        ContractName::ManagerDecision => json(&manager::decide(call)),
        ContractName::ResearchQueries => json(&researcher::queries(call)),
        ContractName::CriticReview => json(&critic::review(call)),
        ContractName::FinalSynthesis => json(&synthesizer::synthesize(call)),
        // `ResearchReport`; the contracts of other kinds make no call of this kind.
        _ => json::<ResearchReport>(&researcher::report(call)),
    }
}

fn json<T: serde::Serialize>(answer: &T) -> String {
    serde_json::to_string(answer).expect("contracts hold nothing but text, numbers and lists")
}
