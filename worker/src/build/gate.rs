//! The gate: decides whether a feature is proven. Run by the harness, not believed from the agent.

use nightforge_domain::build::Project;
use nightforge_domain::{CommitId, Millis};

use super::runner::{Ran, Runner, TEST_TIMEOUT};
use super::staged;
use super::syntax;
use super::toolbox::{Red, Toolbox, judge_red};
use super::workspace::blocking;

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
        if let Some(complaint) = syntax::complaint(tools.runner, &test_file).await? {
            return refused(format!("{test_file} does not parse:\n{complaint}"));
        }
        if let Some(objection) = self.staged().await? {
            return refused(objection);
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
                return refused(format!("`{command}` fails:\n{}", ran.text(TEST_TIMEOUT)));
            }
        }
        self.red(&test_file).await
    }

    async fn staged(&self) -> anyhow::Result<Option<String>> {
        let folder = self.toolbox.workspace.project();
        blocking(move || staged::objection(&folder)).await
    }

    async fn green(&self, test_file: &String) -> anyhow::Result<Option<String>> {
        for run in 1..=GREEN_RUNS {
            let ran = self.toolbox.runner.test(self.toolbox.project, std::slice::from_ref(test_file)).await?;
            if !ran.passed() {
                let which = if run == 1 { "fails" } else { "passed once and then failed; it must pass every time" };
                return Ok(Some(format!("{test_file} {which}:\n{}", ran.text(TEST_TIMEOUT))));
            }
        }
        Ok(None)
    }

    async fn older_tests(&self) -> anyhow::Result<Option<String>> {
        let tools = self.toolbox;
        let failing = failing_tests(tools.runner, tools.project, &tools.passed_tests()).await?;
        Ok(failing.first().map(|(file, ran)| {
            format!("the older test {file} fails now; mend the code, not the test:\n{}", ran.text(TEST_TIMEOUT))
        }))
    }

    /// The test has to fail over the session's start, else over the first commit.
    async fn red(&self, test_file: &str) -> anyhow::Result<Verdict> {
        let tools = self.toolbox;
        let ran = self.run_over(tools.base).await?;
        match judge_red(&ran) {
            Red::Fails => return Ok(Verdict::Proven),
            Red::Broken => {
                return refused(format!("over the session's start, {test_file} does not run to its end:\n{}", ran.text(TEST_TIMEOUT)));
            }
            Red::Passes => {}
        }
        if tools.base != tools.first_commit {
            let ran = self.run_over(tools.first_commit).await?;
            if judge_red(&ran) == Red::Fails {
                return Ok(Verdict::AlreadySatisfied);
            }
        }
        refused(format!("{test_file} also passes without the feature, so it proves nothing. Make it check what is new."))
    }

    /// Runs the test over another commit, together with every test-support file that the session changed, in a
    /// folder of its own that borrows the ignored folders.
    async fn run_over(&self, commit: &CommitId) -> anyhow::Result<Ran> {
        let tools = self.toolbox;
        let test_file = tools.test_file();
        let overlaid: Vec<String> = tools
            .changed_since_base()
            .await?
            .into_iter()
            .filter(|path| *path == test_file || tools.is_test_support(path))
            .collect();
        let (from, over, now) = (self.checkpoint.clone(), commit.clone(), self.now);
        let reference = tools.workspace.side_reference("red");
        let start = tools
            .workspace
            .git(move |repository| Ok(repository.overlay(&over, &from, &overlaid, now, &reference)?))
            .await?;
        let folder = tools.workspace.second("red", &start).await?;
        let (from, to) = (tools.workspace.project(), folder.clone());
        let borrowed = tools
            .workspace
            .git(move |repository| borrow(&repository.ignored_folders(&from)?, &from, &to))
            .await?;
        let runner = tools.runner.in_folder(folder.clone());
        let ran = runner.test(tools.project, &[test_file]).await;
        let back = tools.workspace.project();
        blocking(move || {
            for name in &borrowed {
                std::fs::rename(folder.join(name), back.join(name))?;
            }
            Ok(())
        })
        .await?;
        ran
    }
}

fn refused(reason: String) -> anyhow::Result<Verdict> {
    Ok(Verdict::Refused(reason))
}

/// Moves ignored folders to the second folder for the time of a run; returns what was moved.
fn borrow(names: &[String], from: &std::path::Path, to: &std::path::Path) -> anyhow::Result<Vec<String>> {
    let mut moved = Vec::new();
    for name in names {
        if !to.join(name).exists() {
            std::fs::rename(from.join(name), to.join(name))?;
            moved.push(name.clone());
        }
    }
    Ok(moved)
}

/// A feature's test file that fails, with its run.
pub(crate) type Failing = (String, Ran);

/// The test files that fail. All run at once first; only when that fails does each run by itself.
///
/// # Errors
/// When this machine can't run them.
pub(crate) async fn failing_tests(runner: &Runner, project: &Project, files: &[String]) -> anyhow::Result<Vec<Failing>> {
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
