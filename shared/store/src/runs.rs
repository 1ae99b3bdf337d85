//! Agent runs of a task, one row a job: what each saw, what it gave, what it cost.

use std::collections::BTreeMap;

use nightforge_domain::{
    Agent, Event, FeatureId, Input, JobNo, JobSpec, JobState, Millis, ModelName, TaskId, Usage,
};
use serde::Serialize;
use serde_json::{Value, json};
use sqlx::Row;

use crate::rows::{json, number};
use crate::{JobRow, Store, StoreError};

/// The journaled step that holds the view of the workspace that an agent was given.
pub const VIEW_STEP: &str = "view";

/// How the names of steps begin that hold a model's answer.
pub const MODEL_STEP: &str = "model";

/// One agent run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The job that it is.
    pub job: JobNo,
    /// Who ran.
    pub agent: Agent,
    /// On what.
    pub subject: Subject,
    /// Where it stands.
    pub state: JobState,
    /// The model that it asked.
    pub model: ModelName,
    /// The view of the workspace that it was given; `None` until that is journaled.
    pub input: Option<Value>,
    /// Its result; of a run without one, the last answer of its model.
    pub output: Option<Value>,
    /// The last fault; `None` when it ended well or nothing has gone wrong.
    pub error: Option<String>,
    /// Executions, the first one included; 0 while nobody has claimed it.
    pub claims: u32,
    /// Answers that were sent back to the model because they did not fit.
    pub reasks: u32,
    /// Model calls, failed ones included.
    pub model_calls: u32,
    /// Tokens of all of them, as far as the server counted them.
    pub usage: Usage,
    /// Time in journaled steps, in milliseconds; of a run that failed before it journaled more, its time in model calls.
    pub duration_ms: i64,
    /// When the job was created.
    pub created_at: Millis,
    /// When it ended, if it has.
    pub finished_at: Option<Millis>,
}

/// What an agent run is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The Manager's iteration.
    Iteration(u32),
    /// A researcher's assignment.
    Subtask(u32),
    /// The Critic's review.
    Review(u32),
    /// The final answer.
    Synthesis,
    /// The feature list of a build.
    FeatureList,
    /// A feature of a build.
    Feature(FeatureId),
    /// The verification of a build.
    Verification,
}

impl Subject {
    fn of(spec: &JobSpec) -> Self {
        match spec {
            JobSpec::Manage { iteration, .. } => Subject::Iteration(*iteration),
            JobSpec::Research { subtask, .. } => Subject::Subtask(*subtask),
            JobSpec::Review { review, .. } => Subject::Review(*review),
            JobSpec::Synthesize { .. } => Subject::Synthesis,
            JobSpec::Initialize { .. } => Subject::FeatureList,
            JobSpec::Code { feature, .. } => Subject::Feature(feature.clone()),
            JobSpec::Verify { .. } => Subject::Verification,
        }
    }
}

/// What is counted of one job.
#[derive(Debug, Default)]
struct Counted {
    claims: u32,
    reasks: u32,
    model_calls: u32,
    usage: Usage,
    step_ms: i64,
    call_ms: i64,
}

type ByJob<T> = BTreeMap<JobNo, T>;

impl Store {
    /// Every agent run of a task, in the order of their jobs. Each part is read by itself, so of a task that is at
    /// work, one part may be newer than another.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn runs(&self, task: &TaskId) -> Result<Vec<Run>, StoreError> {
        let jobs = self.jobs(task).await?;
        let mut counted: ByJob<Counted> = BTreeMap::new();
        self.count_attempts(task, &mut counted).await?;
        self.count_calls(task, &mut counted).await?;
        self.count_steps(task, &mut counted).await?;
        let mut views = self.views(task).await?;
        let mut outputs = self.last_answers(task).await?;
        outputs.extend(self.results(task).await?);
        jobs.into_iter()
            .map(|job| {
                let counted = counted.remove(&job.no).unwrap_or_default();
                run(job, &counted, &mut views, &mut outputs)
            })
            .collect()
    }

    async fn count_attempts(&self, task: &TaskId, counted: &mut ByJob<Counted>) -> Result<(), StoreError> {
        let rows = sqlx::query(
            "SELECT type, data FROM events WHERE task_id = $1 AND type IN ('job-claimed', 'agent-retry')",
        )
        .bind(task.as_str())
        .fetch_all(&self.read)
        .await?;
        for row in &rows {
            let type_name: String = row.try_get("type")?;
            let event = json!({ "type": type_name, "data": json::<Value>(row, "data")? });
            match serde_json::from_value(event).map_err(|e| StoreError::corrupt("data", e))? {
                Event::JobClaimed { job, .. } => counted.entry(job).or_default().claims += 1,
                Event::AgentRetry { job, reasks, .. } => counted.entry(job).or_default().reasks += reasks,
                _ => {}
            }
        }
        Ok(())
    }

    async fn count_calls(&self, task: &TaskId, counted: &mut ByJob<Counted>) -> Result<(), StoreError> {
        // sum() over BIGINT is NUMERIC on PostgreSQL, and null where nothing is known.
        let rows = sqlx::query(
            "SELECT job, count(*) AS calls, CAST(sum(prompt_tokens) AS BIGINT) AS prompt,
                CAST(sum(completion_tokens) AS BIGINT) AS completion, CAST(sum(cached_tokens) AS BIGINT) AS cached,
                CAST(sum(duration_ms) AS BIGINT) AS ms
             FROM ledger WHERE task_id = $1 GROUP BY job",
        )
        .bind(task.as_str())
        .fetch_all(&self.read)
        .await?;
        for row in &rows {
            let tokens = |name: &str| {
                row.try_get::<Option<i64>, _>(name).map(|sum| sum.map(|sum| u64::try_from(sum).unwrap_or(0)))
            };
            let counted = counted.entry(JobNo(number(row, "job")?)).or_default();
            counted.model_calls = number(row, "calls")?;
            counted.usage = Usage {
                prompt_tokens: tokens("prompt")?,
                completion_tokens: tokens("completion")?,
                cached_tokens: tokens("cached")?,
            };
            counted.call_ms = row.try_get("ms")?;
        }
        Ok(())
    }

    async fn count_steps(&self, task: &TaskId, counted: &mut ByJob<Counted>) -> Result<(), StoreError> {
        let rows = sqlx::query(
            "SELECT job, CAST(sum(duration_ms) AS BIGINT) AS ms FROM steps WHERE task_id = $1 GROUP BY job",
        )
        .bind(task.as_str())
        .fetch_all(&self.read)
        .await?;
        for row in &rows {
            counted.entry(JobNo(number(row, "job")?)).or_default().step_ms = row.try_get("ms")?;
        }
        Ok(())
    }

    /// The output of each job's first step with this name.
    async fn views(&self, task: &TaskId) -> Result<ByJob<Value>, StoreError> {
        let rows = sqlx::query(
            "SELECT s.job, s.output FROM steps s
             WHERE s.task_id = $1 AND s.name = $2 AND s.ordinal =
                (SELECT min(v.ordinal) FROM steps v WHERE v.task_id = s.task_id AND v.job = s.job AND v.name = $2)",
        )
        .bind(task.as_str())
        .bind(VIEW_STEP)
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(|row| Ok((JobNo(number(row, "job")?), json(row, "output")?))).collect()
    }

    /// The output of each job's last step that holds a model's answer.
    async fn last_answers(&self, task: &TaskId) -> Result<ByJob<Value>, StoreError> {
        let rows = sqlx::query(
            "SELECT s.job, s.output FROM steps s
             WHERE s.task_id = $1 AND s.name LIKE $2 AND s.ordinal =
                (SELECT max(m.ordinal) FROM steps m
                 WHERE m.task_id = s.task_id AND m.job = s.job AND m.name LIKE $2)",
        )
        .bind(task.as_str())
        .bind(format!("{MODEL_STEP}%"))
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(|row| Ok((JobNo(number(row, "job")?), json(row, "output")?))).collect()
    }

    /// What each job gave to its task.
    async fn results(&self, task: &TaskId) -> Result<ByJob<Value>, StoreError> {
        let rows = sqlx::query("SELECT body FROM inputs WHERE task_id = $1 ORDER BY number")
            .bind(task.as_str())
            .fetch_all(&self.read)
            .await?;
        let mut results = BTreeMap::new();
        for row in &rows {
            if let Input::JobDone { job, result } = json(row, "body")? {
                results.insert(job, json!(result));
            }
        }
        Ok(results)
    }
}

fn run(
    job: JobRow,
    counted: &Counted,
    views: &mut ByJob<Value>,
    outputs: &mut ByJob<Value>,
) -> Result<Run, StoreError> {
    Ok(Run {
        job: job.no,
        agent: job.spec.agent(),
        subject: Subject::of(&job.spec),
        state: job.state,
        model: job.model.parse().map_err(|e| StoreError::corrupt("model", e))?,
        input: views.remove(&job.no),
        output: outputs.remove(&job.no),
        error: job.last_error,
        claims: counted.claims,
        reasks: counted.reasks,
        model_calls: counted.model_calls,
        usage: counted.usage,
        duration_ms: counted.step_ms.max(counted.call_ms),
        created_at: job.created_at,
        finished_at: job.finished_at,
    })
}
