//! Reads one streamed answer to its end. It is complete only with a finish reason.

use std::time::Duration;

use async_openai::error::OpenAIError;
use futures_util::{Stream, StreamExt};
use nightforge_domain::Usage;
use nightforge_domain::fault::FaultClass;
use tokio::time::{Instant, timeout_at};

use crate::client::Answer;
use crate::endpoint::Endpoint;
use crate::error::CallError;
use crate::limits::{Deadlines, Ended};
use crate::wire::{Chunk, ToolCall};

/// After the finish reason only the usage is awaited, and not for long.
const USAGE_WAIT: Duration = Duration::from_secs(5);
/// No model's answer is this long; a server that sends more is broken.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Reads the stream; `on_delta` hears each piece of the text as it comes, not of the reasoning.
pub(crate) async fn read<S>(
    endpoint: &Endpoint,
    mut stream: S,
    deadlines: &Deadlines,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<Answer, CallError>
where
    S: Stream<Item = Result<Chunk, OpenAIError>> + Unpin,
{
    let mut so_far = SoFar::default();
    let mut last_piece = None;
    loop {
        let (at, ended) = match so_far.finish_reason {
            None => deadlines.next(last_piece),
            Some(_) => (Instant::now() + USAGE_WAIT, Ended::Idle),
        };
        let chunk = match timeout_at(at, stream.next()).await {
            // The answer is whole: nothing that happens now can spoil it.
            Ok(None | Some(Err(_))) | Err(_) if so_far.finish_reason.is_some() => break,
            Ok(None) => break,
            Err(_) => {
                // A model that writes and writes is its own fault; a server that fell silent is not the job's.
                let was_writing = last_piece.is_some_and(|last| last.elapsed() * 2 < deadlines.whole);
                let class = match ended {
                    Ended::Whole if was_writing => FaultClass::TimedOut,
                    _ => FaultClass::Stalled,
                };
                let error = CallError::new(endpoint, class, &deadlines.say(ended));
                return Err(error.with_usage(so_far.usage));
            }
            Ok(Some(Err(error))) => {
                let came_back = so_far.broken(&stream_fault(&error));
                return Err(
                    CallError::new(endpoint, FaultClass::StreamAborted, &came_back).with_usage(so_far.usage)
                );
            }
            Ok(Some(Ok(chunk))) => chunk,
        };
        if let Some(error) = &chunk.error {
            return Err(CallError::from_server(endpoint, None, error).with_usage(so_far.usage));
        }
        if chunk.has_tokens() || last_piece.is_some() {
            last_piece = Some(Instant::now());
        }
        if !chunk.text.is_empty() {
            on_delta(&chunk.text);
        }
        so_far.add(chunk);
        if so_far.bytes() > ANSWER_BYTES {
            let came_back = format!("an answer of more than {ANSWER_BYTES} bytes");
            return Err(
                CallError::new(endpoint, FaultClass::ServerError, &came_back).with_usage(so_far.usage)
            );
        }
        // A stream that always has something ready never lets a timer ring.
        if Instant::now() >= deadlines.started + deadlines.whole && so_far.finish_reason.is_none() {
            let error = CallError::new(endpoint, FaultClass::TimedOut, &deadlines.say(Ended::Whole));
            return Err(error.with_usage(so_far.usage));
        }
    }
    so_far.finish(endpoint, deadlines.started.elapsed())
}

/// The answer as far as it has come.
#[derive(Debug, Default)]
struct SoFar {
    chunks: u64,
    text: String,
    reasoning: String,
    reasoning_content: String,
    refusal: String,
    tool_calls: Vec<ToolCall>,
    finish_reason: Option<String>,
    usage: Usage,
    model: Option<String>,
}

impl SoFar {
    fn add(&mut self, chunk: Chunk) {
        self.chunks += 1;
        self.text.push_str(&chunk.text);
        self.reasoning.push_str(&chunk.reasoning);
        self.reasoning_content.push_str(&chunk.reasoning_content);
        self.refusal.push_str(&chunk.refusal);
        self.tool_calls.extend(chunk.tool_calls);
        self.finish_reason = chunk.finish_reason.or(self.finish_reason.take());
        self.model = self.model.take().or(chunk.model);
        if let Some(usage) = chunk.usage {
            // Counts grow while a server streams them, so the last one counts.
            self.usage.prompt_tokens = usage.prompt_tokens.or(self.usage.prompt_tokens);
            self.usage.completion_tokens = usage.completion_tokens.or(self.usage.completion_tokens);
            self.usage.cached_tokens = usage.cached_tokens.or(self.usage.cached_tokens);
        }
    }

    fn bytes(&self) -> usize {
        self.text.len() + self.reasoning.len() + self.reasoning_content.len() + self.refusal.len()
    }

    fn broken(&self, why: &str) -> String {
        format!(
            "the answer broke off after {} events and {} bytes of text, {why}",
            self.chunks,
            self.text.len()
        )
    }

    fn finish(self, endpoint: &Endpoint, duration: Duration) -> Result<Answer, CallError> {
        let usage = self.usage;
        let fault =
            |class, came_back: &str| Err(CallError::new(endpoint, class, came_back).with_usage(usage));
        if self.chunks == 0 {
            return fault(FaultClass::StreamAborted, "an empty answer");
        }
        let Some(finish_reason) = self.finish_reason.clone() else {
            return fault(FaultClass::StreamAborted, &self.broken("without a finish reason"));
        };
        match finish_reason.as_str() {
            "length" | "max_tokens" | "model_length" => {
                let came_back =
                    format!("an answer that was cut at max_tokens, after {} bytes of text", self.text.len());
                return fault(FaultClass::Truncated, &came_back);
            }
            "content_filter" | "refusal" | "safety" => {
                return fault(FaultClass::Refusal, &format!("a refusal, finish reason `{finish_reason}`"));
            }
            "abort" | "aborted" | "error" | "cancelled" | "insufficient_system_resource" => {
                return fault(
                    FaultClass::StreamAborted,
                    &self.broken(&format!("finish reason `{finish_reason}`")),
                );
            }
            // Servers have many words for a whole answer: stop, eos, end_turn, tool_calls, …
            _ => {}
        }
        if !self.refusal.trim().is_empty() {
            let words: String = self.refusal.chars().take(300).collect();
            return fault(FaultClass::Refusal, &format!("a refusal, `{words}`"));
        }
        Ok(Answer {
            text: self.text,
            // A server fills one of the two, or both with the same text.
            reasoning: if self.reasoning_content.is_empty() {
                self.reasoning
            } else {
                self.reasoning_content
            },
            tool_calls: self.tool_calls,
            finish_reason,
            usage,
            served_model: self.model,
            duration,
        })
    }
}

/// What a stream's error says, without the bytes that it quotes.
fn stream_fault(error: &OpenAIError) -> String {
    match error {
        OpenAIError::JSONDeserialize(error, _) => format!("with an event that is not JSON ({error})"),
        other => format!("with a broken connection ({})", crate::transport::causes(other)),
    }
}
