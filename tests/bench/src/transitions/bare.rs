//! The baseline: a bare loop over sqlx, on the same kind of pools as the store has.

use std::time::{Duration, Instant};

use nightforge_store::Engine;
use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyPool, AssertSqlSafe};

use super::script::{Bind, Plan, Reads, Statement};
use crate::databases::connect;

/// Connections as the store has them: SQLite with one writer and four readers, PostgreSQL with ten of one kind.
pub(super) struct Bare {
    read: AnyPool,
    write: AnyPool,
}

impl Bare {
    pub(super) async fn open(url: &str, engine: Engine) -> anyhow::Result<Self> {
        let (read, write) = match engine {
            Engine::Sqlite => (connect(url, engine, 4).await?, connect(url, engine, 1).await?),
            Engine::Postgres => {
                let pool = connect(url, engine, 10).await?;
                (pool.clone(), pool)
            }
        };
        Ok(Self { read, write })
    }

    pub(super) async fn close(&self) {
        self.read.close().await;
        self.write.close().await;
    }

    /// Sends them one after another; returns how long that took.
    pub(super) async fn send(&self, plans: &[Plan]) -> anyhow::Result<Duration> {
        let started = Instant::now();
        for plan in plans {
            self.one(plan).await?;
        }
        Ok(started.elapsed())
    }

    async fn one(&self, plan: &Plan) -> Result<(), sqlx::Error> {
        for statement in &plan.before {
            run(statement, &self.read).await?;
        }
        let mut connection = self.write.acquire().await?;
        for statement in &plan.transaction {
            run(statement, &mut *connection).await?;
        }
        drop(connection);
        for statement in &plan.after {
            run(statement, &self.read).await?;
        }
        Ok(())
    }
}

async fn run<'c>(
    statement: &Statement,
    on: impl sqlx::Executor<'c, Database = Any>,
) -> Result<(), sqlx::Error> {
    let query = query(statement);
    match statement.reads {
        Reads::Bound => on.execute(statement.text).await.map(drop),
        Reads::Nothing => query.execute(on).await.map(drop),
        Reads::AtMostOne => query.fetch_optional(on).await.map(drop),
        Reads::All => query.fetch_all(on).await.map(drop),
    }
}

fn query(statement: &Statement) -> Query<'_, Any, AnyArguments> {
    statement.binds.iter().fold(sqlx::query(AssertSqlSafe(statement.text)), |query, bind| match bind {
        Bind::Text(text) => query.bind(text.as_deref()),
        Bind::Number(number) => query.bind(*number),
    })
}
