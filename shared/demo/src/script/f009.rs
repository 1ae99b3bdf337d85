//! F009, deleting cards.

use nightforge_domain::contract::Category;

use super::Feature;
use super::step::{APP, PAGES, STORE, TEST, done, edit, run_all_tests, source, write};

pub(super) const FEATURE: Feature = Feature {
    category: Category::Functional,
    description: "A card can be deleted on its page; it leaves the board and its page is not found any more.",
    steps: &["Open a card", "Press Delete card", "See the board without it", "Open its old address"],
    attempts: &[&[
        write("The test deletes one card of two and opens the old address.", TEST, source!("f009/test.py")),
        edit("It is red. The store learns to delete.", STORE, source!("f009/store.edit")),
        edit("The card's page gets the button.", PAGES, source!("f009/pages.edit")),
        edit("The button needs a route.", APP, source!("f009/app_route.edit")),
        edit("After deleting, the board is shown.", APP, source!("f009/app_delete.edit")),
        run_all_tests("I check that all tests pass."),
        done("Cards can be deleted.", "Ids are never used twice, so old addresses stay empty."),
    ]],
};
