//! The system message is the head of the server's prefix cache: short, and the same for every call.

use super::PASSAGE;

/// Above this the small models lose the thread.
const MOST_CHARACTERS: usize = 8_000;

pub(super) fn check(text: &str, wrong: &mut Vec<String>) {
    // A schema that `response_format` could not carry does not count.
    let own = text.split(PASSAGE).next().unwrap_or_default();
    let characters = own.trim_end().chars().count();
    if characters > MOST_CHARACTERS {
        wrong.push(format!(
            "the system message has {characters} characters, at most {MOST_CHARACTERS} are taken"
        ));
    }
    if let Some(stamp) = time_stamp(text) {
        wrong.push(format!(
            "the system message contains a time stamp (`{stamp}`), which spoils the prefix cache"
        ));
    }
    if let Some(id) = text.split(|c: char| !c.is_ascii_alphanumeric()).find(|word| is_ulid(word)) {
        wrong.push(format!("the system message contains an id (`{id}`), which spoils the prefix cache"));
    }
}

/// A date (`2025-01-31`), a time of day (`23:59:59`), or seconds or milliseconds since 1970.
fn time_stamp(text: &str) -> Option<&str> {
    let by_form = ["dddd-dd-dd", "dd:dd:dd"].into_iter().find_map(|form| {
        let found = text.as_bytes().windows(form.len()).position(|part| has_form(part, form.as_bytes()))?;
        text.get(found..found + form.len())
    });
    by_form.or_else(|| {
        text.split(|c: char| !c.is_ascii_alphanumeric())
            .find(|word| (10..=13).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit()))
    })
}

fn has_form(part: &[u8], form: &[u8]) -> bool {
    part.iter().zip(form).all(|(byte, sign)| if *sign == b'd' { byte.is_ascii_digit() } else { byte == sign })
}

fn is_ulid(word: &str) -> bool {
    word.len() == 26
        && word.as_bytes()[0].is_ascii_digit()
        && word.bytes().all(|b| b.is_ascii_alphanumeric() && !b"ilouILOU".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        let mut wrong = Vec::new();
        check(text, &mut wrong);
        wrong.len()
    }

    #[test]
    fn a_schema_in_the_prompt_does_not_count() {
        let text = format!("{}\n\n{PASSAGE}InitScript:\n{}", "x".repeat(8_000), "y".repeat(5_000));
        assert_eq!(found(&text), 0);
    }

    #[test]
    fn volatile_text_is_found_and_plain_text_is_not() {
        for volatile in [
            "Today is 2026-11-30.",
            "It is 14:05:59 now",
            "now=1764511111222",
            "task 01hzy3v9k2m4n5p6q7r8s9t0va",
            "task 01HZY3V9K2M4N5P6Q7R8S9T0VA!",
            &"é".repeat(8_001),
        ] {
            assert_eq!(found(volatile), 1, "{volatile:.40}");
        }
        for stable in [
            "At most 4,000 characters, 60 turns, Python 3.9, port 8000, ratio 10:20.",
            "abcdefghijklmnopqrstuvwxyz",
            "Write tests/test_f001.py; see RFC 9110-12.",
            &"é".repeat(8_000),
        ] {
            assert_eq!(found(stable), 0, "{stable:.40}");
        }
    }
}
