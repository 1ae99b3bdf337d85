//! Databases of released schemas come up to date with all that they hold, also in the middle of work.

use nightforge_domain::{BootId, JobResult, JobState, Millis, NewTask, Status, TaskId};
use nightforge_store::{DbClock, DeadFilter, Queue, Renewal, Store, StoreError};
use sqlx::any::{AnyPoolOptions, AnyRow};
use sqlx::migrate::Migrator;
use sqlx::{AnyPool, AssertSqlSafe, Column, Row};

use crate::bed::{Bed, on_every_database};
use crate::work::{LEASE, advance, good_result, model, step};

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// Tables by the schema that brought them; those that others refer to come first.
const TABLES: [(i64, &str); 19] = [
    (1, "tasks"),
    (1, "inputs"),
    (1, "events"),
    (1, "jobs"),
    (1, "steps"),
    (1, "ledger"),
    (1, "turns"),
    (1, "processes"),
    (1, "leases"),
    (2, "pauses"),
    (2, "endpoints"),
    (2, "installation"),
    (3, "subtasks"),
    (3, "messages"),
    (3, "findings"),
    (3, "evidence"),
    (3, "sources"),
    (3, "decisions"),
    (3, "hosts"),
];

/// Columns that later schemas brought into tables of earlier ones.
const COLUMNS: [(i64, &str); 9] = [
    (2, "paused_by"),
    (2, "paused_at"),
    (2, "dropped_by"),
    (2, "dropped_at"),
    (3, "language"),
    (3, "previous_task"),
    (3, "result"),
    (3, "approve"),
    (3, "secret"),
];

/// Limits and agents that programs before the third schema did not know.
const LATER_LIMITS: [&str; 6] = [
    "max_iterations",
    "max_agent_calls",
    "max_model_calls",
    "task_timeout_ms",
    "max_failures_in_row",
    "max_rejections_in_row",
];
const LATER_AGENTS: [&str; 4] = ["manager", "researcher", "critic", "synthesizer"];

enum Cell {
    Number(i64),
    Text(String),
}

/// A row without its nulls.
type Cells = Vec<(String, Cell)>;

/// A row as a program of that schema had it.
fn cells(row: &AnyRow, table: &str, schema: i64) -> Cells {
    let later = |name: &str| COLUMNS.iter().any(|(since, column)| *since > schema && *column == name);
    let cell = |at: usize| match row.try_get::<Option<i64>, _>(at) {
        Ok(number) => number.map(Cell::Number),
        Err(_) => row.try_get::<Option<String>, _>(at).unwrap().map(Cell::Text),
    };
    let names = row.columns().iter().map(|column| column.name().to_owned());
    let named = names.enumerate().filter_map(|(at, name)| Some((name, cell(at)?)));
    let mut cells: Cells = named.filter(|(name, _)| !later(name)).collect();
    for (name, cell) in &mut cells {
        if let Cell::Text(text) = cell {
            match name.as_str() {
                // States of that time knew nothing of retries from a job on.
                "state" if schema < 2 => *text = text.replace("\"retry_from\":null,", ""),
                "limits" => *text = without(text, &LATER_LIMITS),
                "models" => *text = without(text, &LATER_AGENTS),
                _ => {}
            }
        }
    }
    if table == "tasks" {
        cells.push(("request_hash".to_owned(), Cell::Text("of that program".to_owned())));
    }
    cells
}

fn without(object: &str, names: &[&str]) -> String {
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(object).unwrap();
    for name in names {
        fields.remove(*name).unwrap();
    }
    serde_json::Value::Object(fields).to_string()
}

async fn put(pool: &AnyPool, table: &str, cells: Cells) {
    let names: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
    let marks: Vec<String> = (1..=cells.len()).map(|place| format!("${place}")).collect();
    let sql = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), marks.join(", "));
    let mut insert = sqlx::query(AssertSqlSafe(sql));
    for (_, cell) in cells {
        insert = match cell {
            Cell::Number(number) => insert.bind(number),
            Cell::Text(text) => insert.bind(text),
        };
    }
    insert.execute(pool).await.unwrap();
}

/// Makes the database anew as the program with that schema had it, with the rows that it has now.
async fn as_a_program_had_it(bed: &Bed, schema: i64) {
    let pool = AnyPoolOptions::new().max_connections(1).connect(&bed.url).await.unwrap();
    let mut kept = Vec::new();
    for (_, table) in TABLES.iter().filter(|(since, _)| *since <= schema) {
        let select = AssertSqlSafe(format!("SELECT * FROM {table}"));
        let rows = sqlx::query(select).fetch_all(&pool).await.unwrap();
        kept.push((table, rows.iter().map(|row| cells(row, table, schema)).collect::<Vec<_>>()));
    }
    let newest_first = TABLES.iter().rev().map(|(_, table)| *table);
    for table in newest_first.chain(["_sqlx_migrations"]) {
        sqlx::query(AssertSqlSafe(format!("DROP TABLE {table}"))).execute(&pool).await.unwrap();
    }
    let earlier = MIGRATIONS.iter().filter(|migration| migration.version <= schema).cloned().collect();
    Migrator::with_migrations(earlier).run(&pool).await.unwrap();
    for (table, rows) in kept {
        for row in rows {
            put(&pool, table, row).await;
        }
    }
    pool.close().await;
    assert_eq!(bed.rows("SELECT max(version) FROM _sqlx_migrations").await, [schema.to_string()]);
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
        as_a_program_had_it(bed, 1).await;
        let state = bed.rows(&format!("SELECT state FROM tasks WHERE id = '{task}'")).await;
        assert!(!state[0].contains("retry_from"), "{state:?}");

        let store = Store::open(&bed.url, DbClock::Manual(bed.clock())).await.unwrap();
        assert_eq!(bed.events(&task).await, events);
        let renewed = store.renew(&boot, &[(claim.job.clone(), claim.fence)], LEASE).await.unwrap();
        assert_eq!(renewed, [Renewal::Held], "the lease outlives the upgrade");
        assert_eq!(store.journal(&claim.job).await.unwrap().len(), 1);
        store.record_step(&claim.job, claim.fence, &step(1), &[]).await.unwrap().unwrap();
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

/// A task that waits until a person accepts its features; one of them speaks of what the state is searched for.
async fn waiting_for_a_person(bed: &Bed, boot: &BootId, new: &NewTask) -> TaskId {
    let task = bed.started(new).await;
    let claim = bed.claim(boot).await.unwrap();
    let mut result = good_result(&claim.spec);
    if let JobResult::Initialized(made) = &mut result {
        made.features[0].description = "It shows {\"approve\":true}.".to_owned();
    }
    bed.store.finish(&claim.job, claim.fence, &result).await.unwrap().unwrap();
    bed.advance(&task).await;
    task
}

#[tokio::test]
async fn requests_are_recognised_and_work_goes_on_after_an_upgrade_from_the_second_schema() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let keyed = |key: &str, approve| NewTask {
            approve,
            idempotency_key: Some(key.to_owned()),
            deadline: Some(Millis(bed.now() + 1_000_000)),
            ..crate::work::new_task()
        };
        let (asks, goes_on) = (keyed("asks", true), keyed("goes on", false));
        let waiting = waiting_for_a_person(bed, &boot, &asks).await;
        let coding = waiting_for_a_person(bed, &boot, &goes_on).await;
        let claim = bed.claim(&boot).await.unwrap();
        assert_eq!(claim.job.task, coding);
        bed.step(&claim, 0).await;
        bed.store.set_paused(&waiting, true, "ada").await.unwrap();
        bed.store.pause_queue(&Queue::Model("other".parse().unwrap()), "bob").await.unwrap();
        let events = [bed.events(&waiting).await, bed.events(&coding).await];
        as_a_program_had_it(bed, 2).await;
        let tasks = bed.rows("SELECT state, limits, models, request_hash FROM tasks").await;
        assert!(
            tasks.iter().all(|row| row.contains("retry_from") && !row.contains("max_iterations")),
            "{tasks:?}"
        );

        let store = Store::open(&bed.url, DbClock::Manual(bed.clock())).await.unwrap();
        assert_eq!([bed.events(&waiting).await, bed.events(&coding).await], events);
        for (new, task) in [(&asks, &waiting), (&goes_on, &coding)] {
            let again = store.submit(new).await.unwrap();
            assert_eq!((again.created, &again.task), (false, task));
            let other = NewTask { approve: !new.approve, ..new.clone() };
            let error = store.submit(&other).await.unwrap_err();
            assert!(matches!(error, StoreError::IdempotencyConflict(_)), "{error}");
        }
        let row = store.task(&waiting).await.unwrap();
        assert_eq!((row.status, row.paused_by.as_deref()), (Status::WaitingForHuman, Some("ada")));
        assert_eq!((row.limits, row.language, row.previous), (asks.limits.clone(), None, None));
        assert_eq!(store.pauses().await.unwrap().len(), 1);

        store.record_step(&claim.job, claim.fence, &step(1), &[]).await.unwrap().unwrap();
        store.finish(&claim.job, claim.fence, &good_result(&claim.spec)).await.unwrap().unwrap();
        advance(&store, &coding).await.unwrap();
        assert_eq!(store.jobs(&coding).await.unwrap().last().unwrap().state, JobState::Ready);
        assert_eq!(store.runs(&coding).await.unwrap().len(), 3);
        store.set_paused(&coding, true, "ada").await.unwrap();
        let research = store.submit(&crate::work::new_research()).await.unwrap().task;
        bed.play_team(&research, &boot).await;
        store.close().await;
    })
    .await;
}
