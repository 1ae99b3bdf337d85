//! Databases of released schemas come up to date with all that they hold, also in the middle of work.

use nightforge_domain::{JobState, Status, TaskId};
use nightforge_store::{DbClock, DeadFilter, Queue, Renewal, Store};
use sqlx::any::{AnyPoolOptions, AnyRow};
use sqlx::migrate::Migrator;
use sqlx::{AnyPool, AssertSqlSafe, Column, Row};

use crate::bed::{Bed, on_every_database};
use crate::work::{LEASE, advance, good_result, model, step};

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// The tables of the first schema; those that others refer to come first.
const FIRST: [&str; 9] =
    ["tasks", "inputs", "events", "jobs", "steps", "ledger", "turns", "processes", "leases"];

/// What later schemas brought.
const LATER_TABLES: [&str; 3] = ["pauses", "endpoints", "installation"];
const LATER_COLUMNS: [&str; 4] = ["paused_by", "paused_at", "dropped_by", "dropped_at"];

enum Cell {
    Number(i64),
    Text(String),
}

/// A row without its nulls.
type Cells = Vec<(String, Cell)>;

fn cells(row: &AnyRow) -> Cells {
    let cell = |at: usize| match row.try_get::<Option<i64>, _>(at) {
        Ok(number) => number.map(Cell::Number),
        Err(_) => row.try_get::<Option<String>, _>(at).unwrap().map(Cell::Text),
    };
    let names = row.columns().iter().map(|column| column.name().to_owned());
    let named = names.enumerate().filter_map(|(at, name)| Some((name, cell(at)?)));
    named.filter(|(name, _)| !LATER_COLUMNS.contains(&name.as_str())).collect()
}

async fn put(pool: &AnyPool, table: &str, cells: Cells) {
    let names: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
    let marks: Vec<String> = (1..=cells.len()).map(|place| format!("${place}")).collect();
    let sql = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), marks.join(", "));
    let mut insert = sqlx::query(AssertSqlSafe(sql));
    for (name, cell) in cells {
        insert = match cell {
            Cell::Number(number) => insert.bind(number),
            // States of that time knew nothing of retries from a job on.
            Cell::Text(text) if name == "state" => insert.bind(text.replace("\"retry_from\":null,", "")),
            Cell::Text(text) => insert.bind(text),
        };
    }
    insert.execute(pool).await.unwrap();
}

/// Makes the database anew as the first program had it, with the rows that it has now.
async fn as_the_first_program_had_it(bed: &Bed) {
    let pool = AnyPoolOptions::new().max_connections(1).connect(&bed.url).await.unwrap();
    let mut kept = Vec::new();
    for table in FIRST {
        let select = AssertSqlSafe(format!("SELECT * FROM {table}"));
        let rows = sqlx::query(select).fetch_all(&pool).await.unwrap();
        kept.push((table, rows.iter().map(cells).collect::<Vec<_>>()));
    }
    let newest_first = LATER_TABLES.iter().chain(FIRST.iter().rev());
    for table in newest_first.chain(&["_sqlx_migrations"]) {
        sqlx::query(AssertSqlSafe(format!("DROP TABLE {table}"))).execute(&pool).await.unwrap();
    }
    let first = MIGRATIONS.iter().filter(|migration| migration.version == 1).cloned().collect();
    Migrator::with_migrations(first).run(&pool).await.unwrap();
    for (table, rows) in kept {
        for row in rows {
            put(&pool, table, row).await;
        }
    }
    pool.close().await;
}

/// The task's one job is ready, and died three times.
async fn died_three_times(bed: &Bed, task: &TaskId) {
    bed.execute(&format!(
        "UPDATE jobs SET state = 'dead', deaths = 3, last_error = 'server down', finished_at = 1 WHERE task_id = '{task}'"
    ))
    .await;
}

#[tokio::test]
async fn work_in_progress_goes_on_after_an_upgrade_from_the_first_schema() {
    on_every_database(async |bed| {
        let (task, claim, boot) = bed.claimed().await;
        bed.step(&claim, 0).await;
        let dead = bed.started(&crate::work::new_task()).await;
        died_three_times(bed, &dead).await;
        let queued = bed.store.submit(&crate::work::new_task()).await.unwrap().task;
        bed.store.set_paused(&queued, true, "ada").await.unwrap();
        let events = bed.events(&task).await;
        as_the_first_program_had_it(bed).await;
        assert_eq!(bed.rows("SELECT max(version) FROM _sqlx_migrations").await, ["1"]);
        let state = bed.rows(&format!("SELECT state FROM tasks WHERE id = '{task}'")).await;
        assert!(!state[0].contains("retry_from"), "{state:?}");

        let store = Store::open(&bed.url, DbClock::Manual(bed.clock())).await.unwrap();
        assert_eq!(bed.events(&task).await, events);
        let renewed = store.renew(&boot, &[(claim.job.clone(), claim.fence)], LEASE).await.unwrap();
        assert_eq!(renewed, [Renewal::Held], "the lease outlives the upgrade");
        assert_eq!(store.journal(&claim.job).await.unwrap().len(), 1);
        store.record_step(&claim.job, claim.fence, &step(1)).await.unwrap().unwrap();
        store.finish(&claim.job, claim.fence, &good_result(&claim.spec)).await.unwrap().unwrap();
        advance(&store, &task).await.unwrap();
        let jobs = store.jobs(&task).await.unwrap();
        assert_eq!(jobs.iter().map(|job| job.state).collect::<Vec<_>>(), [JobState::Done, JobState::Ready]);
        assert_eq!(store.task(&task).await.unwrap().status, Status::Running);

        let paused = store.task(&queued).await.unwrap();
        assert_eq!((paused.paused, paused.paused_by), (true, None), "nobody wrote down who it was");
        let letters = store.dead_letters(&DeadFilter { limit: 9, ..DeadFilter::default() }).await.unwrap();
        assert_eq!(letters.len(), 1);
        assert!(letters[0].reason.contains("its worker died 3 times"), "{letters:?}");
        assert!(store.pause_queue(&Queue::Model(model()), "ada").await.unwrap());
        assert_eq!(store.workers().await.unwrap()[0].boot, boot);
        store.close().await;
    })
    .await;
}
