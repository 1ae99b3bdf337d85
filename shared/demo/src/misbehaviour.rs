//! The ways in which real servers and models fail, on demand.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::contract_name::ContractName;
use crate::wire;

/// One way to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misbehaviour {
    /// 503 with llama.cpp's body while it loads its model.
    Loading,
    /// 429.
    TooManyRequests {
        /// Value of the `Retry-After` header, in seconds.
        retry_after_s: u32,
    },
    /// A complete answer whose text is not JSON.
    BrokenJson,
    /// A complete answer whose text is JSON that does not fit its contract.
    InvalidAction,
    /// The socket is closed in the middle of the answer, without a `finish_reason`.
    CutStream,
    /// Status and headers, then nothing until the client goes away.
    Hang,
    /// Nothing at all until the client goes away.
    HangBeforeHeaders,
    /// Half of the answer, with `finish_reason` `length`.
    Truncated,
    /// 500 with plain text.
    ServerError,
    /// 400 with llama.cpp's body when it can't build a grammar from the schema.
    SchemaRejected,
    /// An answer that never ends: a few characters at a time, for as long as the client listens.
    Endless,
    /// In `ManagerDecision` only: COMPLETE, whatever MENU offers.
    PrematureComplete,
    /// In `ManagerDecision` only: ASSIGN_RESEARCH with the same task every time.
    SameAssignment,
    /// In `ResearchReport` only: BLOCKED, whatever the sources say.
    Blocked,
    /// In `ResearchReport` only: one finding whose citations no search gave, S98 and S99.
    InventedCitations,
    /// In `CriticReview` only: APPROVED together with an issue of severity high.
    ApprovedWithHighIssue,
}

/// A way to fail that waits for the requests that it is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) misbehaviour: Misbehaviour,
    /// Name of the only contract whose requests fail; any when it is missing.
    pub(crate) contract: Option<&'static str>,
}

impl Planned {
    pub(crate) fn is_for(self, contract: ContractName) -> bool {
        let own = self.misbehaviour.contract().is_none_or(|own| own == contract);
        own && self.contract.is_none_or(|name| name == contract.as_str())
    }
}

impl Misbehaviour {
    /// The only contract that knows this way to fail.
    fn contract(self) -> Option<ContractName> {
        match self {
            Misbehaviour::PrematureComplete | Misbehaviour::SameAssignment => {
                Some(ContractName::ManagerDecision)
            }
            Misbehaviour::Blocked | Misbehaviour::InventedCitations => Some(ContractName::ResearchReport),
            Misbehaviour::ApprovedWithHighIssue => Some(ContractName::CriticReview),
            _ => None,
        }
    }

    /// The whole answer, for those that are refused before the model is asked.
    pub(crate) fn refusal(self) -> Option<Response> {
        // Bodies as real servers send them.
        let response = match self {
            Misbehaviour::Loading => {
                wire::error(StatusCode::SERVICE_UNAVAILABLE, "unavailable_error", "Loading model")
            }
            Misbehaviour::TooManyRequests { retry_after_s } => {
                let mut response =
                    wire::error(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", "Too many requests");
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_s));
                response
            }
            Misbehaviour::ServerError => {
                (StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error").into_response()
            }
            Misbehaviour::SchemaRejected => wire::error(
                StatusCode::BAD_REQUEST,
                "invalid_request_error",
                "Failed to initialize samplers: failed to parse grammar",
            ),
            _ => return None,
        };
        Some(response)
    }

    /// What the model says instead of its answer.
    pub(crate) fn spoil(self, contract: ContractName, answer: String) -> String {
        match self {
            Misbehaviour::BrokenJson => "Let me think about that first: {\"thought\": \"I would".to_owned(),
            Misbehaviour::InvalidAction if contract == ContractName::CodingAction => {
                r#"{"thought":"I send the board into space.","action":{"tool":"launch_rocket","target":"moon"}}"#
                    .to_owned()
            }
            Misbehaviour::InvalidAction => r#"{"thought":"This does not fit.","answer":42}"#.to_owned(),
            Misbehaviour::Truncated => {
                let half = answer.floor_char_boundary(answer.len() / 2);
                answer[..half].to_owned()
            }
            Misbehaviour::PrematureComplete
            | Misbehaviour::SameAssignment
            | Misbehaviour::Blocked
            | Misbehaviour::InventedCitations
            | Misbehaviour::ApprovedWithHighIssue => self.in_research(&answer).unwrap_or(answer),
            _ => answer,
        }
    }

    /// An answer that fits its contract's fields and is wrong all the same.
    fn in_research(self, answer: &str) -> Option<String> {
        let wrong = match self {
            Misbehaviour::PrematureComplete => json!({
                "reason": "I know the answer already.",
                "action": "COMPLETE",
                "message": "We are done.",
                "tasks": [],
                "review_focus": null,
            }),
            Misbehaviour::SameAssignment => json!({
                "reason": "One can never look too often.",
                "action": "ASSIGN_RESEARCH",
                "message": "Researcher, look at it again.",
                "tasks": [{"title": "The same assignment", "description": "Look at the objective once more."}],
                "review_focus": null,
            }),
            Misbehaviour::Blocked => json!({
                "summary": "Nothing was found.",
                "findings": [],
                "uncertainties": [],
                "status": "BLOCKED",
                "blocked_reason": "The sources do not answer the assignment.",
            }),
            Misbehaviour::InventedCitations => json!({
                "summary": "It is well known.",
                "findings": [{
                    "title": "Well known",
                    "claim": "Everybody knows that this is so.",
                    "evidence": [
                        {"source_id": "S98", "quote": "Everybody knows that this is so."},
                        {"source_id": "S99", "quote": "It is so, as everybody knows."},
                    ],
                    "confidence": "high",
                }],
                "uncertainties": [],
                "status": "COMPLETED",
                "blocked_reason": null,
            }),
            Misbehaviour::ApprovedWithHighIssue => {
                let mut review: Value = serde_json::from_str(answer).ok()?;
                review["decision"] = json!("APPROVED");
                review["issues"] = json!([{
                    "kind": "MISSING_INFORMATION",
                    "description": "The half of it is missing.",
                    "severity": "high",
                }]);
                review
            }
            _ => return None,
        };
        Some(wrong.to_string())
    }
}
