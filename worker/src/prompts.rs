//! Prompts: text files in `prompts/`, rendered strictly. A variable that a template does not know, or that is not
//! given, is an error.

use std::collections::HashSet;
use std::sync::LazyLock;

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// A prompt of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prompt {
    InitializerSystem,
    InitializerPlan,
    InitializerFeatures,
    InitializerFile,
    InitializerInitScript,
    CoderSystem,
    CoderBearings,
    ManagerSystem,
    ManagerDecide,
    ResearcherQueriesSystem,
    ResearcherQueries,
    ResearcherReportSystem,
    ResearcherReport,
    CriticSystem,
    CriticReview,
    SynthesizerSystem,
    SynthesizerAnswer,
}

impl Prompt {
    pub(crate) const ALL: [Prompt; 17] = [
        Prompt::InitializerSystem,
        Prompt::InitializerPlan,
        Prompt::InitializerFeatures,
        Prompt::InitializerFile,
        Prompt::InitializerInitScript,
        Prompt::CoderSystem,
        Prompt::CoderBearings,
        Prompt::ManagerSystem,
        Prompt::ManagerDecide,
        Prompt::ResearcherQueriesSystem,
        Prompt::ResearcherQueries,
        Prompt::ResearcherReportSystem,
        Prompt::ResearcherReport,
        Prompt::CriticSystem,
        Prompt::CriticReview,
        Prompt::SynthesizerSystem,
        Prompt::SynthesizerAnswer,
    ];

    fn name(self) -> &'static str {
        match self {
            Prompt::InitializerSystem => "initializer/system.md",
            Prompt::InitializerPlan => "initializer/plan.md",
            Prompt::InitializerFeatures => "initializer/features.md",
            Prompt::InitializerFile => "initializer/file.md",
            Prompt::InitializerInitScript => "initializer/init_script.md",
            Prompt::CoderSystem => "coder/system.md",
            Prompt::CoderBearings => "coder/bearings.md",
            Prompt::ManagerSystem => "manager/system.md",
            Prompt::ManagerDecide => "manager/decide.md",
            Prompt::ResearcherQueriesSystem => "researcher/queries_system.md",
            Prompt::ResearcherQueries => "researcher/queries.md",
            Prompt::ResearcherReportSystem => "researcher/report_system.md",
            Prompt::ResearcherReport => "researcher/report.md",
            Prompt::CriticSystem => "critic/system.md",
            Prompt::CriticReview => "critic/review.md",
            Prompt::SynthesizerSystem => "synthesizer/system.md",
            Prompt::SynthesizerAnswer => "synthesizer/answer.md",
        }
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Prompt::InitializerSystem => include_str!("../../prompts/initializer/system.md"),
            Prompt::InitializerPlan => include_str!("../../prompts/initializer/plan.md"),
            Prompt::InitializerFeatures => include_str!("../../prompts/initializer/features.md"),
            Prompt::InitializerFile => include_str!("../../prompts/initializer/file.md"),
            Prompt::InitializerInitScript => include_str!("../../prompts/initializer/init_script.md"),
            Prompt::CoderSystem => include_str!("../../prompts/coder/system.md"),
            Prompt::CoderBearings => include_str!("../../prompts/coder/bearings.md"),
            Prompt::ManagerSystem => include_str!("../../prompts/manager/system.md"),
            Prompt::ManagerDecide => include_str!("../../prompts/manager/decide.md"),
            Prompt::ResearcherQueriesSystem => include_str!("../../prompts/researcher/queries_system.md"),
            Prompt::ResearcherQueries => include_str!("../../prompts/researcher/queries.md"),
            Prompt::ResearcherReportSystem => include_str!("../../prompts/researcher/report_system.md"),
            Prompt::ResearcherReport => include_str!("../../prompts/researcher/report.md"),
            Prompt::CriticSystem => include_str!("../../prompts/critic/system.md"),
            Prompt::CriticReview => include_str!("../../prompts/critic/review.md"),
            Prompt::SynthesizerSystem => include_str!("../../prompts/synthesizer/system.md"),
            Prompt::SynthesizerAnswer => include_str!("../../prompts/synthesizer/answer.md"),
        }
    }

    /// The prompt with its variables filled in.
    ///
    /// # Errors
    /// When a variable is missing, or is none of the template's: a defect of the caller, caught by the snapshot tests.
    pub(crate) fn render(self, variables: impl Serialize) -> anyhow::Result<String> {
        let variables = serde_json::to_value(variables)?;
        let known = self.variables();
        if let Some(unknown) =
            variables.as_object().and_then(|given| given.keys().find(|name| !known.contains(*name)))
        {
            anyhow::bail!("the prompt {} knows no variable `{unknown}`", self.name());
        }
        Ok(ENVIRONMENT.get_template(self.name())?.render(Serde(variables))?)
    }

    /// What the template names.
    pub(crate) fn variables(self) -> HashSet<String> {
        let template = ENVIRONMENT.get_template(self.name()).expect("every prompt was added below");
        template.undeclared_variables(false)
    }
}

/// Identity of a prompt's wording: part of a step's logical inputs, so that an edited prompt is noticed.
pub(crate) fn version(prompts: &[Prompt]) -> String {
    let mut hash = Sha256::new();
    for prompt in prompts {
        hash.update(prompt.text());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    for prompt in Prompt::ALL {
        environment.add_template(prompt.name(), prompt.text()).expect("the prompts are parsed in a test");
    }
    environment
});
