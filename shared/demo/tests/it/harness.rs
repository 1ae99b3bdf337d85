//! The rules of a coding session, as small as they can be: no git and no sandbox, but the real tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use nightforge_domain::contract::{Action, FinishOutcome, ProjectPlan};
use tempfile::TempDir;

type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// The project's folder between sessions.
pub(crate) struct Project {
    folder: TempDir,
    plan: ProjectPlan,
    /// Test files of the features that passed.
    passed: Vec<String>,
}

/// How a session ended.
#[derive(Debug, PartialEq)]
pub(crate) enum Ended {
    Passed,
    Blocked,
}

/// One session on one feature.
pub(crate) struct Session<'a> {
    project: &'a mut Project,
    test_file: String,
    start: Tree,
    red: bool,
}

impl Project {
    pub(crate) fn new(plan: ProjectPlan) -> Self {
        Self { folder: TempDir::new().unwrap(), plan, passed: Vec::new() }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn shell(&self, command: &str) -> Output {
        shell(self.root(), command)
    }

    pub(crate) fn session(&mut self, feature: &str) -> Session<'_> {
        let test_file = self.plan.test_file_pattern.replace("{id}", &feature.to_lowercase());
        let start = read_tree(self.root());
        Session { project: self, test_file, start, red: false }
    }
}

impl Session<'_> {
    /// Does what the action asks for; the first word of the result says how it went.
    pub(crate) fn apply(&mut self, action: &Action) -> (String, Option<Ended>) {
        let result = match action {
            Action::ReadFile { path, .. } => said(self.read(path).map(|text| format!("OK\n{text}"))),
            Action::ListFiles { .. } => format!("OK\n{:?}", read_tree(self.project.root()).keys()),
            Action::SearchText { pattern, .. } => self.search(pattern),
            Action::WriteFile { path, content } => said(self.write(path, content).map(|()| self.wrote(path))),
            Action::EditFile { path, old_text, new_text } => {
                said(self.edit(path, old_text, new_text).map(|()| self.wrote(path)))
            }
            Action::RunCommand { command, .. } => {
                let output = self.project.shell(command);
                assert!(output.status.success(), "{command}: {output:?}");
                format!("OK\n{}", String::from_utf8(output.stdout).unwrap())
            }
            Action::RunTests { file } => match file {
                Some(file) => self.run_tests(std::slice::from_ref(file)),
                None => self.run_tests(&self.must_pass()),
            },
            Action::RevertTo { target } => self.revert(target),
            Action::Finish { outcome: FinishOutcome::Blocked, note } => {
                write_tree(self.project.root(), &self.start);
                let progress = self.read("progress.txt").unwrap_or_default();
                self.project.write("progress.txt", &format!("{progress}{note}\n"));
                return ("BLOCKED".to_owned(), Some(Ended::Blocked));
            }
            Action::Finish { outcome: FinishOutcome::Done, .. } => match self.gate() {
                Ok(()) => {
                    self.project.passed.push(self.test_file.clone());
                    return ("ACCEPTED".to_owned(), Some(Ended::Passed));
                }
                Err(why) => format!("REFUSED: {why}"),
            },
        };
        (result, None)
    }

    fn read(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(self.project.root().join(path)).map_err(|error| format!("{path}: {error}"))
    }

    fn search(&self, pattern: &str) -> String {
        let tree = read_tree(self.project.root());
        let hits = tree.iter().filter(|(_, text)| String::from_utf8_lossy(text).contains(pattern));
        let hits: Vec<_> = hits.map(|(path, _)| path.display().to_string()).collect();
        assert!(!hits.is_empty(), "the script looks for `{pattern}`, which is nowhere");
        format!("OK\n{}", hits.join("\n"))
    }

    fn may_write(&self, path: &str) -> Result<(), String> {
        if path == "feature_list.json" || path == "progress.txt" {
            return Err(format!("{path} belongs to the harness"));
        }
        if self.project.passed.iter().any(|passed| passed == path) {
            return Err(format!("{path} is the test of a feature that passed"));
        }
        if !self.red && !path.starts_with("tests/") {
            return Err(format!("{path}: the test comes first"));
        }
        Ok(())
    }

    fn write(&mut self, path: &str, content: &str) -> Result<(), String> {
        self.may_write(path)?;
        if self.read(path).is_ok_and(|old| old.lines().count() > 150) || content.lines().count() > 400 {
            return Err(format!("{path} is too long to be written whole"));
        }
        self.project.write(path, content);
        Ok(())
    }

    fn edit(&mut self, path: &str, old_text: &str, new_text: &str) -> Result<(), String> {
        self.may_write(path)?;
        let text = self.read(path)?;
        match text.matches(old_text).count() {
            1 => self.project.write(path, &text.replacen(old_text, new_text, 1)),
            count => return Err(format!("{path}: old_text occurs {count} times")),
        }
        Ok(())
    }

    fn wrote(&mut self, path: &str) -> String {
        if path != self.test_file {
            return "OK".to_owned();
        }
        let (passes, output) = self.tests(self.project.root(), std::slice::from_ref(&self.test_file));
        self.red |= !passes;
        format!("{}: {output}", if passes { "NOT RED" } else { "RED" })
    }

    fn must_pass(&self) -> Vec<String> {
        self.project.passed.iter().chain([&self.test_file]).cloned().collect()
    }

    fn run_tests(&self, files: &[String]) -> String {
        let failing: Vec<_> = files
            .iter()
            .filter(|file| !self.tests(self.project.root(), std::slice::from_ref(*file)).0)
            .map(String::as_str)
            .collect();
        if failing.is_empty() { "PASS".to_owned() } else { format!("FAIL {}", failing.join(" ")) }
    }

    fn tests(&self, folder: &Path, files: &[String]) -> (bool, String) {
        let output = shell(folder, &self.project.plan.test_command.replace("{files}", &files.join(" ")));
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn revert(&self, target: &str) -> String {
        let old = self.start.get(Path::new(target)).expect("only whole files of the start are reverted");
        fs::write(self.project.root().join(target), old).unwrap();
        "OK".to_owned()
    }

    /// Red over the start, green now and twice, nothing else broken or touched, the build passes.
    fn gate(&self) -> Result<(), String> {
        let own = std::slice::from_ref(&self.test_file);
        let now = read_tree(self.project.root());
        let before = TempDir::new().unwrap();
        let tests = now.iter().filter(|(path, _)| path.starts_with("tests"));
        write_tree(before.path(), &self.start);
        write_tree_over(before.path(), tests);
        if self.tests(before.path(), own).0 {
            return Err("the test passes over the start of the session".to_owned());
        }
        for _ in 0..2 {
            let (passes, output) = self.tests(self.project.root(), &self.must_pass());
            if !passes {
                return Err(output);
            }
        }
        for file in &self.project.passed {
            let file = Path::new(file);
            assert_eq!(self.start.get(file), now.get(file), "{} was changed", file.display());
        }
        let build = self.project.shell(self.project.plan.build_command.as_deref().unwrap());
        assert!(build.status.success(), "{build:?}");
        assert_eq!(read_tree(self.project.root()), now, "tests or build wrote into the tree");
        Ok(())
    }
}

fn said(result: Result<String, String>) -> String {
    result.unwrap_or_else(|why| format!("ERROR: {why}"))
}

#[expect(clippy::disallowed_methods, reason = "runs the tests of the project that the script builds")]
fn shell(folder: &Path, command: &str) -> Output {
    std::process::Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", "/usr/bin:/bin")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap()
}

fn read_tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                tree.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    tree
}

/// Makes the folder hold the tree and nothing else.
fn write_tree(root: &Path, tree: &Tree) {
    for path in read_tree(root).keys() {
        fs::remove_file(root.join(path)).unwrap();
    }
    write_tree_over(root, tree);
}

fn write_tree_over<'a>(root: &Path, tree: impl IntoIterator<Item = (&'a PathBuf, &'a Vec<u8>)>) {
    for (path, content) in tree {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}
