//! English number words: twenty-five, three hundred and ninety, a dozen, two and a half. Words of other languages mean
//! too much else.

use super::Decimal;

/// What number words say, and where they end.
pub(super) struct Words {
    /// Each meaning is all of its numbers together: "one hundred and two thousand" is one number or two.
    pub(super) readings: Vec<Vec<Decimal>>,
    pub(super) end: usize,
    /// "one" is more often a pronoun.
    pub(super) is_weak: bool,
    /// Twenty-first.
    pub(super) is_ordinal: bool,
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
/// From the largest; each takes what is below it.
const SCALES: [(&str, u128); 4] = [
    ("trillion", 1_000_000_000_000),
    ("billion", 1_000_000_000),
    ("million", 1_000_000),
    ("thousand", 1_000),
];

/// A number and where it ends.
type Parsed = (u128, usize);

/// The number whose words start here.
pub(super) fn cardinal(chars: &[char], start: usize) -> Option<Words> {
    let (value, end) = number(chars, start, true)?;
    let mut words =
        Words { readings: vec![vec![Decimal::of(value)]], end, is_weak: value == 1, is_ordinal: false };
    // "one hundred and two thousand" may be the ends of a range.
    if let Some((left, left_end)) = number(chars, start, false).filter(|(_, apart)| *apart < end)
        && let Some((right, _)) = after(chars, left_end, "and").and_then(|at| number(chars, at, true))
    {
        words.readings.push(vec![Decimal::of(left), Decimal::of(right)]);
    }
    let half = after(chars, end, "and").and_then(|at| after_end(chars, at, "a"));
    if let Some(half_end) = half.and_then(|at| after(chars, at, "half")) {
        words.readings = vec![vec![Decimal::new(&value.to_string(), "5")]];
        (words.end, words.is_weak) = (half_end - 1, false);
        return Some(words);
    }
    let is_tens = (20..100).contains(&value) && value.is_multiple_of(10);
    if is_tens && let Some((ordinal, after)) = next(chars, end).and_then(|at| ordinal(chars, at)) {
        words.readings = vec![vec![Decimal::of(value + ordinal)]];
        (words.end, words.is_weak, words.is_ordinal) = (after, true, true);
        return Some(words);
    }
    // Years are read in two halves: nineteen ninety-five.
    let second = next(chars, end).and_then(|at| below_hundred(chars, at));
    if (10..100).contains(&value)
        && let Some((years, year_end)) = second.filter(|(years, _)| *years >= 10)
    {
        words.readings =
            vec![vec![Decimal::of(value * 100 + years)], vec![Decimal::of(value), Decimal::of(years)]];
        words.end = year_end;
    }
    Some(words)
}

fn number(chars: &[char], start: usize, joins: bool) -> Option<Parsed> {
    let (mut total, mut at) = (0, start);
    let mut end = None;
    let mut largest = u128::MAX;
    loop {
        let begins = if end.is_none() { Some(at) } else { next(chars, at) };
        let joined = if end.is_some() && joins { after(chars, at, "and") } else { None };
        let Some((value, value_end)) =
            joined.or(begins).and_then(|at| below_thousand(chars, at, end.is_none(), joins))
        else {
            break;
        };
        let scale = SCALES.iter().find_map(|(name, scale)| {
            next(chars, value_end).and_then(|at| after_end(chars, at, name)).map(|end| (*scale, end))
        });
        match scale {
            Some((scale, scale_end)) if scale < largest => {
                total += value * scale;
                (largest, at) = (scale, scale_end);
                end = Some(scale_end);
            }
            // "two thousand and three thousand" are two numbers.
            Some(_) if end.is_some() => break,
            _ if value < largest => {
                // "a" alone is no number.
                let is_article = end.is_none() && word(chars, start).0 == "a" && value == 1;
                return (!is_article).then_some((total + value, value_end));
            }
            _ => break,
        }
    }
    end.map(|end| (total, end))
}

/// Up to 999, and what is said in hundreds or dozens.
fn below_thousand(chars: &[char], start: usize, is_first: bool, joins: bool) -> Option<Parsed> {
    let (first, end) = match below_hundred(chars, start) {
        Some(parsed) => parsed,
        None if is_first && word(chars, start).0 == "a" => (1, start + 1),
        None => return None,
    };
    let following = next(chars, end);
    if let Some(dozen) = following.and_then(|at| after_end(chars, at, "dozen")) {
        return Some((first * 12, dozen));
    }
    let Some(hundred) = following.and_then(|at| after_end(chars, at, "hundred")) else {
        return Some((first, end));
    };
    let joined = if joins { after(chars, hundred, "and") } else { None };
    let rest = joined.or_else(|| next(chars, hundred)).and_then(|at| below_hundred(chars, at));
    // "between one hundred and two hundred"
    let is_rest = |end: &usize| next(chars, *end).and_then(|at| after_end(chars, at, "hundred")).is_none();
    Some(match rest.filter(|(_, end)| is_rest(end)) {
        Some((rest, end)) => (first * 100 + rest, end),
        None => (first * 100, hundred),
    })
}

fn below_hundred(chars: &[char], start: usize) -> Option<Parsed> {
    let (first, end) = word(chars, start);
    if let Some(small) = SMALL.iter().zip(0..).find_map(|(name, value)| (*name == first).then_some(value)) {
        return Some((small, end));
    }
    let tens = TENS.iter().zip(2..).find_map(|(name, value)| (*name == first).then_some(value * 10u128))?;
    let unit = next(chars, end).and_then(|at| {
        let (second, end) = word(chars, at);
        SMALL[..10]
            .iter()
            .zip(0..)
            .skip(1)
            .find_map(|(name, value)| (*name == second).then_some((value, end)))
    });
    Some(unit.map_or((tens, end), |(unit, end)| (tens + unit, end)))
}

fn ordinal(chars: &[char], start: usize) -> Option<Parsed> {
    let (word, end) = word(chars, start);
    super::unit::of_ordinal_word(&word).filter(|value| *value < 10).map(|value| (value, end))
}

/// The word here in lower case, and where it ends.
fn word(chars: &[char], start: usize) -> (String, usize) {
    let word: String = chars.iter().skip(start).take_while(|char| char.is_alphabetic()).take(12).collect();
    let end = start + word.chars().count();
    (word.to_lowercase(), end)
}

/// Where the next word starts, behind one space or dash.
fn next(chars: &[char], end: usize) -> Option<usize> {
    matches!(chars.get(end), Some(' ' | '-')).then_some(end + 1)
}

/// Where `expected` ends, if it stands here.
fn after_end(chars: &[char], start: usize, expected: &str) -> Option<usize> {
    let (word, end) = word(chars, start);
    (word == expected).then_some(end)
}

/// Behind `expected` and the space after it, if it stands behind the space here.
fn after(chars: &[char], end: usize, expected: &str) -> Option<usize> {
    next(chars, end).and_then(|at| after_end(chars, at, expected)).map(|end| end + 1)
}
