//! Cancel, failures and retry: how a task ends early, and goes on.

use insta::assert_snapshot;
use nightforge_domain::state::TaskState;
use nightforge_domain::{Input, JobNo};

use crate::play::{Play, play};

#[test]
fn cancel_ends_the_task_in_every_phase() {
    assert_snapshot!(play("cancel; submitted"), @"
        cancel             CANCELLED                stopping: cancelled by ada; report
        submitted          illegal: input `submitted` is illegal in phase CANCELLED: the task has started already
        ");
    assert_snapshot!(play("submitted; cancel; ended; cancel"), @"
        submitted          INITIALIZING             +1 initialize
        cancel             STOPPING                 stopping: cancelled by ada; end jobs
        ended              CANCELLED                report
        cancel             CANCELLED                ignored: the task is over
        ");
    assert_snapshot!(play("submitted; init 1; cancel; ended"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        cancel             STOPPING                 stopping: cancelled by ada; end jobs
        ended              CANCELLED                report
        ");
    assert_snapshot!(play("submitted; init 1; pass; cancel; ended; retry"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        pass               VERIFYING                F001 passed; +3 verify
        cancel             STOPPING                 stopping: cancelled by ada; end jobs
        ended              CANCELLED                report
        retry              CANCELLED                ignored: the task was cancelled, and stays so; submit its objective again
        ");
    assert_snapshot!(Play::new(true).tell("submitted; init 1; cancel; approve 1"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             WAITING_FOR_HUMAN        1 features; gate 1 opened
        cancel             CANCELLED                stopping: cancelled by ada; report
        approve 1          CANCELLED                ignored: that gate is not open
        ");
    assert_snapshot!(play("submitted; died; cancel"), @"
        submitted          INITIALIZING             +1 initialize
        died               FAILED_REQUIRES_REVIEW   stopping: job 1 (initialize) is a dead letter: three workers died; report
        cancel             FAILED_REQUIRES_REVIEW   ignored: the task is over
        ");
    assert_snapshot!(play("submitted; init 1; pass; verified; cancel"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        pass               VERIFYING                F001 passed; +3 verify
        verified           COMPLETED                report
        cancel             COMPLETED                ignored: the task is over
        ");
}

#[test]
fn a_result_that_comes_while_the_task_is_cancelled_is_kept() {
    let mut story = Play::new(false);
    assert_snapshot!(story.tell("submitted; init 2; cancel; pass"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        cancel             STOPPING                 stopping: cancelled by ada; end jobs
        pass               CANCELLED                F001 passed; report
        ");
    assert_eq!(story.state.build().unwrap().progress(), (1, 2));
}

#[test]
fn failures_of_the_machinery_end_the_task_by_what_is_at_hand() {
    assert_snapshot!(play("submitted; failed"), @"
        submitted          INITIALIZING             +1 initialize
        failed             FAILED                   stopping: job 1 (initialize) failed: Truncated: cut; report
        ");
    assert_snapshot!(play("submitted; died"), @"
        submitted          INITIALIZING             +1 initialize
        died               FAILED_REQUIRES_REVIEW   stopping: job 1 (initialize) is a dead letter: three workers died; report
        ");
    assert_snapshot!(play("submitted; init 2; pass; died"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        pass               CODING F002              F001 passed; +3 code F002, attempt 1, session 2
        died               FAILED_REQUIRES_REVIEW   stopping: job 3 (code) is a dead letter: three workers died; report
        ");
    assert_snapshot!(play("submitted; init 2; failed; failed; pass"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        failed             CODING F001              F001 attempt 1 failed: Truncated: cut; +3 code F001, attempt 2, session 2
        failed             CODING F001              F001 attempt 2 failed: Truncated: cut; +4 code F001, attempt 3, session 3
        pass               CODING F002              F001 passed; +5 code F002, attempt 1, session 4
        ");
    assert_snapshot!(play("submitted; init 1; pass; failed"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        pass               VERIFYING                F001 passed; +3 verify
        failed             FAILED_REQUIRES_REVIEW   stopping: job 3 (verify) failed: Truncated: cut; report
        ");
}

#[test]
fn a_retry_while_stopping_is_remembered() {
    let mut story = Play::due_at(5);
    assert_snapshot!(story.tell("submitted; init 2; now 5; deadline; retry; ended; pass; pass; verified"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        now 5
        deadline           STOPPING                 stopping: the deadline passed; end jobs
        retry              STOPPING
        ended              CODING F001              retry accepted; revive 2
        pass               CODING F002              F001 passed; +3 code F002, attempt 1, session 2
        pass               VERIFYING                F002 passed; +4 verify
        verified           COMPLETED                report
        ");
    let mut story = Play::due_at(5);
    assert_snapshot!(story.tell("submitted; init 2; now 5; deadline; retry; pass"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        now 5
        deadline           STOPPING                 stopping: the deadline passed; end jobs
        retry              STOPPING
        pass               CODING F002              F001 passed; retry accepted; +3 code F002, attempt 1, session 2
        ");
}

#[test]
fn a_retry_after_the_end_revives_the_jobs_that_ended() {
    assert_snapshot!(play("submitted; failed; retry; init 1; died; retry; pass; verified; retry"), @"
        submitted          INITIALIZING             +1 initialize
        failed             FAILED                   stopping: job 1 (initialize) failed: Truncated: cut; report
        retry              INITIALIZING             retry accepted; revive 1
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        died               FAILED_REQUIRES_REVIEW   stopping: job 2 (code) is a dead letter: three workers died; report
        retry              CODING F001              retry accepted; revive 2
        pass               VERIFYING                F001 passed; +3 verify
        verified           COMPLETED                report
        retry              COMPLETED                ignored: the task is completed; there is nothing to retry
        ");
}

#[test]
fn cancel_beats_retry() {
    let mut story = Play::due_at(5);
    assert_snapshot!(story.tell("submitted; init 1; now 5; deadline; retry; cancel; retry; ended; retry"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        now 5
        deadline           STOPPING                 stopping: the deadline passed; end jobs
        retry              STOPPING
        cancel             STOPPING                 stopping: cancelled by ada; end jobs
        retry              STOPPING                 ignored: the task was cancelled, and stays so; submit its objective again
        ended              CANCELLED                report
        retry              CANCELLED                ignored: the task was cancelled, and stays so; submit its objective again
        ");
}

#[test]
fn a_retry_of_a_task_at_work_changes_nothing() {
    assert_snapshot!(play("retry; submitted; retry; init 1; retry"), @"
        retry              PENDING                  ignored: the task is queued; only one that failed or needs a review can be retried
        submitted          INITIALIZING             +1 initialize
        retry              INITIALIZING             ignored: the task is running; only one that failed or needs a review can be retried
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        retry              CODING F001              ignored: the task is running; only one that failed or needs a review can be retried
        ");
    assert_snapshot!(Play::new(true).tell("submitted; init 1; retry"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             WAITING_FOR_HUMAN        1 features; gate 1 opened
        retry              WAITING_FOR_HUMAN        ignored: the task is waiting_for_human; only one that failed or needs a review can be retried
        ");
}

#[test]
fn a_retry_from_a_job_revives_that_one_and_later_ones() {
    assert_snapshot!(play("submitted; init 1; died; retry 1; retry 9; retry 2; pass; verified"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        died               FAILED_REQUIRES_REVIEW   stopping: job 2 (code) is a dead letter: three workers died; report
        retry 1            FAILED_REQUIRES_REVIEW   ignored: job 1 can't be retried: only job 2 can be
        retry 9            FAILED_REQUIRES_REVIEW   ignored: job 9 can't be retried: only job 2 can be
        retry 2            CODING F001              retry accepted; revive 2
        pass               VERIFYING                F001 passed; +3 verify
        verified           COMPLETED                report
        ");
    let mut fanned_out = Play::new(false);
    fanned_out.tell("submitted; init 1; died");
    // As a kind with several jobs at a time leaves it.
    let spec = fanned_out.state.ended[&JobNo(2)].clone();
    fanned_out.state.ended.insert(JobNo(1), spec.clone());
    fanned_out.state.ended.insert(JobNo(3), spec);
    fanned_out.state.jobs_created = 3;
    assert_snapshot!(fanned_out.tell("retry 4; retry 2"), @"
        retry 4            FAILED_REQUIRES_REVIEW   ignored: job 4 can't be retried: only the jobs 1, 2, 3 can be
        retry 2            CODING F001              retry accepted; revive 2; revive 3
        ");
    assert_eq!(fanned_out.state.ended.keys().copied().collect::<Vec<_>>(), [JobNo(1)]);
}

#[test]
fn a_retry_from_a_job_that_still_runs_waits_for_its_end() {
    let mut story = Play::due_at(5);
    assert_snapshot!(story.tell("submitted; init 2; now 5; deadline; retry 1; retry 2; ended"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        now 5
        deadline           STOPPING                 stopping: the deadline passed; end jobs
        retry 1            STOPPING                 ignored: job 1 can't be retried: only job 2 can be
        retry 2            STOPPING
        ended              CODING F001              retry accepted; revive 2
        ");
    let mut story = Play::due_at(5);
    assert_snapshot!(story.tell("submitted; init 2; now 5; deadline; retry 2; pass; retry"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        now 5
        deadline           STOPPING                 stopping: the deadline passed; end jobs
        retry 2            STOPPING
        pass               FAILED_REQUIRES_REVIEW   F001 passed; ignored: job 2 gave its result after all; report
        retry              CODING F002              retry accepted; +3 code F002, attempt 1, session 2
        ");
    let mut story = Play::due_at(5);
    assert_snapshot!(story.tell("submitted; init 2; now 5; deadline; retry 2; retry; pass"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        now 5
        deadline           STOPPING                 stopping: the deadline passed; end jobs
        retry 2            STOPPING
        retry              STOPPING
        pass               CODING F002              F001 passed; retry accepted; +3 code F002, attempt 1, session 2
        ");
}

#[test]
fn a_state_that_an_older_program_wrote_is_read() {
    let mut story = Play::new(false);
    story.tell("submitted; died");
    let mut old = serde_json::to_value(&story.state).unwrap();
    assert!(old.as_object_mut().unwrap().remove("retry_from").is_some());
    assert_eq!(serde_json::from_value::<TaskState>(old).unwrap(), story.state);
    let old: Input = serde_json::from_str("{\"input\":\"retry\",\"by\":\"ada\"}").unwrap();
    assert_eq!(old, Input::Retry { by: "ada".to_owned(), from: None });
}
