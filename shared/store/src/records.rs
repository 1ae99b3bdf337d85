//! Rows of a research task's history that a transition writes beside the state.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use nightforge_domain::research::{
    DecisionRecord, Evidence, Finding, FindingId, Message, Record, Subtask, Uncertainty,
};
use nightforge_domain::state::Transition;
use nightforge_domain::{JobNo, JobSpec};
use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::StoreError;
use crate::rows::{name, without_nul};
use crate::task_tx::TaskTx;

/// Rows of one statement: what a transition writes stays short, however much an answer held.
const BATCH: usize = 100;

/// Writes the records of one transition. What may be there only once is refused the second time, and the transition
/// with it.
pub(crate) async fn write(tx: &mut TaskTx<'_>, transition: &Transition) -> Result<(), StoreError> {
    for record in &transition.records {
        match record {
            Record::Subtask(subtask) => {
                let job = transition.jobs.iter().find_map(|job| match job.spec {
                    JobSpec::Research { subtask: number, .. } if number == subtask.number => Some(job.no),
                    _ => None,
                });
                write_subtask(tx, subtask, job).await?;
            }
            Record::Finding(finding) => write_finding(tx, finding).await?,
            // Together, below: their numbers depend on how many there are.
            Record::Uncertainty(_) => {}
            Record::Decision(decision) => write_decision(tx, decision).await?,
            Record::Message(message) => write_message(tx, message).await?,
        }
    }
    let uncertainties = transition.records.iter().filter_map(|record| match record {
        Record::Uncertainty(uncertainty) => Some(uncertainty),
        _ => None,
    });
    write_uncertainties(tx, &uncertainties.collect::<Vec<_>>()).await
}

/// Only what changes in an assignment's life is written again.
async fn write_subtask(tx: &mut TaskTx<'_>, subtask: &Subtask, job: Option<JobNo>) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO subtasks (task_id, number, round, title, description, origin, status, outcome, job,
            created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
         ON CONFLICT (task_id, number) DO UPDATE SET status = excluded.status, outcome = excluded.outcome,
            job = COALESCE(excluded.job, subtasks.job), updated_at = excluded.updated_at",
    )
    .bind(tx.task.as_str())
    .bind(i64::from(subtask.number))
    .bind(i64::from(subtask.round))
    .bind(without_nul(&subtask.title))
    .bind(without_nul(&subtask.description))
    .bind(name("origin", &subtask.origin)?)
    .bind(name("status", &subtask.status)?)
    .bind(subtask.outcome.as_deref().map(without_nul))
    .bind(job.map(|job| i64::from(job.0)))
    .bind(tx.now.0)
    .execute(&mut *tx.tx)
    .await?;
    Ok(())
}

/// What a finding says is fixed when it is created; later it gets a verdict.
async fn write_finding(tx: &mut TaskTx<'_>, finding: &Finding) -> Result<(), StoreError> {
    let Finding { id, subtask, grounded, .. } = finding;
    let reviewed_in = finding.reviewed_in.map(i64::from);
    let verdict = finding.verdict.map(nightforge_domain::contract::research::Verdict::as_str);
    let verdict_note = finding.verdict_note.as_deref().map(without_nul);
    let created = sqlx::query(
        "INSERT INTO findings (task_id, id, kind, subtask, title, claim, confidence, stated_confidence, level,
            notes, is_demo, reviewed_in, verdict, verdict_note, created_at)
         VALUES ($1, $2, 'finding', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
         ON CONFLICT (task_id, id) DO NOTHING",
    )
    .bind(tx.task.as_str())
    .bind(&id.0)
    .bind(i64::from(*subtask))
    .bind(without_nul(&grounded.title))
    .bind(without_nul(&grounded.claim))
    .bind(grounded.confidence.as_str())
    .bind(grounded.stated_confidence.as_str())
    .bind(name("level", &grounded.level)?)
    .bind(json!(grounded.notes).to_string())
    .bind(i64::from(grounded.is_demo))
    .bind(reviewed_in)
    .bind(verdict)
    .bind(verdict_note.clone())
    .bind(tx.now.0)
    .execute(&mut *tx.tx)
    .await?
    .rows_affected();
    if created == 1 {
        return write_evidence(tx, id, &grounded.evidence).await;
    }
    sqlx::query(
        "UPDATE findings SET reviewed_in = $3, verdict = $4, verdict_note = $5 WHERE task_id = $1 AND id = $2",
    )
    .bind(tx.task.as_str())
    .bind(&id.0)
    .bind(reviewed_in)
    .bind(verdict)
    .bind(verdict_note)
    .execute(&mut *tx.tx)
    .await?;
    Ok(())
}

async fn write_evidence(
    tx: &mut TaskTx<'_>,
    finding: &FindingId,
    evidence: &[Evidence],
) -> Result<(), StoreError> {
    let placed: Vec<(i64, &Evidence)> = (1..).zip(evidence).collect();
    for batch in placed.chunks(BATCH) {
        let columns = "evidence (task_id, finding, place, source, quote, found, passage, sentences)";
        let mut query = sqlx::query(AssertSqlSafe(insert(columns, 8, batch.len())));
        for (place, evidence) in batch {
            query = query
                .bind(tx.task.as_str().to_owned())
                .bind(&finding.0)
                .bind(*place)
                .bind(i64::from(evidence.source.0))
                .bind(without_nul(&evidence.quote))
                .bind(name("found", &evidence.found)?)
                .bind(evidence.passage.as_deref().map(without_nul))
                .bind(evidence.sentences.as_deref().map(without_nul));
        }
        query.execute(&mut *tx.tx).await?;
    }
    Ok(())
}

/// An uncertainty is named by its place among those of its assignment.
async fn write_uncertainties(tx: &mut TaskTx<'_>, uncertainties: &[&Uncertainty]) -> Result<(), StoreError> {
    let mut places: HashMap<u32, i64> = HashMap::new();
    for batch in uncertainties.chunks(BATCH) {
        let columns = "findings (task_id, id, kind, subtask, title, claim, notes, is_demo, created_at)";
        let mut query = sqlx::query(AssertSqlSafe(insert(columns, 9, batch.len())));
        for Uncertainty { subtask, text } in batch {
            let place = match places.entry(*subtask) {
                Entry::Occupied(place) => place.into_mut(),
                Entry::Vacant(place) => place.insert(uncertainties_of(tx, *subtask).await?),
            };
            *place += 1;
            query = query
                .bind(tx.task.as_str().to_owned())
                .bind(format!("U{subtask}.{place}"))
                .bind("uncertainty")
                .bind(i64::from(*subtask))
                .bind("")
                .bind(without_nul(text))
                .bind("[]")
                .bind(0_i64)
                .bind(tx.now.0);
        }
        query.execute(&mut *tx.tx).await?;
    }
    Ok(())
}

/// Uncertainties of an assignment that earlier transitions wrote.
async fn uncertainties_of(tx: &mut TaskTx<'_>, subtask: u32) -> Result<i64, StoreError> {
    let count = sqlx::query_scalar(
        "SELECT count(*) FROM findings WHERE task_id = $1 AND subtask = $2 AND kind = 'uncertainty'",
    );
    Ok(count.bind(tx.task.as_str()).bind(i64::from(subtask)).fetch_one(&mut *tx.tx).await?)
}

/// A statement that inserts this many rows.
fn insert(into: &str, columns: usize, rows: usize) -> String {
    let row = |row: usize| {
        let marks: Vec<String> = (1..=columns).map(|column| format!("${}", row * columns + column)).collect();
        format!("({})", marks.join(", "))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!("INSERT INTO {into} VALUES {}", rows.join(", "))
}

async fn write_decision(tx: &mut TaskTx<'_>, decision: &DecisionRecord) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO decisions (task_id, iteration, by_whom, action, reason, message, tasks, review_focus,
            accepted, rejected, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(tx.task.as_str())
    .bind(i64::from(decision.iteration))
    .bind(decision.by.as_str())
    .bind(decision.action.as_str())
    .bind(without_nul(&decision.reason))
    .bind(without_nul(&decision.message))
    .bind(json!(decision.tasks).to_string())
    .bind(decision.review_focus.as_deref().map(without_nul))
    .bind(i64::from(decision.rejected.is_none()))
    .bind(decision.rejected.as_deref().map(without_nul))
    .bind(tx.now.0)
    .execute(&mut *tx.tx)
    .await?;
    Ok(())
}

async fn write_message(tx: &mut TaskTx<'_>, message: &Message) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO messages (task_id, number, sender, receiver, type, content, reason, metadata, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(tx.task.as_str())
    .bind(i64::from(message.number))
    .bind(message.from.as_str())
    .bind(message.to.as_str())
    .bind(name("type", &message.kind)?)
    .bind(without_nul(&message.content))
    .bind(message.reason.as_deref().map(without_nul))
    .bind(message.metadata.to_string())
    .bind(tx.now.0)
    .execute(&mut *tx.tx)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use nightforge_domain::{AgentModels, Kind, Limits, NewTask, Objective, Priority};

    use super::*;
    use crate::{DbClock, Store};

    fn uncertainties(subtask: u32, texts: std::ops::RangeInclusive<u32>) -> Vec<Uncertainty> {
        texts.map(|text| Uncertainty { subtask, text: format!("open {text}") }).collect()
    }

    #[tokio::test]
    async fn two_thousand_uncertainties_are_a_few_statements() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("night.db").display());
        let store = Store::open(&url, DbClock::Database).await.unwrap();
        let new = NewTask {
            kind: Kind::Research,
            objective: Objective::try_from("What is open?".to_owned()).unwrap(),
            owner: "ada".to_owned(),
            priority: Priority::default(),
            models: AgentModels::same(&"m".parse().unwrap()),
            limits: Limits::default(),
            approve: false,
            deadline: None,
            language: None,
            previous: None,
            idempotency_key: None,
        };
        let task = store.submit(&new).await.unwrap().task;
        for texts in [1..=1_000, 1_001..=2_000] {
            // Two assignments that end together, twice.
            let mut all = uncertainties(1, texts.clone());
            all.extend(uncertainties(2, texts));
            let mut tx = store.lock(&task).await.unwrap();
            let before = tx.tx.statements;
            write_uncertainties(&mut tx, &all.iter().collect::<Vec<_>>()).await.unwrap();
            let statements = tx.tx.statements - before;
            assert_eq!(statements, 2_000 / BATCH + 2, "one for each batch, one for each assignment's count");
            tx.commit().await.unwrap();
        }
        let known = store.uncertainties(&task).await.unwrap();
        assert_eq!(known.len(), 4_000);
        for row in known {
            let number = row.uncertainty.text.trim_start_matches("open ").to_owned();
            assert_eq!(row.id, format!("U{}.{number}", row.uncertainty.subtask));
        }
    }

    #[test]
    fn the_marks_of_a_batch_count_on() {
        assert_eq!(insert("t (a, b)", 2, 2), "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)");
    }
}
