//! F010, searching.

use nightforge_domain::contract::Category;

use super::Feature;
use super::step::{APP, PAGES, STORE, TEST, done, edit, run_all_tests, run_test, search, source, write};

pub(super) const FEATURE: Feature = Feature {
    category: Category::Functional,
    description: "A search shows only the cards that contain a text in title or description, in any case.",
    steps: &[
        "Type a part of a title and press Search",
        "See only cards that contain it",
        "Empty the field and see all",
    ],
    attempts: &[&[
        search("I look for everything that shows the board.", "pages.board("),
        write(
            "The test searches by title, by description and with signs such as %.",
            TEST,
            source!("f010/test.py"),
        ),
        edit("It is red: there is no form Search. The store filters.", STORE, source!("f010/store.edit")),
        edit("The board gets the form, with the text in it.", PAGES, source!("f010/pages.edit")),
        edit("The server reads the text from the address.", APP, source!("f010/app.edit")),
        run_test("I run this feature's test."),
        run_all_tests("And all the others."),
        done("Cards can be found.", "Filtering is done in Python: SQL's LIKE knows the case of ASCII only."),
    ]],
};
