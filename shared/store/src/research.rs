//! Reading the history of a research task: assignments, findings, decisions, messages, and its result.

use std::collections::BTreeMap;

use nightforge_domain::contract::research::{Assignment, Confidence, ManagerAction, Verdict};
use nightforge_domain::research::{
    DecisionRecord, Evidence, Finding, FindingId, GroundedFinding, Message, ResearchResult, SourceId,
    Subtask, Uncertainty,
};
use nightforge_domain::{JobNo, Millis, TaskId};
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::rows::{json, named, number, number_if_there};
use crate::{Store, StoreError};

/// An assignment as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtaskRow {
    /// What it is, and where it stands.
    pub subtask: Subtask,
    /// The job of its researcher.
    pub job: Option<JobNo>,
    /// When it was assigned.
    pub created_at: Millis,
    /// When its status last changed.
    pub updated_at: Millis,
}

/// A finding as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingRow {
    /// With its evidence and its latest verdict.
    pub finding: Finding,
    /// When it was recorded.
    pub created_at: Millis,
}

/// Something that stays open, as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncertaintyRow {
    /// `U<subtask>.<place>`.
    pub id: String,
    /// What it is.
    pub uncertainty: Uncertainty,
    /// When it was recorded.
    pub created_at: Millis,
}

/// A decision as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    /// What was decided, and whether it was taken.
    pub decision: DecisionRecord,
    /// When it was recorded.
    pub at: Millis,
}

/// A message as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// Who said what to whom.
    pub message: Message,
    /// When it was recorded.
    pub at: Millis,
}

impl Store {
    /// Every assignment of a task, in the order of their numbers.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn subtasks(&self, task: &TaskId) -> Result<Vec<SubtaskRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT number, round, title, description, origin, status, outcome, job, created_at, updated_at
             FROM subtasks WHERE task_id = $1 ORDER BY number",
        )
        .bind(task.as_str())
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(subtask_row).collect()
    }

    /// Messages of a task after number `after`, in order.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn messages(
        &self,
        task: &TaskId,
        after: u32,
        limit: u32,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT number, sender, receiver, type, content, reason, metadata, at FROM messages
             WHERE task_id = $1 AND number > $2 ORDER BY number LIMIT $3",
        )
        .bind(task.as_str())
        .bind(i64::from(after))
        .bind(i64::from(limit))
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(message_row).collect()
    }

    /// Every finding of a task with its evidence, by assignment and place.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn findings(&self, task: &TaskId) -> Result<Vec<FindingRow>, StoreError> {
        // The ids of one assignment differ in their last number only.
        let rows = sqlx::query(
            "SELECT id, subtask, title, claim, confidence, stated_confidence, level, notes, is_demo, reviewed_in,
                verdict, verdict_note, created_at
             FROM findings WHERE task_id = $1 AND kind = 'finding' ORDER BY subtask, length(id), id",
        )
        .bind(task.as_str())
        .fetch_all(&self.read)
        .await?;
        let mut evidence = self.evidence(task).await?;
        rows.iter().map(|row| finding_row(row, &mut evidence)).collect()
    }

    /// Evidence by finding.
    async fn evidence(&self, task: &TaskId) -> Result<BTreeMap<String, Vec<Evidence>>, StoreError> {
        let rows = sqlx::query(
            "SELECT finding, source, quote, found, passage, sentences FROM evidence WHERE task_id = $1 ORDER BY finding, place",
        )
        .bind(task.as_str())
        .fetch_all(&self.read)
        .await?;
        let mut evidence: BTreeMap<String, Vec<Evidence>> = BTreeMap::new();
        for row in &rows {
            evidence.entry(row.try_get("finding")?).or_default().push(Evidence {
                source: SourceId(number(row, "source")?),
                quote: row.try_get("quote")?,
                found: named(row, "found")?,
                passage: row.try_get("passage")?,
                sentences: row.try_get("sentences")?,
            });
        }
        Ok(evidence)
    }

    /// What the researchers of a task left open, by assignment and place.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn uncertainties(&self, task: &TaskId) -> Result<Vec<UncertaintyRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, subtask, claim, created_at FROM findings WHERE task_id = $1 AND kind = 'uncertainty'
             ORDER BY subtask, length(id), id",
        )
        .bind(task.as_str())
        .fetch_all(&self.read)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(UncertaintyRow {
                    id: row.try_get("id")?,
                    uncertainty: Uncertainty {
                        subtask: number(row, "subtask")?,
                        text: row.try_get("claim")?,
                    },
                    created_at: Millis(row.try_get("created_at")?),
                })
            })
            .collect()
    }

    /// Every decision of a task, taken or refused, in the order of the iterations.
    ///
    /// # Errors
    /// When the database fails or a row can't be read.
    pub async fn decisions(&self, task: &TaskId) -> Result<Vec<DecisionRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT iteration, by_whom, action, reason, message, tasks, review_focus, rejected, at FROM decisions
             WHERE task_id = $1 ORDER BY iteration",
        )
        .bind(task.as_str())
        .fetch_all(&self.read)
        .await?;
        rows.iter().map(decision_row).collect()
    }

    /// The result of a finished research task; `None` where there is none.
    ///
    /// # Errors
    /// When the database fails or the result can't be read.
    pub async fn research_result(&self, task: &TaskId) -> Result<Option<ResearchResult>, StoreError> {
        let row = sqlx::query("SELECT result FROM tasks WHERE id = $1")
            .bind(task.as_str())
            .fetch_optional(&self.read)
            .await?;
        let text = row.map(|row| row.try_get::<Option<String>, _>("result")).transpose()?.flatten();
        text.map(|text| serde_json::from_str(&text).map_err(|e| StoreError::corrupt("result", e))).transpose()
    }
}

fn subtask_row(row: &AnyRow) -> Result<SubtaskRow, StoreError> {
    Ok(SubtaskRow {
        subtask: Subtask {
            number: number(row, "number")?,
            round: number(row, "round")?,
            title: row.try_get("title")?,
            description: row.try_get("description")?,
            origin: named(row, "origin")?,
            status: named(row, "status")?,
            outcome: row.try_get("outcome")?,
        },
        job: number_if_there(row, "job")?.map(JobNo),
        created_at: Millis(row.try_get("created_at")?),
        updated_at: Millis(row.try_get("updated_at")?),
    })
}

fn message_row(row: &AnyRow) -> Result<MessageRow, StoreError> {
    Ok(MessageRow {
        message: Message {
            number: number(row, "number")?,
            from: named(row, "sender")?,
            to: named(row, "receiver")?,
            kind: named(row, "type")?,
            content: row.try_get("content")?,
            reason: row.try_get("reason")?,
            metadata: json(row, "metadata")?,
        },
        at: Millis(row.try_get("at")?),
    })
}

fn finding_row(
    row: &AnyRow,
    evidence: &mut BTreeMap<String, Vec<Evidence>>,
) -> Result<FindingRow, StoreError> {
    let id: String = row.try_get("id")?;
    let grounded = GroundedFinding {
        title: row.try_get("title")?,
        claim: row.try_get("claim")?,
        confidence: named::<Confidence>(row, "confidence")?,
        stated_confidence: named::<Confidence>(row, "stated_confidence")?,
        level: named(row, "level")?,
        evidence: evidence.remove(&id).unwrap_or_default(),
        notes: json(row, "notes")?,
        is_demo: row.try_get::<i64, _>("is_demo")? != 0,
    };
    let verdict = row.try_get::<Option<String>, _>("verdict")?.map(|name| verdict(&name)).transpose()?;
    Ok(FindingRow {
        finding: Finding {
            id: FindingId(id),
            subtask: number(row, "subtask")?,
            grounded,
            reviewed_in: number_if_there(row, "reviewed_in")?,
            verdict,
            verdict_note: row.try_get("verdict_note")?,
        },
        created_at: Millis(row.try_get("created_at")?),
    })
}

/// The database's names of verdicts are not those that a model writes.
fn verdict(name: &str) -> Result<Verdict, StoreError> {
    let verdicts = [Verdict::Supported, Verdict::Weak, Verdict::Rejected];
    let found = verdicts.into_iter().find(|verdict| verdict.as_str() == name);
    found.ok_or_else(|| StoreError::corrupt("verdict", format!("unknown verdict `{name}`")))
}

fn decision_row(row: &AnyRow) -> Result<DecisionRow, StoreError> {
    Ok(DecisionRow {
        decision: DecisionRecord {
            iteration: number(row, "iteration")?,
            by: named(row, "by_whom")?,
            action: named::<ManagerAction>(row, "action")?,
            reason: row.try_get("reason")?,
            message: row.try_get("message")?,
            tasks: json::<Vec<Assignment>>(row, "tasks")?,
            review_focus: row.try_get("review_focus")?,
            rejected: row.try_get("rejected")?,
        },
        at: Millis(row.try_get("at")?),
    })
}
