//! Connections whose every answer has a time limit: a server that is frozen or can't be reached gives errors.
//!
//! The server's own limits do not help there, and neither do TCP's: the kernel of a frozen server still acknowledges.
//! A connection on which an answer is overdue, or whose transaction did not come to its end, is never used again: the
//! database rolls back when it is gone, and nobody waits for that.

use std::io;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use sqlx::any::{AnyQueryResult, AnyRow, AnyStatement, AnyTypeInfo};
use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyPool, Describe, Either, Error, Execute, Executor, SqlStr};
use tokio::runtime::Handle;

/// A row, or how many of them a statement changed.
type Answer = Either<AnyQueryResult, AnyRow>;

/// A pool that statements outside transactions go through.
#[derive(Debug, Clone)]
pub(crate) struct Reads {
    pub(crate) pool: AnyPool,
    /// How long an answer may take; `None` where there is no server that could be away.
    pub(crate) limit: Option<Duration>,
}

/// An open transaction. Dropping it without [`Write::commit`] or [`Write::rollback`] closes its connection.
#[derive(Debug)]
pub(crate) struct Write {
    held: Held,
}

/// A connection taken from its pool.
#[derive(Debug)]
pub(crate) struct Held {
    /// `None` only while it is dropped.
    connection: Option<PoolConnection<Any>>,
    limit: Option<Duration>,
    /// A statement failed or is not answered yet, or a transaction is open.
    unsettled: Unsettled,
    /// For tests: how many statements it was given.
    #[cfg(test)]
    pub(crate) statements: usize,
}

#[derive(Debug, Default)]
struct Unsettled {
    statement: bool,
    transaction: bool,
}

impl Reads {
    /// A connection of the pool, for what needs the same one more than once.
    pub(crate) async fn acquire(&self) -> Result<PoolConnection<Any>, Error> {
        self.pool.acquire().await
    }

    async fn hold(&self) -> Result<Held, Error> {
        Held::acquire(&self.pool, self.limit).await
    }
}

impl Write {
    /// Begins a transaction with this statement.
    pub(crate) async fn begin(
        pool: &AnyPool,
        limit: Option<Duration>,
        statement: &'static str,
    ) -> Result<Self, Error> {
        let mut held = Held::acquire(pool, limit).await?;
        held.unsettled.transaction = true;
        held.execute(statement).await?;
        Ok(Self { held })
    }

    /// # Errors
    /// When a statement failed, also if that was overlooked: PostgreSQL would roll back and call it a success. When
    /// the answer is lost, nobody knows whether it was committed.
    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        if self.held.unsettled.statement {
            return Err(Error::Protocol(
                "a statement failed, so its transaction can't be committed".to_owned(),
            ));
        }
        self.end("COMMIT").await
    }

    pub(crate) async fn rollback(mut self) -> Result<(), Error> {
        self.end("ROLLBACK").await
    }

    async fn end(&mut self, statement: &'static str) -> Result<(), Error> {
        self.held.execute(statement).await?;
        self.held.unsettled.transaction = false;
        Ok(())
    }
}

impl Deref for Write {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl DerefMut for Write {
    fn deref_mut(&mut self) -> &mut Held {
        &mut self.held
    }
}

impl Held {
    async fn acquire(pool: &AnyPool, limit: Option<Duration>) -> Result<Self, Error> {
        let connection = Some(pool.acquire().await?);
        Ok(Self {
            connection,
            limit,
            unsettled: Unsettled::default(),
            #[cfg(test)]
            statements: 0,
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if self.unsettled.statement || self.unsettled.transaction {
            // Not closed in good order either, which would wait for the server.
            drop(connection.detach());
        } else if let (Some(limit), Ok(runtime)) = (self.limit, Handle::try_current()) {
            // Returning asks the server once more. While it does not answer, the pool would be short of a connection.
            let returned = connection.return_to_pool();
            runtime.spawn(async move { tokio::time::timeout(limit, returned).await });
        }
    }
}

/// What a statement's answer is until it comes.
async fn within<T>(
    limit: Option<Duration>,
    unsettled: &mut bool,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    *unsettled = true;
    let answered = match limit {
        Some(limit) => tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| Err(overdue(limit))),
        None => answer.await,
    };
    *unsettled = answered.is_err();
    answered
}

fn overdue(limit: Duration) -> Error {
    let text = format!("the database did not answer within {} s", limit.as_secs());
    Error::Io(io::Error::new(io::ErrorKind::TimedOut, text))
}

impl<'c> Executor<'c> for &'c mut Held {
    type Database = Any;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Answer, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Any>,
    {
        #[cfg(test)]
        {
            self.statements += 1;
        }
        let answer = async move {
            let connection = self.connection.as_mut().ok_or(Error::PoolClosed)?;
            let answer = connection.fetch_many(query).try_collect::<Vec<Answer>>();
            within(self.limit, &mut self.unsettled.statement, answer).await
        };
        in_order(answer)
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<AnyRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Any>,
    {
        #[cfg(test)]
        {
            self.statements += 1;
        }
        async move {
            let connection = self.connection.as_mut().ok_or(Error::PoolClosed)?;
            let answer = connection.fetch_optional(query);
            within(self.limit, &mut self.unsettled.statement, answer).await
        }
        .boxed()
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [AnyTypeInfo],
    ) -> BoxFuture<'e, Result<AnyStatement, Error>>
    where
        'c: 'e,
    {
        async move {
            let connection = self.connection.as_mut().ok_or(Error::PoolClosed)?;
            let answer = connection.prepare_with(sql, parameters);
            within(self.limit, &mut self.unsettled.statement, answer).await
        }
        .boxed()
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Any>, Error>>
    where
        'c: 'e,
    {
        async move {
            let connection = self.connection.as_mut().ok_or(Error::PoolClosed)?;
            within(self.limit, &mut self.unsettled.statement, connection.describe(sql)).await
        }
        .boxed()
    }
}

impl<'c> Executor<'c> for &'c Reads {
    type Database = Any;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Answer, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Any>,
    {
        in_order(async move { self.hold().await?.fetch_many(query).try_collect().await })
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<AnyRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Any>,
    {
        async move { self.hold().await?.fetch_optional(query).await }.boxed()
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [AnyTypeInfo],
    ) -> BoxFuture<'e, Result<AnyStatement, Error>>
    where
        'c: 'e,
    {
        async move { self.hold().await?.prepare_with(sql, parameters).await }.boxed()
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Any>, Error>>
    where
        'c: 'e,
    {
        async move { self.hold().await?.describe(sql).await }.boxed()
    }
}

/// Every answer of the store is short enough to be held as a whole.
fn in_order<'e>(
    answer: impl Future<Output = Result<Vec<Answer>, Error>> + Send + 'e,
) -> BoxStream<'e, Result<Answer, Error>> {
    let parts = answer.map(|parts| parts.map(|parts| stream::iter(parts.into_iter().map(Ok))));
    stream::once(parts).try_flatten().boxed()
}

#[cfg(test)]
mod tests {
    use crate::{DbClock, Store};

    #[tokio::test]
    async fn a_transaction_with_an_overlooked_failure_is_not_committed() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("night.db").display());
        let store = Store::open(&url, DbClock::Database).await.unwrap();
        let mut tx = store.begin().await.unwrap();
        let turn = "INSERT INTO turns (model, owner, last_at) VALUES ('m', 'ada', 0)";
        sqlx::query(turn).execute(&mut *tx).await.unwrap();
        sqlx::query(turn).execute(&mut *tx).await.unwrap_err();
        tx.commit().await.unwrap_err();
        let turns: i64 =
            sqlx::query_scalar("SELECT count(*) FROM turns").fetch_one(&store.read).await.unwrap();
        assert_eq!(turns, 0);
        let tx = store.begin().await.unwrap();
        drop(tx);
        store.begin().await.unwrap().rollback().await.unwrap();
        store.ping().await.unwrap();
    }
}
