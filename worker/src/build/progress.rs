//! Files that the harness owns in the project: the registry's copy, the diary, the preparation script.

use nightforge_domain::SessionOutcome;

/// The registry's copy.
pub(crate) const FEATURE_LIST: &str = "feature_list.json";
/// The diary; entries are only ever appended.
pub(crate) const PROGRESS: &str = "progress.txt";
/// Prepares the project.
pub(crate) const INIT_SCRIPT: &str = "init.sh";

/// The longest note that is kept, in characters.
const NOTE_CHARS: usize = 1_000;

/// The diary's first entry.
pub(crate) fn first_entry(project: &str, features: usize) -> String {
    format!("Initializer: project {project} prepared, {features} features listed, none of them built.\n")
}

/// The entry of a coding session.
pub(crate) fn entry(
    session: u32,
    feature: &str,
    attempt: u32,
    outcome: &SessionOutcome,
    note: &str,
) -> String {
    let verdict = match outcome {
        SessionOutcome::Passed => "passed".to_owned(),
        SessionOutcome::AlreadySatisfied => "already satisfied".to_owned(),
        SessionOutcome::HandedOver => "handed over".to_owned(),
        SessionOutcome::Failed { reason } => format!("failed: {}", one_line(reason, 300)),
    };
    let note = one_line(note, NOTE_CHARS);
    let note = if note.is_empty() { String::new() } else { format!("\n  {note}") };
    format!("Session {session}, {feature}, attempt {attempt}: {verdict}{note}\n")
}

/// Folds white space and keeps the first `chars` characters.
pub(crate) fn one_line(text: &str, chars: usize) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match folded.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &folded[..end]),
        None => folded,
    }
}
