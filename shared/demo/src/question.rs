//! What a request asks the script for. Everything is read from the request; nothing is remembered.

use nightforge_domain::FeatureId;
use nightforge_domain::contract::FirstFile;

use crate::contract_name::ContractName;
use crate::protocol::{Message, Request, Role};
use crate::research::Call;
use crate::script::{self, Feature};

/// One question with all that its answer depends on.
#[derive(Debug)]
pub(crate) enum Question {
    Plan { objective: String },
    InitScript,
    Features { so_far: usize, wanted: usize },
    FirstFile(FirstFile),
    Action(Turn),
    ModeProbe,
    Research(Call),
}

/// A turn of a coding session.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) feature: &'static Feature,
    pub(crate) attempt: usize,
    pub(crate) test_file: String,
    /// Actions that were taken before.
    pub(crate) position: usize,
    /// What the last of them gave.
    pub(crate) last_result: String,
}

impl Question {
    /// Reads the question, or says what the request lacks.
    pub(crate) fn of(request: &Request) -> Result<Self, String> {
        let mut users = request.messages.iter().filter(|message| message.role == Role::User);
        let first = users.next().ok_or("no user message")?;
        let last = users.next_back().unwrap_or(first);
        match request.contract {
            ContractName::CodingAction => turn(request, first, last).map(Question::Action),
            ContractName::ModeProbe => Ok(Question::ModeProbe),
            ContractName::ProjectPlan => objective(first).map(|objective| Question::Plan { objective }),
            ContractName::InitScript => objective(first).map(|_| Question::InitScript),
            ContractName::FeatureBatch => objective(first).and_then(|_| features(last)),
            ContractName::FirstFile => objective(first).and_then(|_| first_file(last)),
            contract @ (ContractName::ManagerDecision
            | ContractName::ResearchQueries
            | ContractName::ResearchReport
            | ContractName::CriticReview
            | ContractName::FinalSynthesis) => {
                Ok(Question::Research(Call::new(contract, &first.content, request.reasks)))
            }
        }
    }
}

fn objective(first: &Message) -> Result<String, String> {
    after_line(&first.content, "OBJECTIVE:")
        .ok_or_else(|| "the first user message has no line `OBJECTIVE:` with a text after it".to_owned())
}

fn features(last: &Message) -> Result<Question, String> {
    let so_far = number(last, "FEATURES SO FAR:")?;
    let wanted = number(last, "FEATURES WANTED:")?;
    let count = script::FEATURES.len();
    if wanted == 0 {
        return Err("FEATURES WANTED is 0; ask for at least one".to_owned());
    }
    if so_far >= count {
        return Err(format!("the script has {count} features, and FEATURES SO FAR is {so_far}"));
    }
    Ok(Question::Features { so_far, wanted })
}

fn first_file(last: &Message) -> Result<Question, String> {
    let line = line(&last.content, "FILES SO FAR:").ok_or_else(|| lacks("last", "FILES SO FAR:"))?;
    let so_far: Vec<&str> = line.split(',').map(str::trim).collect();
    script::project::next_file(&so_far)
        .map(Question::FirstFile)
        .ok_or_else(|| format!("the script has no first file beyond these: {line}"))
}

fn turn(request: &Request, first: &Message, last: &Message) -> Result<Turn, String> {
    let value = |name| line(&first.content, name).ok_or_else(|| lacks("first", name));
    let id: FeatureId = value("FEATURE:")?.parse().map_err(|error| format!("FEATURE: {error}"))?;
    let feature = script::feature(&id).ok_or_else(|| {
        let last = FeatureId::numbered(script::FEATURES.len());
        format!("the script has no feature {id}; it ends at {last}")
    })?;
    let attempt = number(first, "ATTEMPT:")?;
    if attempt == 0 {
        return Err("ATTEMPT is 0; attempts are counted from 1".to_owned());
    }
    let position = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    let test_file = value("TEST FILE:")?.to_owned();
    Ok(Turn { feature, attempt, test_file, position, last_result: last.content.clone() })
}

fn lacks(which: &str, name: &str) -> String {
    format!("the {which} user message has no line `{name} …`")
}

/// The rest of the first line that begins with `name`, unless it is empty.
fn line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).filter(|rest| !rest.is_empty())
}

/// The rest of the text after `name` at the start of a line.
fn after_line(text: &str, name: &str) -> Option<String> {
    let start =
        if text.starts_with(name) { name.len() } else { text.find(&format!("\n{name}"))? + 1 + name.len() };
    Some(text[start..].trim().to_owned()).filter(|rest| !rest.is_empty())
}

/// The first number in the line that begins with `name`.
fn number(message: &Message, name: &str) -> Result<usize, String> {
    let line = line(&message.content, name)
        .ok_or_else(|| format!("a user message lacks the line `{name} <number>`"))?;
    let digits: String =
        line.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| format!("the line `{name} {line}` holds no number"))
}
