//! A conversation as a native-mode server expects it.
//!
//! The harness keeps its history as plain messages, the same in both modes, so a session can go on in the
//! other one. Sent as plain texts beside `tools`, that history would teach the model to write its calls as
//! text: small models copy the form of their earlier turns. So an earlier answer goes out as the tool call it
//! was, and the message after it as that call's result. The start-up probe of the mode sends such a history,
//! so a server whose template can't render one is found before any work begins.

use nightforge_domain::contract::Contract;
use serde_json::{Value, json};

use super::Tools;
use crate::request::{Message, Role};

/// The messages with each valid answer of the contract `T` as a call and the message after it as its result.
/// Any other message stays a text. Byte-stable, and what is appended changes nothing before it.
pub(crate) fn with_calls<T: Contract>(messages: &[Message], tools: &Tools) -> Vec<Value> {
    let mut sent = Vec::with_capacity(messages.len());
    let mut calls = 0_u32;
    let mut messages = messages.iter().peekable();
    while let Some(message) = messages.next() {
        let call = match message.role {
            Role::Assistant if is_valid::<T>(&message.content) => tools.call_of(&message.content),
            _ => None,
        };
        // A call without a result is refused by servers.
        let result = messages.next_if(|next| call.is_some() && next.role == Role::User);
        let (Some(call), Some(result)) = (call, result) else {
            sent.push(json!({ "role": message.role, "content": message.content }));
            continue;
        };
        calls += 1;
        // Nine letters and digits: Mistral's templates refuse any other id.
        let id = format!("call{calls:05}");
        let arguments = Value::Object(call.arguments).to_string();
        let function = json!({ "name": call.tool, "arguments": arguments });
        let tool_calls = json!([{ "id": id, "type": "function", "function": function }]);
        // An empty text, not null: templates trim it without a look.
        sent.push(json!({ "role": "assistant", "content": "", "tool_calls": tool_calls }));
        sent.push(json!({ "role": "tool", "tool_call_id": id, "content": result.content }));
    }
    sent
}

fn is_valid<T: Contract>(text: &str) -> bool {
    serde_json::from_str::<T>(text).is_ok_and(|answer| answer.check().is_ok())
}
