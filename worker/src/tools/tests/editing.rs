//! The ladder, rung by rung.

use super::super::{ToolError, edit_file};
use super::{Place, told};

/// Edits a file of this content and gives what is then in it.
fn edit(content: &str, old: &str, new: &str) -> Result<String, ToolError> {
    let place = Place::new();
    place.put("f", content);
    let result = edit_file(&place.files, "f", old, new);
    if result.is_err() {
        assert_eq!(place.text("f"), content, "a refused edit changes nothing");
    }
    result.map(|_| place.text("f"))
}

#[test]
fn an_exact_text_is_replaced_once() {
    assert_eq!(edit("a = 1\nb = 1\n", "b = 1", "b = 2").unwrap(), "a = 1\nb = 2\n");
    assert_eq!(edit("one two three", "two ", "").unwrap(), "one three");
    assert_eq!(edit("x\ny", "y", "z\n").unwrap(), "x\nz\n");
    assert_eq!(edit("a\nb\nc\n", "a\nb\n", "").unwrap(), "c\n");
}

#[test]
fn a_text_that_occurs_twice_is_refused_with_its_places() {
    assert!(told(edit("x\ny\nx\n", "x", "z")).contains("at lines 1, 3;"));
    assert!(told(edit("aaa", "aa", "b")).contains("more than once"), "overlapping counts");
    // Exactly once wins over loosely twice.
    assert_eq!(edit("  x = 1\nx = 1 \nx = 1;\n", "  x = 1\n", "  y\n").unwrap(), "  y\nx = 1 \nx = 1;\n");
    // Loosely twice is refused, too.
    assert!(told(edit("x  \ny\nx \ny\n", "x\ny", "z")).contains("at lines 1, 3;"));
}

#[test]
fn white_space_at_the_ends_of_lines_does_not_matter() {
    assert_eq!(edit("a  \nb\t\nc\n", "a\nb", "x\ny").unwrap(), "x\ny\nc\n");
    assert_eq!(edit("a\nb\nc\n", "a   \nb \n", "x\n").unwrap(), "x\nc\n");
    assert_eq!(edit("a  \nb\nc\n", "a\nb \n", "").unwrap(), "c\n");
}

#[test]
fn the_new_text_is_indented_as_the_file_is() {
    let file = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        pass\n";
    let old = "def f(self):\n    return 1\n";
    let new = "def f(self):\n    if self:\n        return 2\n\n    return 1\n";
    let expected = "class A:\n    def f(self):\n        if self:\n            return 2\n\n        return 1\n\n    def g(self):\n        pass\n";
    assert_eq!(edit(file, old, new).unwrap(), expected);
    // Too deep instead of too shallow.
    assert_eq!(edit("a:\n  b\n", "    a:\n      b", "    a:\n      c").unwrap(), "a:\n  c\n");
}

#[test]
fn tabs_and_spaces_are_translated() {
    let file = "if x {\n\tif y {\n\t\tgo()\n\t}\n}\n";
    let new = "    if y {\n        stop()\n        if z {\n            go()\n        }\n    }";
    let expected = "if x {\n\tif y {\n\t\tstop()\n\t\tif z {\n\t\t\tgo()\n\t\t}\n\t}\n}\n";
    assert_eq!(edit(file, "    if y {\n        go()\n    }", new).unwrap(), expected);
    // Two spaces a level, and one level less than the file.
    assert_eq!(
        edit(file, "if y {\n  go()\n}", "if y {\n  stop()\n}").unwrap(),
        "if x {\n\tif y {\n\t\tstop()\n\t}\n}\n"
    );
    // The other way round.
    assert_eq!(
        edit("a:\n    b:\n        c\n", "\tb:\n\t\tc", "\tb:\n\t\td").unwrap(),
        "a:\n    b:\n        d\n"
    );
}

#[test]
fn an_indentation_without_a_rule_is_a_miss() {
    // The model's two lines are level; the file's are not.
    assert!(told(edit("if x:\n    y\n", "if x:\ny", "if z:\ny")).contains("does not occur"));
}

#[test]
fn typographic_punctuation_does_not_matter() {
    assert_eq!(edit("say “it’s”\n", "say \"it's\"", "say 'no'").unwrap(), "say 'no'\n");
    assert_eq!(edit("a – b — c… d\u{a0}e\n", "a - b - c... d e", "x").unwrap(), "x\n");
    assert_eq!(edit("it's \"x\"\n", "it’s “x”", "y").unwrap(), "y\n");
    assert_eq!(edit("  print(‘x’)\n  y\n", "print('x')\ny", "print('z')\ny").unwrap(), "  print('z')\n  y\n");
    assert!(told(edit("‘a’ ’a‘\n", "'a'", "b")).contains("more than once"));
    assert!(told(edit("wait… now", "wait.. now", "x")).contains("does not occur"));
}

#[test]
fn it_is_never_found_by_similarity() {
    assert!(told(edit("color = 1\n", "colour = 1", "x")).contains("does not occur"));
    assert!(told(edit("a\n\n\nb\n", "\n \n", "x")).contains("does not occur"));
}

#[test]
fn a_miss_shows_the_nearest_ten_lines() {
    let content: String =
        (1..=100).map(|n| format!("line {n}\n")).collect::<String>() + "def paint(board, color):\n    pass\n";
    let text = told(edit(&content, "def paint(board, colour):\n    pass", "x"));
    assert!(text.contains("  101| def paint(board, color):\n  102|     pass\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("| ")).count(), 10, "{text}");
    assert!(told(edit("a\nb\n", "    1| a", "c")).contains("Leave out the line numbers"));
    assert!(told(edit("", "a", "b")).contains("empty"));
    let short = told(edit("only\n", "something", "x"));
    assert!(short.contains("    1| only\n"), "{short}");
}

#[test]
fn dos_lines_stay_dos_lines() {
    assert_eq!(edit("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n").unwrap(), "x\r\ny\r\nz\r\nc\r\n");
    assert_eq!(edit("a\r\nb\r\n", "a\r\nb", "x\r\ny").unwrap(), "x\r\ny\r\n");
    // In a file with both, the lines that are not touched stay as they are.
    assert_eq!(edit("a\r\nb\nc\r\n", "b", "x").unwrap(), "a\r\nx\nc\r\n");
    assert_eq!(edit("a\r\nb\nc\r\nd\n", "a\nb", "x\nb").unwrap(), "x\nb\nc\r\nd\n");
}

#[test]
fn what_can_not_be_edited_is_named() {
    assert!(told(edit("a\n", "", "b")).contains("old_text is empty"));
    assert!(told(edit("a\n", "a", "a")).contains("nothing would change"));
    let place = Place::new();
    place.put("latin", b"caf\xe9 one");
    place.put("binary", b"one\0");
    assert!(told(edit_file(&place.files, "latin", "one", "two")).contains("UTF-8"));
    assert!(told(edit_file(&place.files, "binary", "one", "two")).contains("not a text file"));
    assert!(told(edit_file(&place.files, "none", "one", "two")).contains("write_file"));
    assert!(told(edit_file(&place.files, "no/folder/x", "one", "two")).contains("write_file"));
    assert!(!place.path("no").exists(), "looking makes no folders");
}

#[test]
fn the_changed_lines_are_shown_with_their_neighbours() {
    let place = Place::new();
    place.put("f", "a\nb\nc\nd\n");
    let said = edit_file(&place.files, "f", "b\nc", "x\ny\nz").unwrap();
    assert_eq!(said, "edited f at line 2. It reads now:\n    1| a\n    2| x\n    3| y\n    4| z\n    5| d\n");
    let said = edit_file(&place.files, "f", "a\n", "").unwrap();
    assert_eq!(said, "edited f at line 1. It reads now:\n    1| x\n");
    let long = "l\n".repeat(40);
    let said = edit_file(&place.files, "f", "y\n", &long).unwrap();
    assert!(said.ends_with("   14| l\n  …\n"), "{said}");
}
