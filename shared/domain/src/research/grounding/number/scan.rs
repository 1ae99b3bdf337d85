//! Reads the numbers of a text from left to right.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::groups::{self, Style};
use super::unit::{self, Unit};
use super::{Decimal, Quantity, Value, cjk, date, digit, english};
use crate::research::grounding::normal::{is_han_or_kana, is_hangul};
use crate::research::outside::is_invisible;

/// One pass over a text.
pub(super) struct Scan<'a> {
    chars: Vec<char>,
    /// That are passed, in lower case.
    ids: &'a [String],
    /// What was assumed.
    style: Style,
    /// What was seen.
    seen: Style,
    found: Vec<Quantity>,
}

impl Quantity {
    pub(super) fn new(range: Range<usize>, readings: Vec<Vec<Value>>) -> Self {
        Self { text: String::new(), range, readings, is_weak: false, is_name: false }
    }
}

impl<'a> Scan<'a> {
    pub(super) fn quantities(text: &str, ids: &'a [String]) -> Vec<Quantity> {
        let prepared = prepared(text);
        let mut scan = Scan {
            chars: prepared.iter().map(|(char, _)| *char).collect(),
            ids,
            style: Style::default(),
            seen: Style::default(),
            found: vec![],
        };
        scan.run();
        if scan.seen != Style::default() {
            scan = Scan { style: scan.seen, found: vec![], ..scan };
            scan.run();
        }
        for quantity in &mut scan.found {
            let places = prepared.get(quantity.range.clone()).unwrap_or_default();
            if let (Some((_, first)), Some((_, last))) = (places.first(), places.last()) {
                quantity.text = shown(text, first.start..last.end).to_owned();
            }
        }
        scan.found
    }

    fn run(&mut self) {
        let mut at = 0;
        while let Some(&char) = self.chars.get(at) {
            at = if char.is_ascii_digit() || cjk::is_numeral(char) {
                self.number(at)
            } else if is_word_letter(char) {
                self.word(at)
            } else {
                at + 1
            };
        }
    }

    fn char(&self, at: usize) -> Option<char> {
        self.chars.get(at).copied()
    }

    fn before(&self, at: usize) -> Option<char> {
        at.checked_sub(1).and_then(|at| self.char(at))
    }

    /// Takes what starts with this digit or numeral, and gives where to go on.
    fn number(&mut self, start: usize) -> usize {
        let before = self.before(start);
        let is_glued = self.chars[start].is_ascii_digit() && before.is_some_and(is_word_letter);
        if is_glued && self.currency_before(start).is_none() {
            return self.name(start);
        }
        if let Some((dates, end)) = date::from_digit(&self.chars, start) {
            self.found.extend(dates);
            return end;
        }
        if let Some(end) = self.past_marker(start) {
            return end;
        }
        if let Some(end) = self.footnote(start) {
            return end;
        }
        if let Some(numeral) = cjk::numeral(&self.chars, start)
            && (numeral.has_multiplier() || !self.chars[start].is_ascii_digit())
        {
            if numeral.is_unambiguous(&self.chars, start) {
                let number = Decimal::of(numeral.millionths).times_ten_to(-6);
                self.take(start, numeral.end, vec![vec![number]], numeral.is_weak());
            }
            return numeral.end.max(start + 1);
        }
        if !self.chars[start].is_ascii_digit() {
            return start + 1;
        }
        self.arabic(start)
    }

    fn arabic(&mut self, start: usize) -> usize {
        let mut groups = vec![self.digits(start)];
        let mut separators = Vec::new();
        while let Some(separator) = self.char(groups[groups.len() - 1].end) {
            let next = self.digits(groups[groups.len() - 1].end + 1);
            let spaced = separator == ' ' && next.len() == 3 && groups.iter().all(|group| group.len() <= 3);
            let joins = spaced || matches!(separator, ',' | '.' | '\'');
            if next.is_empty() || !joins || (separators.contains(&' ') && separator == '\'') {
                break;
            }
            groups.push(next);
            separators.push(separator);
        }
        let end = groups[groups.len() - 1].end;
        let texts: Vec<String> = groups.iter().map(|group| self.text(group.clone())).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        if self.is_fraction(start) && texts.len() == 1 {
            return self.take(start, end, vec![vec![Decimal::new("", texts[0])]], false);
        }
        match groups::readings(&texts, &separators, self.style, &mut self.seen) {
            Some(readings) if readings.len() == 1 && readings[0].len() == 1 && separators.is_empty() => {
                self.whole(start, end, texts[0])
            }
            Some(readings) => self.take(start, end, readings, false),
            None => {
                let verbatim = vec![vec![Value::Verbatim(self.text(start..end))]];
                self.found.push(Quantity::new(start..end, verbatim));
                end
            }
        }
    }

    /// A number without separators; 2024-25 is 2024 and 2025 as well, 9:00 is 9.
    fn whole(&mut self, start: usize, end: usize, text: &str) -> usize {
        let next = self.digits(end + 1);
        if text.len() == 4 && next.len() == 2 && matches!(self.char(end), Some('-' | '/')) {
            let short = self.text(next.clone());
            if short.as_str() > &text[2..] && !matches!(self.char(next.end), Some('-' | '/' | '.')) {
                let full = Decimal::new(&format!("{}{short}", &text[..2]), "");
                let first = Decimal::new(text, "");
                let both = vec![vec![first.clone(), full], vec![first, Decimal::new(&short, "")]];
                return self.take(start, next.end, both, false);
            }
        }
        let end = self.take(start, end, vec![vec![Decimal::new(text, "")]], false);
        let is_hour =
            text.len() <= 2 && self.char(end) == Some(':') && self.text(self.digits(end + 1)) == "00";
        if is_hour { end + 3 } else { end }
    }

    /// Adds a number with the multiplier and the unit around it, and gives where to go on.
    fn take(&mut self, start: usize, end: usize, readings: Vec<Vec<Decimal>>, is_weak: bool) -> usize {
        let mut readings = readings;
        let before = self.currency_before(start);
        let mut text_end = end;
        let (word, after) = self.word_after(end);
        let is_attached = after == end + word.chars().count();
        if let Some(power) = unit::power_of(&word).filter(|_| word != "k" || is_attached) {
            readings = scaled(readings, power);
            text_end = after;
        } else if is_attached && word == "m" {
            let millions = scaled(readings.clone(), 6);
            readings =
                if before.is_some() { millions } else { readings.into_iter().chain(millions).collect() };
            text_end = after;
        } else if is_attached && word == "b" && before.is_some() {
            readings = scaled(readings, 9);
            text_end = after;
        }
        let (unit, unit_end) = self.unit_after(text_end);
        let unit = before.or(unit);
        let is_number = |number| Value::Number { number, unit: unit.unwrap_or(Unit::None) };
        let values =
            readings.into_iter().map(|numbers| numbers.into_iter().map(is_number).collect()).collect();
        let mut quantity = Quantity::new(start..text_end, values);
        quantity.is_weak = is_weak && text_end == end;
        self.found.push(quantity);
        text_end.max(if unit == Some(Unit::Ordinal) { unit_end } else { text_end })
    }

    /// The unit after a number, and where it ends.
    fn unit_after(&self, end: usize) -> (Option<Unit>, usize) {
        let rest: String = self.chars.iter().skip(end).take(10).collect();
        let trimmed = rest.trim_start_matches([' ', '-']);
        let at = end + rest.chars().count() - trimmed.chars().count();
        let starts = |word: &str| trimmed.to_lowercase().starts_with(word);
        if starts("%")
            || starts("per cent")
            || starts("por cien")
            || starts("por cento")
            || starts("pour cent")
        {
            return (Some(Unit::Percent), at + 1);
        }
        if starts("パーセント") || starts("퍼센트") {
            return (Some(Unit::Percent), at + 4);
        }
        if let Some(unit) = unit::of_counter(trimmed) {
            return (Some(unit), at);
        }
        let (word, after) = self.word_after(end);
        if after == end + 2 && matches!(word.as_str(), "st" | "nd" | "rd" | "th") {
            return (Some(Unit::Ordinal), after);
        }
        let written: String = self.chars.iter().skip(after - word.chars().count()).take(3).collect();
        let code = unit::of_code(&written).filter(|_| word.len() <= 3);
        let symbol = trimmed.chars().next().and_then(|symbol| unit::of_symbol("", symbol));
        (unit::of_word(&word).or(code).or(symbol), after)
    }

    /// The word right after a number or after one space or dash, in lower case, and where it ends.
    fn word_after(&self, end: usize) -> (String, usize) {
        let start = if matches!(self.char(end), Some(' ' | '-')) { end + 1 } else { end };
        let word: String = self.chars.iter().skip(start).take_while(|char| is_word_letter(**char)).collect();
        (word.to_lowercase(), start + word.chars().count())
    }

    /// The money of a sign or a code before a number: $150, US$ 150, EUR150, USD 150.
    fn currency_before(&self, start: usize) -> Option<Unit> {
        let end = if self.before(start) == Some(' ') { start - 1 } else { start };
        let last = self.before(end)?;
        let letters_before = |end: usize| -> String {
            let from = (0..end).rev().take_while(|at| is_word_letter(self.chars[*at])).last().unwrap_or(end);
            self.chars[from..end].iter().collect()
        };
        if is_word_letter(last) {
            return unit::of_code(&letters_before(end));
        }
        let is_suffix_sign = is_han_or_kana(last) || is_hangul(last);
        if is_suffix_sign { None } else { unit::of_symbol(&letters_before(end - 1), last) }
    }

    /// A word that is a number, or starts a date; others are passed.
    fn word(&mut self, start: usize) -> usize {
        if let Some((dates, end)) = date::from_word(&self.chars, start) {
            self.found.extend(dates);
            return end;
        }
        let word: String = self.chars[start..].iter().take_while(|char| is_word_letter(**char)).collect();
        let end = start + word.chars().count();
        let lower = word.to_lowercase();
        if let Some(words) = english::cardinal(&self.chars, start) {
            if words.is_ordinal {
                self.ordinal(start..words.end, words.readings);
                return words.end;
            }
            // "half a million" is no million.
            let is_half = lower == "a" && self.word_before(start) == "half";
            return if is_half {
                words.end
            } else {
                self.take(start, words.end, words.readings, words.is_weak)
            };
        }
        if let Some(value) = unit::of_ordinal_word(&lower) {
            self.ordinal(start..end, vec![vec![Decimal::of(value)]]);
        }
        end
    }

    /// "first, note that", "a second look": it is asked for nowhere.
    fn ordinal(&mut self, range: Range<usize>, readings: Vec<Vec<Decimal>>) {
        let is_place = |number| Value::Number { number, unit: Unit::Ordinal };
        let values = readings.into_iter().map(|numbers| numbers.into_iter().map(is_place).collect());
        let mut quantity = Quantity::new(range, values.collect());
        quantity.is_weak = true;
        self.found.push(quantity);
    }

    fn word_before(&self, start: usize) -> String {
        if !matches!(self.before(start), Some(' ' | '-')) {
            return String::new();
        }
        let letters = (0..start - 1).rev().take_while(|at| is_word_letter(self.chars[*at]));
        letters.last().map(|from| self.text(from..start - 1).to_lowercase()).unwrap_or_default()
    }

    /// `.5` after white space or a currency sign.
    fn is_fraction(&self, start: usize) -> bool {
        self.before(start) == Some('.')
            && start.checked_sub(2).and_then(|at| self.char(at)).is_none_or(|char| char == ' ' || char == '$')
    }

    /// A number whose letters were passed before: an id, a formula, or an amount without a space.
    fn name(&mut self, start: usize) -> usize {
        let from = (0..start).rev().take_while(|at| is_word_letter(self.chars[*at])).last().unwrap_or(start);
        let (digits, end) = (self.digits(start), self.past_name(start));
        let (letters, token) = (self.text(from..start), self.text(from..end).to_lowercase());
        let has_unit = self.unit_after(end).0.is_some() || self.unit_after(digits.end).0.is_some();
        let is_formula = digits.len() == 1
            && !matches!(letters.as_str(), "S" | "F")
            && letters.chars().all(|char| char.is_ascii_uppercase())
            && self.chars[digits.end..end].iter().all(char::is_ascii_uppercase);
        if !has_unit && (is_formula || self.ids.contains(&token)) {
            return end;
        }
        let (count, seen) = (self.found.len(), self.seen);
        let after = self.arabic(start);
        // A version does not show how the text writes decimals.
        self.seen = seen;
        // 1h30 says 30 minutes.
        let is_name = !self.before(from).is_some_and(|char| char.is_ascii_digit());
        if let Some(quantity) = self.found.get_mut(count) {
            quantity.readings.push(vec![Value::Verbatim(token)]);
            quantity.range.start = from;
            quantity.is_name = is_name;
        }
        after
    }

    /// Past the digits and letters of a name such as F1.2.
    fn past_name(&self, start: usize) -> usize {
        let mut at = start;
        while let Some(char) = self.char(at) {
            let goes_on = char == '.' && self.char(at + 1).is_some_and(|next| next.is_ascii_digit());
            if !goes_on && !char.is_ascii_digit() && !is_word_letter(char) {
                break;
            }
            at += 1;
        }
        at.max(start + 1)
    }

    /// A number in brackets: a source that may be cited, or a number that has to be found like any other.
    fn footnote(&mut self, start: usize) -> Option<usize> {
        let digits = self.digits(start);
        let is_one =
            self.before(start) == Some('[') && self.char(digits.end) == Some(']') && digits.len() <= 3;
        if !is_one {
            return None;
        }
        let end = digits.end;
        let text = self.text(digits);
        let unit = self.unit_after(end + 1).0;
        if unit.is_none() && self.ids.contains(&format!("s{text}")) {
            return Some(end);
        }
        let number = Value::Number { number: Decimal::new(&text, ""), unit: unit.unwrap_or(Unit::None) };
        let readings = vec![vec![number], vec![Value::Verbatim(format!("[{text}]"))]];
        let mut quantity = Quantity::new(start..end, readings);
        quantity.is_name = true;
        self.found.push(quantity);
        Some(end)
    }

    /// Past the number of a list's item (`1. `, `2) `, `(3) `).
    fn past_marker(&self, start: usize) -> Option<usize> {
        let digits = self.digits(start);
        let after = self.char(digits.end);
        let is_short = (1..=2).contains(&digits.len());
        let is_spaced = matches!(self.char(digits.end + 1), Some(' ' | '\n'));
        let starts_line = self.chars[..start]
            .iter()
            .rev()
            .take_while(|char| **char != '\n')
            .all(|char| " (#>*-".contains(*char));
        (is_short && is_spaced && starts_line && matches!(after, Some('.' | ')'))).then_some(digits.end + 1)
    }

    fn digits(&self, start: usize) -> Range<usize> {
        let count = self.chars.iter().skip(start).take_while(|char| char.is_ascii_digit()).count();
        start..start + count
    }

    fn text(&self, range: Range<usize>) -> String {
        self.chars.get(range).unwrap_or_default().iter().collect()
    }
}

fn scaled(readings: Vec<Vec<Decimal>>, power: i32) -> Vec<Vec<Decimal>> {
    let scale =
        |numbers: Vec<Decimal>| numbers.into_iter().map(|number| number.times_ten_to(power)).collect();
    readings.into_iter().map(scale).collect()
}

/// A letter of a script that puts spaces between words: a digit after it is a part of a name.
fn is_word_letter(char: char) -> bool {
    char.is_alphabetic()
        && !is_han_or_kana(char)
        && !is_hangul(char)
        && !matches!(char, '\u{0E00}'..='\u{109F}' | '\u{1780}'..='\u{17FF}')
}

/// A stretch of the text that does not begin or end inside a number.
fn shown(text: &str, stretch: Range<usize>) -> &str {
    let is_digit = |char: &char| char.is_numeric() && !is_han_or_kana(*char);
    let before = text[..stretch.start].chars().rev().take_while(is_digit).map(char::len_utf8).sum::<usize>();
    let after = text[stretch.end..].chars().take_while(is_digit).map(char::len_utf8).sum::<usize>();
    &text[stretch.start - before..stretch.end + after]
}

/// The text with one form for digits, spaces and dashes, and where each character comes from. Footnotes in superscript,
/// powers and the circled numbers of lists are left out.
fn prepared(text: &str) -> Vec<(char, Range<usize>)> {
    let mut made: Vec<(char, Range<usize>)> = Vec::with_capacity(text.len());
    // What follows a run of raised digits that is read, which is no part of it.
    let mut raised_until = 0;
    for (at, char) in text.char_indices() {
        let place = at..at + char.len_utf8();
        let before = made.last().map(|(char, _)| *char);
        let mut push = |char: char| {
            let char = if char.is_whitespace() && char != '\n' { ' ' } else { char };
            made.push((char, place.clone()));
        };
        match (char, digit::of_superscript(char), digit::of_circled(char)) {
            ('½' | '¼' | '¾', ..) => {
                if !before.is_some_and(|char| char.is_ascii_digit()) {
                    push('0');
                }
                let fraction = match char {
                    '½' => ".5",
                    '¼' => ".25",
                    _ => ".75",
                };
                fraction.chars().for_each(push);
            }
            (_, Some(digit), _) => {
                let run = text[at..].chars().take_while(|char| digit::of_superscript(*char).is_some());
                let end = at + run.clone().map(char::len_utf8).sum::<usize>();
                let is_free = before.is_none_or(|char| char.is_whitespace() || "([$€£¥₹".contains(char));
                if at >= raised_until && (is_free || run.count() > 2) {
                    raised_until = end;
                    if !is_free {
                        push(' ');
                    }
                }
                push(if at < raised_until { digit } else { ' ' });
            }
            (_, _, Some(number)) => {
                let is_item = text[..at].trim_end_matches([' ', '\u{3000}', '\t']).chars().next_back();
                if is_item.is_none_or(|before| "\n.:;,!?。、：；，！？".contains(before)) {
                    push(' ');
                } else {
                    number.to_string().chars().for_each(push);
                }
            }
            _ if is_invisible(char) && !char.is_whitespace() => {}
            _ if char.is_ascii() => push(char),
            _ => std::iter::once(char).nfkc().map(plain).for_each(push),
        }
    }
    made
}

fn plain(char: char) -> char {
    match char {
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '〜' | '~' => '-',
        '’' | '‘' | 'ʼ' | '′' => '\'',
        '٫' => '.',
        '٬' => ',',
        _ => digit::ascii(char).unwrap_or(char),
    }
}
