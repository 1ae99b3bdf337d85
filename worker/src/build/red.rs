//! Red: what running a test on a tree without its feature shows.

use super::runner::Ran;

/// The verdict of such a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Red {
    /// As it should.
    Fails,
    /// It proves nothing.
    Passes,
    /// It did not run to its end; that proves nothing either.
    Broken,
}

/// Judges a run over a tree without the feature. Unresolved names and imports count as red; a command that can't be
/// run, or does not end, does not.
pub(crate) fn judge_red(ran: &Ran) -> Red {
    if ran.passed() {
        Red::Passes
    } else if ran.is_broken_runner() || ran.timed_out() {
        Red::Broken
    } else {
        Red::Fails
    }
}

/// Whether a path lies in the folder of a feature's test file: helpers and data of tests. A folder that does not say
/// that it holds tests may hold the program, so there only the test file itself counts.
pub(crate) fn is_test_support(test_file: &str, path: &str) -> bool {
    if path == test_file {
        return true;
    }
    let Some((folder, _)) = test_file.rsplit_once('/') else { return false };
    let says_so = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.contains("test") || name.contains("spec")
    };
    folder.split('/').any(says_so) && is_below(path, folder)
}

/// Whether `path` is `folder`, or lies in it.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    folder == "." || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sandbox::Exit;

    #[test]
    fn how_a_run_ends_decides() {
        let judge = |exit| judge_red(&Ran { exit, output: String::new(), timeout: Duration::ZERO });
        assert_eq!(judge(Exit::Code(0)), Red::Passes);
        assert_eq!(judge(Exit::Code(1)), Red::Fails);
        for broken in [Exit::Code(126), Exit::Code(127), Exit::Signal(9), Exit::TimedOut] {
            assert_eq!(judge(broken), Red::Broken, "{broken:?}");
        }
    }

    #[test]
    fn only_folders_of_tests_hold_test_support() {
        assert!(is_test_support("tests/test_f001.py", "tests/helpers/board.py"));
        assert!(is_test_support("app/__tests__/f001.js", "app/__tests__/setup.js"));
        assert!(!is_test_support("tests/test_f001.py", "tests.py"));
        assert!(!is_test_support("tests/test_f001.py", "app.py"));
        assert!(!is_test_support("src/f001_check.go", "src/main.go"), "the program lies there");
        assert!(is_test_support("src/f001_check.go", "src/f001_check.go"));
        assert!(!is_test_support("test_f001.py", "app.py"));
    }
}
