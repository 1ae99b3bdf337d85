//! Connections to Redis, none of which waits for ever.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig, PubSub};
use redis::{Client, Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, Value};

use super::desk::Desk;

/// Redis-rs waits half a second by default, which a busy or stopped Redis exceeds, and each such answer ends an
/// apalis worker (apalis-dev/apalis-redis#76).
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// A fresh connection. Whoever loses it opens another: trying again is theirs, with a back-off.
pub(super) async fn connect(client: &Client) -> RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(0)
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT));
    in_time(CONNECT_TIMEOUT + RESPONSE_TIMEOUT, client.get_connection_manager_with_config(config)).await
}

/// A connection that hears what is published on `channel`.
pub(super) async fn subscribe(client: &Client, channel: &str) -> RedisResult<PubSub> {
    in_time(CONNECT_TIMEOUT + RESPONSE_TIMEOUT, async {
        let mut pub_sub = client.get_async_pubsub().await?;
        pub_sub.subscribe(channel).await?;
        Ok(pub_sub)
    })
    .await
}

/// Limits what redis-rs itself does not.
pub(super) async fn in_time<T>(
    limit: Duration,
    work: impl Future<Output = RedisResult<T>>,
) -> RedisResult<T> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        Err(RedisError::from((ErrorKind::Io, "no answer", format!("within {} s", limit.as_secs()))))
    })
}

/// The connection of an apalis worker, which notes at the worker's desk when a request is under way.
#[derive(Clone)]
pub(super) struct Watched {
    connection: ConnectionManager,
    desk: Arc<Desk>,
}

impl Watched {
    pub(super) fn new(connection: ConnectionManager, desk: Arc<Desk>) -> Watched {
        Watched { connection, desk }
    }
}

impl ConnectionLike for Watched {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        let asking = self.desk.ask();
        let answer = self.connection.req_packed_command(cmd);
        Box::pin(async move {
            let _asking = asking;
            answer.await
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let asking = self.desk.ask();
        let answer = self.connection.req_packed_commands(pipeline, offset, count);
        Box::pin(async move {
            let _asking = asking;
            answer.await
        })
    }

    fn get_db(&self) -> i64 {
        self.connection.get_db()
    }
}
