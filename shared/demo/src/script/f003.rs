//! F003, no empty titles. On purpose: the first test never sends the form, so it passes before the code.

use nightforge_domain::contract::Category;

use super::Feature;
use super::step::{APP, PAGES, TEST, done, edit, read, run_all_tests, source, write};

pub(super) const FEATURE: Feature = Feature {
    category: Category::Functional,
    description: "A card whose title is empty or only spaces is refused with a message, and the board stays in view.",
    steps: &["Press Add card without a title", "Read the message", "See that no card was added"],
    attempts: &[&[
        read("I look at how cards are added now.", APP),
        write("The test says that no card may be there.", TEST, source!("f003/test_not_red.py")),
        edit(
            "It passes without any code: it never sends the form. I let it send empty titles and look for the message.",
            TEST,
            source!("f003/test.edit"),
        ),
        edit("Now it is red. The board gets a place for a message.", PAGES, source!("f003/pages.edit")),
        edit("The message has one text for all places.", APP, source!("f003/app_message.edit")),
        edit("A title is needed.", APP, source!("f003/app.edit")),
        run_all_tests("I check that all tests pass."),
        done(
            "Empty titles are refused.",
            "Messages go to pages.board(cards, error); NO_TITLE is in kanban/app.py.",
        ),
    ]],
};
