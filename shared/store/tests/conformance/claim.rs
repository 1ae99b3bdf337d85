//! Claims: which job is taken, by whom, and when none is.

use std::time::Duration;

use nightforge_domain::{
    Agent, AgentModels, Event, Fence, JobSpec, JobState, Millis, ModelName, Priority, Status,
};
use nightforge_store::{HandBack, StoreError};

use crate::bed::on_every_database;
use crate::work::{LEASE, commit_id, model, new_task, step};

#[tokio::test]
async fn a_claim_tells_what_is_to_be_done() {
    on_every_database(async |bed| {
        let (task, claim, boot) = bed.claimed().await;
        assert_eq!((claim.fence, &claim.spec), (Fence(1), &JobSpec::Initialize { revision: None }));
        assert_eq!(
            (claim.task.id.clone(), claim.task.seq, claim.task.status),
            (task.clone(), 1, Status::Running)
        );
        assert_eq!((claim.steps, claim.infra_failures, claim.claimed_at), (0, 0, Millis(bed.now())));
        let row = bed.job(&claim.job).await;
        assert_eq!((row.state, row.boot.as_deref()), (JobState::Running, Some(boot.as_str())));
        assert_eq!(row.lease_until, Some(Millis(bed.now() + LEASE)));
        let event = bed.store.events(&task, 4, 10).await.unwrap().remove(0);
        let claimed = Event::JobClaimed { job: claim.job.no, fence: Fence(1), worker: "worker".to_owned() };
        assert_eq!((event.type_name, event.data), claimed.parts());
        assert!(bed.claim(&boot).await.is_none());
    })
    .await;
}

#[tokio::test]
async fn higher_priority_goes_first_then_the_older_job() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let mut tasks = Vec::new();
        for priority in [5, 0, 9, 5, 9] {
            let mut new = new_task();
            new.priority = Priority::try_from(priority).unwrap();
            tasks.push(bed.started(&new).await);
            bed.pass(1);
        }
        for expected in [2, 4, 0, 3, 1] {
            assert_eq!(bed.claim(&boot).await.unwrap().job.task, tasks[expected]);
        }
    })
    .await;
}

#[tokio::test]
async fn owners_take_turns() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        for owner in ["ada", "ada", "ada", "bob", "bob", "cleo"] {
            let mut new = new_task();
            new.owner = owner.to_owned();
            bed.started(&new).await;
            bed.pass(1);
        }
        let mut turns = Vec::new();
        // Also when all claims fall into the same millisecond.
        while let Some(claim) = bed.claim(&boot).await {
            turns.push(claim.task.owner);
        }
        assert_eq!(turns, ["ada", "bob", "cleo", "ada", "bob", "ada"]);
    })
    .await;
}

#[tokio::test]
async fn a_job_waits_for_its_time() {
    on_every_database(async |bed| {
        let (_, claim, boot) = bed.claimed().await;
        let why = HandBack { reason: "server down".to_owned(), delay_ms: 5_000, infrastructure: true };
        bed.store.hand_back(&claim.job, claim.fence, &why).await.unwrap().unwrap();
        bed.pass(4_999);
        assert!(bed.claim(&boot).await.is_none());
        assert!(bed.store.models_with_ready_jobs().await.unwrap().is_empty());
        bed.pass(1);
        assert_eq!(bed.store.models_with_ready_jobs().await.unwrap(), [model()]);
        let again = bed.claim(&boot).await.unwrap();
        assert_eq!((again.fence, again.infra_failures), (Fence(2), 1));
    })
    .await;
}

#[tokio::test]
async fn nothing_is_claimed_of_a_paused_task() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let task = bed.started(&new_task()).await;
        assert!(bed.store.set_paused(&task, true, "ada").await.unwrap());
        assert!(!bed.store.set_paused(&task, true, "ada").await.unwrap(), "nothing changed");
        assert!(bed.claim(&boot).await.is_none());
        assert!(bed.store.models_with_ready_jobs().await.unwrap().is_empty());
        assert!(bed.store.set_paused(&task, false, "ada").await.unwrap());
        assert!(bed.claim(&boot).await.is_some());
        let events = bed.events(&task).await;
        assert_eq!(events.iter().filter(|event| *event == "pause-changed").count(), 2);
    })
    .await;
}

#[tokio::test]
async fn nothing_is_claimed_of_a_stopping_task() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let task = bed.started(&new_task()).await;
        // The flag alone decides, whatever state the job is in.
        bed.execute(&format!("UPDATE tasks SET stopping = 1 WHERE id = '{task}'")).await;
        assert!(bed.claim(&boot).await.is_none());
        assert!(bed.store.models_with_ready_jobs().await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_task_that_is_paused_or_stopped_while_it_is_claimed_is_not_claimed() {
    for flag in ["paused", "stopping"] {
        on_every_database(async |bed| {
            let boot = bed.process().await;
            let task = bed.started(&new_task()).await;
            // The claim sees a task that is neither, and waits for its lock.
            let change = bed.begin(&format!("UPDATE tasks SET {flag} = 1 WHERE id = '{task}'")).await;
            let commit = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                change.commit().await.unwrap();
            };
            let (claim, ()) = tokio::join!(bed.claim(&boot), commit);
            assert!(claim.is_none(), "{flag}");
            assert_eq!(bed.jobs(&task).await, ["1 initialize ready"]);
        })
        .await;
    }
}

#[tokio::test]
async fn other_models_have_other_jobs() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let mut new = new_task();
        let big: ModelName = "big".parse().unwrap();
        new.models = AgentModels::chosen(|agent| if agent == Agent::Coder { big.clone() } else { model() });
        let task = bed.started(&new).await;
        assert!(bed.store.claim(&big, &boot, "w", LEASE).await.unwrap().is_none());
        let claim = bed.claim(&boot).await.unwrap();
        let result = crate::work::initialized(1);
        bed.store.finish(&claim.job, claim.fence, &result).await.unwrap().unwrap();
        let pending = bed.store.pending(&task).await.unwrap().unwrap();
        let transition = crate::work::answer(&pending, Millis(bed.now()));
        assert_eq!(
            bed.store.commit(&pending, &transition).await.unwrap().unwrap().ring,
            std::slice::from_ref(&big)
        );
        assert!(bed.claim(&boot).await.is_none());
        let claim = bed.store.claim(&big, &boot, "w", LEASE).await.unwrap().unwrap();
        assert!(matches!(claim.spec, JobSpec::Code { base, .. } if base == commit_id(1)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_workers_at_the_same_time_one_gets_the_job() {
    on_every_database(async |bed| {
        let other = bed.store.reopen().await.unwrap();
        let (first, second) = (bed.process().await, bed.process().await);
        for _ in 0..10 {
            let task = bed.started(&new_task()).await;
            let model = model();
            let (left, right) = tokio::join!(
                bed.store.claim(&model, &first, "first", LEASE),
                other.claim(&model, &second, "second", LEASE)
            );
            let claims: Vec<_> = [left.unwrap(), right.unwrap()].into_iter().flatten().collect();
            assert_eq!(claims.len(), 1);
            assert_eq!((&claims[0].job.task, claims[0].fence), (&task, Fence(1)));
        }
        other.close().await;
    })
    .await;
}

#[tokio::test]
async fn the_fence_grows_with_every_claim_and_the_journal_stays() {
    on_every_database(async |bed| {
        let (_, mut claim, boot) = bed.claimed().await;
        let why = HandBack { reason: "drain".to_owned(), delay_ms: 0, infrastructure: false };
        for round in 0..3 {
            bed.step(&claim, round).await;
            bed.store.hand_back(&claim.job, claim.fence, &why).await.unwrap().unwrap();
            let next = bed.claim(&boot).await.unwrap();
            assert_eq!((next.fence, next.steps), (Fence(claim.fence.0 + 1), round + 1));
            claim = next;
        }
        let journal = bed.store.journal(&claim.job).await.unwrap();
        let expected: Vec<_> = (0..3)
            .map(|ordinal| nightforge_domain::Step { at: Millis(bed.now()), ..step(ordinal) })
            .collect();
        assert_eq!(journal, expected);
    })
    .await;
}

#[tokio::test]
async fn a_process_that_is_taken_for_gone_claims_nothing_until_it_says_that_it_lives() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        bed.started(&new_task()).await;
        bed.pass(100_000);
        assert_eq!(bed.store.mark_silent_gone(90_000).await.unwrap(), 1);
        let before = bed.everything().await;
        assert!(bed.claim(&boot).await.is_none());
        assert_eq!(bed.everything().await, before);
        bed.store.heartbeat(&boot).await.unwrap();
        assert!(bed.claim(&boot).await.is_some());
        assert!(bed.store.expired_leases(10).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_job_of_an_unknown_kind_is_a_dead_letter_at_once() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let task = bed.started(&new_task()).await;
        bed.execute(&format!("UPDATE jobs SET spec = '{{\"kind\":\"dream\"}}' WHERE task_id = '{task}'"))
            .await;
        assert!(bed.claim(&boot).await.is_none());
        assert_eq!(bed.rows("SELECT state, fence FROM jobs").await, ["dead | 1"]);
        let inputs = bed.inputs(&task).await;
        assert_eq!(inputs.last().unwrap(), "2 job_died 1: -");
        bed.advance(&task).await;
        let row = bed.store.task(&task).await.unwrap();
        assert_eq!(row.status, Status::NeedsReview);
        assert!(row.report.is_some_and(|report| report.contains("unknown variant `dream`")));
    })
    .await;
}

#[tokio::test]
async fn a_task_that_cannot_be_read_does_not_hold_up_the_others() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let broken = bed.started(&new_task()).await;
        bed.execute(&format!("UPDATE tasks SET state = 'rubbish' WHERE id = '{broken}'")).await;
        let error = bed.store.claim(&model(), &boot, "w", LEASE).await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { what: "state", .. }), "{error}");
        assert_eq!(bed.rows("SELECT state, fence FROM jobs").await, ["ready | 0"]);
        bed.pass(1);
        let whole = bed.started(&new_task()).await;
        assert_eq!(bed.claim(&boot).await.unwrap().job.task, whole);
    })
    .await;
}
