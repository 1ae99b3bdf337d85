//! Stories of `build`, told in the words of [`crate::play`].

use insta::assert_snapshot;
use nightforge_domain::state::TaskState;
use nightforge_domain::{Kind, Limits};

use crate::play::{Play, limits, play};

#[test]
fn every_feature_is_proven_and_verified() {
    let mut story = Play::new(false);
    let told = story.tell("submitted; init 3; pass; fail; pass; already; verified");
    assert_snapshot!(told, @"
        submitted          INITIALIZING             +1 initialize
        init 3             CODING F001              3 features; +2 code F001, attempt 1, session 1
        pass               CODING F002              F001 passed; +3 code F002, attempt 1, session 2
        fail               CODING F002              F002 attempt 1 failed: red; +4 code F002, attempt 2, session 3
        pass               CODING F003              F002 passed; +5 code F003, attempt 1, session 4
        already            VERIFYING                F003 already satisfied; +6 verify
        verified           COMPLETED                report
        ");
    assert_snapshot!(story.report.unwrap(), @"
        # board

        State: **completed**, 3 of 3 features proven.

        ## Objective

        > Build a board.

        ## Features

        | | feature | state | attempts |
        |---|---|---|---|
        | F001 | The board does thing 1. | passed in 0000000000 | 0 |
        | F002 | The board does thing 2. | passed in 0000000000 | 1 |
        | F003 | The board does thing 3. | already satisfied, see 0000000000 | 0 |

        ## Cost

        - 4 coding sessions
        - 0 model calls, 0 tokens in, 0 tokens out, 0 s in model calls
        - 0 s from acceptance to the end

        Task 01k0000000000000000000000a
        ");
}

#[test]
fn five_failures_in_a_row_give_the_next_feature_its_turn() {
    assert_snapshot!(play("submitted; init 2; fail x4; fail; fail x5; pass; fail x4; fail"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        fail x4            CODING F001              F001 attempt 4 failed: red; +6 code F001, attempt 5, session 5
        fail               CODING F002              F001 attempt 5 failed: red; F001 rotated after 5; +7 code F002, attempt 1, session 6
        fail x5            CODING F001              F002 attempt 5 failed: red; F002 rotated after 5; +12 code F001, attempt 6, session 11
        pass               CODING F002              F001 passed; +13 code F002, attempt 6, session 12
        fail x4            CODING F002              F002 attempt 9 failed: red; +17 code F002, attempt 10, session 16
        fail               CODING F002              F002 attempt 10 failed: red; F002 rotated after 10; +18 code F002, attempt 11, session 17
        ");
}

#[test]
fn a_pass_of_the_only_other_feature_brings_the_rotated_one_back() {
    assert_snapshot!(play("submitted; init 2; fail x5; pass; pass; verified"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        fail x5            CODING F002              F001 attempt 5 failed: red; F001 rotated after 5; +7 code F002, attempt 1, session 6
        pass               CODING F001              F002 passed; +8 code F001, attempt 6, session 7
        pass               VERIFYING                F001 passed; +9 verify
        verified           COMPLETED                report
        ");
}

#[test]
fn three_sessions_without_a_change_give_the_next_feature_its_turn() {
    assert_snapshot!(play("submitted; init 2; fail unchanged x2; fail unchanged; fail unchanged; fail; fail unchanged x2; fail"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        fail unchanged x2  CODING F001              F001 attempt 2 failed: red; +4 code F001, attempt 3, session 3
        fail unchanged     CODING F002              F001 attempt 3 failed: red; F001 rotated after 3; +5 code F002, attempt 1, session 4
        fail unchanged     CODING F002              F002 attempt 1 failed: red; +6 code F002, attempt 2, session 5
        fail               CODING F002              F002 attempt 2 failed: red; +7 code F002, attempt 3, session 6
        fail unchanged x2  CODING F002              F002 attempt 4 failed: red; +9 code F002, attempt 5, session 8
        fail               CODING F001              F002 attempt 5 failed: red; F002 rotated after 5; +10 code F001, attempt 4, session 9
        ");
    assert_snapshot!(play("submitted; init 2; over unchanged x2; over unchanged; pass"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        over unchanged x2  CODING F001              F001 handed over; +4 code F001, attempt 1, session 3
        over unchanged     CODING F002              F001 handed over; F001 rotated after 0; +5 code F002, attempt 1, session 4
        pass               CODING F001              F002 passed; +6 code F001, attempt 1, session 5
        ");
}

#[test]
fn fifty_attempts_block_a_feature_and_the_task_needs_a_review() {
    let mut story = Play::new(false);
    assert_snapshot!(story.tell("submitted; init 2; fail x5; pass; fail x44; fail; retry; pass; verified"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        fail x5            CODING F002              F001 attempt 5 failed: red; F001 rotated after 5; +7 code F002, attempt 1, session 6
        pass               CODING F001              F002 passed; +8 code F001, attempt 6, session 7
        fail x44           CODING F001              F001 attempt 49 failed: red; +52 code F001, attempt 50, session 51
        fail               FAILED_REQUIRES_REVIEW   F001 attempt 50 failed: red; F001 blocked after 50; stopping: blocked: F001; report
        retry              CODING F001              retry accepted; +53 code F001, attempt 1, session 52
        pass               VERIFYING                F001 passed; +54 verify
        verified           COMPLETED                report
        ");
}

#[test]
fn blocked_features_do_not_hold_up_the_others() {
    let mut story = Play::under(Limits { max_attempts: 1, ..limits() });
    assert_snapshot!(story.tell("submitted; init 3; fail; pass; fail"), @"
        submitted          INITIALIZING             +1 initialize
        init 3             CODING F001              3 features; +2 code F001, attempt 1, session 1
        fail               CODING F002              F001 attempt 1 failed: red; F001 blocked after 1; +3 code F002, attempt 1, session 2
        pass               CODING F003              F002 passed; +4 code F003, attempt 1, session 3
        fail               FAILED_REQUIRES_REVIEW   F003 attempt 1 failed: red; F003 blocked after 1; stopping: blocked: F001, F003; report
        ");
    assert_snapshot!(story.report.unwrap(), @"
        # board

        State: **needs_review**, 1 of 3 features proven.

        Stopped early: blocked: F001, F003.

        ## Objective

        > Build a board.

        ## Features

        | | feature | state | attempts |
        |---|---|---|---|
        | F001 | The board does thing 1. | blocked | 1 |
        | F002 | The board does thing 2. | passed in 0000000000 | 0 |
        | F003 | The board does thing 3. | blocked | 1 |

        ### F001: not proven

        Last failure:

            red

        Reproduce: `python3 -m unittest tests/test_f001.py`

        ### F003: not proven

        Last failure:

            red

        Reproduce: `python3 -m unittest tests/test_f003.py`

        ## Cost

        - 3 coding sessions
        - 0 model calls, 0 tokens in, 0 tokens out, 0 s in model calls
        - 0 s from acceptance to the end

        Task 01k0000000000000000000000a
        ");
}

#[test]
fn sessions_are_limited_and_a_retry_grants_as_many_again() {
    let mut story = Play::under(Limits { max_sessions: 2, ..limits() });
    assert_snapshot!(story.tell("submitted; init 4; pass; fail; retry; pass; pass; retry; pass; verified"), @"
        submitted          INITIALIZING             +1 initialize
        init 4             CODING F001              4 features; +2 code F001, attempt 1, session 1
        pass               CODING F002              F001 passed; +3 code F002, attempt 1, session 2
        fail               FAILED_REQUIRES_REVIEW   F002 attempt 1 failed: red; stopping: the limit of 2 sessions is reached; report
        retry              CODING F002              retry accepted; +4 code F002, attempt 2, session 3
        pass               CODING F003              F002 passed; +5 code F003, attempt 1, session 4
        pass               FAILED_REQUIRES_REVIEW   F003 passed; stopping: the limit of 2 sessions is reached; report
        retry              CODING F004              retry accepted; +6 code F004, attempt 1, session 5
        pass               VERIFYING                F004 passed; +7 verify
        verified           COMPLETED                report
        ");
}

#[test]
fn tokens_are_limited_and_a_retry_grants_as_many_again_from_where_it_stands() {
    let mut story = Play::under(Limits { max_tokens: 1_000, ..limits() });
    assert_snapshot!(
        story.tell("submitted; init 3; spent 999; pass; spent 5000; fail; retry; spent 5999; fail; spent 6000; fail"),
        @"
        submitted          INITIALIZING             +1 initialize
        init 3             CODING F001              3 features; +2 code F001, attempt 1, session 1
        spent 999
        pass               CODING F002              F001 passed; +3 code F002, attempt 1, session 2
        spent 5000
        fail               FAILED_REQUIRES_REVIEW   F002 attempt 1 failed: red; stopping: the limit of 1000 tokens is reached; report
        retry              CODING F002              retry accepted; +4 code F002, attempt 2, session 3
        spent 5999
        fail               CODING F002              F002 attempt 2 failed: red; +5 code F002, attempt 3, session 4
        spent 6000
        fail               FAILED_REQUIRES_REVIEW   F002 attempt 3 failed: red; stopping: the limit of 1000 tokens is reached; report
        "
    );
}

#[test]
fn no_session_starts_when_the_deadline_is_closer_than_a_session_takes() {
    let mut story = Play::due_at(200_000);
    assert_snapshot!(
        story.tell("submitted; init 4; pass; now 140000; pass; now 140001; pass; now 199000; retry; deadline; pass; verified"),
        @"
        submitted          INITIALIZING             +1 initialize
        init 4             CODING F001              4 features; +2 code F001, attempt 1, session 1
        pass               CODING F002              F001 passed; +3 code F002, attempt 1, session 2
        now 140000
        pass               CODING F003              F002 passed; +4 code F003, attempt 1, session 3
        now 140001
        pass               FAILED_REQUIRES_REVIEW   F003 passed; stopping: the deadline is closer than a session takes; report
        now 199000
        retry              CODING F004              retry accepted; +5 code F004, attempt 1, session 4
        deadline           CODING F004              ignored: a retry has waived the deadline
        pass               VERIFYING                F004 passed; +6 verify
        verified           COMPLETED                report
        "
    );
}

#[test]
fn the_deadline_stops_the_session_that_runs_and_a_retry_makes_it_ready_again() {
    let mut story = Play::due_at(200_000);
    assert_snapshot!(story.tell("submitted; init 1; now 200000; deadline; ended; retry; pass; verified"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        now 200000
        deadline           STOPPING                 stopping: the deadline passed; end jobs
        ended              FAILED_REQUIRES_REVIEW   report
        retry              CODING F001              retry accepted; revive 2
        pass               VERIFYING                F001 passed; +3 verify
        verified           COMPLETED                report
        ");
}

#[test]
fn a_deadline_that_passed_unnoticed_starts_no_session() {
    let mut story = Play::due_at(5);
    assert_snapshot!(story.tell("submitted; now 5; init 1; retry; pass; verified"), @"
        submitted          INITIALIZING             +1 initialize
        now 5
        init 1             FAILED_REQUIRES_REVIEW   1 features; stopping: the deadline is closer than a session takes; report
        retry              CODING F001              retry accepted; +2 code F001, attempt 1, session 1
        pass               VERIFYING                F001 passed; +3 verify
        verified           COMPLETED                report
        ");
}

#[test]
fn a_session_that_hands_over_is_no_attempt() {
    assert_snapshot!(play("submitted; init 1; over; over; fail; over; pass; verified"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             CODING F001              1 features; +2 code F001, attempt 1, session 1
        over               CODING F001              F001 handed over; +3 code F001, attempt 1, session 2
        over               CODING F001              F001 handed over; +4 code F001, attempt 1, session 3
        fail               CODING F001              F001 attempt 1 failed: red; +5 code F001, attempt 2, session 4
        over               CODING F001              F001 handed over; +6 code F001, attempt 2, session 5
        pass               VERIFYING                F001 passed; +7 verify
        verified           COMPLETED                report
        ");
}

#[test]
fn verification_reopens_what_broke() {
    assert_snapshot!(play("submitted; init 2; pass; pass; broken F002 F001; pass; pass; verified"), @"
        submitted          INITIALIZING             +1 initialize
        init 2             CODING F001              2 features; +2 code F001, attempt 1, session 1
        pass               CODING F002              F001 passed; +3 code F002, attempt 1, session 2
        pass               VERIFYING                F002 passed; +4 verify
        broken F002 F001   CODING F001              F002 reopened; F001 reopened; +5 code F001, attempt 1, session 3
        pass               CODING F002              F001 passed; +6 code F002, attempt 1, session 4
        pass               VERIFYING                F002 passed; +7 verify
        verified           COMPLETED                report
        ");
}

#[test]
fn five_verifications_that_find_something_broken_are_enough() {
    let mut story = Play::new(false);
    story.tell("submitted; init 1");
    for _ in 0..4 {
        story.tell("pass; broken F001");
    }
    assert_snapshot!(story.tell("pass; broken F001; pass; retry; verified"), @"
        pass               VERIFYING                F001 passed; +11 verify
        broken F001        CODING F001              F001 reopened; +12 code F001, attempt 1, session 6
        pass               FAILED_REQUIRES_REVIEW   F001 passed; stopping: 5 verifications found features that had passed broken again; report
        retry              VERIFYING                retry accepted; +13 verify
        verified           COMPLETED                report
        ");
}

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

#[test]
fn a_person_accepts_the_list_before_coding_starts() {
    assert_snapshot!(Play::new(true).tell("submitted; approve 1; init 1; approve 2; approve 1; approve 1; pass; verified"), @"
        submitted          INITIALIZING             +1 initialize
        approve 1          INITIALIZING             ignored: that gate is not open
        init 1             WAITING_FOR_HUMAN        1 features; gate 1 opened
        approve 2          WAITING_FOR_HUMAN        ignored: that gate is not open
        approve 1          CODING F001              gate 1 approved; +2 code F001, attempt 1, session 1
        approve 1          CODING F001              ignored: that gate is not open
        pass               VERIFYING                F001 passed; +3 verify
        verified           COMPLETED                report
        ");
}

#[test]
fn a_list_is_revised_once_and_a_second_rejection_ends_the_task() {
    assert_snapshot!(Play::new(true).tell("submitted; init 1; reject 1; reject 1; init 2; approve 1; reject 2"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             WAITING_FOR_HUMAN        1 features; gate 1 opened
        reject 1           INITIALIZING             gate 1 rejected; +2 initialize (too vague)
        reject 1           INITIALIZING             ignored: that gate is not open
        init 2             WAITING_FOR_HUMAN        2 features; gate 2 opened
        approve 1          WAITING_FOR_HUMAN        ignored: that gate is not open
        reject 2           FAILED                   gate 2 rejected; stopping: the feature list was rejected twice: too vague; report
        ");
}

#[test]
fn a_retry_never_skips_the_gate() {
    assert_snapshot!(Play::new(true).tell("submitted; init 1; reject 1; init 1; reject 2; retry; init 1; reject 3; init 1; approve 4"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             WAITING_FOR_HUMAN        1 features; gate 1 opened
        reject 1           INITIALIZING             gate 1 rejected; +2 initialize (too vague)
        init 1             WAITING_FOR_HUMAN        1 features; gate 2 opened
        reject 2           FAILED                   gate 2 rejected; stopping: the feature list was rejected twice: too vague; report
        retry              INITIALIZING             retry accepted; +3 initialize (too vague)
        init 1             WAITING_FOR_HUMAN        1 features; gate 3 opened
        reject 3           INITIALIZING             gate 3 rejected; +4 initialize (too vague)
        init 1             WAITING_FOR_HUMAN        1 features; gate 4 opened
        approve 4          CODING F001              gate 4 approved; +5 code F001, attempt 1, session 1
        ");
    assert_snapshot!(Play::new(true).tell("submitted; init 1; deadline; retry; reject 2; init 1; approve 3"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             WAITING_FOR_HUMAN        1 features; gate 1 opened
        deadline           FAILED_REQUIRES_REVIEW   stopping: the deadline passed; report
        retry              WAITING_FOR_HUMAN        retry accepted; gate 2 opened
        reject 2           INITIALIZING             gate 2 rejected; +2 initialize (too vague)
        init 1             WAITING_FOR_HUMAN        1 features; gate 3 opened
        approve 3          CODING F001              gate 3 approved; +3 code F001, attempt 1, session 1
        ");
    assert_snapshot!(Play::new(true).tell("submitted; init 1; reject 1; mismatch; retry"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             WAITING_FOR_HUMAN        1 features; gate 1 opened
        reject 1           INITIALIZING             gate 1 rejected; +2 initialize (too vague)
        mismatch           FAILED                   illegal: the result does not belong to a job of kind initialize; stopping: job 2 (initialize) failed: the result does not belong to a job of kind initialize; report
        retry              INITIALIZING             retry accepted; +3 initialize (too vague)
        ");
}

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
        retry              CODING F001              ignored: the task is at work
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
        retry              COMPLETED                ignored: only a failed or reviewed task can be retried
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
        retry              STOPPING                 ignored: the task is being cancelled
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
