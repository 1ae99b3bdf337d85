//! A small engine: the real state machine and the real grounding, with the model's answers between them.

use std::collections::VecDeque;

use nightforge_demo::{DemoModel, DemoOptions};
use nightforge_domain::build::{ReportFacts, Spent};
use nightforge_domain::contract::Contract;
use nightforge_domain::contract::research::{
    CriticReview, FinalSynthesis, ManagerDecision, ResearchQueries, ResearchReport,
};
use nightforge_domain::fault::FaultClass;
use nightforge_domain::research::{
    GroundedReport, Research, ResearchResult, Source, SourceId, ground, ground_synthesis, menu,
};
use nightforge_domain::state::{Context, TaskState, next};
use nightforge_domain::{Input, JobResult, JobSpec, Kind, Limits, Millis, TaskId};
use reqwest::Client;
use serde_json::Value;

use super::corpus::{Document, documents, search};
use super::requests;
use crate::client::{ask, assistant, http, user};

/// A task and its model.
pub(crate) struct Team {
    http: Client,
    pub(crate) model: DemoModel,
    objective: String,
    task: TaskId,
    limits: Limits,
    state: TaskState,
    documents: Vec<Document>,
    pub(crate) sources: Vec<Source>,
    /// Every answer, with the contract's name before it.
    pub(crate) answers: Vec<String>,
    restarts: bool,
    pub(crate) result: Option<ResearchResult>,
}

impl Team {
    pub(crate) async fn new(objective: &str) -> Self {
        Self {
            http: http(),
            model: DemoModel::start(DemoOptions::default()).await.unwrap(),
            objective: objective.to_owned(),
            task: "01k0000000000000000000000a".parse().unwrap(),
            limits: Limits::default(),
            state: TaskState::new(Kind::Research, false),
            documents: documents(),
            sources: Vec::new(),
            answers: Vec::new(),
            restarts: false,
            result: None,
        }
    }

    /// With another server for each call.
    pub(crate) fn restarting(mut self) -> Self {
        self.restarts = true;
        self
    }

    pub(crate) fn research(&self) -> &Research {
        self.state.research().unwrap()
    }

    pub(crate) fn phase(&self) -> String {
        self.state.phase()
    }

    /// Until nothing is left to do.
    pub(crate) async fn play(mut self) -> Self {
        let mut inputs = VecDeque::from([Input::Submitted]);
        while let Some(input) = inputs.pop_front() {
            for job in self.step(&input) {
                let input = match self.run(&job.spec).await {
                    Ok(result) => Input::JobDone { job: job.no, result },
                    Err(reason) => Input::JobFailed {
                        job: job.no,
                        class: FaultClass::ModelOutputInvalid,
                        reason,
                        model_ms: 0,
                    },
                };
                inputs.push_back(input);
            }
        }
        self
    }

    fn step(&mut self, input: &Input) -> Vec<nightforge_domain::state::NewJob> {
        let mut facts = ReportFacts::new(&self.task, &self.objective, Millis(0), Spent::default());
        facts.sources = &self.sources;
        let context = Context { limits: &self.limits, now: Millis(0), deadline: None, facts };
        let transition = next(&self.state, input, &context).unwrap();
        if let Some(report) = transition.report {
            self.result = Some(serde_json::from_value(report.result.unwrap()).unwrap());
        }
        self.state = transition.state;
        transition.jobs
    }

    async fn run(&mut self, spec: &JobSpec) -> Result<JobResult, String> {
        let objective = self.objective.clone();
        let working_ms = 1;
        Ok(match spec {
            JobSpec::Manage { .. } => {
                let view =
                    requests::manager(&objective, self.research(), &menu(self.research(), &self.limits));
                JobResult::Decided { decision: self.call::<ManagerDecision>(&view).await?, working_ms }
            }
            JobSpec::Research { subtask, .. } => {
                JobResult::Researched { report: self.assignment(*subtask).await?, working_ms }
            }
            JobSpec::Review { .. } => {
                let view = requests::critic(&objective, self.research());
                let shown = self.research().unreviewed().map(|finding| finding.id.clone()).collect();
                JobResult::Reviewed { review: self.call::<CriticReview>(&view).await?, shown, working_ms }
            }
            JobSpec::Synthesize { .. } => {
                let view = requests::synthesizer(&objective, self.research());
                let answer = self.call::<FinalSynthesis>(&view).await?;
                let synthesis = ground_synthesis(&answer, &self.research().findings, &self.sources);
                JobResult::Synthesized { synthesis, working_ms }
            }
            other => panic!("no job of research: {other:?}"),
        })
    }

    async fn assignment(&mut self, number: u32) -> Result<GroundedReport, String> {
        let objective = self.objective.clone();
        let subtask = self.research().subtask(number).unwrap();
        let (title, description) = (subtask.title.clone(), subtask.description.clone());
        let queries =
            self.call::<ResearchQueries>(&requests::queries(&objective, &title, &description)).await?;
        let mut shown: Vec<SourceId> = Vec::new();
        let known = self.sources.len();
        for query in &queries.queries {
            for hit in search(&self.documents, query) {
                let id = self.source(hit);
                if !shown.contains(&id) {
                    shown.push(id);
                }
            }
        }
        let sources: Vec<Source> = shown
            .iter()
            .map(|id| self.sources.iter().find(|source| source.id == *id).unwrap().clone())
            .collect();
        let view = requests::report(&objective, &title, &description, &sources);
        let report = self.call::<ResearchReport>(&view).await?;
        Ok(GroundedReport {
            status: report.status,
            summary: report.summary,
            findings: report.findings.iter().map(|finding| ground(finding, &self.sources)).collect(),
            uncertainties: report.uncertainties,
            blocked_reason: report.blocked_reason,
            new_sources: u32::try_from(self.sources.len() - known).unwrap(),
        })
    }

    fn source(&mut self, mut hit: Source) -> SourceId {
        if let Some(known) = self.sources.iter().find(|source| source.url == hit.url) {
            return known.id;
        }
        hit.id = SourceId(u32::try_from(self.sources.len()).unwrap() + 1);
        self.sources.push(hit.clone());
        hit.id
    }

    /// One structured call with two re-asks, as clients make it.
    async fn call<C: Contract>(&mut self, view: &str) -> Result<C, String> {
        let mut body = requests::call::<C>(view);
        let mut why = String::new();
        for _ in 0..3 {
            if self.restarts {
                self.model = DemoModel::start(DemoOptions::default()).await.unwrap();
            }
            let text = ask(&self.http, &self.model, &body).await;
            self.answers.push(format!("{} {text}", C::NAME));
            let parsed = serde_json::from_str::<C>(&text).map_err(|error| error.to_string());
            match parsed.and_then(|answer| answer.check().map(|()| answer)) {
                Ok(answer) => return Ok(answer),
                Err(error) => why = error,
            }
            let messages = body["messages"].as_array_mut().unwrap();
            let said = if serde_json::from_str::<Value>(&text).is_ok() {
                text
            } else {
                "(an answer that can't be used)".to_owned()
            };
            messages.extend([
                assistant(&said),
                user(&format!("Your answer was not accepted: {why}.\n\nAnswer again.")),
            ]);
        }
        Err(why)
    }
}
