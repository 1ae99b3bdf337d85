//! The history of a research task, rebuilt from rows alone.

use nightforge_domain::research::{MessageType, Origin, Party, Record, Research, SubtaskStatus};
use nightforge_domain::{Event, Millis, Status, TaskId};
use nightforge_store::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bed::{Bed, on_every_database};
use crate::script::MANY;
use crate::work::{answer, new_research, new_task};

/// As the database has it: no NUL in a text.
fn as_stored<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).unwrap().replace("\\u0000", "\u{fffd}");
    serde_json::from_str(&text).unwrap()
}

/// A whole task by script, and what its machine knows in the end.
async fn played(bed: &Bed) -> (TaskId, Research) {
    let boot = bed.process().await;
    let task = bed.store.submit(&new_research()).await.unwrap().task;
    bed.play_team(&task, &boot).await;
    let state = bed.store.task(&task).await.unwrap().state;
    let research = state.research().unwrap().clone();
    (task, research)
}

#[tokio::test]
async fn assignments_findings_and_open_questions_are_the_rows_that_the_machine_knows() {
    on_every_database(async |bed| {
        let (task, research) = played(bed).await;
        let subtasks = bed.store.subtasks(&task).await.unwrap();
        let known: Vec<_> = subtasks.iter().map(|row| row.subtask.clone()).collect();
        assert_eq!(known, research.subtasks);
        let told: Vec<_> = subtasks
            .iter()
            .map(|row| (row.subtask.origin, row.subtask.status, row.job.map(|job| job.0)))
            .collect();
        assert_eq!(
            told,
            [
                (Origin::Manager, SubtaskStatus::Completed, Some(2)),
                (Origin::Manager, SubtaskStatus::Blocked, Some(3)),
                (Origin::Critic, SubtaskStatus::Completed, Some(8)),
            ]
        );
        assert!(subtasks.iter().all(|row| row.created_at < row.updated_at), "{subtasks:?}");

        let findings = bed.store.findings(&task).await.unwrap();
        let known: Vec<_> = findings.iter().map(|row| row.finding.clone()).collect();
        let expected: Vec<_> = research.findings.iter().map(as_stored).collect();
        assert_eq!(known, expected, "in their order, with evidence and the latest verdicts");
        assert_eq!(known.len(), 2 + MANY as usize);
        assert_eq!(known.last().unwrap().id.0, format!("F3.{MANY}"));
        assert_eq!(bed.rows("SELECT count(*) FROM evidence").await, [(2 * known.len()).to_string()]);

        let open = bed.store.uncertainties(&task).await.unwrap();
        assert_eq!(open.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["U1.1", "U2.1", "U2.2"]);
        let known: Vec<_> = open.into_iter().map(|row| row.uncertainty).collect();
        assert_eq!(known, research.uncertainties.iter().map(as_stored).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn there_is_one_decision_for_each_iteration_and_every_message_has_its_number() {
    on_every_database(async |bed| {
        let (task, research) = played(bed).await;
        let decisions = bed.store.decisions(&task).await.unwrap();
        let iterations: Vec<_> = decisions.iter().map(|row| row.decision.iteration).collect();
        assert_eq!(iterations, (1..=research.iteration).collect::<Vec<_>>());
        let told: Vec<_> = decisions
            .iter()
            .map(|row| {
                (row.decision.action.as_str(), row.decision.rejected.is_some(), row.decision.tasks.len())
            })
            .collect();
        assert_eq!(
            told,
            [
                ("ASSIGN_RESEARCH", false, 2),
                ("COMPLETE", true, 0),
                ("REQUEST_REVIEW", false, 0),
                ("ASSIGN_RESEARCH", false, 1),
                ("REQUEST_REVIEW", false, 0),
                ("COMPLETE", false, 0),
            ]
        );
        assert!(decisions.iter().all(|row| row.decision.by == Party::Manager));
        assert_eq!(decisions[2].decision.review_focus.as_deref(), Some("prices"));
        assert_eq!(bed.rows("SELECT count(*) FROM decisions WHERE accepted = 1").await, ["5"]);

        let messages = bed.store.messages(&task, 0, 1_000).await.unwrap();
        let numbers: Vec<_> = messages.iter().map(|row| row.message.number).collect();
        assert_eq!(numbers, (1..=research.messages).collect::<Vec<_>>());
        let last = &messages[messages.len() - research.recent.len()..];
        assert!(last.iter().map(|row| &row.message).eq(&research.recent), "{last:?}");
        let count = |kind| messages.iter().filter(|row| row.message.kind == kind).count();
        for (kind, times) in [
            (MessageType::Objective, 1),
            (MessageType::Plan, 2),
            (MessageType::Assignment, 3),
            (MessageType::ResearchResult, 2),
            (MessageType::Blocked, 1),
            (MessageType::ReviewRequest, 2),
            (MessageType::NeedsMoreWork, 1),
            (MessageType::Approved, 1),
            (MessageType::RejectedAction, 1),
            (MessageType::FinalResult, 1),
        ] {
            assert_eq!(count(kind), times, "{kind:?}");
        }
        assert_eq!(messages[0].message.content, new_research().objective.as_str());
        let page = bed.store.messages(&task, 3, 2).await.unwrap();
        assert_eq!(page, &messages[3..5]);
        assert!(bed.store.messages(&task, research.messages, 9).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn the_log_of_a_research_task_has_no_gap_and_its_result_is_data() {
    on_every_database(async |bed| {
        let (task, research) = played(bed).await;
        let events = bed.events(&task).await;
        let count = |name: &str| events.iter().filter(|event| *event == name).count();
        assert_eq!(count("agent-started"), research.agent_calls as usize);
        assert_eq!(count("tool-called"), research.subtasks.len());
        assert_eq!(count("finding-created"), research.findings.len());
        assert_eq!(count("manager-action-rejected"), 1);
        let result = bed.store.research_result(&task).await.unwrap().unwrap();
        assert_eq!((result.task, result.state), (task.clone(), Status::Completed));
        assert_eq!(result.conclusion.as_deref(), Some("Yes."));
        let row = bed.store.task(&task).await.unwrap();
        assert!(row.report.is_some_and(|report| !report.is_empty()));
        // Of the two hits of each researcher, one was known after the first.
        let sources = bed.store.sources(&task).await.unwrap();
        let urls: Vec<_> = sources.iter().map(|source| source.title.as_str()).collect();
        assert_eq!(urls, ["About page1", "About known", "About page2", "About page3"]);
        let other = bed.store.submit(&new_research()).await.unwrap().task;
        assert_eq!(bed.store.research_result(&other).await.unwrap(), None);
        assert!(bed.store.findings(&other).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_record_that_cannot_be_written_takes_its_transition_with_it() {
    on_every_database(async |bed| {
        let task = bed.store.submit(&new_research()).await.unwrap().task;
        let pending = bed.store.pending(&task).await.unwrap().unwrap();
        let transition = answer(&pending, Millis(bed.now()));
        assert!(matches!(transition.records.as_slice(), [Record::Message(_)]), "{:?}", transition.records);
        bed.execute(&format!(
            "INSERT INTO messages (task_id, number, sender, receiver, type, content, metadata, at)
             VALUES ('{task}', 1, 'team', 'team', 'PLAN', 'in the way', 'null', 0)"
        ))
        .await;
        let before = bed.everything().await;
        bed.store.commit(&pending, &transition).await.unwrap_err();
        assert_eq!(bed.everything().await, before);
        bed.execute("DELETE FROM messages").await;
        bed.store.commit(&pending, &transition).await.unwrap().unwrap();
        assert_eq!(bed.rows("SELECT number, sender, type FROM messages").await, ["1 | user | OBJECTIVE"]);
    })
    .await;
}

#[tokio::test]
async fn a_transition_that_lost_writes_no_record() {
    on_every_database(async |bed| {
        let task = bed.store.submit(&new_research()).await.unwrap().task;
        let slow = bed.store.pending(&task).await.unwrap().unwrap();
        bed.advance(&task).await;
        let before = bed.everything().await;
        let lost = bed.store.commit(&slow, &answer(&slow, Millis(bed.now()))).await.unwrap();
        assert_eq!(lost, None);
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

#[tokio::test]
async fn two_tasks_keep_their_histories_apart() {
    on_every_database(async |bed| {
        let (first, _) = played(bed).await;
        let history = async |task: &TaskId| {
            let subtasks = bed.store.subtasks(task).await.unwrap();
            let findings = bed.store.findings(task).await.unwrap();
            let messages = bed.store.messages(task, 0, 1_000).await.unwrap();
            (subtasks, findings, messages, bed.store.decisions(task).await.unwrap())
        };
        let before = history(&first).await;
        let (second, _) = played(bed).await;
        assert_eq!(history(&first).await, before);
        assert_eq!(history(&second).await.1.len(), before.1.len());
        let build = bed.started(&new_task()).await;
        assert_eq!(history(&build).await.2, Vec::new(), "a build has no team");
        let types: Vec<_> = bed.store.events(&build, 0, 9).await.unwrap();
        assert_eq!(types[0].type_name, Event::TaskSubmitted { kind: new_task().kind }.type_name());
    })
    .await;
}

#[tokio::test]
async fn an_error_names_the_column_of_the_history_that_cannot_be_read() {
    on_every_database(async |bed| {
        let (task, _) = played(bed).await;
        let read = async || -> Result<(), StoreError> {
            bed.store.subtasks(&task).await?;
            bed.store.findings(&task).await?;
            bed.store.decisions(&task).await?;
            bed.store.messages(&task, 0, 1_000).await?;
            bed.store.sources(&task).await?;
            bed.store.research_result(&task).await?;
            Ok(())
        };
        read().await.unwrap();
        for (table, column, value, mended) in [
            ("subtasks", "origin", "'dream'", "'manager'"),
            ("subtasks", "status", "'dream'", "'COMPLETED'"),
            ("findings", "level", "'G9'", "'G3'"),
            ("findings", "confidence", "'dream'", "'low'"),
            ("findings", "verdict", "'SUPPORTED'", "'supported'"),
            ("findings", "notes", "'{'", "'[]'"),
            ("evidence", "found", "'dream'", "'page'"),
            ("decisions", "action", "'DREAM'", "'FAIL'"),
            ("decisions", "tasks", "'{}'", "'[]'"),
            ("messages", "type", "'DREAM'", "'PLAN'"),
            ("messages", "sender", "'dreamer'", "'team'"),
            ("sources", "status", "'dream'", "'read'"),
            ("tasks", "result", "'{}'", "NULL"),
        ] {
            bed.execute(&format!("UPDATE {table} SET {column} = {value}")).await;
            let error = read().await.unwrap_err();
            let named = matches!(&error, StoreError::Corrupt { what, .. } if *what == column);
            assert!(named, "{table}.{column}: {error}");
            bed.execute(&format!("UPDATE {table} SET {column} = {mended}")).await;
        }
        read().await.unwrap();
    })
    .await;
}
