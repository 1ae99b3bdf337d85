//! Accepting objectives.

use nightforge_domain::{Agent, AgentModels, Kind, Millis, NewTask, Objective, Priority, Status};
use nightforge_store::{NoComparison, StoreError, fresh_id};

use crate::bed::on_every_database;
use crate::work::{model, new_research, new_task};

#[tokio::test]
async fn an_accepted_objective_has_its_first_event_and_its_first_input() {
    on_every_database(async |bed| {
        let mut new = new_task();
        new.deadline = Some(Millis(bed.now() + 5));
        let submitted = bed.store.submit(&new).await.unwrap();
        assert!(submitted.created);
        let task = bed.store.task(&submitted.task).await.unwrap();
        assert_eq!((task.seq, task.status, task.phase.as_str()), (0, Status::Queued, "PENDING"));
        assert_eq!((task.objective.as_str(), task.owner.as_str()), ("Build a board.", "ada"));
        assert_eq!((task.limits, task.models, task.deadline), (new.limits, new.models, new.deadline));
        assert_eq!(task.created_at, Millis(bed.now()));
        assert_eq!(bed.events(&submitted.task).await, ["task-submitted"]);
        assert_eq!(bed.inputs(&submitted.task).await, ["1 submitted: -"]);
    })
    .await;
}

#[tokio::test]
async fn every_task_has_a_secret_of_its_own_for_good() {
    on_every_database(async |bed| {
        let first = bed.store.submit(&new_research()).await.unwrap().task;
        let second = bed.store.submit(&new_research()).await.unwrap().task;
        let secret = async |task| bed.store.task(task).await.unwrap().secret;
        let (kept, other) = (secret(&first).await.unwrap(), secret(&second).await.unwrap());
        assert_eq!(kept.reveal().len(), 40);
        assert_ne!(kept, other);
        bed.advance(&first).await;
        assert_eq!(secret(&first).await, Some(kept));
        bed.execute("UPDATE tasks SET secret = NULL").await;
        assert_eq!(secret(&first).await, None, "as a task of an earlier program");
    })
    .await;
}

#[tokio::test]
async fn a_repeated_request_with_a_key_is_one_task() {
    on_every_database(async |bed| {
        let mut new = new_task();
        new.idempotency_key = Some("key".to_owned());
        let first = bed.store.submit(&new).await.unwrap();
        bed.advance(&first.task).await;
        let before = bed.everything().await;
        let second = bed.store.submit(&new).await.unwrap();
        assert_eq!((second.created, &second.task), (false, &first.task));
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

#[tokio::test]
async fn a_key_with_another_request_is_a_conflict() {
    on_every_database(async |bed| {
        let mut new = new_task();
        new.idempotency_key = Some("key".to_owned());
        let first = bed.store.submit(&new).await.unwrap().task;
        let before = bed.everything().await;
        let changes: [fn(&mut NewTask); 9] = [
            |new| new.objective = Objective::try_from("Build a boat.".to_owned()).unwrap(),
            |new| new.priority = Priority::try_from(9).unwrap(),
            |new| new.limits.max_tokens = 1,
            |new| new.approve = true,
            |new| new.deadline = Some(Millis(1)),
            |new| new.kind = Kind::Research,
            |new| new.models = AgentModels::same(&"another".parse().unwrap()),
            |new| new.language = Some("ja".to_owned()),
            |new| new.previous = Some(fresh_id()),
        ];
        for change in changes {
            let mut other = new.clone();
            change(&mut other);
            let error = bed.store.submit(&other).await.unwrap_err();
            assert!(matches!(&error, StoreError::IdempotencyConflict(task) if *task == first), "{error}");
        }
        assert_eq!(bed.everything().await, before);
    })
    .await;
}

#[tokio::test]
async fn a_request_is_recognised_by_a_program_that_knows_more_limits_and_agents() {
    on_every_database(async |bed| {
        let mut new = new_task();
        new.idempotency_key = Some("key".to_owned());
        new.limits.max_turns = 7;
        let first = bed.store.submit(&new).await.unwrap().task;
        // What an earlier program stored.
        bed.execute(
            "UPDATE tasks SET limits = '{\"min_features\":1,\"max_turns\":7}',
                models = '{\"initializer\":\"m\",\"coder\":\"m\"}'",
        )
        .await;
        // A limit that it did not know has another value by now.
        new.limits.max_iterations = 3;
        let again = bed.store.submit(&new).await.unwrap();
        assert_eq!((again.created, &again.task), (false, &first));
        let changes: [fn(&mut NewTask); 2] = [
            |new| new.limits.max_turns = 8,
            |new| {
                new.models = AgentModels::chosen(|agent| {
                    if agent == Agent::Coder { "another".parse().unwrap() } else { model() }
                });
            },
        ];
        for change in changes {
            let mut other = new.clone();
            change(&mut other);
            let error = bed.store.submit(&other).await.unwrap_err();
            assert!(matches!(error, StoreError::IdempotencyConflict(_)), "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_earlier_task_must_be_one_that_can_be_compared_with() {
    on_every_database(async |bed| {
        let build = bed.store.submit(&new_task()).await.unwrap().task;
        let research = bed.store.submit(&new_research()).await.unwrap().task;
        let mut new = new_research();
        new.idempotency_key = Some("key".to_owned());
        let before = bed.everything().await;
        for (previous, expected) in [
            (fresh_id(), NoComparison::Unknown),
            (build, NoComparison::OtherKind),
            (research.clone(), NoComparison::NoResult),
        ] {
            new.previous = Some(previous.clone());
            let error = bed.store.submit(&new).await.unwrap_err();
            assert!(
                matches!(&error, StoreError::Previous { task, why } if *task == previous && *why == expected),
                "{error}"
            );
            assert!(error.to_string().contains(previous.as_str()), "{error}");
        }
        assert_eq!(bed.everything().await, before);

        let boot = bed.process().await;
        bed.play_team(&research, &boot).await;
        new.previous = Some(research.clone());
        new.language = Some("ja".to_owned());
        let accepted = bed.store.submit(&new).await.unwrap();
        assert!(accepted.created);
        let row = bed.store.task(&accepted.task).await.unwrap();
        assert_eq!(
            (row.kind, row.previous, row.language),
            (Kind::Research, new.previous.clone(), Some("ja".into()))
        );
        // What was accepted once is known again, whatever became of the earlier task.
        bed.execute(&format!("UPDATE tasks SET result = NULL WHERE id = '{research}'")).await;
        let again = bed.store.submit(&new).await.unwrap();
        assert_eq!((again.created, again.task), (false, accepted.task));
    })
    .await;
}

#[tokio::test]
async fn keys_belong_to_their_owner_and_no_key_is_never_a_repeat() {
    on_every_database(async |bed| {
        let mut new = new_task();
        new.idempotency_key = Some("key".to_owned());
        bed.store.submit(&new).await.unwrap();
        new.owner = "bob".to_owned();
        assert!(bed.store.submit(&new).await.unwrap().created);
        new.idempotency_key = None;
        assert!(bed.store.submit(&new).await.unwrap().created);
        assert!(bed.store.submit(&new).await.unwrap().created);
        assert_eq!(bed.rows("SELECT count(*) FROM tasks").await, ["4"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_one_key_at_the_same_time_make_one_task() {
    on_every_database(async |bed| {
        let other = bed.store.reopen().await.unwrap();
        for round in 0..10 {
            let mut new = new_task();
            new.idempotency_key = Some(format!("key {round}"));
            let (first, second) = tokio::join!(bed.store.submit(&new), other.submit(&new));
            let (first, second) = (first.unwrap(), second.unwrap());
            assert_eq!(first.task, second.task);
            assert!(first.created != second.created, "one of them made it");
        }
        assert_eq!(bed.rows("SELECT count(*) FROM tasks").await, ["10"]);
        other.close().await;
    })
    .await;
}
