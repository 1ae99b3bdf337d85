//! F004, cards that last. On purpose: the first attempt shares one database connection between threads, does
//! not find a way out and ends blocked; the second one reads the note.

use nightforge_domain::contract::Category;

use super::Feature;
use super::Step;
use super::step::{
    APP, Place, STORE, TEST, blocked, done, edit, read, run, run_all_tests, run_test, source, write,
};

pub(super) const FEATURE: Feature = Feature {
    category: Category::Quality,
    description: "Cards are kept in an SQLite file and are still there after the server was restarted.",
    steps: &["Add two cards", "Stop the server and start it again", "See both cards in the same order"],
    attempts: &[ONE_CONNECTION, ONE_CONNECTION_PER_CALL],
};

const ONE_CONNECTION: &[Step] = &[
    run("I check that SQLite can be used.", "python3 -c 'import sqlite3; print(sqlite3.sqlite_version)'"),
    write("The test restarts the server between two looks at the board.", TEST, source!("f004/test.py")),
    write(
        "It is red: memory is lost. The store opens a database.",
        STORE,
        source!("f004/store_one_connection.py"),
    ),
    edit("The server gives it the path.", APP, source!("f004/app.edit")),
    run_test("I run the test."),
    read("Every request fails inside the store. I look at it again.", STORE),
    blocked(
        "SQLite refuses its connection in another thread, and I do not see how to avoid threads here.",
        "kanban/store.py with one sqlite3 connection fails: the connection is made in the main thread and each          request has its own. Next time: open a connection in every call.",
    ),
];

const ONE_CONNECTION_PER_CALL: &[Step] = &[
    read("The last session left a note. I read it first.", Place::File("progress.txt")),
    write("The test restarts the server between two looks at the board.", TEST, source!("f004/test.py")),
    write("It is red. As the note says: a connection for every call.", STORE, source!("f004/store.py")),
    edit("The server gives the store its path.", APP, source!("f004/app.edit")),
    run_test("I run the test that blocked the last session."),
    run_all_tests("And all the others."),
    done(
        "Cards survive a restart.",
        "The store opens a connection per call, because each request has a thread.",
    ),
];
