//! F007, counts. On purpose: the session ends itself without a test run, and the gate refuses.

use nightforge_domain::contract::Category;

use super::Feature;
use super::step::{PAGES, TEST, done, edit, read, run_all_tests, run_test, source, write};

pub(super) const FEATURE: Feature = Feature {
    category: Category::Visible,
    description: "Each column shows beside its name how many cards it has.",
    steps: &[
        "Open an empty board and see 0 three times",
        "Add three cards",
        "Move one and see the counts follow",
    ],
    attempts: &[&[
        write("The test counts on an empty board and after a move.", TEST, source!("f007/test.py")),
        read("It is red. The heading of a column is in the pages.", PAGES),
        edit("The count stands beside the name.", PAGES, source!("f007/pages_wrong.edit")),
        done("That was easy.", "Columns show counts."),
        run_test("The gate refused. I run the test myself."),
        edit("Every column counts all cards. It has to count its own.", PAGES, source!("f007/pages.edit")),
        run_all_tests("I check all tests before I say it is done."),
        done("Now each column counts its own cards.", "Counts come from the cards that a column shows."),
    ]],
};
