//! The conversation of a session: append-only, but for old results that become one line each when it gets long.

use nightforge_llm::{Message, Role, estimate_tokens};

use super::progress::one_line;

/// At this share of the prompt budget, old results become one line each.
const COMPACT_AT: f64 = 0.75;

/// At this share the session ends.
const FULL_AT: f64 = 0.95;

/// Old results are made short at most so often: each time costs the server its prefix cache.
const MAX_COMPACTIONS: u32 = 2;

/// And only where that frees so much of the prompt budget.
const WORTH_IT: f64 = 0.1;

/// The newest results stay whole; fewer of them where that is not enough.
const WHOLE_RESULTS: [usize; 2] = [5, 2];

/// What was said so far.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    messages: Vec<Message>,
    compactions: u32,
}

impl Conversation {
    /// A conversation that begins with these two, which always stay whole.
    pub(crate) fn new(instructions: String, bearings: String) -> Self {
        Self { messages: vec![Message::system(instructions), Message::user(bearings)], compactions: 0 }
    }

    /// All of it, for the model.
    pub(crate) fn messages(&self) -> Vec<Message> {
        self.messages.clone()
    }

    /// All of it with only the newest result whole, for a server that finds it too long all the same.
    pub(crate) fn shortest(&self) -> Vec<Message> {
        shortened(&self.messages, 1)
    }

    /// Adds a turn.
    pub(crate) fn add(&mut self, answer: String, result: String) {
        self.messages.push(Message::assistant(answer));
        self.messages.push(Message::user(result));
    }

    /// Makes old results short when the budget gets tight; false when that is not enough.
    pub(crate) fn fit(&mut self, budget: u64) -> bool {
        for whole in WHOLE_RESULTS {
            let size = size_of(&self.messages);
            if size <= share(budget, COMPACT_AT) || self.compactions >= MAX_COMPACTIONS {
                break;
            }
            let shortened = shortened(&self.messages, whole);
            if size.saturating_sub(size_of(&shortened)) >= share(budget, WORTH_IT) {
                self.messages = shortened;
                self.compactions += 1;
                break;
            }
        }
        size_of(&self.messages) <= share(budget, FULL_AT)
    }
}

fn share(budget: u64, share: f64) -> u64 {
    (budget as f64 * share) as u64
}

fn size_of(messages: &[Message]) -> u64 {
    messages.iter().map(|message| estimate_tokens(&message.content) + 4).sum()
}

/// The conversation with all but the last `whole` results as one line each. The instructions and the bearings stay.
fn shortened(messages: &[Message], whole: usize) -> Vec<Message> {
    let old = messages.len().saturating_sub(2 * whole);
    let short = |(place, message): (usize, &Message)| {
        let is_old_result = (2..old).contains(&place) && message.role == Role::User;
        if is_old_result && message.content.len() > 200 {
            Message::user(format!("{} [shortened]", one_line(&message.content, 120)))
        } else {
            message.clone()
        }
    };
    messages.iter().enumerate().map(short).collect()
}
