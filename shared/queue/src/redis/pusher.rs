//! Puts rings into the queues of their listeners, through apalis.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use apalis::prelude::{Codec, TaskBuilder, TaskId};
use apalis_redis::RedisStorage;
use futures_util::SinkExt;
use redis::Script;
use redis::aio::ConnectionManager;

use super::board::{Board, Pushed};
use super::connection;
use super::keys::Keys;
use super::message::{BellCodec, Message};
use super::outage::Part;
use super::site::Site;
use crate::back_off::BackOff;
use crate::bell::Bell;
use crate::exchange::Listener;

/// How long a message that was admitted counts as being on its way.
const ANNOUNCED: Duration = Duration::from_secs(2);
/// How long the mark of a bell outlives a message that was lost without being taken. While the message waits, and
/// only then, a ring is merged into it, so this bounds memory and silences nobody.
const MARKED: Duration = Duration::from_secs(600);
/// What is still unsent at shutdown gets this long.
const LAST_PUSH: Duration = Duration::from_secs(1);

static ADMIT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/admit.lua")));
static DELIVER: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/deliver.lua")));

/// Pushes until the site stops. While Redis is away, the rings stay on the board.
pub(super) async fn push(site: Arc<Site>, board: Arc<Board>) {
    let mut back_off = BackOff::new();
    let mut connection = None;
    loop {
        let (listener, batch) = tokio::select! {
            biased;
            () = site.stop.cancelled() => break,
            batch = board.next_batch() => batch,
        };
        match push_batch(&site, &board, &mut connection, &listener, &batch).await {
            Ok(()) => {
                back_off.reset();
                site.outage.ends(&Part::Pusher);
            }
            Err(reason) => {
                connection = None;
                board.take_back(batch);
                site.outage.begins(&Part::Pusher, &reason);
                tokio::select! {
                    () = site.stop.cancelled() => return,
                    () = tokio::time::sleep(back_off.grow()) => {}
                }
            }
        }
    }
    let last = async {
        while let Some((listener, batch)) = board.batch() {
            if push_batch(&site, &board, &mut connection, &listener, &batch).await.is_err() {
                board.take_back(batch);
                return;
            }
        }
    };
    if tokio::time::timeout(LAST_PUSH, last).await.is_err() {
        tracing::debug!("shut down before all bells were sent");
    }
}

async fn push_batch(
    site: &Site,
    board: &Board,
    connection: &mut Option<ConnectionManager>,
    listener: &Listener,
    batch: &[Bell],
) -> Result<(), String> {
    let connection = match connection {
        Some(connection) => connection,
        none => none.insert(connection::connect(&site.client).await.map_err(|error| error.to_string())?),
    };
    let keys = site.keys(listener);
    let messages: Vec<(String, &Bell)> = batch.iter().map(|bell| (site.fresh_name(), bell)).collect();
    let verdicts = admit(connection, &keys, super::queue_bound(listener), &messages)
        .await
        .map_err(|error| error.to_string())?;
    let admitted: Vec<_> = messages
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| **verdict == ADMITTED)
        .map(|(message, _)| message)
        .collect();
    if !admitted.is_empty() {
        send(connection, &keys, &admitted).await?;
    }
    for verdict in verdicts {
        board.pushed(match (verdict, listener) {
            (ADMITTED, _) => Pushed::Sent,
            // Bells of a model are all alike: at the bound, one more adds nothing.
            (FULL, Listener::Scheduler) => Pushed::Dropped,
            _ => Pushed::Merged,
        });
    }
    Ok(())
}

/// The answers of `lua/admit.lua`; any other is "merged".
const ADMITTED: u8 = 0;
const FULL: u8 = 2;

async fn admit(
    connection: &mut ConnectionManager,
    keys: &Keys,
    bound: usize,
    messages: &[(String, &Bell)],
) -> redis::RedisResult<Vec<u8>> {
    let mut call = ADMIT.key(&keys.active);
    call.key(&keys.scheduled).key(&keys.announced).arg(bound).arg(ANNOUNCED.as_secs()).arg(MARKED.as_secs());
    for (id, bell) in messages {
        call.arg(id).arg(mark_of(keys, bell));
    }
    // One answer for each bell, or the script is not ours.
    call.invoke_async::<Vec<u8>>(connection).await
}

/// The key of a bell's mark; empty for bells that are all alike.
pub(super) fn mark_of(keys: &Keys, bell: &Bell) -> String {
    match bell {
        Bell::Task(task) => keys.mark(task),
        Bell::Model(_) => String::new(),
    }
}

async fn send(
    connection: &mut ConnectionManager,
    keys: &Keys,
    messages: &[&(String, &Bell)],
) -> Result<(), String> {
    let mut storage = RedisStorage::<Message>::new(connection.clone()).with_config(keys.apalis());
    for (id, bell) in messages {
        let Ok(said) = BellCodec.encode(&Message(Some((*bell).clone())));
        let message = TaskBuilder::new(said).task_id(TaskId::from_string(id)).build();
        storage.feed(message).await.map_err(|error| error.to_string())?;
    }
    SinkExt::flush(&mut storage).await.map_err(|error| error.to_string())?;
    let mut call = DELIVER.key(&keys.active);
    call.key(&keys.scheduled).key(&keys.announced).arg(&keys.rung);
    for (id, _) in messages {
        call.arg(id);
    }
    call.invoke_async::<()>(connection).await.map_err(|error| error.to_string())
}
