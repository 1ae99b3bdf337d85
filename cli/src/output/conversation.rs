//! The agents' conversation as it comes: a message a line, wrapped to the terminal; tool calls dim below it.

use std::io::{self, IsTerminal};

use nightforge_api::EventView;
use nightforge_domain::Event;
use nightforge_domain::research::{Message, MessageType, Party};
use serde_json::json;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::colour_wanted;
use super::events::told;
use super::text::one_line;

/// The longest message that is shown; all of it is in the workspace.
const MESSAGE_CHARS: usize = 1_200;

/// The longest text about a tool call.
const TOOL_CHARS: usize = 160;

/// Narrower than this, wrapped lines would be unreadable.
const LEAST_COLUMNS: usize = 40;

/// How lines are drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conversation {
    colour: bool,
    /// Columns of the terminal; without one, nothing is wrapped.
    columns: Option<usize>,
}

impl Conversation {
    /// For standard error, as it is now.
    pub(super) fn on_stderr() -> Self {
        let stderr = io::stderr();
        let is_terminal = stderr.is_terminal();
        let size = is_terminal.then(|| rustix::termios::tcgetwinsize(&stderr).ok()).flatten();
        let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns >= LEAST_COLUMNS);
        Self { colour: colour_wanted(is_terminal), columns }
    }

    /// `Manager → Researcher  ASSIGNMENT  …`
    pub(super) fn message(&self, message: &Message) -> String {
        let (from, to) = (party(message.from), party(message.to));
        let kind = kind(message.kind);
        let plain = format!("{from} → {to}  {kind}  ");
        let reason = message.reason.as_deref().filter(|reason| !reason.trim().is_empty());
        let mut text = message.content.clone();
        if let Some(reason) = reason {
            text = format!("{text} ({reason})");
        }
        let text = self.wrapped(&one_line(&text, MESSAGE_CHARS), plain.width());
        let head = format!(
            "{} → {}  {}  ",
            self.paint(from, colour(message.from)),
            self.paint(to, colour(message.to)),
            self.paint(&kind, "1")
        );
        format!("{head}{text}")
    }

    /// What an event of a research task means to somebody who watches. What a message tells is not told twice.
    pub(super) fn event(&self, event: &EventView) -> Option<String> {
        let known: Option<Event> =
            serde_json::from_value(json!({ "type": event.type_name, "data": event.data })).ok();
        let short = |text: &str| one_line(text, TOOL_CHARS);
        match known? {
            Event::ToolCalled { tool, subject, outcome, .. } => {
                Some(self.dim(&format!("  {}  {} → {}", short(&tool), short(&subject), short(&outcome))))
            }
            Event::FindingCreated { finding, title, level, confidence, .. } => Some(self.dim(&format!(
                "  finding {}  {level:?}, {} confidence: {}",
                short(&finding.0),
                confidence.as_str(),
                short(&title)
            ))),
            Event::AgentRetry { agent, reasks, .. } => {
                Some(self.dim(&format!("  {agent}: {reasks} of its answers did not fit and were sent back")))
            }
            Event::LimitReached { limit, reason } => {
                Some(format!("limit {} reached: {}", short(&limit), short(&reason)))
            }
            // The machinery of jobs is in the log; here the team speaks.
            Event::JobClaimed { .. } | Event::AgentFailed { .. } => None,
            _ => told(event),
        }
    }

    fn dim(&self, line: &str) -> String {
        self.paint(&self.wrapped(line, 4), "2")
    }

    fn paint(&self, text: &str, code: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Broken between words at the terminal's edge; further lines are indented by `indent`, or a little where that
    /// leaves no room. The first line begins in column `indent` already.
    fn wrapped(&self, text: &str, indent: usize) -> String {
        let Some(columns) = self.columns else { return text.to_owned() };
        let hanging = if indent + LEAST_COLUMNS / 2 <= columns { indent } else { 4 };
        let mut lines = String::new();
        let mut column = indent;
        for (number, word) in text.split(' ').enumerate() {
            let width = word.width();
            let gap = usize::from(number > 0);
            if column + gap + width <= columns {
                lines.push_str(if gap == 1 { " " } else { "" });
                lines.push_str(word);
                column += gap + width;
                continue;
            }
            if number > 0 {
                lines.push('\n');
                lines.push_str(&" ".repeat(hanging));
                column = hanging;
            }
            // Languages without spaces have words longer than a line.
            for char in word.chars() {
                let width = char.width().unwrap_or(0);
                if column + width > columns {
                    lines.push('\n');
                    lines.push_str(&" ".repeat(hanging));
                    column = hanging;
                }
                lines.push(char);
                column += width;
            }
        }
        lines
    }
}

fn party(party: Party) -> &'static str {
    match party {
        Party::Manager => "Manager",
        Party::Researcher => "Researcher",
        Party::Critic => "Critic",
        Party::System => "System",
        Party::User => "User",
        Party::Team => "Team",
    }
}

fn colour(party: Party) -> &'static str {
    match party {
        Party::Manager => "35",
        Party::Researcher => "36",
        Party::Critic => "33",
        Party::User => "32",
        Party::System | Party::Team => "2",
    }
}

/// As it stands in JSON.
fn kind(kind: MessageType) -> String {
    match serde_json::to_value(kind) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const PLAIN: Conversation = Conversation { colour: false, columns: None };

    fn message(content: &str) -> Message {
        Message {
            number: 1,
            from: Party::Manager,
            to: Party::Researcher,
            kind: MessageType::Assignment,
            content: content.to_owned(),
            reason: None,
            metadata: Value::Null,
        }
    }

    #[test]
    fn a_message_is_one_line_and_steers_nothing() {
        let hostile = "Prices\u{1b}[2J\u{9b}31m\nand\u{202e} more\u{7}";
        let line = PLAIN.message(&message(hostile));
        assert_eq!(line, "Manager → Researcher  ASSIGNMENT  Prices [2J 31m and more");
        let with_reason = Message { reason: Some("the Critic asked".to_owned()), ..message("Prices") };
        assert!(PLAIN.message(&with_reason).ends_with("Prices (the Critic asked)"));
    }

    #[test]
    fn lines_are_wrapped_to_the_terminal_also_without_spaces() {
        let narrow = Conversation { colour: false, columns: Some(60) };
        for text in ["a few words ".repeat(20), "京都の茶道体験の料金を調べてください".repeat(5)]
        {
            let shown = narrow.message(&message(&text));
            assert!(shown.lines().count() > 2, "{shown}");
            assert!(shown.lines().all(|line| line.width() <= 60), "{shown}");
            let joined: String = shown.split_whitespace().collect();
            let words: String = text.split_whitespace().collect();
            assert!(joined.ends_with(&words), "nothing is lost: {shown}");
        }
    }

    #[test]
    fn colour_is_for_terminals() {
        let coloured = Conversation { colour: true, columns: None }.message(&message("Prices"));
        assert!(coloured.starts_with("\u{1b}[35mManager\u{1b}[0m → "), "{coloured:?}");
        assert!(!PLAIN.message(&message("Prices")).contains('\u{1b}'));
    }

    #[test]
    fn a_tool_call_is_told_with_its_outcome() {
        let event = EventView {
            seq: 1,
            type_name: "tool-called".to_owned(),
            at: jiff::Timestamp::UNIX_EPOCH,
            data: json!({"job": 1, "tool": "search", "subject": "pilates\u{1b}[0m nassau", "outcome": "5 hits"}),
        };
        assert_eq!(PLAIN.event(&event).unwrap(), "  search  pilates [0m nassau → 5 hits");
    }
}
