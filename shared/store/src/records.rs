//! Rows of a research task's history that a transition writes beside the state.

use nightforge_domain::research::{
    DecisionRecord, Evidence, Finding, FindingId, Message, Record, Subtask, Uncertainty,
};
use nightforge_domain::state::Transition;
use nightforge_domain::{JobNo, JobSpec};
use serde_json::json;

use crate::StoreError;
use crate::rows::{name, without_nul};
use crate::task_tx::TaskTx;

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
            Record::Uncertainty(uncertainty) => write_uncertainty(tx, uncertainty).await?,
            Record::Decision(decision) => write_decision(tx, decision).await?,
            Record::Message(message) => write_message(tx, message).await?,
        }
    }
    Ok(())
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
        for (place, evidence) in (1..).zip(&grounded.evidence) {
            write_evidence(tx, id, place, evidence).await?;
        }
        return Ok(());
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
    place: i64,
    evidence: &Evidence,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO evidence (task_id, finding, place, source, quote, found, passage, sentences)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(tx.task.as_str())
    .bind(&finding.0)
    .bind(place)
    .bind(i64::from(evidence.source.0))
    .bind(without_nul(&evidence.quote))
    .bind(name("found", &evidence.found)?)
    .bind(evidence.passage.as_deref().map(without_nul))
    .bind(evidence.sentences.as_deref().map(without_nul))
    .execute(&mut *tx.tx)
    .await?;
    Ok(())
}

async fn write_uncertainty(tx: &mut TaskTx<'_>, uncertainty: &Uncertainty) -> Result<(), StoreError> {
    let before: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM findings WHERE task_id = $1 AND subtask = $2 AND kind = 'uncertainty'",
    )
    .bind(tx.task.as_str())
    .bind(i64::from(uncertainty.subtask))
    .fetch_one(&mut *tx.tx)
    .await?;
    sqlx::query(
        "INSERT INTO findings (task_id, id, kind, subtask, title, claim, notes, is_demo, created_at)
         VALUES ($1, $2, 'uncertainty', $3, '', $4, '[]', 0, $5)",
    )
    .bind(tx.task.as_str())
    .bind(format!("U{}.{}", uncertainty.subtask, before + 1))
    .bind(i64::from(uncertainty.subtask))
    .bind(without_nul(&uncertainty.text))
    .bind(tx.now.0)
    .execute(&mut *tx.tx)
    .await?;
    Ok(())
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
