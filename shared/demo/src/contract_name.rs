//! The contracts that the script can answer in, by the names that requests carry.

use nightforge_domain::contract::research::{
    CriticReview, FinalSynthesis, ManagerDecision, ResearchQueries, ResearchReport,
};
use nightforge_domain::contract::{
    CodingAction, Contract, FeatureBatch, FirstFile, InitScript, ModeProbe, ProjectPlan,
};
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContractName {
    ProjectPlan,
    InitScript,
    FeatureBatch,
    FirstFile,
    CodingAction,
    ModeProbe,
    ManagerDecision,
    ResearchQueries,
    ResearchReport,
    CriticReview,
    FinalSynthesis,
}

impl ContractName {
    const ALL: [ContractName; 11] = [
        ContractName::ProjectPlan,
        ContractName::InitScript,
        ContractName::FeatureBatch,
        ContractName::FirstFile,
        ContractName::CodingAction,
        ContractName::ModeProbe,
        ContractName::ManagerDecision,
        ContractName::ResearchQueries,
        ContractName::ResearchReport,
        ContractName::CriticReview,
        ContractName::FinalSynthesis,
    ];

    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|contract| contract.as_str() == name).ok_or_else(|| {
            let known = Self::ALL.map(ContractName::as_str).join(", ");
            format!("unknown contract `{name}`; the script answers in {known}")
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ContractName::ProjectPlan => ProjectPlan::NAME,
            ContractName::InitScript => InitScript::NAME,
            ContractName::FeatureBatch => FeatureBatch::NAME,
            ContractName::FirstFile => FirstFile::NAME,
            ContractName::CodingAction => CodingAction::NAME,
            ContractName::ModeProbe => ModeProbe::NAME,
            ContractName::ManagerDecision => ManagerDecision::NAME,
            ContractName::ResearchQueries => ResearchQueries::NAME,
            ContractName::ResearchReport => ResearchReport::NAME,
            ContractName::CriticReview => CriticReview::NAME,
            ContractName::FinalSynthesis => FinalSynthesis::NAME,
        }
    }

    /// Whether it belongs to the research team, whose calls are a system message and a view each.
    pub(crate) fn is_research(self) -> bool {
        match self {
            ContractName::ManagerDecision
            | ContractName::ResearchQueries
            | ContractName::ResearchReport
            | ContractName::CriticReview
            | ContractName::FinalSynthesis => true,
            ContractName::ProjectPlan
            | ContractName::InitScript
            | ContractName::FeatureBatch
            | ContractName::FirstFile
            | ContractName::CodingAction
            | ContractName::ModeProbe => false,
        }
    }

    /// Says why a text is not an answer in this contract.
    pub(crate) fn check(self, text: &str) -> Result<(), String> {
        match self {
            ContractName::ProjectPlan => check::<ProjectPlan>(text),
            ContractName::InitScript => check::<InitScript>(text),
            ContractName::FeatureBatch => check::<FeatureBatch>(text),
            ContractName::FirstFile => check::<FirstFile>(text),
            ContractName::CodingAction => check::<CodingAction>(text),
            ContractName::ModeProbe => check::<ModeProbe>(text),
            ContractName::ManagerDecision => check::<ManagerDecision>(text),
            ContractName::ResearchQueries => check::<ResearchQueries>(text),
            ContractName::ResearchReport => check::<ResearchReport>(text),
            ContractName::CriticReview => check::<CriticReview>(text),
            ContractName::FinalSynthesis => check::<FinalSynthesis>(text),
        }
    }

    /// The contract's own fields, in the order in which a model has to write them.
    pub(crate) fn fields(self) -> Vec<String> {
        match self {
            ContractName::ProjectPlan => fields::<ProjectPlan>(),
            ContractName::InitScript => fields::<InitScript>(),
            ContractName::FeatureBatch => fields::<FeatureBatch>(),
            ContractName::FirstFile => fields::<FirstFile>(),
            ContractName::CodingAction => fields::<CodingAction>(),
            ContractName::ModeProbe => fields::<ModeProbe>(),
            ContractName::ManagerDecision => fields::<ManagerDecision>(),
            ContractName::ResearchQueries => fields::<ResearchQueries>(),
            ContractName::ResearchReport => fields::<ResearchReport>(),
            ContractName::CriticReview => fields::<CriticReview>(),
            ContractName::FinalSynthesis => fields::<FinalSynthesis>(),
        }
    }
}

fn check<C: Contract>(text: &str) -> Result<(), String> {
    serde_json::from_str::<C>(text).map_err(|error| error.to_string())?.check()
}

fn fields<C: Contract>() -> Vec<String> {
    let schema = schemars::schema_for!(C);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
}
