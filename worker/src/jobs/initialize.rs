//! The Initializer: plan, features in batches, first files, `init.sh`, first commit. Runs once, in the first context
//! only; whether a project is initialised is a row in the database, never the presence of a file.

mod checks;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use nightforge_domain::build::{Feature, FeatureDraft, Project, feature_list};
use nightforge_domain::contract::{FeatureBatch, FirstFile, InitScript, ProjectPlan};
use nightforge_domain::{CommitId, FeatureId, Initialized};
use nightforge_llm::Message;
use serde_json::json;

use self::checks::{command_problem, file_problem, normalised, pattern_problem};
use crate::build::{
    FEATURE_LIST, INIT_SCRIPT, InitRun, PROGRESS, Runner, Workspace, first_entry, one_line, programs,
    run_twice,
};
use crate::engine::{Failure, JobContext, Workshop};
use crate::prompts::{Prompt, version};
use crate::tools::Files;

/// Features that are shown when the first files are asked for: they fix names that the files must keep.
const FEATURES_FOR_FILES: usize = 20;

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

/// All features that are shown to the model, in characters: with many, each is shown shorter.
const SHOWN_FEATURES: usize = 16_000;

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
    let files = initializer.files(&plan, &drafts).await?;
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
            let mut plan: ProjectPlan = self.ask("plan", &round, question).await?;
            problem = pattern_problem(&plan.test_file_pattern);
            if problem.is_some() {
                continue;
            }
            plan.test_file_pattern = normalised(&plan.test_file_pattern);
            let project = Project {
                name: plan.name.clone(),
                test_command: plan.test_command.clone(),
                test_file_pattern: plan.test_file_pattern.clone(),
                build_command: given(plan.build_command.as_deref()),
                serve_command: given(plan.serve_command.as_deref()),
            };
            let (workspace, runner) = (self.workspace, self.runner);
            problem = self
                .context
                .step("test-command", &(round, &project), async |_| {
                    workspace.empty().await?;
                    Ok(command_problem(runner, &project).await?)
                })
                .await?;
            if problem.is_none() {
                return Ok((plan, project));
            }
        }
        Err(Failure::invalid(format!("no plan that works here: {}", problem.unwrap_or_default())))
    }

    /// Asks for features in batches until there are enough.
    async fn features(&mut self, plan: &ProjectPlan) -> Result<Vec<FeatureDraft>, Failure> {
        let minimum = self.context.claim.task.limits.min_features as usize;
        let (mut drafts, mut known, mut idle): (Vec<FeatureDraft>, HashSet<String>, u32) =
            (Vec::new(), HashSet::new(), 0);
        while drafts.len() < minimum {
            let each = SHOWN_FEATURES / drafts.len().max(1);
            let descriptions: Vec<String> =
                drafts.iter().map(|draft| one_line(&draft.description, each)).collect();
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
                if known.insert(sameness(&proposal.description)) {
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
                return Err(Failure::invalid(format!(
                    "only {found} different features, {minimum} are wanted"
                )));
            }
        }
        Ok(drafts)
    }

    /// Asks for the first files, one at a time.
    async fn files(
        &mut self,
        plan: &ProjectPlan,
        drafts: &[FeatureDraft],
    ) -> Result<Vec<(String, String)>, Failure> {
        let shown: Vec<String> =
            drafts.iter().take(FEATURES_FOR_FILES).map(|draft| one_line(&draft.description, 160)).collect();
        let (mut files, mut problem, mut refusals): (Vec<(String, String)>, Option<String>, u32) =
            (Vec::new(), None, 0);
        while files.len() < MAX_FILES {
            let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
            let question = Prompt::InitializerFile.render(json!({
                "objective": self.objective,
                "plan": plan.thought,
                "test_file_pattern": plan.test_file_pattern,
                "test_command": plan.test_command,
                "features": shown,
                "more_features": drafts.len() - shown.len(),
                "init_script": plan.init_script,
                "files": paths,
                "problem": problem,
            }))?;
            let file: FirstFile = self.ask("file", &(files.len(), refusals), question).await?;
            match file_problem(&file.path, &file.content, &paths).await? {
                Ok(path) => {
                    problem = None;
                    files.push((path, file.content));
                    if !file.more {
                        break;
                    }
                    continue;
                }
                Err(refusal) => problem = Some(refusal),
            }
            refusals += 1;
            if refusals >= MAX_REFUSALS {
                return Err(Failure::invalid(format!(
                    "the first files were refused: {}",
                    problem.unwrap_or_default()
                )));
            }
        }
        Ok(files)
    }

    /// Runs `init.sh` twice, and asks again while it fails.
    async fn init_script(
        &mut self,
        plan: &ProjectPlan,
        files: &[(String, String)],
    ) -> Result<String, Failure> {
        let mut script = plan.init_script.clone();
        let mut output = String::new();
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
            output = ran.text;
            if round == MAX_SCRIPTS {
                break;
            }
            let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
            let question = Prompt::InitializerInitScript.render(json!({
                "objective": self.objective,
                "plan": plan.thought,
                "files": paths,
                "programs": self.programs,
                "script": script,
                "output": output,
            }))?;
            let answer: InitScript = self.ask("init-script", &round, question).await?;
            script = answer.init_script;
        }
        Err(Failure::invalid(format!("init.sh fails: {output}")))
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

    async fn ask<T>(
        &mut self,
        step: &str,
        inputs: &impl serde::Serialize,
        question: String,
    ) -> Result<T, Failure>
    where
        T: nightforge_domain::contract::Contract + serde::Serialize,
    {
        let messages = vec![Message::system(Prompt::InitializerSystem.render(())?), Message::user(question)];
        self.context.step(step, &(T::NAME, inputs), async |context| context.ask(messages).await).await
    }
}

/// A command, where one is given: small models also write nothing as text.
fn given(command: Option<&str>) -> Option<String> {
    let command = command?.trim();
    let nothing = ["", "null", "none", "n/a"].iter().any(|word| command.eq_ignore_ascii_case(word));
    (!nothing).then(|| command.to_owned())
}

/// Two descriptions that differ in white space, case or the last full stop say the same.
fn sameness(description: &str) -> String {
    let folded = description.split_whitespace().collect::<Vec<_>>().join(" ");
    folded.trim_end_matches('.').to_lowercase()
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
