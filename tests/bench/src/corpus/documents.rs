//! The folder that is indexed: Markdown as people keep it, one document in five in Japanese; and what is asked of it.

use std::path::{Path, PathBuf};

use super::language::{Language, Script};
use super::random::Random;

/// One document in so many is Japanese.
const JAPANESE_EACH: usize = 5;

/// Documents of one subfolder.
const IN_A_FOLDER: usize = 100;

/// About so many words stand in a line of a document with spaces.
const LINE_WORDS: usize = 12;

/// The documents, made again from their numbers whenever they are needed.
pub(super) struct Documents {
    spaced: Language,
    japanese: Language,
    count: usize,
}

impl Documents {
    pub(super) fn new(count: usize) -> Self {
        Self { spaced: Language::new(Script::Spaced), japanese: Language::new(Script::Japanese), count }
    }

    /// The script of a document.
    pub(super) fn script(number: usize) -> Script {
        if number.is_multiple_of(JAPANESE_EACH) { Script::Japanese } else { Script::Spaced }
    }

    /// Where a document lies in `folder`.
    pub(super) fn path(folder: &Path, number: usize) -> PathBuf {
        folder.join(format!("{:03}", number / IN_A_FOLDER)).join(format!("{number:05}.md"))
    }

    /// Writes them all; returns their bytes.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn write(&self, folder: &Path) -> std::io::Result<u64> {
        let mut bytes = 0;
        for number in 0..self.count {
            let path = Self::path(folder, number);
            if let (true, Some(parent)) = (number.is_multiple_of(IN_A_FOLDER), path.parent()) {
                std::fs::create_dir_all(parent)?;
            }
            let text = self.text(number);
            bytes += text.len() as u64;
            std::fs::write(path, text)?;
        }
        Ok(bytes)
    }

    /// 300 to 900 words in paragraphs, a heading over every second of them.
    fn text(&self, number: usize) -> String {
        let language = match Self::script(number) {
            Script::Spaced => &self.spaced,
            Script::Japanese => &self.japanese,
        };
        let random = &mut Random::new(number as u64);
        let mut text = format!("# {}\n", language.heading(random));
        let mut left = random.between(300, 900);
        let mut paragraphs = 0;
        while left > 0 {
            if paragraphs % 2 == 1 {
                text.push_str(&format!("\n## {}\n", language.heading(random)));
            }
            paragraphs += 1;
            text.push('\n');
            for _ in 0..random.between(3, 6) {
                let count = random.between(8, 20).min(left);
                left -= count;
                if count > 0 {
                    text.push_str(&wrapped(&language.sentence(count, random)));
                }
            }
        }
        text
    }

    /// Stretches of documents of a script: two to six words, or four to fourteen characters. So rare words stand
    /// beside those that are everywhere, as in what a model asks.
    pub(super) fn queries(&self, script: Script, count: usize) -> Vec<String> {
        let mut random = Random::new(4_711);
        let mut queries = Vec::with_capacity(count);
        while queries.len() < count {
            let number = random.between(0, self.count - 1);
            if Self::script(number) == script {
                let text = self.text(number);
                let lines: Vec<&str> =
                    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
                queries.push(stretch(lines[random.between(0, lines.len() - 1)], script, &mut random));
            }
        }
        queries
    }
}

fn stretch(line: &str, script: Script, random: &mut Random) -> String {
    let parts: Vec<String> = match script {
        Script::Spaced => line.split_whitespace().map(str::to_owned).collect(),
        Script::Japanese => line.chars().map(String::from).collect(),
    };
    let (least, most, between) = match script {
        Script::Spaced => (2, 6, " "),
        Script::Japanese => (4, 14, ""),
    };
    let length = random.between(least, most).min(parts.len());
    let start = random.between(0, parts.len() - length);
    parts[start..start + length].join(between)
}

/// On lines of some words; a sentence without spaces is a line.
fn wrapped(sentence: &str) -> String {
    let words: Vec<&str> = sentence.split(' ').collect();
    words.chunks(LINE_WORDS).map(|line| format!("{}\n", line.join(" "))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn documents_are_as_long_and_varied_as_they_are_said_to_be() {
        let documents = Documents::new(1_000);
        let (mut words, mut characters) = (HashSet::new(), HashSet::new());
        for number in 0..1_000 {
            let text = documents.text(number);
            match Documents::script(number) {
                Script::Spaced => {
                    let body: Vec<String> = text
                        .lines()
                        .filter(|line| !line.starts_with('#'))
                        .flat_map(str::split_whitespace)
                        .map(|word| word.trim_end_matches('.').to_owned())
                        .collect();
                    assert!((300..=900).contains(&body.len()), "{}", body.len());
                    words.extend(body);
                }
                Script::Japanese => characters.extend(text.chars()),
            }
        }
        assert!(words.len() > 25_000, "{}", words.len());
        assert!(characters.len() >= 1_500, "{}", characters.len());
    }

    #[test]
    fn queries_are_the_same_every_time_and_stand_in_documents() {
        let documents = Documents::new(20);
        for script in [Script::Spaced, Script::Japanese] {
            let queries = documents.queries(script, 10);
            assert_eq!(queries, documents.queries(script, 10));
            for query in queries {
                assert!((0..20).any(|number| documents.text(number).contains(&query)), "{query}");
            }
        }
    }
}
