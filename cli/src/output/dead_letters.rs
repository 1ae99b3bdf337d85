//! Dead letters, for people and for programs.

use nightforge_api::{DeadLetterView, DeadPage};

use super::table::table;
use super::text::one_line;
use super::{Format, Output};
use crate::exit::Failure;

impl Output {
    /// Dead letters, and in a table what they died of where several died of the same thing.
    pub(crate) fn dead_letters(&self, page: &DeadPage) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.json(page),
            Format::Jsonl => page.letters.iter().try_for_each(|letter| self.json_line(letter)),
            Format::Table if page.letters.is_empty() => self.text("no dead letters"),
            Format::Table => {
                let rows: Vec<Vec<String>> = page.letters.iter().map(row).collect();
                let mut text = table(&["JOB", "KIND", "MODEL", "DIED", "TASK", "REASON"], &rows);
                let mut groups = page.reasons.iter().filter(|group| group.count > 1).peekable();
                if groups.peek().is_some() {
                    let groups: Vec<Vec<String>> = groups
                        .map(|group| vec![group.count.to_string(), one_line(&group.reason, 160)])
                        .collect();
                    text.push('\n');
                    text.push_str(&table(&["COUNT", "REASON"], &groups));
                }
                self.text(&text)
            }
        }
    }
}

fn row(letter: &DeadLetterView) -> Vec<String> {
    let dropped = letter.dropped_by.as_ref().map_or_else(String::new, |by| format!(", dismissed by {by}"));
    vec![
        letter.id.clone(),
        letter.kind.clone(),
        letter.model.clone(),
        letter.died_at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        one_line(&format!("{}{dropped}", letter.task_state), 60),
        one_line(&letter.reason, 100),
    ]
}
