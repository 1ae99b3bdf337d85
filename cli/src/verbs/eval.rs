//! `eval`: lets the team answer a set of questions on an installation of its own, and scores the answers.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use nightforge_api::{LimitChanges, PageRequest, SubmitBody, TaskView};
use nightforge_domain::{AgentModels, Kind, Limits, ModelName, TaskId};
use nightforge_sources::{Category, Question, Questions};
use tokio_util::sync::CancellationToken;

use crate::args::{Eval, EvalResearch, EvalVerb};
use crate::client::{Client, ClientError};
use crate::evaluation::{Report, score, tabled};
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output, note};
use crate::place::Place;
use crate::roles::{Demo, SandboxRule, ServedModel};
use crate::running::{Interface, Plan, Running};
use crate::search::SearchPlan;
use crate::{config, data_folder, signals};

/// A question is small: so many decisions and agent runs are enough for a good team.
const MAX_ITERATIONS: u64 = 4;
const MAX_AGENT_CALLS: u64 = 10;

/// Between two looks at the tasks.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Tasks of one page of the interface, at most.
const PAGE: u32 = 200;

pub(super) async fn run(args: Eval) -> Result<Exit, Failure> {
    let EvalVerb::Research(args) = args.verb;
    research(args).await
}

async fn research(args: EvalResearch) -> Result<Exit, Failure> {
    let output = Output::new(args.output.output);
    let questions = chosen(questions(args.questions.as_deref())?, args.limit);
    let leave = signals::orderly_end()?;
    let data = args.data.clone().map_or_else(|| data_folder::fresh_for("eval"), Ok)?;
    let demo = match args.demo_model {
        true => Some(Demo::start(Duration::ZERO).await?),
        false => None,
    };
    let (models, agents, sandbox) = match &demo {
        Some(demo) => {
            let served = demo.served()?;
            (vec![served.clone()], AgentModels::same(&served.name), SandboxRule::DemoScript)
        }
        None => {
            let mut settings = config::load(&args.settings(data.clone()), None)?;
            let (models, agents) = super::up::models(&mut settings).await?;
            let agents = match &args.model {
                Some(name) => AgentModels::same(&named(name, &models)?),
                None => agents,
            };
            (models, agents, SandboxRule::Required)
        }
    };
    let model = called(&agents);
    let interface = Interface {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        models,
        agents: Some(agents),
        limits: Limits::default(),
    };
    // A folder of its own, whatever database the configuration names: an installation's tasks must not mix with it.
    let plan = Plan::embedded(Place::folder(data), interface, sandbox, SearchPlan::demo());
    let mut running = Running::start(plan).await?;
    let data = running.data().display().to_string();
    note(&format!(
        "{} questions for {model}; every task is in {data}, at {}/api/tasks",
        questions.len(),
        running.url()
    ));
    let evaluation = Evaluation { client: Client::new(&running.url())?, questions, leave: &leave };
    let answered = tokio::select! {
        answered = evaluation.answers() => answered,
        failure = running.broken() => Err(failure),
    };
    let scored = match answered {
        Ok(Some(tasks)) => evaluation.scored(&tasks).await.map(Some),
        Ok(None) => Ok(None),
        Err(failure) => Err(failure),
    };
    let ended = running.end().await;
    if let Some(demo) = demo {
        demo.stop().await;
    }
    let Some(scored) = scored? else {
        note(&format!(
            "ended before every question was answered; go on with: nightforge eval research --data {data}"
        ));
        return Ok(Exit::Partial);
    };
    ended?;
    let report = Report::new(model, data, scored);
    match output.format {
        Format::Table => output.text(&tabled(&report))?,
        Format::Json => output.json(&report)?,
        Format::Jsonl => report.answers.iter().try_for_each(|answer| output.json_line(answer))?,
    }
    Ok(Exit::Done)
}

/// Each model once.
fn called(agents: &AgentModels) -> String {
    agents.for_kind(Kind::Research).models().map(ModelName::as_str).collect::<Vec<_>>().join(", ")
}

fn named(name: &str, models: &[ServedModel]) -> Result<ModelName, Failure> {
    models.iter().map(|model| &model.name).find(|known| known.as_str() == name).cloned().ok_or_else(|| {
        let known: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
        Failure::usage(format!("--model: there is no model `{name}`; known: {}", known.join(", ")))
    })
}

/// The questions of the demo, or of a file in the same form.
fn questions(file: Option<&Path>) -> Result<Vec<Question>, Failure> {
    let set = match file {
        None => Questions::of_demo(),
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|error| {
                Failure::usage(format!("--questions: {} can't be read: {error}", file.display()))
            })?;
            Questions::parse(&text)
        }
    };
    let set = set.map_err(|error| Failure::usage(format!("--questions: {error}")))?;
    if set.questions.is_empty() {
        return Err(Failure::usage("--questions: the set holds no question; write at least one"));
    }
    Ok(set.questions)
}

/// At most `limit` of them, taken from each category in turn, so that a few still try everything.
fn chosen(questions: Vec<Question>, limit: Option<u64>) -> Vec<Question> {
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let mut of: BTreeMap<Category, std::collections::VecDeque<Question>> = BTreeMap::new();
    for question in questions {
        of.entry(question.category).or_default().push_back(question);
    }
    let mut chosen = Vec::new();
    while chosen.len() < limit {
        let round: Vec<Question> =
            of.values_mut().filter_map(std::collections::VecDeque::pop_front).collect();
        if round.is_empty() {
            break;
        }
        chosen.extend(round);
    }
    chosen.truncate(limit);
    chosen
}

struct Evaluation<'a> {
    client: Client,
    questions: Vec<Question>,
    leave: &'a CancellationToken,
}

impl Evaluation<'_> {
    /// Queues what is not there yet and waits for all; `None` when somebody left before.
    async fn answers(&self) -> Result<Option<Vec<TaskView>>, Failure> {
        let mut ids = Vec::with_capacity(self.questions.len());
        for question in &self.questions {
            ids.push(self.queue(question).await?);
        }
        let mut told = None;
        loop {
            let tasks = self.tasks(&ids).await?;
            let over = tasks.iter().filter(|task| task.state.is_final()).count();
            if told != Some(over) {
                note(&format!("{over} of {} questions answered", ids.len()));
                told = Some(over);
            }
            if over == ids.len() {
                return Ok(Some(tasks));
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = self.leave.cancelled() => return Ok(None),
            }
        }
    }

    /// The task of a question: that of an earlier run in the same folder, or a new one.
    async fn queue(&self, question: &Question) -> Result<TaskId, Failure> {
        let limits = LimitChanges::default()
            .with("max_iterations", Some(MAX_ITERATIONS))
            .with("max_agent_calls", Some(MAX_AGENT_CALLS));
        let body = SubmitBody { limits, ..SubmitBody::new(Kind::Research, question.question.clone()) };
        match self.client.submit(&body, Some(&format!("eval-{}", question.id))).await {
            Ok(task) => Ok(task.id),
            Err(ClientError::Refused(problem)) if problem.name() == "idempotency-conflict" => {
                Err(Failure::new(
                    Exit::Conflict,
                    format!(
                        "the data folder holds an evaluation of another model or other questions (question {}); name \
                         another folder with --data",
                        question.id
                    ),
                ))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The tasks as they stand, in the order of the questions.
    async fn tasks(&self, ids: &[TaskId]) -> Result<Vec<TaskView>, Failure> {
        let mut all: BTreeMap<String, TaskView> = BTreeMap::new();
        let mut wanted = PageRequest { limit: PAGE, ..PageRequest::default() };
        loop {
            let page = self.client.tasks(&wanted).await?;
            all.extend(page.tasks.into_iter().map(|task| (task.id.to_string(), task)));
            let Some(next) = page.next else { break };
            wanted.before = Some(next);
        }
        let missing =
            |id: &TaskId| Failure::new(Exit::Failed, format!("task {id} is not in the list of the server"));
        ids.iter().map(|id| all.remove(id.as_str()).ok_or_else(|| missing(id))).collect()
    }

    async fn scored(&self, tasks: &[TaskView]) -> Result<Vec<crate::evaluation::Scored>, Failure> {
        let mut scored = Vec::with_capacity(tasks.len());
        for (question, task) in self.questions.iter().zip(tasks) {
            let result = self.client.result(&task.id).await?;
            scored.push(score(question, task, result.as_ref()));
        }
        Ok(scored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_questions_try_every_category() {
        let all = questions(None).unwrap();
        assert_eq!(all.len(), 40);
        let few = chosen(all.clone(), Some(5));
        let categories: std::collections::BTreeSet<Category> =
            few.iter().map(|question| question.category).collect();
        assert_eq!((few.len(), categories.len()), (5, 5));
        assert_eq!(chosen(all, None).len(), 40);
    }
}
