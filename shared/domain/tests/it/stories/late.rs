//! Inputs that come late, do not fit, or cannot be meant.

use insta::assert_snapshot;
use nightforge_domain::state::TaskState;
use nightforge_domain::{Kind, Limits};

use crate::play::{Play, limits, play};

#[test]
fn a_result_that_does_not_fit_its_job_never_leaves_the_task_hanging() {
    assert_snapshot!(play("submitted; mismatch; retry; init 1; mismatch; pass; mismatch; retry; verified"), @"
        submitted          INITIALIZING             +1 initialize
        mismatch           FAILED                   illegal: the result does not belong to a job of kind initialize; stopping: job 1 (initialize) failed: the result does not belong to a job of kind initialize; report
        retry              INITIALIZING             retry accepted; +2 initialize
        init 1             CODING F001              1 features; +3 code F001, attempt 1, session 1
        mismatch           CODING F001              illegal: the result does not belong to a job of kind code; F001 attempt 1 failed: the result does not belong to a job of kind code; +4 code F001, attempt 2, session 2
        pass               VERIFYING                F001 passed; +5 verify
        mismatch           FAILED_REQUIRES_REVIEW   illegal: the result does not belong to a job of kind verify; stopping: job 5 (verify) failed: the result does not belong to a job of kind verify; report
        retry              VERIFYING                retry accepted; +6 verify
        verified           COMPLETED                report
        ");
    assert_snapshot!(play("submitted; init 1; pass; broken F001 F009; retry; verified"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        pass               VERIFYING                F001 passed; +3 verify
        broken F001 F009   FAILED_REQUIRES_REVIEW   illegal: there is no feature F009; stopping: job 3 (verify) failed: there is no feature F009; report
        retry              VERIFYING                retry accepted; +4 verify
        verified           COMPLETED                report
        ");
    let mut story = Play::under(Limits { min_features: 3, ..limits() });
    assert_snapshot!(story.tell("submitted; init 2; retry; init 3"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             FAILED                   illegal: 2 features, at least 3 are wanted; stopping: job 1 (initialize) failed: 2 features, at least 3 are wanted; report
        retry              INITIALIZING             retry accepted; +2 initialize
        init 3             CODING F001              3 features; +3 code F001, attempt 1, session 1
        ");
}

#[test]
fn late_inputs_are_consumed_in_every_state() {
    let late = "job 1: init 1; job 1: failed; job 1: died; job 1: ended; retry; deadline; cancel";
    assert_snapshot!(play(&format!("submitted; init 1; {late}")), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        job 1: init 1      CODING F001              ignored: job 1 is not awaited any more
        job 1: failed      CODING F001              ignored: job 1 is not awaited any more
        job 1: died        CODING F001              ignored: job 1 is not awaited any more
        job 1: ended       CODING F001              ignored: job 1 is not awaited any more
        retry              CODING F001              ignored: the task is running; only one that failed or needs a review can be retried
        deadline           STOPPING                 stopping: the deadline passed; end jobs
        cancel             STOPPING                 stopping: cancelled by ada; end jobs
        ");
    assert_snapshot!(play(&format!("submitted; init 1; pass; verified; {late}")), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        pass               VERIFYING                F001 passed; +3 verify
        verified           COMPLETED                report
        job 1: init 1      COMPLETED                ignored: job 1 is not awaited any more
        job 1: failed      COMPLETED                ignored: job 1 is not awaited any more
        job 1: died        COMPLETED                ignored: job 1 is not awaited any more
        job 1: ended       COMPLETED                ignored: job 1 is not awaited any more
        retry              COMPLETED                ignored: the task is completed; there is nothing to retry
        deadline           COMPLETED                ignored: the task is over
        cancel             COMPLETED                ignored: the task is over
        ");
    assert_snapshot!(play(&format!("submitted; init 1; cancel; {late}")), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        cancel             STOPPING                 stopping: cancelled by ada; end jobs
        job 1: init 1      STOPPING                 ignored: job 1 is not awaited any more
        job 1: failed      STOPPING                 ignored: job 1 is not awaited any more
        job 1: died        STOPPING                 ignored: job 1 is not awaited any more
        job 1: ended       STOPPING                 ignored: job 1 is not awaited any more
        retry              STOPPING                 ignored: the task was cancelled, and stays so; submit its objective again
        deadline           STOPPING                 ignored: the task is stopping
        cancel             STOPPING                 ignored: the task is being cancelled
        ");
}

#[test]
fn illegal_inputs_are_consumed_with_an_error() {
    let mut story = Play::new(false);
    assert_snapshot!(story.tell("job 1: init 1; submitted; submitted; job 7: pass; job 0: died"), @"
        job 1: init 1      illegal: input `job_done` is illegal in phase PENDING: there is no job 1
        submitted          INITIALIZING             +1 initialize
        submitted          illegal: input `submitted` is illegal in phase INITIALIZING: the task has started already
        job 7: pass        illegal: input `job_done` is illegal in phase INITIALIZING: there is no job 7
        job 0: died        illegal: input `job_died` is illegal in phase INITIALIZING: there is no job 0
        ");
    let before = story.state.clone();
    story.tell("job 7: pass");
    assert_eq!(story.state, before);
    assert_ne!(story.state, TaskState::new(Kind::Build, false));
}
