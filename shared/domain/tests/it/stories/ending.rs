//! Cancel, failures and retry: how a task ends early, and goes on.

use insta::assert_snapshot;

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
        retry              CANCELLED                ignored: only a failed or reviewed task can be retried
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
        retry              COMPLETED                ignored: only a failed or reviewed task can be retried
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
        retry              STOPPING                 ignored: the task is being cancelled
        ended              CANCELLED                report
        retry              CANCELLED                ignored: only a failed or reviewed task can be retried
        ");
}

#[test]
fn a_retry_of_a_task_at_work_changes_nothing() {
    assert_snapshot!(play("retry; submitted; retry; init 1; retry"), @"
        retry              PENDING                  ignored: the task is at work
        submitted          INITIALIZING             +1 initialize
        retry              INITIALIZING             ignored: the task is at work
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        retry              CODING F001              ignored: the task is at work
        ");
    assert_snapshot!(Play::new(true).tell("submitted; init 1; retry"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             WAITING_FOR_HUMAN        1 features; gate 1 opened
        retry              WAITING_FOR_HUMAN        ignored: the task is at work
        ");
}
