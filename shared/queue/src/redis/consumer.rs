//! Takes the bells of one listener out of Redis, as long as somebody in this process listens.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use apalis::prelude::{BackendExt, TaskId, WorkerBuilder};
use apalis_redis::RedisStorage;
use futures_util::{FutureExt, StreamExt};
use redis::aio::{ConnectionManager, PubSub};
use redis::{RedisError, RedisResult, Script};
use tokio::sync::mpsc;

use super::board::Board;
use super::connection::{self, RESPONSE_TIMEOUT, Watched, in_time};
use super::desk::Desk;
use super::gate::{Gate, Looks};
use super::keys::Keys;
use super::leftovers;
use super::message::{BellCodec, Message};
use super::outage::Part;
use super::pusher::mark_of;
use super::site::Site;
use crate::back_off::BackOff;
use crate::exchange::Listener;
use crate::panic_text::panic_text;

/// A life that lasted this long has ended an outage.
const SETTLED: Duration = Duration::from_secs(1);
/// How often the subscription is proved to be alive.
const PING: Duration = Duration::from_secs(5);
/// Unregistering at the end gets this long.
const FAREWELL: Duration = Duration::from_secs(2);

static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/take.lua")));

/// One consumer, over all lives of its worker.
struct Consumer {
    site: Arc<Site>,
    board: Arc<Board>,
    listener: Listener,
    desk: Arc<Desk>,
    keys: Keys,
}

/// Consumes until the desk is closed.
pub(super) async fn serve(site: Arc<Site>, board: Arc<Board>, listener: Listener, desk: Arc<Desk>) {
    let keys = site.keys(&listener);
    let consumer = Consumer { site, board, listener, desk, keys };
    let part = Part::Consumer(consumer.listener.clone());
    let mut back_off = BackOff::new();
    // Workers of ours that are to be buried, this life's among them: it is dead by then.
    let mut dead: Vec<String> = Vec::new();
    loop {
        let name = consumer.site.fresh_name();
        let end = tokio::select! {
            biased;
            () = consumer.desk.stop.cancelled() => None,
            end = consumer.live(&name, &mut dead, &mut back_off, &part) => Some(end),
        };
        let Some(reason) = end else { break };
        consumer.board.restarted();
        consumer.site.outage.begins(&part, &reason);
        let pause = back_off.grow();
        tracing::debug!(%part, reason, back_off_ms = pause.as_millis(), "a bell worker ended; starting another");
        tokio::select! {
            () = consumer.desk.stop.cancelled() => break,
            () = tokio::time::sleep(pause) => {}
        }
    }
    consumer.site.outage.dismissed(&part);
    if let Err(error) = in_time(FAREWELL, consumer.unregister(&mut dead)).await {
        tracing::debug!(%part, %error, "could not unregister; others will, in a minute");
    }
}

impl Consumer {
    /// One life of the worker, and of the two connections that it needs; returns why it ended.
    async fn live(&self, name: &str, dead: &mut Vec<String>, back_off: &mut BackOff, part: &Part) -> String {
        let (connection, calls) = match self.prepare(name, dead).await {
            Ok(prepared) => prepared,
            Err(error) => return error.to_string(),
        };
        let settled = async {
            tokio::time::sleep(SETTLED).await;
            back_off.reset();
            self.site.outage.ends(part);
            std::future::pending::<String>().await
        };
        tokio::select! {
            reason = self.work(name, connection.clone()) => reason,
            reason = self.hear(calls) => reason,
            error = self.tidy(name, connection) => error.to_string(),
            never = settled => never,
        }
    }

    async fn prepare(&self, name: &str, dead: &mut Vec<String>) -> RedisResult<(ConnectionManager, PubSub)> {
        let mut connection = connection::connect(&self.site.client).await?;
        self.bury(&mut connection, dead).await?;
        dead.push(name.to_owned());
        leftovers::describe(&mut connection, &self.keys, name).await?;
        self.clear(&mut connection).await?;
        let calls = connection::subscribe(&self.site.client, &self.keys.rung).await?;
        self.desk.has_empty_hands();
        Ok((connection, calls))
    }

    /// Runs an apalis worker to its end. Its handler only passes the bell on, so its end touches nothing else.
    async fn work(&self, name: &str, connection: ConnectionManager) -> String {
        let watched = Watched::new(connection.clone(), Arc::clone(&self.desk));
        let gate = Gate {
            storage: RedisStorage::new(watched).with_config(self.keys.apalis()),
            codec: BellCodec,
            listener: self.listener.clone(),
            board: Arc::clone(&self.board),
            desk: Arc::clone(&self.desk),
        };
        let looks = Looks::new(Arc::clone(&self.desk), self.listener.clone(), Arc::clone(&self.board));
        let (broken, mut breaks) = mpsc::unbounded_channel();
        let hands = Arc::new(Hands {
            connection,
            keys: self.keys.clone(),
            in_flight: format!("{}{name}", self.keys.in_flight),
            board: Arc::clone(&self.board),
            desk: Arc::clone(&self.desk),
            broken,
        });
        let worker = WorkerBuilder::new(name).backend(gate.poll_with_strategy(looks)).build(
            move |message: Message, id: TaskId| {
                let hands = Arc::clone(&hands);
                // In a task of its own: if the worker is dropped in the middle, the bell still arrives.
                let passed_on = tokio::spawn(async move { hands.pass_on(message, &id).await });
                async move {
                    if let Err(error) = passed_on.await {
                        tracing::warn!(%error, "a bell was lost on its way to the mailbox");
                    }
                }
            },
        );
        tokio::select! {
            end = AssertUnwindSafe(worker.run()).catch_unwind() => match end {
                Ok(Ok(())) => "the worker stopped by itself".to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(panic) => format!("panic: {}", panic_text(panic.as_ref())),
            },
            Some(error) = breaks.recv() => error.to_string(),
        }
    }

    /// Calls for a look at every published push, and proves that it would hear one.
    async fn hear(&self, calls: PubSub) -> String {
        let (mut sink, mut pushes) = calls.split();
        // What was pushed before the subscription was not heard.
        self.desk.call();
        let hear = async {
            while pushes.next().await.is_some() {
                self.desk.call();
            }
            "the subscription was closed".to_owned()
        };
        let prove = async {
            loop {
                tokio::time::sleep(PING).await;
                if let Err(error) = in_time(RESPONSE_TIMEOUT, sink.ping::<redis::Value>()).await {
                    return format!("the subscription is dead: {error}");
                }
            }
        };
        tokio::select! {
            reason = hear => reason,
            reason = prove => reason,
        }
    }

    /// Says again and again that the worker lives, and clears up after those that do not.
    async fn tidy(&self, name: &str, mut connection: ConnectionManager) -> RedisError {
        loop {
            tokio::time::sleep(leftovers::ROUND).await;
            let done = async {
                leftovers::describe(&mut connection, &self.keys, name).await?;
                self.clear(&mut connection).await
            };
            if let Err(error) = done.await {
                return error;
            }
        }
    }

    async fn clear(&self, connection: &mut ConnectionManager) -> RedisResult<()> {
        leftovers::bury_dead(connection, &self.keys, &self.board).await?;
        leftovers::trim(connection, &self.keys, crate::MAX_OUTSTANDING).await
    }

    async fn unregister(&self, dead: &mut Vec<String>) -> RedisResult<()> {
        let mut connection = connection::connect(&self.site.client).await?;
        self.bury(&mut connection, dead).await
    }

    async fn bury(&self, connection: &mut ConnectionManager, dead: &mut Vec<String>) -> RedisResult<()> {
        while let Some(name) = dead.last() {
            leftovers::bury(connection, &self.keys, name, &self.board).await?;
            dead.pop();
        }
        Ok(())
    }
}

/// What a message goes through between apalis and the mailbox.
struct Hands {
    connection: ConnectionManager,
    keys: Keys,
    in_flight: String,
    board: Arc<Board>,
    desk: Arc<Desk>,
    /// Ends the life of the worker.
    broken: mpsc::UnboundedSender<RedisError>,
}

impl Hands {
    async fn pass_on(&self, Message(bell): Message, id: &TaskId) {
        let id = id.to_string();
        let mark = bell.as_ref().map(|bell| mark_of(&self.keys, bell)).unwrap_or_default();
        let taken = TAKE
            .key(&self.in_flight)
            .key(&self.keys.data)
            .key(format!("{}{id}", self.keys.meta))
            .arg(&id)
            .arg(mark)
            .invoke_async::<()>(&mut self.connection.clone())
            .await;
        match bell {
            Some(bell) => self.board.post(bell),
            None => tracing::debug!(queue = self.keys.queue, id, "removed a message that is no bell"),
        }
        self.desk.puts_down();
        if let Err(error) = taken {
            // The message is still there; burying this life removes it. Nobody listens if it has ended already.
            let _ = self.broken.send(error);
        }
    }
}
