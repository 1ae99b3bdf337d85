//! Two invented languages with vocabularies as large as real ones, whose words are as unequally frequent (Zipf).

use std::collections::HashSet;

use super::random::Random;

/// Words of each language.
const VOCABULARY: usize = 30_000;

/// Chinese characters of the Japanese language; a newspaper uses about as many.
const CHARACTERS: u32 = 2_000;

const PARTICLES: [&str; 10] = ["の", "は", "を", "に", "が", "で", "と", "も", "から", "まで"];
const ENDINGS: [&str; 4] = ["する。", "である。", "されている。", "という。"];

/// How its words are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// Latin letters, words between spaces.
    Spaced,
    /// Chinese characters and kana, without spaces.
    Japanese,
}

/// A vocabulary and how often each word comes.
pub(super) struct Language {
    pub(super) script: Script,
    /// The most frequent first.
    words: Vec<String>,
    /// The sum of the weights of a word and all before it.
    sums: Vec<f64>,
}

impl Language {
    pub(super) fn new(script: Script) -> Self {
        let words = match script {
            Script::Spaced => (0..VOCABULARY).map(spaced_word).collect(),
            Script::Japanese => japanese_words(),
        };
        let mut sum = 0.0;
        let sums = (1..=VOCABULARY)
            .map(|rank| {
                sum += 1.0 / rank as f64;
                sum
            })
            .collect();
        Self { script, words, sums }
    }

    fn word(&self, random: &mut Random) -> &str {
        let at = random.share() * self.sums[VOCABULARY - 1];
        &self.words[self.sums.partition_point(|sum| *sum < at).min(VOCABULARY - 1)]
    }

    /// So many words as a heading has.
    pub(super) fn heading(&self, random: &mut Random) -> String {
        let words: Vec<&str> = (0..random.between(2, 5)).map(|_| self.word(random)).collect();
        words.join(if self.script == Script::Spaced { " " } else { "の" })
    }

    /// A sentence of `count` words.
    pub(super) fn sentence(&self, count: usize, random: &mut Random) -> String {
        let mut sentence = String::new();
        for place in 0..count {
            if place > 0 {
                match self.script {
                    Script::Spaced => sentence.push(' '),
                    Script::Japanese => sentence.push_str(random.of(&PARTICLES)),
                }
            }
            sentence.push_str(self.word(random));
        }
        match self.script {
            Script::Spaced => sentence.push('.'),
            Script::Japanese => sentence.push_str(random.of(&ENDINGS)),
        }
        sentence
    }
}

/// Frequent words are short: 300 of one syllable, the others of two.
fn spaced_word(rank: usize) -> String {
    const FIRST: [&str; 20] = [
        "b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "st", "tr", "ch", "sh",
        "pl",
    ];
    const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];
    const LAST: [&str; 3] = ["", "n", "rd"];
    const SYLLABLES: usize = FIRST.len() * VOWELS.len() * LAST.len();
    let syllable = |number: usize| {
        let (first, rest) = (number % FIRST.len(), number / FIRST.len());
        format!("{}{}{}", FIRST[first], VOWELS[rest % VOWELS.len()], LAST[rest / VOWELS.len()])
    };
    match rank {
        0..SYLLABLES => syllable(rank),
        // An `x` between: a word of two syllables is never one of another split.
        _ => format!("{}x{}", syllable(rank % SYLLABLES), syllable(rank / SYLLABLES)),
    }
}

/// Two characters mostly, some words in katakana, some with an ending in hiragana.
fn japanese_words() -> Vec<String> {
    let mut random = Random::new(2_000);
    let mut words = Vec::with_capacity(VOCABULARY);
    let mut known = HashSet::new();
    while words.len() < VOCABULARY {
        let word: String = match random.between(0, 9) {
            0 | 1 => (0..random.between(3, 5)).map(|_| katakana(&mut random)).collect(),
            2 => format!("{}{}", character(&mut random), random.of(&["る", "い", "く", "った", "しい"])),
            _ => [character(&mut random), character(&mut random)].into_iter().collect(),
        };
        // Three characters where the pairs are used up.
        let word = if known.contains(&word) { format!("{word}{}", character(&mut random)) } else { word };
        if known.insert(word.clone()) {
            words.push(word);
        }
    }
    words
}

/// Some characters are in many words, most in few.
fn character(random: &mut Random) -> char {
    let share = random.share();
    let number = (share * share * f64::from(CHARACTERS)) as u32;
    // Spread over the block of the common ones.
    char::from_u32(0x4e00 + number * 7).unwrap_or('一')
}

fn katakana(random: &mut Random) -> char {
    char::from_u32(0x30a2 + random.between(0, 40) as u32).unwrap_or('ア')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_another_and_the_first_is_the_most_frequent() {
        for script in [Script::Spaced, Script::Japanese] {
            let language = Language::new(script);
            assert_eq!(language.words.iter().collect::<HashSet<_>>().len(), VOCABULARY, "{script:?}");
            let mut random = Random::new(1);
            let drawn: Vec<&str> = (0..20_000).map(|_| language.word(&mut random)).collect();
            let count = |rank: usize| drawn.iter().filter(|word| **word == language.words[rank]).count();
            // 1 / (ln 30,000 + 0.58) is 9.2 percent.
            assert!((1_600..2_100).contains(&count(0)), "{}", count(0));
            assert!(count(0) > count(9) && count(9) > count(999), "{script:?}");
            assert!(drawn.iter().collect::<HashSet<_>>().len() > 4_000, "a long tail");
        }
    }
}
