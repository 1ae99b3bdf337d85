//! From an answer to a valid contract, whatever the server promised: the object or the call, then serde, then
//! the contract's own rules.

use nightforge_domain::contract::Contract;
use serde_json::Value;

use crate::client::Answer;
use crate::conform::first_departure;
use crate::extract::{Extracted, extract};
use crate::native::{Tools, read_call};

/// Why an answer is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// For the model: what was wrong.
    pub(crate) words: String,
    /// The answer, where it is a JSON object. Broken text never goes back: servers then fail later turns.
    pub(crate) json: Option<String>,
    /// Whether it leaves the schema itself, not only the contract's own rules.
    pub(crate) leaves_schema: bool,
    /// The tool that was meant, where it exists.
    pub(crate) tool: Option<String>,
}

/// Reads an answer that is an object of the schema.
pub(crate) fn read_object<T: Contract>(answer: &Answer, schema: &Value) -> Result<T, Fault> {
    let fault = |words, json, leaves_schema| Fault { words, json: Some(json), leaves_schema, tool: None };
    let found = if answer.text.trim().is_empty() && !answer.reasoning.trim().is_empty() {
        only_in_reasoning(&answer.reasoning)
    } else {
        extract(&answer.text).map_err(|error| error.to_string())
    };
    let Extracted { json, value } =
        found.map_err(|words| Fault { words, json: None, leaves_schema: true, tool: None })?;
    // From the text, because a `Value` has already dropped fields that were given twice.
    let contract: T = match serde_json::from_str(&json) {
        Ok(contract) => contract,
        Err(error) => {
            let departure = first_departure(&value, schema);
            let leaves_schema = departure.is_some();
            return Err(fault(departure.unwrap_or_else(|| error.to_string()), json, leaves_schema));
        }
    };
    match contract.check() {
        Ok(()) => Ok(contract),
        Err(words) => Err(fault(words, json, false)),
    }
}

/// Reads an answer that is one tool call. Nothing of an invalid call goes back.
pub(crate) fn read_tool_call<T: Contract>(answer: &Answer, tools: &Tools) -> Result<T, Fault> {
    let fault = |words, tool| Fault { words, json: None, leaves_schema: false, tool };
    let call = read_call(answer, tools).map_err(|not| fault(not.words, not.tool))?;
    let tool = Some(call.tool.clone());
    let contract: T = serde_json::from_value(Tools::contract_object(call))
        .map_err(|error| fault(error.to_string(), tool.clone()))?;
    match contract.check() {
        Ok(()) => Ok(contract),
        Err(words) => Err(fault(words, tool)),
    }
}

/// An answer that a model gave as reasoning alone counts where all of it is the object.
fn only_in_reasoning(reasoning: &str) -> Result<Extracted, String> {
    let json = reasoning.trim().to_owned();
    match serde_json::from_str(&json) {
        Ok(value @ Value::Object(_)) => Ok(Extracted { json, value }),
        _ => Err("the answer was empty".to_owned()),
    }
}
