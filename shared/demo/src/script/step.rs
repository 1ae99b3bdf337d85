//! The words that the script is written in.

use nightforge_domain::contract::{Action, FinishOutcome};

/// One turn of a session.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) thought: &'static str,
    /// The call is a mistake on purpose; its result begins with `ERROR`.
    pub(crate) may_fail: bool,
    call: Call,
}

#[derive(Debug)]
enum Call {
    Read(Place),
    List(&'static str),
    Search(&'static str),
    Write { place: Place, content: &'static str },
    Edit { place: Place, old_text: &'static str, new_text: &'static str },
    Run(&'static str),
    RunTest,
    RunAllTests,
    Revert(&'static str),
    Finish { outcome: FinishOutcome, note: &'static str },
}

/// Which file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// The feature's own test, as the harness names it.
    Test,
    /// Any other.
    File(&'static str),
}

pub(super) const APP: Place = Place::File("kanban/app.py");
pub(super) const PAGES: Place = Place::File("kanban/pages.py");
pub(super) const STORE: Place = Place::File("kanban/store.py");
pub(super) const TEST: Place = Place::Test;

/// A file below `script/`.
macro_rules! source {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/script/", $path))
    };
}
pub(super) use source;

impl Step {
    const fn new(thought: &'static str, call: Call) -> Self {
        Self { thought, may_fail: false, call }
    }

    /// The action, with the test file that the harness named.
    pub(crate) fn action(&self, test_file: &str) -> Action {
        let path = |place: &Place| match place {
            Place::Test => test_file.to_owned(),
            Place::File(path) => (*path).to_owned(),
        };
        match &self.call {
            Call::Read(place) => Action::ReadFile { path: path(place), start_line: None, line_count: None },
            Call::List(folder) => Action::ListFiles { path: (*folder).to_owned(), glob: None },
            Call::Search(pattern) => Action::SearchText { pattern: (*pattern).to_owned(), path: None },
            Call::Write { place, content } => {
                Action::WriteFile { path: path(place), content: (*content).to_owned() }
            }
            Call::Edit { place, old_text, new_text } => Action::EditFile {
                path: path(place),
                old_text: (*old_text).to_owned(),
                new_text: (*new_text).to_owned(),
            },
            Call::Run(command) => Action::RunCommand { command: (*command).to_owned(), timeout_s: None },
            Call::RunTest => Action::RunTests { file: Some(test_file.to_owned()) },
            Call::RunAllTests => Action::RunTests { file: None },
            Call::Revert(target) => Action::RevertTo { target: (*target).to_owned() },
            Call::Finish { outcome, note } => Action::Finish { outcome: *outcome, note: (*note).to_owned() },
        }
    }
}

pub(super) const fn read(thought: &'static str, place: Place) -> Step {
    Step::new(thought, Call::Read(place))
}

pub(super) const fn list(thought: &'static str, folder: &'static str) -> Step {
    Step::new(thought, Call::List(folder))
}

pub(super) const fn search(thought: &'static str, pattern: &'static str) -> Step {
    Step::new(thought, Call::Search(pattern))
}

pub(super) const fn write(thought: &'static str, place: Place, content: &'static str) -> Step {
    Step::new(thought, Call::Write { place, content })
}

/// `change` is the text of an `.edit` file; one that can't be read as such does not compile.
pub(super) const fn edit(thought: &'static str, place: Place, change: &'static str) -> Step {
    let (old_text, new_text) = split_change(change);
    Step::new(thought, Call::Edit { place, old_text, new_text })
}

/// An edit that the harness refuses.
pub(super) const fn edit_in_vain(thought: &'static str, place: Place, change: &'static str) -> Step {
    let step = edit(thought, place, change);
    Step { may_fail: true, ..step }
}

pub(super) const fn run(thought: &'static str, command: &'static str) -> Step {
    Step::new(thought, Call::Run(command))
}

pub(super) const fn run_test(thought: &'static str) -> Step {
    Step::new(thought, Call::RunTest)
}

pub(super) const fn run_all_tests(thought: &'static str) -> Step {
    Step::new(thought, Call::RunAllTests)
}

pub(super) const fn revert(thought: &'static str, target: &'static str) -> Step {
    Step::new(thought, Call::Revert(target))
}

pub(super) const fn done(thought: &'static str, note: &'static str) -> Step {
    Step::new(thought, Call::Finish { outcome: FinishOutcome::Done, note })
}

pub(super) const fn blocked(thought: &'static str, note: &'static str) -> Step {
    Step::new(thought, Call::Finish { outcome: FinishOutcome::Blocked, note })
}

/// Old and new text of an `.edit` file, both without the line break at their ends.
const fn split_change(change: &'static str) -> (&'static str, &'static str) {
    const OPEN: &str = "<<<<<<< old\n";
    const MIDDLE: &str = "\n=======\n";
    const CLOSE: &str = "\n>>>>>>> new\n";
    assert!(is_at(change, 0, OPEN), "an .edit file begins with `<<<<<<< old`");
    let mut middle = OPEN.len() - 1;
    while !is_at(change, middle, MIDDLE) {
        middle += 1;
    }
    let close = change.len() - CLOSE.len();
    assert!(is_at(change, close, CLOSE), "an .edit file ends with `>>>>>>> new`");
    let (until_middle, rest) = change.split_at(middle);
    let (_, old_text) = until_middle.split_at(OPEN.len());
    let (until_close, _) = rest.split_at(close - middle);
    let (_, new_text) = until_close.split_at(MIDDLE.len());
    (old_text, new_text)
}

/// Whether `part` stands at a place of `text`. Past the end of the text it is an error.
const fn is_at(text: &str, place: usize, part: &str) -> bool {
    assert!(place + part.len() <= text.len(), "an .edit file has the parts old and new");
    let mut offset = 0;
    while offset < part.len() {
        if text.as_bytes()[place + offset] != part.as_bytes()[offset] {
            return false;
        }
        offset += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_split_at_its_marks() {
        assert_eq!(split_change("<<<<<<< old\na\n\nb\n=======\n c\n>>>>>>> new\n"), ("a\n\nb", " c"));
    }
}
