//! Output of programs.

use proptest::prelude::*;

use super::super::clip;

#[test]
fn short_output_stays_as_it_is() {
    assert_eq!(clip("one\n\ttwo ä\n", None), "one\n\ttwo ä\n");
    assert_eq!(clip("", None), "");
    let edge = "x".repeat(8_000);
    assert_eq!(clip(&edge, None), edge);
}

#[test]
fn terminal_codes_are_removed() {
    assert_eq!(clip("\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}x\u{1b}(B\u{1b}[?25l", None), "red x");
    assert_eq!(clip("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\ \u{9b}2Kend", None), "link end");
    assert_eq!(clip("10 %\r50 %\r100 %\r\ndone\r\n", None), "100 %\ndone\n");
    assert_eq!(clip("ab\u{8}c\u{0}\u{7}d", None), "acd");
    assert_eq!(clip("\u{1b}]unfinished\nnext", None), "\nnext");
    assert_eq!(clip("end\u{1b}", None), "end");
    assert_eq!(clip("end\u{1b}[", None), "end");
}

#[test]
fn equal_lines_become_one() {
    assert_eq!(clip(&"same\n".repeat(120), None), "same\n… (120 times in all)\n");
    assert_eq!(clip("a\na\nb\n", None), "a\na\nb\n");
    assert_eq!(clip("a\nb\nb\nb", None), "a\nb\n… (3 times in all)\n");
}

#[test]
fn long_output_keeps_its_start_and_its_end() {
    let output: String = (0..2_000).map(|n| format!("line {n}\n")).collect();
    let clipped = clip(&output, Some("/tmp/output-3.txt"));
    assert!(clipped.starts_with("line 0\nline 1\n") && clipped.ends_with("line 1999\n"));
    let note = clipped.lines().find(|line| line.starts_with('…')).unwrap();
    assert!(note.ends_with("characters left out; the whole output is in /tmp/output-3.txt …"), "{note}");
    assert!(
        clipped
            .lines()
            .filter(|line| !line.starts_with('…'))
            .all(|line| output.contains(&format!("{line}\n")))
    );
    assert!(clipped.chars().count() < 7_700);
    assert!(!clip(&output, None).contains("whole output"));
}

proptest! {
    #[test]
    fn whatever_comes_is_short_and_clean(output in "(\u{1b}[\\[\\]0-9;a-zA-Z]{0,3}|[a-zä\u{9b}\r\n\u{8}]{0,200}){0,200}") {
        let clipped = clip(&output, None);
        prop_assert!(clipped.chars().count() <= 8_000);
        prop_assert!(clipped.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
    }
}
