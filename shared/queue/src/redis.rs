//! Carries bells between processes, through apalis's Redis backend.
//!
//! A ring waits in the [`board`] until the [`pusher`] has put it into the queue of its listener. Where somebody
//! listens, a [`consumer`] runs an apalis worker that takes bells out of that queue, one for each `next` that
//! waits, and posts them to the board's mailbox. Nothing is remembered in the process about a bell that was
//! sent: whether the same bell is outstanding is decided in Redis, by the scripts in `lua/`.
//!
//! Facts of apalis-redis 1.0 that shape this folder; `tests/it/redis_apalis.rs` shows each:
//! - A worker only asks Redis again when something wakes it, and its own interval does not. So [`gate`] brings a
//!   strategy of ours.
//! - Over 8,000 waiting messages break a Lua call in every worker for good. So a queue holds at most 1,000 of
//!   ours, and what others left there is trimmed before a worker starts and while it runs.
//! - Any error ends a worker for good. So [`consumer`] replaces it, with a new name and a new connection.
//! - Every pushed message waits for the second in which its pusher's clock said it was pushed, so a consumer with
//!   a slower clock would leave it lying. `lua/deliver.lua` moves it on at once.
//! - Orphans are told by the clocks of the workers. So that limit is an hour, and [`leftovers`] goes by keys that
//!   Redis itself lets expire.
//! - Finished messages are kept for ever. So the acknowledgement is ours: `lua/take.lua` removes a message
//!   whole before its bell is passed on.

mod board;
mod config;
mod connection;
mod consumer;
mod desk;
mod gate;
mod keys;
mod leftovers;
mod message;
mod outage;
mod preflight;
mod pusher;
mod site;

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::bell::{Bell, BellStats};
use crate::exchange::{Exchange, Listener};
use board::Board;
pub use config::{RedisConfig, RedisRefused};
use site::Site;

/// Checks that Redis is fit to carry bells, and starts the pusher, which runs until `stop`.
pub(crate) async fn start(
    config: &RedisConfig,
    stop: &CancellationToken,
) -> Result<Arc<dyn Exchange>, RedisRefused> {
    config.check_prefix()?;
    let client = config.client()?;
    preflight::check(&client, config).await?;
    let site = Arc::new(Site::new(client, config.prefix(), stop.clone()));
    let board = Arc::new(Board::default());
    tokio::spawn(pusher::push(Arc::clone(&site), Arc::clone(&board)));
    Ok(Arc::new(RedisExchange { site, board }))
}

/// The board, and who hires a consumer when a listener appears.
struct RedisExchange {
    site: Arc<Site>,
    board: Arc<Board>,
}

impl Exchange for RedisExchange {
    fn ring(&self, bell: Bell) {
        self.board.ring(bell);
    }

    fn listen(&self, listener: &Listener) -> Arc<Notify> {
        let (arrived, first) = self.board.listen(listener, || self.site.desk());
        if let Some(desk) = first {
            let (site, board) = (Arc::clone(&self.site), Arc::clone(&self.board));
            self.site.runtime().spawn(consumer::serve(site, board, listener.clone(), desk));
        }
        arrived
    }

    fn leave(&self, listener: &Listener) {
        self.board.leave(listener);
    }

    fn take(&self, listener: &Listener) -> Option<Bell> {
        self.board.take(listener)
    }

    fn waits(&self, listener: &Listener) {
        self.board.waits(listener);
    }

    fn waits_no_more(&self, listener: &Listener) {
        self.board.waits_no_more(listener);
    }

    fn stats(&self) -> BellStats {
        self.board.stats()
    }

    fn is_cut_off(&self) -> bool {
        self.site.outage.is_on()
    }
}

/// How many bells a queue may hold, over all processes.
fn queue_bound(listener: &Listener) -> usize {
    match listener {
        Listener::Scheduler => crate::MAX_OUTSTANDING,
        Listener::Worker(_) => crate::MAX_OUTSTANDING_PER_MODEL,
    }
}
