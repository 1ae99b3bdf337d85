//! Limits: each stops the task, and a retry grants it once more.

use insta::assert_snapshot;
use nightforge_domain::Limits;

use crate::play::{Play, limits};

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
