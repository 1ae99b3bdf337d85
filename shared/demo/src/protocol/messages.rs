//! Roles, order and content of the messages.

use serde_json::{Map, Value};

use crate::contract_name::ContractName;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) content: String,
}

/// The messages that can be read, and what is wrong with them or with the others.
pub(super) fn read(body: &Map<String, Value>, wrong: &mut Vec<String>) -> Vec<Message> {
    let Some(entries) = body.get("messages").and_then(Value::as_array).filter(|entries| !entries.is_empty())
    else {
        wrong.push("`messages` is missing or empty".to_owned());
        return Vec::new();
    };
    let mut messages = Vec::with_capacity(entries.len());
    for (place, entry) in entries.iter().enumerate() {
        match read_one(entry) {
            Ok(message) => messages.push(message),
            Err(why) => wrong.push(format!("messages[{place}]: {why}")),
        }
    }
    if messages.len() == entries.len() {
        check_order(&messages, wrong);
    }
    messages
}

fn read_one(entry: &Value) -> Result<Message, String> {
    let role = match entry.get("role").and_then(Value::as_str) {
        Some("system") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some(other) => return Err(format!("role `{other}` is not system, user or assistant")),
        None => return Err("`role` is missing".to_owned()),
    };
    match entry.get("content").and_then(Value::as_str) {
        Some(content) if !content.trim().is_empty() => Ok(Message { role, content: content.to_owned() }),
        Some(_) => Err("`content` is empty".to_owned()),
        None => Err("`content` is missing or not a string".to_owned()),
    }
}

/// One system message, then user and assistant in turn, the last one from the user: chat templates of many
/// models fail on anything else.
fn check_order(messages: &[Message], wrong: &mut Vec<String>) {
    for (place, message) in messages.iter().enumerate() {
        let expected = match place {
            0 => Role::System,
            odd if odd % 2 == 1 => Role::User,
            _ => Role::Assistant,
        };
        if message.role != expected {
            wrong.push(format!("messages[{place}]: role {:?} where {expected:?} must stand", message.role));
            return;
        }
    }
    if messages.last().is_some_and(|message| message.role != Role::User) {
        wrong.push("the last message is not from the user".to_owned());
    }
}

/// How a client begins the message that tells the model that its answer does not fit.
const REASK: &str = "Your answer was not accepted";

/// Whether this tells the model that its answer was not accepted.
pub(super) fn is_reask(message: &Message) -> bool {
    message.role == Role::User && message.content.starts_with(REASK)
}

pub(super) fn reasks(messages: &[Message]) -> usize {
    messages.iter().filter(|message| is_reask(message)).count()
}

/// The conversation without its re-asks: an answer that does not fit, and the message that says so, are no
/// part of what was done.
///
/// Only a whole JSON object or words in its place may stand there as the answer. Broken JSON must never go
/// back into the history: servers then fail at every later turn.
pub(super) fn without_reasks(
    messages: Vec<Message>,
    contract: ContractName,
    wrong: &mut Vec<String>,
) -> Vec<Message> {
    let mut kept = Vec::with_capacity(messages.len());
    let mut messages = messages.into_iter().enumerate().peekable();
    while let Some((place, message)) = messages.next() {
        let departure = match message.role {
            Role::Assistant => contract.check(&message.content).err(),
            Role::System | Role::User => None,
        };
        let Some(why) = departure else {
            kept.push(message);
            continue;
        };
        let reask = messages.next_if(|(_, next)| is_reask(next));
        let name = contract.as_str();
        if is_broken_json(&message.content) {
            wrong.push(format!("messages[{place}]: broken JSON in an assistant message: {why}"));
        } else if reask.is_none() {
            wrong.push(format!("messages[{place}]: an assistant message that is no valid {name}: {why}"));
        }
    }
    kept
}

fn is_broken_json(text: &str) -> bool {
    text.contains('{') && serde_json::from_str::<Map<String, Value>>(text).is_err()
}
