//! F006, moving cards. On purpose: a rewritten `do_POST` loses the check for empty titles; an older test
//! shows it, and the file is reverted.

use nightforge_domain::contract::Category;

use super::Feature;
use super::step::{
    APP, PAGES, STORE, TEST, done, edit, read, revert, run_all_tests, run_test, source, write,
};

pub(super) const FEATURE: Feature = Feature {
    category: Category::Functional,
    description: "A card can be moved to any other column with the form on the card.",
    steps: &["Choose Doing on a card in To do", "Press Move", "See the card in Doing only", "Move it back"],
    attempts: &[&[
        write(
            "The test moves one card through all columns, and one among three.",
            TEST,
            source!("f006/test.py"),
        ),
        edit(
            "It is red: there is no form Move. The store learns to move.",
            STORE,
            source!("f006/store.edit"),
        ),
        edit("Each card shows a form with its column chosen.", PAGES, source!("f006/pages.edit")),
        read("Now the route. I look at do_POST.", APP),
        edit("Routes with a number need re.", APP, source!("f006/app_import.edit")),
        edit("I write do_POST anew with the route.", APP, source!("f006/app_broken.edit")),
        run_test("I run this feature's test."),
        run_all_tests("It passes. And all the others?"),
        revert("My new do_POST lost the check for empty titles. I take the file back.", "kanban/app.py"),
        edit("Once more, the import.", APP, source!("f006/app_import.edit")),
        edit("And the route, with what was there kept as it is.", APP, source!("f006/app.edit")),
        run_all_tests("I check all tests again."),
        done("Cards can be moved.", "Routes with a card's number are matched with re.fullmatch in do_POST."),
    ]],
};
