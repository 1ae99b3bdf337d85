//! F001, the columns. The first session also writes `tests/browser.py`, which all tests use.

use nightforge_domain::contract::Category;

use super::Feature;
use super::step::{APP, PAGES, Place, TEST, done, edit, list, read, run_all_tests, source, write};

pub(super) const FEATURE: Feature = Feature {
    category: Category::Visible,
    description: "The board at / shows the three columns To do, Doing and Done, in this order.",
    steps: &["Open the board", "Read the headings from left to right", "Open an address that does not exist"],
    attempts: &[&[
        list("I look at what is there.", "."),
        read("The server's file is where the pages will be answered.", APP),
        write(
            "The tests shall act as a person does, over HTTP: I write a small browser for them first.",
            Place::File("tests/browser.py"),
            source!("tests/browser.py"),
        ),
        write(
            "Now the test: three headings in order, and a way back from a wrong address.",
            TEST,
            source!("f001/test.py"),
        ),
        write("It is red because every page is 404. I write the pages.", PAGES, source!("f001/pages.py")),
        edit("The server has to know the pages.", APP, source!("f001/app_import.edit")),
        edit("The board goes to /, everything else is not found.", APP, source!("f001/app_get.edit")),
        run_all_tests("I check that all tests pass."),
        done(
            "The columns are there.",
            "Pages are made in kanban/pages.py; tests use BoardTest of tests/browser.py.",
        ),
    ]],
};
