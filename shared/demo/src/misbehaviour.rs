//! The ways in which real servers and models fail, on demand.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

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
}

impl Misbehaviour {
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
            _ => answer,
        }
    }
}
