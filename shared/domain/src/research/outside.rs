//! Text from outside is data: cleaned of what can't be seen, unable to speak in a chat template's words, and fenced.
//!
//! The marker of a fence is derived from the source's id and a secret of the task by whoever holds that secret; no page
//! can know it.

use unicode_normalization::char::canonical_combining_class;

use super::SourceId;

/// Stands where a text was cut.
const MARK: &str = " […]";
/// Stands where a text held the marker of its own fence.
const REMOVED: char = '\u{FFFD}';

/// What a character becomes where it would be read as markup of a chat, and what it was. The replacements look alike
/// and have no compatibility form, so that no tokenizer's normalisation brings the original back.
const ESCAPES: [(char, char); 7] =
    [('<', '‹'), ('>', '›'), ('[', '〔'), (']', '〕'), (':', '∶'), ('#', '♯'), ('`', '’')];

/// Who speaks in a chat, as templates and people write it before a colon or in a heading.
const ROLES: [&str; 17] = [
    "ai",
    "assistant",
    "developer",
    "function",
    "human",
    "instruction",
    "instructions",
    "ipython",
    "model",
    "observation",
    "output",
    "response",
    "input",
    "system",
    "tool",
    "tool_response",
    "user",
];

/// Whether a character shows nothing and may carry something: control, zero-width, bidi, tag and private characters,
/// variation selectors, fillers, and code points that are none. Line breaks and tabs are control characters too.
pub(super) fn is_invisible(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{3164}' | '\u{E000}'..='\u{F8FF}' | '\u{FDD0}'..='\u{FDEF}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
            | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFC}' | '\u{FFFE}'..='\u{FFFF}' | '\u{13430}'..='\u{1345F}'
            | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
        || u32::from(char) & 0xFFFE == 0xFFFE
        || char >= '\u{F0000}'
}

/// The text without what can't be seen; line breaks and tabs stay. Letters are not composed or decomposed. Joiners go
/// as well, so a family of emoji becomes its members; what goes is never replaced by anything longer.
pub fn cleaned(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' | '\t' => made.push(char),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => made.push('\n'),
            _ if is_invisible(char) => {}
            _ => made.push(char),
        }
    }
    made
}

/// The text with everything that a chat template or a fence is made of put in characters that look alike:
/// `<|im_start|>`, `</s>`, `<<SYS>>`, `[INST]`, `### System:`, `assistant:` at the start of a line, fences of code.
/// As many characters as before, at most three times the bytes; escaping again changes nothing. Grounding reads the
/// replacements as what they replaced, so a quote from an escaped text is found.
pub fn escaped(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            made.push('\n');
        }
        escape_line(line, &mut made);
    }
    made
}

/// The text between two lines with the source's id and the marker, cleaned and escaped. `marker` is letters and digits;
/// where the text has it, in any case, it is taken out. Longer than the text by the two lines and by what escaping adds.
pub fn fenced(text: &str, id: SourceId, marker: &str) -> String {
    let text = without(&escaped(&cleaned(text)), marker);
    format!("<<source {id} {marker}>>\n{text}\n<<end {id} {marker}>>")
}

/// The text in at most `max_chars` characters, with a mark where its end was cut: at the end of a word, if one is near,
/// and never before a character's accents. Where not even the mark has room, nothing is left.
pub fn clipped(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let Some(room) = max_chars.checked_sub(MARK.chars().count()) else {
        return String::new();
    };
    let chars: Vec<char> = text.chars().take(room + 1).collect();
    let mut end = room;
    while end > 0 && canonical_combining_class(chars[end]) != 0 {
        end -= 1;
    }
    // A word end is near within the last fifth.
    let near = (end - end / 5..=end).rev().find(|at| chars[*at].is_whitespace());
    let kept: String = chars[..near.unwrap_or(end)].iter().collect();
    format!("{}{MARK}", kept.trim_end())
}

/// What an escaped character was; any other is itself.
pub(super) fn unescaped(char: char) -> char {
    ESCAPES
        .into_iter()
        .find_map(|(plain, escape)| (escape == char && plain != '`').then_some(plain))
        .unwrap_or(char)
}

fn escape(char: char) -> char {
    if char == '：' {
        return '∶';
    }
    ESCAPES.into_iter().find_map(|(plain, escape)| (plain == char).then_some(escape)).unwrap_or(char)
}

fn escape_line(line: &str, made: &mut String) {
    let chars: Vec<char> = line.chars().collect();
    let mut marked = vec![false; chars.len()];
    for at in role_marks(&chars) {
        marked[at] = true;
    }
    let mut ticks = 0;
    for (at, &char) in chars.iter().enumerate() {
        ticks = if char == '`' { ticks + 1 } else { 0 };
        let before = at.checked_sub(1).map(|before| chars[before]);
        let after = chars.get(at + 1).copied();
        match char {
            // Tags of any name, `<|…|>` in both widths, `<<`.
            '<' => marked[at] = before == Some('<') || after.is_some_and(opens_tag),
            '>' => marked[at] = matches!(before, Some('|' | '｜' | '>')) || after == Some('>'),
            '[' => {
                if let Some(end) = bracket_token(&chars[at..]) {
                    marked[at] = true;
                    marked[at + end] = true;
                }
            }
            '`' if ticks == 3 => marked[at - 2..=at].fill(true),
            '`' if ticks > 3 => marked[at] = true,
            _ => {}
        }
    }
    made.extend(chars.into_iter().zip(marked).map(|(char, marked)| if marked { escape(char) } else { char }));
}

fn opens_tag(char: char) -> bool {
    char.is_alphabetic() || matches!(char, '/' | '|' | '｜' | '<' | '!' | '?')
}

/// Where the token ends that starts here: `[INST]`, `[/INST]`, `[TOOL_CALLS]`, `[gMASK]` and the like.
fn bracket_token(chars: &[char]) -> Option<usize> {
    let end = chars.iter().take(32).position(|char| *char == ']')?;
    let name = chars[1..end].strip_prefix(&['/']).unwrap_or(&chars[1..end]);
    let is_name = name.iter().all(|char| char.is_ascii_alphabetic() || *char == '_');
    let capitals = name.iter().filter(|char| char.is_ascii_uppercase()).count();
    (is_name && (capitals > 2 || matches!(name, ['i', 'n', 's', 't']))).then_some(end)
}

/// Where a line that opens with a role has the marks that make it one: the colon of `System:`, the `#` of `### User`.
fn role_marks(chars: &[char]) -> Vec<usize> {
    let decoration = |char: &char| char.is_whitespace() || "#*_>-=|♯›".contains(*char);
    let start = chars.iter().take_while(|char| decoration(char)).count();
    let length = chars[start..].iter().take_while(|char| char.is_alphabetic() || **char == '_').count();
    let word: String = chars[start..start + length].iter().collect();
    let word = word.trim_end_matches('_').to_lowercase();
    if !ROLES.contains(&word.as_str()) {
        return Vec::new();
    }
    let hashes = (0..start).filter(|at| chars[*at] == '#');
    let close = chars[start + length..].iter().take_while(|char| decoration(char)).count();
    let colon = start + length + close;
    hashes.chain(chars.get(colon).filter(|char| matches!(char, ':' | '：')).map(|_| colon)).collect()
}

/// The text without a marker in any case of its letters.
fn without(text: &str, marker: &str) -> String {
    if marker.is_empty() {
        return text.to_owned();
    }
    let (lower, marker) = (text.to_ascii_lowercase(), marker.to_ascii_lowercase());
    let mut made = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in lower.match_indices(&marker) {
        made.push_str(&text[from..at]);
        made.push(REMOVED);
        from = at + found.len();
    }
    made + &text[from..]
}

#[cfg(test)]
mod tests;
