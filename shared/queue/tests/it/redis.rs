//! The stories of `conformance` on Redis, and what bells promise between processes. Two handles on one Redis are
//! two processes, as far as Redis can tell.

use tokio_util::sync::CancellationToken;

use crate::conformance;
use crate::redis_server::RedisServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rings_from_many_threads_are_all_seen() {
    let server = RedisServer::start().await;
    conformance::rings_from_many_threads_are_all_seen(server.bells().await).await;
}

#[tokio::test]
async fn many_rings_for_one_task_without_a_consumer_are_one_bell() {
    let server = RedisServer::start().await;
    conformance::many_rings_for_one_task_without_a_consumer_are_one_bell(server.bells().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ring_after_delivery_is_delivered_again() {
    let server = RedisServer::start().await;
    conformance::a_ring_after_delivery_is_delivered_again(server.bells().await).await;
}

#[tokio::test]
async fn workers_of_a_model_take_turns_and_hear_nothing_of_other_models() {
    let server = RedisServer::start().await;
    conformance::workers_of_a_model_take_turns_and_hear_nothing_of_other_models(server.bells().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_burst_for_a_model_wakes_as_many_workers() {
    let server = RedisServer::start().await;
    conformance::a_burst_for_a_model_wakes_as_many_workers(server.bells().await).await;
}

#[tokio::test]
async fn bells_of_a_model_without_workers_stay_few() {
    let server = RedisServer::start().await;
    conformance::bells_of_a_model_without_workers_stay_few(server.bells().await).await;
}

#[tokio::test]
async fn the_bound_drops_counts_and_opens_again() {
    let server = RedisServer::start().await;
    conformance::the_bound_drops_counts_and_opens_again(server.bells().await).await;
}

#[tokio::test]
async fn a_dropped_next_loses_nothing() {
    let server = RedisServer::start().await;
    conformance::a_dropped_next_loses_nothing(server.bells().await).await;
}

#[tokio::test]
async fn shutdown_ends_waiting_and_later_consumers() {
    let server = RedisServer::start().await;
    let shutdown = CancellationToken::new();
    let bells = server.bells_until(shutdown.clone()).await;
    conformance::shutdown_ends_waiting_and_later_consumers(bells, shutdown).await;
}
