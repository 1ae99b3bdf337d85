//! F002, adding a card. On purpose: an edit of a text that the file does not have, then the file is read.

use nightforge_domain::contract::Category;

use super::Feature;
use super::step::{
    APP, PAGES, Place, STORE, TEST, done, edit, edit_in_vain, read, run_all_tests, run_test, source, write,
};

pub(super) const FEATURE: Feature = Feature {
    category: Category::Functional,
    description: "A card with a title can be added on the board and then stands last in the column To do.",
    steps: &[
        "Open the board",
        "Type a title and press Add card",
        "See the card in To do",
        "Add two more and see the order",
    ],
    attempts: &[&[
        read("I look at how the tests work before I write one.", Place::File("tests/browser.py")),
        write("The test fills in the form and looks at the columns.", TEST, source!("f002/test.py")),
        write("It is red: there is no form. First a place for the cards.", STORE, source!("f002/store.py")),
        edit("The board shows the form and the cards.", PAGES, source!("f002/pages.edit")),
        edit("The server keeps the store.", APP, source!("f002/app_server.edit")),
        edit("It needs the imports.", APP, source!("f002/app_import.edit")),
        edit_in_vain("Now the form's answer goes into do_POST.", APP, source!("f002/app_post_missed.edit")),
        read("There is no such text. I read the file instead of guessing.", APP),
        edit("There was no do_POST at all. I add it with what it needs.", APP, source!("f002/app_post.edit")),
        run_test("I run this feature's test."),
        run_all_tests("And all the others."),
        done(
            "Cards can be added.",
            "Cards live in kanban/store.py, in memory; forms are answered with a redirect.",
        ),
    ]],
};
