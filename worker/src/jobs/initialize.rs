//! The Initializer: plan, features in batches, first files, `init.sh`, first commit. Runs once, in the first context
//! only; whether a project is initialised is a row in the database, never the presence of a file.

use std::collections::HashSet;
use std::time::Duration;

use nightforge_domain::build::{Feature, FeatureDraft, Project, feature_list};
use nightforge_domain::contract::{FeatureBatch, FirstFile, InitScript, ProjectPlan};
use nightforge_domain::{CommitId, FeatureId, Initialized};
use nightforge_llm::Message;
use serde_json::json;

use crate::build::{
    FEATURE_LIST, INIT_SCRIPT, InitRun, PROGRESS, Prompt, Runner, Workspace, first_entry, programs, run_twice, version,
};
use crate::engine::{Failure, JobContext, Workshop};
use crate::tools::{Files, ToolError};

/// Features of one answer, so that no answer is cut.
const BATCH: usize = 10;

/// Answers in a row without a new feature before the model is told off as a fault.
const MAX_IDLE_BATCHES: u32 = 3;

/// First files, and refusals of one.
const MAX_FILES: usize = 12;
const MAX_REFUSALS: u32 = 4;

/// Plans whose test command can't be run here, and scripts that fail.
const MAX_PLANS: u32 = 3;
const MAX_SCRIPTS: u32 = 4;

/// Only whether the test command can be started is asked.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

struct Initializer<'a> {
    context: &'a mut JobContext,
    workspace: &'a Workspace,
    runner: &'a Runner,
    objective: String,
    revision: Option<&'a str>,
    programs: String,
}

/// Runs the Initializer.
///
/// # Errors
/// How the execution ended without a result.
pub(super) async fn run(
    workshop: &Workshop,
    context: &mut JobContext,
    revision: Option<&str>,
) -> Result<Initialized, Failure> {
    let workspace = Workspace::open(&workshop.data, &context.claim, &workshop.sandbox).await?;
    let runner = Runner::new(&workshop.sandbox, &workspace).without_repository();
    let objective = context.claim.task.objective.clone();
    let prompts = version(&[
        Prompt::InitializerSystem,
        Prompt::InitializerPlan,
        Prompt::InitializerFeatures,
        Prompt::InitializerFile,
        Prompt::InitializerInitScript,
    ]);
    let programs: String = context
        .step("programs", &(prompts, &objective, revision), async |_| {
            workspace.empty().await?;
            Ok(programs(&runner).await?)
        })
        .await?;
    let mut initializer =
        Initializer { context, workspace: &workspace, runner: &runner, objective, revision, programs };
    let (plan, project) = initializer.plan().await?;
    let drafts = initializer.features(&plan).await?;
    let files = initializer.files(&plan).await?;
    let script = initializer.init_script(&plan, &files).await?;
    let head = initializer.commit(&project, &drafts, &files, &script).await?;
    Ok(Initialized { features: drafts, project, head })
}

impl Initializer<'_> {
    /// Asks until the test command can be started here.
    async fn plan(&mut self) -> Result<(ProjectPlan, Project), Failure> {
        let mut problem: Option<String> = None;
        for round in 1..=MAX_PLANS {
            let question = Prompt::InitializerPlan.render(json!({
                "objective": self.objective,
                "programs": self.programs,
                "revision": self.revision,
                "problem": problem,
            }))?;
            let plan: ProjectPlan = self.ask("plan", &round, question).await?;
            let project = Project {
                name: plan.name.clone(),
                test_command: plan.test_command.clone(),
                test_file_pattern: plan.test_file_pattern.clone(),
                build_command: plan.build_command.clone().filter(|command| !command.trim().is_empty()),
                serve_command: plan.serve_command.clone().filter(|command| !command.trim().is_empty()),
            };
            problem = self.command_problem(&round, &project).await?;
            if problem.is_none() {
                return Ok((plan, project));
            }
        }
        Err(Failure::invalid(format!("no test command that runs here: {}", problem.unwrap_or_default())))
    }

    /// A test file that does not exist must make the test command fail, but not because it can't be started.
    async fn command_problem(&mut self, round: &u32, project: &Project) -> Result<Option<String>, Failure> {
        let (workspace, runner) = (self.workspace, self.runner);
        self.context
            .step("test-command", &(round, project), async |_| {
                workspace.empty().await?;
                let missing = project.test_file(&FeatureId::numbered(999));
                let ran = runner.run(&project.test_command_for([missing.as_str()]), PROBE_TIMEOUT).await?;
                let command = &project.test_command;
                Ok(if ran.is_broken_runner() {
                    Some(format!("`{command}` can't be started: {}", ran.text(PROBE_TIMEOUT)))
                } else if ran.passed() {
                    Some(format!("`{command}` succeeds although its test file does not exist; it must run the files at {{files}} and fail when one fails"))
                } else {
                    None
                })
            })
            .await
    }

    /// Asks for features in batches until there are enough.
    async fn features(&mut self, plan: &ProjectPlan) -> Result<Vec<FeatureDraft>, Failure> {
        let minimum = self.context.claim.task.limits.min_features as usize;
        let (mut drafts, mut known, mut idle): (Vec<FeatureDraft>, HashSet<String>, u32) =
            (Vec::new(), HashSet::new(), 0);
        while drafts.len() < minimum {
            let descriptions: Vec<&str> = drafts.iter().map(|draft| draft.description.as_str()).collect();
            let question = Prompt::InitializerFeatures.render(json!({
                "objective": self.objective,
                "revision": self.revision,
                "plan": plan.thought,
                "features": descriptions,
                "wanted": BATCH.min(minimum - drafts.len()),
                "minimum": minimum,
            }))?;
            let batch: FeatureBatch = self.ask("features", &(drafts.len(), idle), question).await?;
            let before = drafts.len();
            for proposal in batch.features {
                if known.insert(proposal.description.to_lowercase()) {
                    drafts.push(FeatureDraft {
                        category: proposal.category,
                        description: proposal.description.trim().to_owned(),
                        steps: proposal.steps,
                    });
                }
            }
            idle = if drafts.len() == before { idle + 1 } else { 0 };
            if idle >= MAX_IDLE_BATCHES {
                let found = drafts.len();
                return Err(Failure::invalid(format!("only {found} different features, {minimum} are wanted")));
            }
        }
        Ok(drafts)
    }

    /// Asks for the first files, one at a time.
    async fn files(&mut self, plan: &ProjectPlan) -> Result<Vec<(String, String)>, Failure> {
        let (mut files, mut problem, mut refusals): (Vec<(String, String)>, Option<String>, u32) =
            (Vec::new(), None, 0);
        while files.len() < MAX_FILES {
            let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
            let question = Prompt::InitializerFile.render(json!({
                "objective": self.objective,
                "plan": plan.thought,
                "test_file_pattern": plan.test_file_pattern,
                "test_command": plan.test_command,
                "files": paths,
                "problem": problem,
            }))?;
            let file: FirstFile = self.ask("file", &(files.len(), refusals), question).await?;
            let path = file.path.trim_start_matches("./").to_owned();
            problem = self.file_problem(&path, &file.content, &paths).await?;
            if problem.is_none() {
                files.push((path, file.content));
                if !file.more {
                    break;
                }
                continue;
            }
            refusals += 1;
            if refusals >= MAX_REFUSALS {
                return Err(Failure::invalid(format!("the first files were refused: {}", problem.unwrap_or_default())));
            }
        }
        Ok(files)
    }

    async fn file_problem(&self, path: &str, content: &str, known: &[&str]) -> Result<Option<String>, Failure> {
        if [FEATURE_LIST, PROGRESS, INIT_SCRIPT].contains(&path) {
            return Ok(Some(format!("{path} is written by the harness")));
        }
        if known.contains(&path) {
            return Ok(Some(format!("{path} is there already; give another file, or more = false")));
        }
        let (path, content) = (path.to_owned(), content.to_owned());
        let tried = tokio::task::spawn_blocking(move || {
            let folder = tempfile::tempdir().map_err(|error| ToolError::Operator(error.into()))?;
            crate::tools::write_file(&Files::open(folder.path(), Vec::new())?, &path, &content)
        });
        match tried.await.map_err(anyhow::Error::new)? {
            Ok(_) => Ok(None),
            Err(ToolError::ForModel(reason)) => Ok(Some(reason)),
            Err(ToolError::Operator(error)) => Err(Failure::Machine(error)),
        }
    }

    /// Runs `init.sh` twice, and asks again while it fails.
    async fn init_script(
        &mut self,
        plan: &ProjectPlan,
        files: &[(String, String)],
    ) -> Result<String, Failure> {
        let mut script = plan.init_script.clone();
        for round in 1..=MAX_SCRIPTS {
            let (workspace, runner) = (self.workspace, self.runner);
            let ran: InitRun = self
                .context
                .step("init", &(round, &script), async |_| {
                    workspace.empty().await?;
                    write(workspace, files, &script, &[]).await?;
                    Ok(run_twice(runner).await?)
                })
                .await?;
            if ran.ok {
                return Ok(script);
            }
            let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
            let question = Prompt::InitializerInitScript.render(json!({
                "objective": self.objective,
                "plan": plan.thought,
                "files": paths,
                "programs": self.programs,
                "script": script,
                "output": ran.text,
            }))?;
            let answer: InitScript = self.ask("init-script", &round, question).await?;
            script = answer.init_script;
        }
        Err(Failure::invalid("init.sh fails"))
    }

    /// The first commit: the files, the registry with every feature failing, the diary.
    async fn commit(
        &mut self,
        project: &Project,
        drafts: &[FeatureDraft],
        files: &[(String, String)],
        script: &str,
    ) -> Result<CommitId, Failure> {
        let features: Vec<Feature> = (1..)
            .zip(drafts)
            .map(|(place, draft)| Feature::new(FeatureId::numbered(place), draft.clone()))
            .collect();
        let owned = [
            (FEATURE_LIST.to_owned(), feature_list(&features, project, None).text()),
            (PROGRESS.to_owned(), first_entry(&project.name, features.len())),
        ];
        let workspace = self.workspace;
        self.context
            .step("commit", &(project, drafts, files, script), async |context| {
                workspace.empty().await?;
                write(workspace, files, script, &owned).await?;
                let message = format!(
                    "Prepare the project\n\n{} features, none of them built.\n\nTask: {}\n",
                    drafts.len(),
                    context.claim.job.task
                );
                let now = context.store.now().await?;
                Ok(workspace.commit(None, message, now).await?)
            })
            .await
    }

    async fn ask<T>(&mut self, step: &str, inputs: &impl serde::Serialize, question: String) -> Result<T, Failure>
    where
        T: nightforge_domain::contract::Contract + serde::Serialize,
    {
        let messages = vec![Message::system(Prompt::InitializerSystem.render(())?), Message::user(question)];
        self.context.step(step, &(T::NAME, inputs), async |context| context.ask(messages).await).await
    }
}

/// Writes the project's files into an empty workspace.
async fn write(
    workspace: &Workspace,
    files: &[(String, String)],
    script: &str,
    owned: &[(String, String)],
) -> anyhow::Result<()> {
    let folder = workspace.project();
    let mut all: Vec<(String, String)> = files.to_vec();
    all.push((INIT_SCRIPT.to_owned(), script.to_owned()));
    all.extend_from_slice(owned);
    crate::build::blocking(move || {
        let files = Files::open(&folder, Vec::new())?;
        for (path, content) in &all {
            files.write(path, content.as_bytes())?;
        }
        Ok(())
    })
    .await?;
    workspace.own(workspace.project()).await
}
