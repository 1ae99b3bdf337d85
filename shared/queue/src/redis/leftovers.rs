//! What others left in a queue: messages beyond the bound, and the registrations of dead workers with what they
//! had in hand. Nobody else removes either.

use std::sync::LazyLock;
use std::time::Duration;

use apalis::prelude::Codec;
use redis::aio::ConnectionManager;
use redis::{RedisResult, Script};

use super::board::Board;
use super::keys::Keys;
use super::message::BellCodec;

/// A worker that did not describe itself again for this long is dead.
const DESCRIPTION_TTL: Duration = Duration::from_secs(60);
/// How often to describe oneself, and to look for leftovers.
pub(super) const ROUND: Duration = Duration::from_secs(10);
/// Messages that one script removes, so that Redis is not busy for long.
const BATCH: usize = 500;

static TRIM: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/trim.lua")));
static DEAD: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/dead.lua")));
static BURY: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/bury.lua")));

/// Says that `worker` lives. apalis adds its own fields to the key and leaves its expiry alone.
pub(super) async fn describe(
    connection: &mut ConnectionManager,
    keys: &Keys,
    worker: &str,
) -> RedisResult<()> {
    let key = format!("{}{worker}", keys.worker);
    redis::pipe()
        .atomic()
        .hset(&key, "backend_name", "RedisStorage")
        .ignore()
        .expire(&key, DESCRIPTION_TTL.as_secs() as i64)
        .ignore()
        .query_async(connection)
        .await
}

/// Shortens the queue to `bound` messages, the youngest.
pub(super) async fn trim(connection: &mut ConnectionManager, keys: &Keys, bound: usize) -> RedisResult<()> {
    let mut removed = 0;
    loop {
        let batch: usize = TRIM
            .key(&keys.active)
            .key(&keys.scheduled)
            .key(&keys.data)
            .arg(bound)
            .arg(&keys.meta)
            .arg(BATCH)
            .invoke_async(connection)
            .await?;
        removed += batch;
        if batch == 0 {
            break;
        }
    }
    if removed > 0 {
        tracing::warn!(queue = keys.queue, removed, bound, "removed messages beyond the bound of the queue");
    }
    Ok(())
}

/// Buries every dead worker of the queue.
pub(super) async fn bury_dead(
    connection: &mut ConnectionManager,
    keys: &Keys,
    board: &Board,
) -> RedisResult<()> {
    let dead: Vec<String> = DEAD.key(&keys.workers).arg(&keys.worker).invoke_async(connection).await?;
    for worker in dead {
        tracing::debug!(queue = keys.queue, worker, "a bell worker died without unregistering");
        bury(connection, keys, &worker, board).await?;
    }
    Ok(())
}

/// Unregisters `worker` and posts the bells that it had in hand.
pub(super) async fn bury(
    connection: &mut ConnectionManager,
    keys: &Keys,
    worker: &str,
    board: &Board,
) -> RedisResult<()> {
    loop {
        let (count, said): (usize, Vec<Vec<u8>>) = BURY
            .key(&keys.workers)
            .key(format!("{}{worker}", keys.in_flight))
            .key(&keys.data)
            .key(format!("{}{worker}", keys.worker))
            .key(&keys.signal)
            .arg(worker)
            .arg(&keys.meta)
            .arg(BATCH)
            .invoke_async(connection)
            .await?;
        for message in said {
            let Ok(message) = BellCodec.decode(&message);
            if let Some(bell) = message.0 {
                board.post(bell);
            }
        }
        if count < BATCH {
            return Ok(());
        }
    }
}
