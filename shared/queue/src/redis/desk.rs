//! What one consumer is told: that something may have come, and whether a bell is wanted at all.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use tokio_util::sync::CancellationToken;

/// One for each consumer, over all lives of its apalis worker.
pub(super) struct Desk {
    /// Ends the consumer.
    pub(super) stop: CancellationToken,
    /// Somebody should look into the queue.
    called: AtomicBool,
    looker: AtomicWaker,
    /// Requests to Redis that the worker has begun, ever, and those without an answer.
    asked: AtomicU64,
    unanswered: AtomicUsize,
    /// Bells that the worker has taken out of the queue and not yet posted.
    in_hand: AtomicUsize,
}

impl Desk {
    pub(super) fn new(stop: CancellationToken) -> Desk {
        Desk {
            stop,
            called: AtomicBool::new(false),
            looker: AtomicWaker::new(),
            asked: AtomicU64::new(0),
            unanswered: AtomicUsize::new(0),
            in_hand: AtomicUsize::new(0),
        }
    }

    /// Asks for a look.
    pub(super) fn call(&self) {
        self.called.store(true, Ordering::SeqCst);
        self.looker.wake();
    }

    /// Ready once for all calls since the last time; else the task of `cx` is woken at the next call.
    pub(super) fn poll_called(&self, cx: &Context<'_>) -> Poll<()> {
        self.looker.register(cx.waker());
        if self.called.swap(false, Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Notes a request, until the answer drops what is returned.
    pub(super) fn ask(&self) -> Asking<'_> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.unanswered.fetch_add(1, Ordering::SeqCst);
        Asking(self)
    }

    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }

    pub(super) fn is_asking(&self) -> bool {
        self.unanswered.load(Ordering::SeqCst) > 0
    }

    pub(super) fn in_hand(&self) -> usize {
        self.in_hand.load(Ordering::SeqCst)
    }

    pub(super) fn takes_in_hand(&self) {
        self.in_hand.fetch_add(1, Ordering::SeqCst);
    }

    /// The bell in hand was posted, or was none.
    pub(super) fn puts_down(&self) {
        // What was in the hands of an earlier life is not counted any more.
        let _ = self.in_hand.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
        self.call();
    }

    /// A new life of the worker holds nothing.
    pub(super) fn has_empty_hands(&self) {
        self.in_hand.store(0, Ordering::SeqCst);
    }
}

/// A request without an answer.
pub(super) struct Asking<'a>(&'a Desk);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.unanswered.fetch_sub(1, Ordering::SeqCst);
    }
}
