//! F008, a page for each card.

use nightforge_domain::contract::Category;

use super::Feature;
use super::step::{APP, PAGES, STORE, TEST, done, edit, read, run_all_tests, run_test, source, write};

pub(super) const FEATURE: Feature = Feature {
    category: Category::Functional,
    description: "A card's title leads to a page where its title and description can be changed and are kept.",
    steps: &[
        "Click a card's title",
        "Change title and description and press Save",
        "See both on the page and the title on the board",
        "Try to save an empty title",
    ],
    attempts: &[&[
        read("I look at what a card is now.", STORE),
        write(
            "The test follows the link, saves, and looks at page and board.",
            TEST,
            source!("f008/test.py"),
        ),
        edit(
            "It is red: titles are no links. Cards get a description.",
            STORE,
            source!("f008/store_card.edit"),
        ),
        edit("Boards that exist get the column too.", STORE, source!("f008/store_table.edit")),
        edit("One card can be read and changed.", STORE, source!("f008/store_change.edit")),
        edit("The title becomes a link to the card's page.", PAGES, source!("f008/pages_link.edit")),
        edit("The page has an address.", APP, source!("f008/app_get.edit")),
        edit("Its form has one as well.", APP, source!("f008/app_post.edit")),
        edit("Saving keeps the rule about empty titles.", APP, source!("f008/app_edit.edit")),
        run_test("I run this feature's test."),
        run_all_tests("And all the others."),
        done(
            "Cards have pages.",
            "pages.card_page shows one card; the store adds the column to older files.",
        ),
    ]],
};
