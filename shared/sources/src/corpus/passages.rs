//! Cutting a document into passages: what a hit cites and what a model reads.

/// Most lines of a passage.
const MOST_LINES: usize = 40;

/// Most characters of a passage.
const MOST_CHARS: usize = 2_000;

/// One passage; lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) first_line: usize,
    pub(super) last_line: usize,
    /// Which piece of its line it is, from 1, where one line was too long; 0 for whole lines.
    pub(super) piece: usize,
    /// The heading that it stands under, or empty.
    pub(super) heading: String,
    pub(super) text: String,
}

/// Whether lines that begin with `#` are headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headings {
    Markdown,
    None,
}

#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
    heading: Option<&'a str>,
}

/// Passages of about 40 lines or 2,000 characters, cut at headings and, where there is no other way, at blank lines,
/// then at any line, then within a line.
pub(super) fn passages(text: &str, headings: Headings) -> Vec<Passage> {
    let mut cutter = Cutter::default();
    for block in blocks(text, headings) {
        let opens = block.first().is_some_and(|line| line.heading.is_some());
        let (lines, chars) = size(&block);
        if (opens && cutter.has_body)
            || cutter.lines.len() + lines > MOST_LINES
            || cutter.chars + chars > MOST_CHARS
        {
            cutter.close();
        }
        for line in block {
            cutter.add(line);
        }
    }
    cutter.close();
    cutter.passages
}

/// The text of the first heading.
pub(super) fn first_heading(text: &str) -> Option<String> {
    lines(text, Headings::Markdown).into_iter().find_map(|line| line.heading).map(str::to_owned)
}

fn size(block: &[Line<'_>]) -> (usize, usize) {
    (block.len(), block.iter().map(|line| line.text.chars().count() + 1).sum())
}

#[derive(Default)]
struct Cutter {
    passages: Vec<Passage>,
    lines: Vec<String>,
    first: usize,
    last: usize,
    chars: usize,
    has_body: bool,
    heading: String,
    opened_under: String,
}

impl Cutter {
    fn add(&mut self, line: Line<'_>) {
        let chars = line.text.chars().count() + 1;
        if self.lines.len() >= MOST_LINES || (self.chars > 0 && self.chars + chars > MOST_CHARS) {
            self.close();
        }
        if let Some(heading) = line.heading {
            heading.clone_into(&mut self.heading);
        }
        if chars > 2 * MOST_CHARS {
            self.close();
            self.add_pieces(&line);
            return;
        }
        let blank = line.text.trim().is_empty();
        if self.lines.is_empty() {
            if blank {
                return;
            }
            self.first = line.number;
        }
        if !self.has_body {
            self.opened_under.clone_from(&self.heading);
        }
        self.has_body |= line.heading.is_none() && !blank;
        if !blank {
            self.last = line.number;
        }
        self.chars += chars;
        self.lines.push(line.text.to_owned());
    }

    fn add_pieces(&mut self, line: &Line<'_>) {
        let mut rest = line.text;
        let mut piece = 0;
        while !rest.is_empty() {
            let (text, after) = rest.split_at(piece_end(rest));
            rest = after;
            if text.trim().is_empty() {
                continue;
            }
            piece += 1;
            self.passages.push(Passage {
                first_line: line.number,
                last_line: line.number,
                piece,
                heading: self.heading.clone(),
                text: text.trim().to_owned(),
            });
        }
    }

    fn close(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let text = lines.join("\n").trim_end().to_owned();
        if !text.is_empty() {
            self.passages.push(Passage {
                first_line: self.first,
                last_line: self.last,
                piece: 0,
                heading: self.opened_under.clone(),
                text,
            });
        }
        self.chars = 0;
        self.has_body = false;
    }
}

/// Where a piece of a line that is too long ends: after a sentence, else a space, else at the limit.
fn piece_end(text: &str) -> usize {
    let Some((limit, _)) = text.char_indices().nth(MOST_CHARS) else { return text.len() };
    let half = text.char_indices().nth(MOST_CHARS / 2).map_or(0, |(byte, _)| byte);
    let after_last = |wanted: &[char]| {
        text[half..limit].rfind(wanted).map(|at| {
            let at = half + at;
            at + text[at..].chars().next().map_or(0, char::len_utf8)
        })
    };
    after_last(&['.', '。', '！', '？', '!', '?', '؟'])
        .or_else(|| after_last(&[' ', '\u{3000}']))
        .unwrap_or(limit)
}

/// Paragraphs; a heading begins one.
fn blocks(text: &str, headings: Headings) -> Vec<Vec<Line<'_>>> {
    let mut blocks: Vec<Vec<Line<'_>>> = Vec::new();
    let mut open = false;
    for line in lines(text, headings) {
        let blank = line.text.trim().is_empty();
        match blocks.last_mut() {
            // A blank line ends the block it stands in, so that it is never the first of a passage.
            Some(block) if blank || (open && line.heading.is_none()) => block.push(line),
            _ => blocks.push(vec![line]),
        }
        open = !blank;
    }
    blocks
}

fn lines(text: &str, headings: Headings) -> Vec<Line<'_>> {
    let mut fence: Option<&str> = None;
    text.lines()
        .enumerate()
        .map(|(index, text)| {
            let bare = text.trim_start();
            let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
            match (fence, mark) {
                (None, Some(mark)) => fence = Some(mark),
                (Some(open), Some(mark)) if open == mark => fence = None,
                _ => {}
            }
            let heading = match headings {
                Headings::Markdown if fence.is_none() => heading(text),
                _ => None,
            };
            Line { number: index + 1, text, heading }
        })
        .collect()
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let text = text.strip_prefix([' ', '\t'])?.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        passages(text, Headings::Markdown)
            .iter()
            .map(|it| {
                format!("{}-{} {} | {}", it.first_line, it.last_line, it.heading, it.text.replace('\n', "/"))
            })
            .collect()
    }

    #[test]
    fn headings_open_passages_and_headings_without_text_join_what_follows() {
        let text = "# Tea\n\n## Prices\n\nLow.\n\n## Rooms ##\nTwo.\n\n\nThree.\n";
        assert_eq!(
            shown(text),
            ["1-5 Prices | # Tea//## Prices//Low.", "7-11 Rooms | ## Rooms ##/Two.///Three."]
        );
    }

    #[test]
    fn a_number_sign_in_code_or_without_a_space_is_no_heading() {
        assert_eq!(shown("#tag\n\n```\n# comment\n```\n"), ["1-5  | #tag//```/# comment/```"]);
        assert_eq!(first_heading("```\n# no\n```\n# Yes\n").as_deref(), Some("Yes"));
    }

    #[test]
    fn passages_are_cut_at_blank_lines_before_they_grow_too_long() {
        let paragraph = "a line of words\n".repeat(15);
        let text = [paragraph.as_str(); 5].join("\n");
        let cut = passages(&text, Headings::None);
        let ranges: Vec<_> = cut.iter().map(|it| (it.first_line, it.last_line)).collect();
        assert_eq!(ranges, [(1, 31), (33, 63), (65, 79)]);
    }

    #[test]
    fn every_line_is_in_exactly_one_passage() {
        let text: String = (1..=300)
            .map(|n| if n % 17 == 0 { "\n".to_owned() } else { format!("line {n} {}\n", "x".repeat(n % 90)) })
            .collect();
        let cut = passages(&text, Headings::None);
        let joined: Vec<&str> =
            cut.iter().flat_map(|it| it.text.lines()).filter(|line| !line.is_empty()).collect();
        let all: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(joined, all);
        let lines: Vec<&str> = text.lines().collect();
        for it in &cut {
            assert_eq!(
                it.text,
                lines[it.first_line - 1..it.last_line].join("\n"),
                "the citation names its lines"
            );
            assert!(it.text.lines().count() <= MOST_LINES && it.text.chars().count() <= MOST_CHARS);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_after_sentences() {
        let text = "茶の湯は楽しいものです。".repeat(700);
        let cut = passages(&text, Headings::None);
        assert!(cut.len() >= 4, "{}", cut.len());
        for (index, it) in cut.iter().enumerate() {
            assert_eq!((it.first_line, it.last_line, it.piece), (1, 1, index + 1));
            assert!(it.text.ends_with('。') && it.text.chars().count() <= MOST_CHARS);
        }
        assert_eq!(cut.iter().map(|it| it.text.as_str()).collect::<String>(), text);
    }
}
