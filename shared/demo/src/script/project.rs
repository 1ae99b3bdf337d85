//! What the Initializer asks for: the plan and the first files.

use nightforge_domain::contract::{FirstFile, InitScript, ProjectPlan};

use super::step::source;

const INIT_SH: &str = source!("first/init.sh");

/// Reads every source and writes nothing: byte code in the tree would be a change of its own.
const BUILD_COMMAND: &str = "python3 -c \"import ast, pathlib; [ast.parse(p.read_text(encoding='utf-8'), str(p)) \
    for d in ('kanban', 'tests') for p in sorted(pathlib.Path(d).rglob('*.py'))]\"";

/// Path, what it is for, text.
const FIRST_FILES: [(&str, &str, &str); 4] = [
    (".gitignore", "Byte code and databases stay out of the repository.", source!("first/gitignore")),
    ("README.md", "How the board is started and tested.", source!("first/README.md")),
    (
        "tests/__init__.py",
        "Makes the tests a package, so that they can share code.",
        source!("first/tests_init.py"),
    ),
    ("kanban/app.py", "A server that has no pages yet; the features add them.", source!("first/app.py")),
];

pub(crate) fn plan(is_the_objective: bool) -> ProjectPlan {
    let thought = if is_the_objective {
        "Python's standard library has a web server, SQLite and a test runner, so nothing has to be installed."
    } else {
        "I am a script and know one project only, a Kanban board in Python; that is what I build, \
         whatever was asked for."
    };
    ProjectPlan {
        thought: thought.to_owned(),
        name: "kanban-board".to_owned(),
        test_command: "python3 -m unittest {files}".to_owned(),
        test_file_pattern: "tests/test_{id}.py".to_owned(),
        build_command: Some(BUILD_COMMAND.to_owned()),
        serve_command: Some("python3 -m kanban.app".to_owned()),
        init_script: INIT_SH.to_owned(),
    }
}

pub(crate) fn init_script() -> InitScript {
    InitScript {
        thought: "The script only checks that Python 3.9 with sqlite3 is there.".to_owned(),
        init_script: INIT_SH.to_owned(),
    }
}

/// The first file that is not among those written so far.
pub(crate) fn next_file(so_far: &[&str]) -> Option<FirstFile> {
    let mut missing = FIRST_FILES.iter().filter(|(path, ..)| !so_far.iter().any(|written| written == path));
    let (path, thought, content) = missing.next()?;
    Some(FirstFile {
        thought: (*thought).to_owned(),
        path: (*path).to_owned(),
        content: (*content).to_owned(),
        more: missing.next().is_some(),
    })
}
