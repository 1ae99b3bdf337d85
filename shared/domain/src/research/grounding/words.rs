//! Whether the words of a claim stand in what it cites, as far as words of one language can be compared.
//!
//! Content words are those of three letters and more that say something of a subject; inflected forms of one word are
//! taken for one. Scripts without spaces between words are compared by pairs of letters. Numbers, currencies and months
//! are left to [`super::number`].

use std::collections::BTreeSet;

use whatlang::detect_script;

use super::normal::{is_cjk, is_han_or_kana, is_hangul, is_kana, normalised};
use super::number::quantities;
use crate::research::language::language_of;

/// The share of the content words that has to be found: `part` of `of`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    pub(super) part: usize,
    pub(super) of: usize,
}

/// A sentence or clause with fewer content words is judged with the rest only.
const MIN_JUDGED_WORDS: usize = 2;
/// Fewer letters without kana may be Japanese as well as Chinese.
const MIN_CHINESE_LETTERS: usize = 12;

/// Says nothing of a subject: English, then words of other languages that are too common to carry anything, then what
/// numbers are written with.
const EMPTY: &str = " about above according after all along already also among and any are around because been before \
    being both but can could did does during each either else even ever every few for from had has have having her \
    here him his how however into its itself just least less like made make many may might more most much must nor not \
    never none nobody nothing cannot only onto other others our out over own per rather said same say says she should \
    since some still such than that the their them then there these they this those though through thus too under \
    until upon very was were what when where whereas whether which while who whom whose why will with within without \
    would yet you your isn aren wasn weren don doesn didn won couldn wouldn shouldn hasn haven hadn \
    aber als auch auf aus bei bis das dem den der des die ein eine einem einen einer für hat ist mit nach nicht oder \
    sich sie sind und von war wie wird zum zur \
    aux avec ces dans del des elle est ils les leur mais nous par pas plus pour que qui son sont sur une vous \
    com como con dos las los mais más nas não nos para por pelo pela sin sua sus uma una unas unos \
    che chi gli nel non per sono het een met niet van voor zijn \
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen \
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion \
    first second third percent cent dollar dollars euro euros usd eur gbp yen yuan \
    january february march april june july august september october november december ";

/// Words between which a sentence says another thing.
const JOINTS: [&str; 7] = ["and", "but", "while", "whereas", "because", "though", "although"];

/// Whether enough of the claim's words stand in these texts: `share` of all, `share` of every sentence, and of every
/// clause one. A claim without content words is carried by its numbers alone, if it has any.
pub(super) fn hold(claim: &str, texts: &[&str], share: Share) -> bool {
    let known = Vocabulary::of(texts);
    let is_enough = |text: &str| known.count(&content(text)) * share.of >= content(text).len() * share.part;
    let all = content(claim);
    if all.is_empty() {
        return !quantities(claim, &[]).is_empty();
    }
    let is_judged = |text: &&str| content(text).len() >= MIN_JUDGED_WORDS;
    let parts = sentences(claim);
    is_enough(claim)
        && parts.iter().copied().filter(is_judged).all(is_enough)
        && parts.iter().flat_map(|sentence| clauses(sentence)).all(|clause| {
            let words = content(&clause);
            words.len() < MIN_JUDGED_WORDS || known.count(&words) > 0
        })
}

/// The sentences of a text.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let is_end = |pair: &str| pair.starts_with(['.', '!', '?']) && pair[1..].starts_with(char::is_whitespace);
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, char) in text.char_indices() {
        if is_end(&text[at..]) || matches!(char, '。' | '！' | '？' | ';' | '；' | '\n') {
            parts.push(&text[from..at + char.len_utf8()]);
            from = at + char.len_utf8();
        }
    }
    parts.push(&text[from..]);
    parts.retain(|part| part.chars().any(char::is_alphanumeric));
    parts
}

/// Japanese and Chinese commas part no clauses: what stands before one is often the subject of the page alone.
fn clauses(sentence: &str) -> Vec<String> {
    let mut made = vec![String::new()];
    for piece in sentence.split_inclusive([' ', ',', ':', '(', ')']) {
        let word = piece.trim_end_matches([' ', ',', ':', '(', ')']).to_lowercase();
        if JOINTS.contains(&word.as_str()) {
            made.push(String::new());
            continue;
        }
        if let Some(last) = made.last_mut() {
            last.push_str(piece);
        }
        if piece.ends_with([',', ':', '(', ')']) {
            made.push(String::new());
        }
    }
    made
}

/// Whether the words of two texts can be compared: they share their script and, where it can be told, their language.
pub(super) fn are_comparable(one: &str, other: &str) -> bool {
    match (is_east_asian(one), is_east_asian(other)) {
        (true, true) => return is_chinese(one) == is_chinese(other) || !is_told(one) || !is_told(other),
        (false, false) => {}
        _ => return false,
    }
    if let (Some(left), Some(right)) = (detect_script(one), detect_script(other))
        && left != right
    {
        return false;
    }
    match (language_of(one), language_of(other)) {
        (Some(left), Some(right)) => left == right || share_little_words(one, other),
        _ => true,
    }
}

/// Names in Latin letters do not make a Japanese claim English.
fn is_east_asian(text: &str) -> bool {
    let letters = text.chars().filter(|char| char.is_alphabetic());
    let (east, all) =
        letters.fold((0, 0), |(east, all), char| (east + usize::from(is_han_or_kana(char)), all + 1));
    is_cjk(text) && !text.chars().any(is_hangul) || east * 5 > all
}

fn is_chinese(text: &str) -> bool {
    !text.chars().any(is_kana)
}

fn is_told(text: &str) -> bool {
    !is_chinese(text) || text.chars().filter(|char| is_han_or_kana(*char)).count() >= MIN_CHINESE_LETTERS
}

/// The language of a short claim is easily taken for another; its articles and prepositions show that it is the same.
fn share_little_words(one: &str, other: &str) -> bool {
    let little = |text: &str| -> BTreeSet<String> {
        let normal = normalised(text);
        let words = normal.text().split(|char: char| !char.is_alphabetic());
        words.filter(|word| (1..=3).contains(&word.chars().count())).map(str::to_owned).collect()
    };
    let (words, known) = (little(one), little(other));
    let shared = words.intersection(&known).count();
    shared >= 2 && shared * 3 >= words.len() * 2
}

/// The content words of a text, each once.
pub(super) fn content(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut hiragana = BTreeSet::new();
    each_word(text, |word, is_spaced| {
        if is_spaced {
            if word.len() >= 3 && !is_empty(word) {
                words.insert(word.iter().collect());
            }
            return;
        }
        // Particles and endings are hiragana; what a text is about is not.
        for run in word.split(|char| is_hiragana(*char)).filter(|run| !run.is_empty()) {
            if let [single] = run
                && is_numeral(*single)
            {
                continue;
            }
            words.extend(pairs(run));
        }
        hiragana.extend(word.windows(2).map(String::from_iter));
    });
    if words.is_empty() { hiragana } else { words }
}

/// What a set of texts says.
struct Vocabulary(BTreeSet<String>);

impl Vocabulary {
    fn of(texts: &[&str]) -> Self {
        let mut known = BTreeSet::new();
        for text in texts {
            each_word(text, |word, is_spaced| {
                if is_spaced {
                    known.insert(word.iter().collect());
                } else {
                    known.extend(word.windows(2).map(String::from_iter));
                    known.extend(word.iter().map(char::to_string));
                }
            });
        }
        Self(known)
    }

    fn count(&self, words: &BTreeSet<String>) -> usize {
        words.iter().filter(|word| self.has(word)).count()
    }

    fn has(&self, word: &str) -> bool {
        let start: String = word.chars().take(3).collect();
        self.0.contains(word)
            || self
                .0
                .range(start.clone()..)
                .take_while(|known| known.starts_with(&start))
                .any(|known| is_same(word, known))
    }
}

/// How much of two texts is the same: the content words of `one` that `other` has.
pub(super) fn shared(one: &str, other: &str) -> usize {
    Vocabulary::of(&[other]).count(&content(one))
}

/// Price and pricing, class and classes, Preis and Preise: one beginning that is the longer part of both.
fn is_same(one: &str, other: &str) -> bool {
    let (left, right) = (one.chars().count(), other.chars().count());
    let common = one.chars().zip(other.chars()).take_while(|(left, right)| left == right).count();
    let (shorter, longer) = (left.min(right), left.max(right));
    if longer == shorter + 1 && common == shorter && shorter >= 3 {
        return one.ends_with('s') || other.ends_with('s') || shorter > 3;
    }
    common >= 4 && common * 2 > longer && longer - common <= 4
}

/// Each run of letters in normal form, and whether its script puts spaces between words. Runs with a digit in them are
/// left out.
fn each_word(text: &str, mut take: impl FnMut(&[char], bool)) {
    let normal = normalised(text);
    let chars: Vec<char> = normal.text().chars().collect();
    let runs = chars.chunk_by(|left, right| kind(*left) == kind(*right));
    for run in runs {
        match run.first().map(|first| kind(*first)) {
            Some(Kind::Spaced) => take(run, true),
            Some(Kind::Unspaced) => take(run, false),
            _ => {}
        }
    }
}

#[derive(PartialEq, Eq)]
enum Kind {
    Spaced,
    /// Korean as well: its endings are glued to its words.
    Unspaced,
    Other,
}

fn kind(char: char) -> Kind {
    let is_unspaced = is_han_or_kana(char)
        || is_hangul(char)
        || matches!(char, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}');
    match char {
        _ if !char.is_alphabetic() && char != '々' => Kind::Other,
        _ if is_unspaced => Kind::Unspaced,
        _ => Kind::Spaced,
    }
}

/// Pairs of letters, or the one letter that there is.
fn pairs(run: &[char]) -> Vec<String> {
    match run {
        [single] => vec![single.to_string()],
        _ => run
            .windows(2)
            .filter(|pair| !pair.iter().all(|char| is_numeral(*char)))
            .map(String::from_iter)
            .collect(),
    }
}

fn is_hiragana(char: char) -> bool {
    matches!(char, '\u{3041}'..='\u{3096}')
}

fn is_numeral(char: char) -> bool {
    "〇一二三四五六七八九十百千万億円年月日人".contains(char)
}

fn is_empty(word: &[char]) -> bool {
    let padded: String = [' '].iter().chain(word).chain(&[' ']).collect();
    EMPTY.contains(&padded)
}

#[cfg(test)]
mod tests;
