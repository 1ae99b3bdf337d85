//! Which feature has its turn, and what a session gives.

use insta::assert_snapshot;
use nightforge_domain::Limits;

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

        | | feature | state | failed attempts |
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

        | | feature | state | failed attempts |
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
