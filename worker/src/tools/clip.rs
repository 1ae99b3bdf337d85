//! Output of programs, cut to what a model needs: the start, the end, and where the rest is.

use std::fmt::Write;

const MAX_CHARS: usize = 8_000;
const HEAD_CHARS: usize = 2_500;
const TAIL_CHARS: usize = 5_000;
/// So many equal lines in a row become one.
const REPEATS: usize = 3;

/// Without terminal codes, equal lines in a row as one, and of more than 8,000 characters the first 2,500
/// and the last 5,000. `rest` names the file that holds the whole, if there is one.
pub fn clip(output: &str, rest: Option<&str>) -> String {
    let text = collapse(&plain(output));
    let count = text.chars().count();
    if count <= MAX_CHARS {
        return text;
    }
    let head_end = byte_at(&text, HEAD_CHARS);
    let tail_start = byte_at(&text, count - TAIL_CHARS);
    // Whole lines, where lines are short enough.
    let head_end =
        text[..head_end].rfind('\n').filter(|at| head_end - at < 400).map_or(head_end, |at| at + 1);
    let tail_start =
        text[tail_start..].find('\n').filter(|at| *at < 400).map_or(tail_start, |at| tail_start + at + 1);
    let (head, tail) = (&text[..head_end], &text[tail_start..]);
    let left_out = count - head.chars().count() - tail.chars().count();
    let place = rest.map(|rest| format!("; the whole output is in {rest}")).unwrap_or_default();
    let newline = if head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{newline}… {left_out} characters left out{place} …\n{tail}")
}

fn byte_at(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

/// Without escape sequences and control characters; of a line that was overwritten, the last state.
fn plain(output: &str) -> String {
    let mut text = String::with_capacity(output.len());
    let mut line_start = 0;
    let mut chars = output.chars().peekable();
    while let Some(next) = chars.next() {
        match next {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\n' => {
                text.push('\n');
                line_start = text.len();
            }
            '\r' => {
                // Returns before the line's end belong to the end; a later one means that it is written anew.
                while chars.peek() == Some(&'\r') {
                    chars.next();
                }
                if chars.peek().is_some_and(|next| *next != '\n') {
                    text.truncate(line_start);
                }
            }
            '\u{8}' => {
                if text.len() > line_start {
                    text.pop();
                }
            }
            '\t' => text.push('\t'),
            control if control.is_control() => {}
            other => text.push(other),
        }
    }
    text
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// After the escape character (ECMA-48).
fn skip_escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control_sequence(chars);
        }
        // Texts for the terminal (titles, links) end with BEL or ESC \. One without an end takes its line only.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(next) = chars.next_if(|next| *next != '\n') {
                if next == '\u{7}' {
                    break;
                }
                if next == '\u{1b}' {
                    chars.next_if_eq(&'\\');
                    break;
                }
            }
        }
        Some(' '..='/') => {
            while chars.next_if(|next| matches!(next, ' '..='/')).is_some() {}
            chars.next_if(|next| matches!(next, '0'..='~'));
        }
        Some('0'..='~') => drop(chars.next()),
        _ => {}
    }
}

fn skip_control_sequence(chars: &mut Chars<'_>) {
    while chars.next_if(|next| matches!(next, ' '..='?')).is_some() {}
    chars.next_if(|next| matches!(next, '@'..='~'));
}

fn collapse(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let mut count = 1;
        while lines.next_if(|next| next.trim_end_matches('\n') == line.trim_end_matches('\n')).is_some() {
            count += 1;
        }
        if count < REPEATS {
            for _ in 0..count {
                result.push_str(line);
            }
            continue;
        }
        result.push_str(line);
        let _ = writeln!(result, "… ({count} times in all)");
    }
    result
}
