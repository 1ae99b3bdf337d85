//! The queue of one listener as apalis's worker sees it: it gives out a bell only when one is wanted, and is asked
//! again whenever there may be one.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use apalis::prelude::{Backend, PollSnapshot, PollStrategy, WorkerContext};
use apalis_core::backend::{BackendConfig, WireFormatBackend};
use apalis_redis::{Config, RedisStorage};
use tokio::time::{Interval, MissedTickBehavior};

use super::board::Board;
use super::connection::Watched;
use super::desk::Desk;
use super::message::{BellCodec, Message};
use crate::exchange::Listener;

/// How often to look without being called: a published push may be lost.
const TICK: Duration = Duration::from_secs(1);

pub(super) type Storage = RedisStorage<Message, Watched>;

/// A [`RedisStorage`] that is left alone while nobody waits for a bell. Its heartbeats go on.
pub(super) struct Gate {
    pub(super) storage: Storage,
    pub(super) codec: BellCodec,
    pub(super) listener: Listener,
    pub(super) board: Arc<Board>,
    pub(super) desk: Arc<Desk>,
}

impl Backend for Gate {
    type Task = <Storage as Backend>::Task;
    type Error = <Storage as Backend>::Error;

    fn poll_ready(&mut self, cx: &mut Context<'_>, worker: &WorkerContext) -> Poll<Result<(), Self::Error>> {
        self.storage.poll_ready(cx, worker)
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        worker: &WorkerContext,
    ) -> Poll<Option<Result<Self::Task, Self::Error>>> {
        // An answer under way is awaited in any case: it may bring a bell, which is nobody else's by now.
        if !self.desk.is_asking() && !self.board.wants(&self.listener, &self.desk) {
            return Poll::Pending;
        }
        let next = self.storage.poll_next(cx, worker);
        if let Poll::Ready(Some(Ok(_))) = next {
            self.desk.takes_in_hand();
        }
        next
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, worker: &WorkerContext) -> Poll<Result<(), Self::Error>> {
        self.storage.poll_close(cx, worker)
    }
}

impl BackendConfig for Gate {
    type Args = <Storage as BackendConfig>::Args;
    type Id = <Storage as BackendConfig>::Id;
    type Kind = <Storage as BackendConfig>::Kind;
    type Config = Config;
    type Layer = <Storage as BackendConfig>::Layer;

    fn config(&self) -> &Config {
        self.storage.config()
    }

    fn middleware(&mut self, worker: &mut WorkerContext) -> Self::Layer {
        self.storage.middleware(worker)
    }
}

impl WireFormatBackend for Gate {
    type Codec = BellCodec;
    type Compact = Vec<u8>;

    fn codec(&self) -> &BellCodec {
        &self.codec
    }
}

/// When to look into the queue: when called, and at each tick.
///
/// apalis ignores what a strategy answers and asks its backend anyway; what counts is that the worker is woken.
/// A strategy that is not polled until it says `Pending` is not woken again, which is what apalis's own interval
/// suffers from: it slept until the next heartbeat.
pub(super) struct Looks {
    desk: Arc<Desk>,
    listener: Listener,
    board: Arc<Board>,
    tick: Interval,
    /// A look that began before the call may miss the bell. So a request later than this one is owed.
    owed_after: Option<u64>,
    worker: Option<Waker>,
}

impl Looks {
    /// # Panics
    /// Outside of a tokio runtime.
    pub(super) fn new(desk: Arc<Desk>, listener: Listener, board: Arc<Board>) -> Looks {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Looks { desk, listener, board, tick, owed_after: None, worker: None }
    }
}

impl PollStrategy for Looks {
    fn poll_drive(&mut self, cx: &mut Context<'_>, _: &PollSnapshot) -> Poll<Option<()>> {
        self.worker = Some(cx.waker().clone());
        let mut called = self.desk.poll_called(cx).is_ready();
        while self.tick.poll_tick(cx).is_ready() {
            called = true;
        }
        if !called {
            return Poll::Pending;
        }
        self.owed_after = Some(self.desk.asked());
        Poll::Ready(Some(()))
    }

    fn on_poll(&mut self, _: &PollSnapshot) {
        let Some(before) = self.owed_after else { return };
        if self.desk.asked() > before {
            self.owed_after = None;
        } else if !self.desk.is_asking() && self.board.wants(&self.listener, &self.desk) {
            // The look that was under way has ended; nothing else wakes the worker for another.
            if let Some(worker) = &self.worker {
                worker.wake_by_ref();
            }
        }
    }
}
