//! The stories of `conformance` on the in-memory backend, and what only it can promise.

use std::time::Duration;

use nightforge_queue::{Bell, Bells};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::conformance;

fn bells() -> Bells {
    Bells::in_memory(CancellationToken::new())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rings_from_many_threads_are_all_seen() {
    conformance::rings_from_many_threads_are_all_seen(bells()).await;
}

#[tokio::test]
async fn many_rings_for_one_task_without_a_consumer_are_one_bell() {
    conformance::many_rings_for_one_task_without_a_consumer_are_one_bell(bells()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ring_after_delivery_is_delivered_again() {
    conformance::a_ring_after_delivery_is_delivered_again(bells()).await;
}

#[tokio::test]
async fn workers_of_a_model_take_turns_and_hear_nothing_of_other_models() {
    conformance::workers_of_a_model_take_turns_and_hear_nothing_of_other_models(bells()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_burst_for_a_model_wakes_as_many_workers() {
    conformance::a_burst_for_a_model_wakes_as_many_workers(bells()).await;
}

#[tokio::test]
async fn bells_of_a_model_without_workers_stay_few() {
    conformance::bells_of_a_model_without_workers_stay_few(bells()).await;
}

#[tokio::test]
async fn the_bound_drops_counts_and_opens_again() {
    conformance::the_bound_drops_counts_and_opens_again(bells()).await;
}

#[tokio::test]
async fn a_dropped_next_loses_nothing() {
    conformance::a_dropped_next_loses_nothing(bells()).await;
}

#[tokio::test]
async fn shutdown_ends_waiting_and_later_consumers() {
    let shutdown = CancellationToken::new();
    let bells = Bells::in_memory(shutdown.clone());
    conformance::shutdown_ends_waiting_and_later_consumers(bells, shutdown).await;
}

/// Waits until the runtime holds no task; a leaked one makes this fail.
async fn no_task_is_left() {
    let metrics = Handle::current().metrics();
    let gone = async {
        while metrics.num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(10), gone).await.is_ok(), "a task leaked");
}

#[tokio::test]
async fn shutdown_leaves_no_task_behind() {
    let shutdown = CancellationToken::new();
    let bells = Bells::in_memory(shutdown.clone());
    bells.ring(Bell::Model("qwen".parse().unwrap()));
    assert_eq!(bells.model(&"qwen".parse().unwrap()).next().await, Some(()));
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 1, "the carrier runs");
    shutdown.cancel();
    no_task_is_left().await;
    drop(bells);
}

#[tokio::test]
async fn the_last_handle_ends_the_carrier_but_not_the_callers_token() {
    let shutdown = CancellationToken::new();
    let bells = Bells::in_memory(shutdown.clone());
    let mut consumer = bells.tasks();
    let last = bells.clone();
    drop(bells);
    last.ring(Bell::Task("00000000000000000000000001".parse().unwrap()));
    drop(last);
    assert!(consumer.next().await.is_some(), "a consumer keeps the carrier alive");
    drop(consumer);
    no_task_is_left().await;
    assert!(!shutdown.is_cancelled());
}

#[tokio::test]
async fn bells_can_be_rung_outside_of_the_runtime() {
    let bells = bells();
    let ringer = bells.clone();
    let thread = std::thread::spawn(move || ringer.ring(Bell::Model("qwen".parse().unwrap())));
    assert_eq!(bells.model(&"qwen".parse().unwrap()).next().await, Some(()));
    thread.join().unwrap();
}

#[test]
fn a_bell_reads_back_as_it_was_written() {
    for (bell, json) in [
        (
            Bell::Task("00000000000000000000000001".parse().unwrap()),
            r#"{"task":"00000000000000000000000001"}"#,
        ),
        (Bell::Model("qwen3:8b".parse().unwrap()), r#"{"model":"qwen3:8b"}"#),
    ] {
        assert_eq!(serde_json::to_string(&bell).unwrap(), json);
        assert_eq!(serde_json::from_str::<Bell>(json).unwrap(), bell);
    }
}
