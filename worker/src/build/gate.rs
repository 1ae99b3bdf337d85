//! The gate: decides whether a feature is proven. Run by the harness, not believed from the agent.

use nightforge_domain::build::Project;
use nightforge_domain::{CommitId, Millis};

use super::burden::Burden;
use super::init_script;
use super::keeping::listed;
use super::progress::INIT_SCRIPT;
use super::red::{Red, is_test_support, judge_red};
use super::runner::{Ran, Runner};
use super::staged;
use super::syntax;
use super::toolbox::Toolbox;
use super::workspace::{blocking, give_back};

/// How often the feature's test has to pass.
const GREEN_RUNS: usize = 2;

/// The gate of one session.
pub(crate) struct Gate<'a> {
    pub(crate) toolbox: &'a Toolbox<'a>,
    /// The files that are judged.
    pub(crate) checkpoint: &'a CommitId,
    /// For the commit that the red run starts from.
    pub(crate) now: Millis,
}

/// What the gate decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Red before, green now, nothing else broken.
    Proven,
    /// Green at the session's start, red over the first commit.
    AlreadySatisfied,
    /// Not proven; the reason is for the agent.
    Refused(String),
}

impl Gate<'_> {
    /// Runs every check, cheapest first, and stops at the first that fails.
    ///
    /// # Errors
    /// When this machine fails.
    pub(crate) async fn judge(&self) -> anyhow::Result<Verdict> {
        let tools = self.toolbox;
        let test_file = tools.test_file();
        if !tools.has_file(&test_file).await? {
            return refused(format!("{test_file} does not exist. Write the test of this feature."));
        }
        if !self.is_recorded_as_it_is(&test_file).await? {
            return refused(format!(
                "{test_file} would not be committed: .gitignore ignores it, or it lies behind a symbolic link. Make it a file of its own in the project."
            ));
        }
        if let Some(complaint) = syntax::complaint(tools.runner, &test_file).await? {
            return refused(format!("{test_file} does not parse:\n{complaint}"));
        }
        if let Some(objection) = self.staged().await? {
            return refused(objection);
        }
        if let Some(reason) = self.init_script().await? {
            return refused(reason);
        }
        if let Some(reason) = self.green(&test_file).await? {
            return refused(reason);
        }
        if let Some(reason) = self.older_tests().await? {
            return refused(reason);
        }
        if let Some(command) = &tools.project.build_command {
            let ran = tools.runner.build(command).await?;
            if !ran.passed() {
                return refused(format!("`{command}` fails:\n{}", ran.text()));
            }
        }
        self.red(&test_file).await
    }

    /// Whether the checkpoint has the very file that runs here. Without that, its run over an older commit would fail
    /// only because it is missing there, and the commit would lack it.
    async fn is_recorded_as_it_is(&self, path: &str) -> anyhow::Result<bool> {
        let name = path.to_owned();
        let Ok(here) = self.toolbox.files(move |files| files.read(&name)).await else { return Ok(false) };
        let (checkpoint, name) = (self.checkpoint.clone(), path.to_owned());
        let recorded =
            self.toolbox.workspace.git(move |repository| Ok(repository.file_at(&checkpoint, &name)?)).await?;
        Ok(recorded.is_some_and(|recorded| recorded == here.as_bytes()))
    }

    async fn staged(&self) -> anyhow::Result<Option<String>> {
        let folder = self.toolbox.workspace.project();
        let burden = blocking(move || Ok(Burden::of(&folder)?)).await?;
        if let Some(path) = burden.nested_repository() {
            return Ok(Some(format!("{path} is a repository inside the repository; remove it")));
        }
        let (base, checkpoint) = (self.toolbox.base.clone(), self.checkpoint.clone());
        self.toolbox.workspace.git(move |repository| staged::objection(repository, &base, &checkpoint)).await
    }

    /// A session that changed `init.sh` must leave one that works.
    async fn init_script(&self) -> anyhow::Result<Option<String>> {
        let tools = self.toolbox;
        if !tools.changed_since(tools.base).await?.iter().any(|path| path == INIT_SCRIPT) {
            return Ok(None);
        }
        let init = init_script::run_once(tools.runner).await?;
        Ok((!init.ok).then(|| format!("{INIT_SCRIPT} fails:\n{}", init.text)))
    }

    async fn green(&self, test_file: &String) -> anyhow::Result<Option<String>> {
        for run in 1..=GREEN_RUNS {
            let ran = self.toolbox.runner.test(self.toolbox.project, std::slice::from_ref(test_file)).await?;
            if !ran.passed() {
                let which =
                    if run == 1 { "fails" } else { "passed once and then failed; it must pass every time" };
                return Ok(Some(format!("{test_file} {which}:\n{}", ran.text())));
            }
        }
        Ok(None)
    }

    async fn older_tests(&self) -> anyhow::Result<Option<String>> {
        let tools = self.toolbox;
        let touched = tools.put_back_owned_files().await?;
        if !touched.is_empty() {
            return Ok(Some(format!(
                "running {} changes files that belong to the harness (they were put back): {}",
                tools.test_file(),
                listed(&touched)
            )));
        }
        let failing = failing_tests(tools.runner, tools.project, &tools.passed_tests()).await?;
        Ok(failing.first().map(|(file, ran)| {
            format!("the older test {file} fails now; mend the code, not the test:\n{}", ran.text())
        }))
    }

    /// The test has to fail over the session's start, else over the first commit.
    async fn red(&self, test_file: &str) -> anyhow::Result<Verdict> {
        let tools = self.toolbox;
        let ran = self.run_over(tools.base).await?;
        match judge_red(&ran) {
            Red::Fails => return Ok(Verdict::Proven),
            Red::Broken => {
                return refused(format!(
                    "over the session's start, {test_file} does not run to its end:\n{}",
                    ran.text()
                ));
            }
            Red::Passes => {}
        }
        if tools.base != tools.first_commit {
            let ran = self.run_over(tools.first_commit).await?;
            if judge_red(&ran) == Red::Fails {
                return Ok(Verdict::AlreadySatisfied);
            }
        }
        refused(format!(
            "{test_file} also passes without the feature, so it proves nothing. Make it check what is new."
        ))
    }

    /// Runs the test over another commit, together with every test-support file that is different now, in a folder of
    /// its own that borrows the ignored folders and is prepared as a fresh clone is.
    async fn run_over(&self, commit: &CommitId) -> anyhow::Result<Ran> {
        let tools = self.toolbox;
        let test_file = tools.test_file();
        let (from, over, now, name) = (self.checkpoint.clone(), commit.clone(), self.now, test_file.clone());
        let reference = tools.workspace.side_reference("red");
        let start = tools
            .workspace
            .git(move |repository| {
                let changes =
                    repository.changed_paths(repository.tree_of(&over)?, repository.tree_of(&from)?)?;
                let paths = changes.into_iter().map(|change| change.path);
                let overlaid: Vec<String> = paths.filter(|path| is_test_support(&name, path)).collect();
                Ok(repository.overlay(&over, &from, &overlaid, now, &reference)?)
            })
            .await?;
        let folder = tools.workspace.second("red", &start).await?;
        let back = tools.workspace.project();
        let lent = tools.workspace.lend(back.clone(), folder.clone()).await?;
        let runner = tools.runner.in_folder(folder.clone());
        let ran = async {
            // Without what it makes (an empty database), the test would fail for another reason than its feature.
            // Whether it works there is not judged: it may be what this session mends.
            init_script::run_once(&runner).await?;
            runner.test(tools.project, &[test_file]).await
        }
        .await;
        blocking(move || give_back(&lent, &folder, &back)).await?;
        ran
    }
}

fn refused(reason: String) -> anyhow::Result<Verdict> {
    Ok(Verdict::Refused(reason))
}

/// A feature's test file that fails, with its run.
pub(crate) type Failing = (String, Ran);

/// The test files that fail. All run at once first; only when that fails does each run by itself.
///
/// # Errors
/// When this machine can't run them.
pub(crate) async fn failing_tests(
    runner: &Runner,
    project: &Project,
    files: &[String],
) -> anyhow::Result<Vec<Failing>> {
    if files.is_empty() || runner.test(project, files).await?.passed() {
        return Ok(Vec::new());
    }
    let mut failing = Vec::new();
    for file in files {
        let ran = runner.test(project, std::slice::from_ref(file)).await?;
        if !ran.passed() {
            failing.push((file.clone(), ran));
        }
    }
    if failing.is_empty() {
        // Each passes alone and all together do not: they disturb each other.
        let ran = runner.test(project, files).await?;
        if !ran.passed() {
            failing.push((files.join(", "), ran));
        }
    }
    Ok(failing)
}
