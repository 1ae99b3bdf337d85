//! The connection breaks after a commit, before its answer: the caller can't know, tries again, and nothing is
//! doubled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nightforge_domain::fault::FaultClass;
use nightforge_domain::research::SourceId;
use nightforge_store::{DbClock, Ended, HandBack, Lost, Store, StoreError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::bed::Bed;
use crate::fenced::told;
use crate::sources::{hit, page};
use crate::work::{LEASE, answer, good_result, model, new_task, step};

/// A `Query` message with the word alone: type, length, text, NUL
/// (<https://www.postgresql.org/docs/current/protocol-message-formats.html>).
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

/// A bed, and a store whose connections go through a wire that can be cut.
struct Wire {
    bed: Bed,
    store: Store,
    armed: Arc<AtomicBool>,
}

impl Wire {
    async fn new() -> Self {
        let bed = Bed::postgres().await;
        let armed = Arc::new(AtomicBool::new(false));
        let (_, rest) = bed.url.split_once('@').unwrap();
        let (address, path) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let url = format!("postgres://postgres@{here}/{path}");
        tokio::spawn(serve(listener, address.to_owned(), Arc::clone(&armed)));
        let store = Store::open(&url, DbClock::Manual(bed.clock())).await.unwrap();
        Self { bed, store, armed }
    }

    /// The next commit reaches the server, and its answer nobody.
    fn cut(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }

    /// What the caller of that commit sees.
    fn assert_lost<T>(&self, result: &Result<T, StoreError>) {
        assert!(matches!(result, Err(StoreError::Database(_))), "the caller can't know");
        assert!(!self.armed.load(Ordering::SeqCst), "the answer was lost");
    }

    async fn end(self) {
        self.store.close().await;
        self.bed.end().await;
    }
}

async fn serve(listener: TcpListener, server: String, armed: Arc<AtomicBool>) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let server = TcpStream::connect(&server).await.unwrap();
        tokio::spawn(carry(client, server, Arc::clone(&armed)));
    }
}

/// Carries bytes both ways until either end closes, or until a commit whose answer is to be lost.
async fn carry(mut client: TcpStream, mut server: TcpStream, armed: Arc<AtomicBool>) {
    let (mut up, mut down) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let Ok(length @ 1..) = read else { return };
                server.write_all(&up[..length]).await.unwrap();
                if up[..length].ends_with(COMMIT) && armed.load(Ordering::SeqCst) {
                    assert!(server.read(&mut down).await.unwrap() > 0, "the server has answered");
                    armed.store(false, Ordering::SeqCst);
                    return;
                }
            }
            read = server.read(&mut down) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&down[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

#[tokio::test]
async fn an_objective_with_a_key_is_accepted_once() {
    let wire = Wire::new().await;
    let mut new = new_task();
    new.idempotency_key = Some("once".to_owned());
    wire.cut();
    wire.assert_lost(&wire.store.submit(&new).await);
    let again = wire.store.submit(&new).await.unwrap();
    assert!(!again.created, "the first time counted");
    let counts =
        "SELECT (SELECT count(*) FROM tasks), (SELECT count(*) FROM events), (SELECT count(*) FROM inputs)";
    assert_eq!(wire.bed.rows(counts).await, ["1 | 1 | 1"]);
    wire.end().await;
}

#[tokio::test]
async fn a_transition_is_committed_once() {
    let wire = Wire::new().await;
    let task = wire.store.submit(&new_task()).await.unwrap().task;
    let pending = wire.store.pending(&task).await.unwrap().unwrap();
    let transition = answer(&pending, wire.store.now().await.unwrap());
    wire.cut();
    wire.assert_lost(&wire.store.commit(&pending, &transition).await);
    let before = wire.bed.everything().await;
    assert_eq!(wire.store.commit(&pending, &transition).await.unwrap(), None, "it is found done");
    assert!(wire.store.pending(&task).await.unwrap().is_none());
    assert_eq!(wire.bed.everything().await, before);
    assert_eq!(wire.store.task(&task).await.unwrap().seq, 1);
    wire.end().await;
}

#[tokio::test]
async fn a_job_is_claimed_once_and_its_lease_runs_out() {
    let wire = Wire::new().await;
    wire.bed.started(&new_task()).await;
    let boot = wire.bed.process().await;
    wire.cut();
    wire.assert_lost(&wire.store.claim(&model(), &boot, "w", LEASE).await);
    assert!(wire.store.claim(&model(), &boot, "w", LEASE).await.unwrap().is_none(), "it is taken");
    wire.bed.pass(LEASE + 1);
    let expired = wire.store.expired_leases(10).await.unwrap();
    assert_eq!(expired.len(), 1);
    wire.cut();
    wire.assert_lost(&wire.store.sweep_lease(&expired[0]).await);
    assert_eq!(wire.store.sweep_lease(&expired[0]).await.unwrap(), None, "it is found swept");
    let claim = wire.store.claim(&model(), &boot, "w", LEASE).await.unwrap().unwrap();
    assert_eq!(claim.fence.0, 2);
    wire.end().await;
}

#[tokio::test]
async fn a_step_and_a_result_are_written_once() {
    let wire = Wire::new().await;
    let task = wire.bed.started(&new_task()).await;
    let boot = wire.bed.process().await;
    let claim = wire.store.claim(&model(), &boot, "w", LEASE).await.unwrap().unwrap();
    wire.cut();
    wire.assert_lost(&wire.store.record_step(&claim.job, claim.fence, &step(0), &[told()]).await);
    let again = wire.store.record_step(&claim.job, claim.fence, &step(0), &[told()]).await.unwrap();
    assert_eq!(again, Ok(()));
    assert_eq!(wire.store.journal(&claim.job).await.unwrap().len(), 1);
    let called = wire.bed.events(&task).await.into_iter().filter(|event| event == "tool-called").count();
    assert_eq!(called, 1);
    wire.cut();
    wire.assert_lost(&wire.store.record_sources(&claim.job, claim.fence, &[hit("a")]).await);
    let again = wire.store.record_sources(&claim.job, claim.fence, &[hit("a")]).await.unwrap().unwrap();
    assert_eq!((again[0].source.id, again[0].is_new), (SourceId(1), true));
    wire.cut();
    wire.assert_lost(&wire.store.record_page(&claim.job, claim.fence, SourceId(1), &page("x")).await);
    let again = wire.store.record_page(&claim.job, claim.fence, SourceId(1), &page("x")).await.unwrap();
    assert_eq!(again.unwrap().text.as_deref(), Some("x"));
    assert_eq!(wire.store.sources(&task).await.unwrap().len(), 1);
    let result = good_result(&claim.spec);
    wire.cut();
    wire.assert_lost(&wire.store.finish(&claim.job, claim.fence, &result).await);
    let before = wire.bed.everything().await;
    assert_eq!(wire.store.finish(&claim.job, claim.fence, &result).await.unwrap(), Err(Lost));
    assert_eq!(wire.bed.everything().await, before.into_iter().collect::<Vec<_>>());
    let ends = wire.bed.events(&task).await.into_iter().filter(|event| event == "job-done").count();
    assert_eq!(ends, 1);
    wire.end().await;
}

#[tokio::test]
async fn a_fault_and_a_hand_back_are_counted_once() {
    let wire = Wire::new().await;
    let task = wire.bed.started(&new_task()).await;
    let boot = wire.bed.process().await;
    let claim = wire.store.claim(&model(), &boot, "w", LEASE).await.unwrap().unwrap();
    let fault = async || wire.store.fault(&claim.job, claim.fence, FaultClass::Truncated, "cut", 2).await;
    wire.cut();
    wire.assert_lost(&fault().await);
    assert_eq!(fault().await.unwrap(), Err(Lost));
    assert_eq!(wire.bed.rows(&format!("SELECT faults FROM jobs WHERE task_id = '{task}'")).await, ["1"]);
    let claim = wire.store.claim(&model(), &boot, "w", LEASE).await.unwrap().unwrap();
    let why = HandBack { reason: "drain".to_owned(), delay_ms: 0, infrastructure: true };
    let hand_back = async || wire.store.hand_back(&claim.job, claim.fence, &why).await;
    wire.cut();
    wire.assert_lost(&hand_back().await);
    assert_eq!(hand_back().await.unwrap(), Err(Lost));
    assert_eq!(
        wire.bed.rows(&format!("SELECT infra_failures FROM jobs WHERE task_id = '{task}'")).await,
        ["1"]
    );
    let claim = wire.store.claim(&model(), &boot, "w", LEASE).await.unwrap().unwrap();
    assert_eq!(wire.store.hand_back(&claim.job, claim.fence, &why).await.unwrap(), Ok(Ended::Ready));
    wire.end().await;
}
