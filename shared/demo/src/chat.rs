//! `POST /v1/chat/completions`: one request, from its bytes to its answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;

use crate::answer::answer;
use crate::contract_name::ContractName;
use crate::misbehaviour::Misbehaviour;
use crate::protocol::{self, Request};
use crate::question::Question;
use crate::record::{InFlight, Record};
use crate::wire::{self, Completion};

/// What an answer occupies while it is under way. Dropped with the answer's last byte, or when the client
/// goes away.
struct Occupied {
    _in_flight: InFlight,
    _slot: OwnedSemaphorePermit,
}

pub(crate) async fn completions(State(record): State<Arc<Record>>, body: Bytes) -> Response {
    let in_flight = record.enter();
    record.came_in(protocol::as_value(&body));
    let asked = protocol::check(&body).and_then(|request| {
        Question::of(&request).map(|question| (request, question)).map_err(|why| vec![why])
    });
    let (request, question) = match asked {
        Ok(asked) => asked,
        Err(violations) => return refuse(&record, &violations),
    };
    // What is planned is meant for the work, not for the small call before it.
    let misbehaviour = match request.contract {
        ContractName::ModeProbe => None,
        contract => record.next_misbehaviour(contract),
    };
    if let Some(refusal) = misbehaviour.and_then(Misbehaviour::refusal) {
        return refusal;
    }
    let Some(slot) = record.slot().await else {
        return wire::error(StatusCode::SERVICE_UNAVAILABLE, "unavailable_error", "the server is stopping");
    };
    let occupied = Occupied { _in_flight: in_flight, _slot: slot };
    if misbehaviour == Some(Misbehaviour::HangBeforeHeaders) {
        std::future::pending::<()>().await;
    }
    let text = answer(&question);
    let text = match misbehaviour {
        Some(misbehaviour) => misbehaviour.spoil(request.contract, text),
        None => text,
    };
    let completion = complete(&body, &request, text, misbehaviour);
    // The pace is for whoever follows the work; the small call before it is not shown.
    let pace = match request.contract {
        ContractName::ModeProbe => Duration::ZERO,
        _ => record.pace(),
    };
    match (misbehaviour, request.stream) {
        (Some(Misbehaviour::Hang), streamed) => body_of(streamed, hang(occupied)),
        (Some(Misbehaviour::Endless), streamed) => {
            body_of(streamed, endless(&completion, streamed, occupied))
        }
        (Some(Misbehaviour::CutStream), streamed) => {
            let events = if streamed { completion.events() } else { vec![completion.whole().to_string()] };
            body_of(streamed, cut(events, pace, occupied))
        }
        (_, true) => body_of(true, paced(completion.events(), pace, false, occupied)),
        (_, false) => {
            tokio::time::sleep(pace).await;
            Json(completion.whole()).into_response()
        }
    }
}

fn refuse(record: &Record, violations: &[String]) -> Response {
    record.broke(violations);
    let message = format!("the request breaks the protocol: {}", violations.join("; "));
    wire::error(StatusCode::BAD_REQUEST, "invalid_request_error", &message)
}

/// Cuts the text where `max_tokens` ends, as every server does.
fn complete(
    body: &[u8],
    request: &Request,
    mut text: String,
    misbehaviour: Option<Misbehaviour>,
) -> Completion {
    let most_bytes = usize::try_from(request.max_tokens).unwrap_or(usize::MAX).saturating_mul(4);
    let too_long = text.len() > most_bytes;
    if too_long {
        text.truncate(text.floor_char_boundary(most_bytes));
    }
    let truncated = too_long || misbehaviour == Some(Misbehaviour::Truncated);
    Completion {
        id: wire::completion_id(body),
        text,
        finish_reason: if truncated { "length" } else { "stop" },
        prompt_tokens: request.prompt_tokens,
    }
}

fn body_of(streamed: bool, body: Body) -> Response {
    let kind = if streamed { "text/event-stream" } else { "application/json" };
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], body).into_response()
}

/// No byte, for as long as the client waits.
fn hang(occupied: Occupied) -> Body {
    Body::from_stream(stream::unfold(occupied, |occupied| async move {
        std::future::pending::<()>().await;
        Some((Ok::<_, io::Error>(Bytes::new()), occupied))
    }))
}

/// Between two pieces of an answer that never ends.
const ENDLESS_PAUSE: Duration = Duration::from_millis(10);

/// A piece and another one, for as long as the client listens. Not streamed, it is white space before a body.
fn endless(completion: &Completion, is_streamed: bool, occupied: Occupied) -> Body {
    let piece = if is_streamed { completion.piece("and so on ") } else { " ".to_owned() };
    Body::from_stream(stream::unfold((piece, occupied), |(piece, occupied)| async move {
        tokio::time::sleep(ENDLESS_PAUSE).await;
        Some((Ok::<_, io::Error>(Bytes::from(piece.clone())), (piece, occupied)))
    }))
}

/// The first half of the events, then the connection breaks.
fn cut(mut events: Vec<String>, pace: Duration, occupied: Occupied) -> Body {
    if events.len() == 1 {
        let half = events[0].floor_char_boundary(events[0].len() / 2);
        events[0].truncate(half);
    } else {
        events.truncate(events.len() / 2);
    }
    paced(events, pace, true, occupied)
}

/// The events one by one over the length of the pace.
fn paced(events: Vec<String>, pace: Duration, break_off: bool, occupied: Occupied) -> Body {
    let pause = pace / u32::try_from(events.len().max(1)).unwrap_or(u32::MAX);
    let events = events.into_iter();
    Body::from_stream(stream::unfold(
        (events, break_off, occupied),
        move |(mut events, break_off, occupied)| async move {
            // Without a return to the runtime the events would be collected into one write, and those before a
            // break would be lost.
            if pause.is_zero() {
                tokio::task::yield_now().await;
            } else {
                tokio::time::sleep(pause).await;
            }
            match events.next() {
                Some(event) => Some((Ok(Bytes::from(event)), (events, break_off, occupied))),
                None if break_off => {
                    Some((Err(io::Error::other("the answer is cut on purpose")), (events, false, occupied)))
                }
                None => None,
            }
        },
    ))
}
