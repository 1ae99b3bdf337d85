//! From the ring of a bell to its arrival at a consumer that waits, beside the plainest way to carry a word.

use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::StreamExt;
use nightforge_queue::{Bell, Bells, RedisConfig};
use nightforge_services::Redis;
use nightforge_store::fresh_id;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

use crate::args::Form;
use crate::samples::Samples;
use crate::table::Row;

/// Between two rings: the consumer waits again by then.
const PAUSE: Duration = Duration::from_millis(5);

/// A bell that does not arrive so soon was lost.
const ARRIVES_WITHIN: Duration = Duration::from_secs(10);

/// The channel of the bare publish and subscribe.
const CHANNEL: &str = "bench";

/// # Errors
/// When Redis does not start, or a bell is lost.
pub(crate) async fn run(form: Form) -> anyhow::Result<Vec<Row>> {
    let rings = form.pick(500, 10);
    let redis = block_in_place(Redis::start)?;
    let end = CancellationToken::new();
    let _end_at_return = end.clone().drop_guard();
    let in_memory = Bells::in_memory(end.clone());
    let mut rows = Vec::new();
    let (bell, bare) = (bells(&in_memory, &in_memory, rings).await?, channel(rings).await?);
    rows.extend(both("a bell in memory", &bell, &bare, "beside a channel"));
    let mut sides = Vec::with_capacity(2);
    for _ in 0..2 {
        sides.push(Bells::redis(RedisConfig::new(redis.url()), end.clone()).await?);
    }
    let (bell, bare) = (bells(&sides[0], &sides[1], rings).await?, publish(&redis.url(), rings).await?);
    rows.extend(both("a bell over Redis", &bell, &bare, "beside publish and subscribe"));
    Ok(rows)
}

fn both(what: &str, bell: &Samples, bare: &Samples, note: &str) -> [Row; 2] {
    [
        Row::new(format!("{what}, p50"), "ms", bell.median()).beside(bare.median()).noting(note),
        Row::new(format!("{what}, p99"), "ms", bell.p99()).beside(bare.p99()),
    ]
}

/// Rings on one side, hears on the other.
async fn bells(from: &Bells, to: &Bells, rings: usize) -> anyhow::Result<Samples> {
    let mut rung = to.tasks();
    let (heard, arrivals) = mpsc::unbounded_channel();
    tokio::spawn(async move { while rung.next().await.is_some() && heard.send(Instant::now()).is_ok() {} });
    measure(rings, arrivals, async || {
        from.ring(Bell::Task(fresh_id()));
        Ok(())
    })
    .await
}

async fn channel(sends: usize) -> anyhow::Result<Samples> {
    let (word, mut words) = mpsc::unbounded_channel();
    let (heard, arrivals) = mpsc::unbounded_channel();
    tokio::spawn(async move { while words.recv().await.is_some() && heard.send(Instant::now()).is_ok() {} });
    measure(sends, arrivals, async || Ok(word.send(())?)).await
}

async fn publish(url: &str, sends: usize) -> anyhow::Result<Samples> {
    let client = redis::Client::open(url)?;
    let mut subscriber = client.get_async_pubsub().await?;
    subscriber.subscribe(CHANNEL).await?;
    let publisher = client.get_multiplexed_async_connection().await?;
    let (heard, arrivals) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut words = subscriber.into_on_message();
        while words.next().await.is_some() && heard.send(Instant::now()).is_ok() {}
    });
    measure(sends, arrivals, async || {
        let mut publisher = publisher.clone();
        Ok(redis::cmd("PUBLISH").arg(CHANNEL).arg("x").exec_async(&mut publisher).await?)
    })
    .await
}

/// Milliseconds from each sending to its arrival.
async fn measure(
    times: usize,
    mut arrivals: UnboundedReceiver<Instant>,
    send: impl AsyncFn() -> anyhow::Result<()>,
) -> anyhow::Result<Samples> {
    let mut took = Vec::with_capacity(times);
    // The first ones make connections and do not count.
    for time in 0..times + 5 {
        tokio::time::sleep(PAUSE).await;
        let sent = Instant::now();
        send().await?;
        let arrived =
            tokio::time::timeout(ARRIVES_WITHIN, arrivals.recv()).await.context("a bell was lost")?;
        let arrived = arrived.context("nobody listens any more")?;
        if time >= 5 {
            took.push(arrived.saturating_duration_since(sent).as_secs_f64() * 1_000.0);
        }
    }
    Samples::new(took)
}
