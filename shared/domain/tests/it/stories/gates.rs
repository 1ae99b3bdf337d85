//! Gates: a person accepts the feature list.

use insta::assert_snapshot;

use crate::play::Play;

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
    assert_snapshot!(Play::new(true).tell("submitted; init 1; reject 1; init 1; deadline; retry"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             WAITING_FOR_HUMAN        1 features; gate 1 opened
        reject 1           INITIALIZING             gate 1 rejected; +2 initialize (too vague)
        init 1             WAITING_FOR_HUMAN        1 features; gate 2 opened
        deadline           FAILED_REQUIRES_REVIEW   stopping: the deadline passed; report
        retry              WAITING_FOR_HUMAN        retry accepted; gate 3 opened
        ");
    assert_snapshot!(Play::new(true).tell("submitted; init 1; reject 1; mismatch; retry"), @"
        submitted          INITIALIZING             +1 initialize
        init 1             WAITING_FOR_HUMAN        1 features; gate 1 opened
        reject 1           INITIALIZING             gate 1 rejected; +2 initialize (too vague)
        mismatch           FAILED                   illegal: the result does not belong to a job of kind initialize; stopping: job 2 (initialize) failed: the result does not belong to a job of kind initialize; report
        retry              INITIALIZING             retry accepted; +3 initialize (too vague)
        ");
}
