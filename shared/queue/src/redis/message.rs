//! What a queue carries: a bell as JSON. Anything else is the leavings of somebody else.

use std::convert::Infallible;

use apalis::prelude::Codec;

use crate::bell::Bell;

/// A message out of a queue; `None` if it is no bell. Decoding never fails, because apalis would leave a message
/// that it cannot decode in the worker's hands for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message(pub(super) Option<Bell>);

#[derive(Debug, Clone, Copy)]
pub(super) struct BellCodec;

impl Codec<Message> for BellCodec {
    type Error = Infallible;
    type Compact = Vec<u8>;

    fn encode(&self, message: &Message) -> Result<Vec<u8>, Infallible> {
        // A bell is two strings; should JSON refuse it all the same, an empty message is no bell.
        Ok(message.0.as_ref().and_then(|bell| serde_json::to_vec(bell).ok()).unwrap_or_default())
    }

    fn decode(&self, compact: &Vec<u8>) -> Result<Message, Infallible> {
        Ok(Message(serde_json::from_slice(compact).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_comes_back_and_rubbish_is_no_bell() {
        let bell = Message(Some(Bell::Model("qwen3:8b".parse().unwrap())));
        let Ok(bytes) = BellCodec.encode(&bell);
        assert_eq!(BellCodec.decode(&bytes), Ok(bell));
        for rubbish in [&b""[..], b"\xff\x00", br#"{"job":1}"#, br#"{"model":"no such/../name"}"#] {
            assert_eq!(BellCodec.decode(&rubbish.to_vec()), Ok(Message(None)));
        }
    }
}
