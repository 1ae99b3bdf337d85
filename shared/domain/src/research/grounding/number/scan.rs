//! Reads the numbers of a text from left to right.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::groups::{self, Style};
use super::unit::{self, Unit};
use super::{Decimal, Quantity, Value, cjk, date};
use crate::research::grounding::normal::{is_han_or_kana, is_hangul};
use crate::research::outside::is_invisible;

/// One pass over a text.
pub(super) struct Scan {
    chars: Vec<char>,
    /// What was assumed.
    style: Style,
    /// What was seen.
    seen: Style,
    found: Vec<Quantity>,
}

impl Quantity {
    pub(super) fn new(chars: &[char], range: Range<usize>, readings: Vec<Vec<Value>>) -> Self {
        Self { text: chars[range].iter().collect(), readings, is_weak: false }
    }
}

impl Scan {
    pub(super) fn quantities(text: &str) -> Vec<Quantity> {
        let mut first =
            Scan { chars: prepared(text), style: Style::default(), seen: Style::default(), found: vec![] };
        first.run();
        if first.seen == Style::default() {
            return first.found;
        }
        let mut second = Scan { style: first.seen, found: vec![], ..first };
        second.run();
        second.found
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
        if before.is_some_and(is_word_letter) && self.currency_before(start).is_none() {
            return self.past_id(start);
        }
        if let Some((dates, end)) = date::from_digit(&self.chars, start) {
            self.found.extend(dates);
            return end;
        }
        if let Some(end) = self.past_marker(start) {
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
                self.found.push(Quantity::new(&self.chars, start..end, verbatim));
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
        let mut quantity = Quantity::new(&self.chars, start..text_end, values);
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
        for (word, code) in
            [("ドル", "$"), ("美元", "USD"), ("ユーロ", "EUR"), ("欧元", "EUR"), ("달러", "$")]
        {
            if starts(word) {
                return (Some(Unit::Money(code)), at + word.chars().count());
            }
        }
        let (word, after) = self.word_after(end);
        if after == end + 2 && matches!(word.as_str(), "st" | "nd" | "rd" | "th") {
            return (Some(Unit::Ordinal), after);
        }
        let written: String = self.chars.iter().skip(after - word.chars().count()).take(3).collect();
        let code = unit::of_code(&written).filter(|_| word.len() == 3);
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
        let is_part = unit::is_tens(&self.word_before(start)) || unit::is_tens(&self.word_after(end).0);
        if let Some(value) = unit::of_number_word(&lower).filter(|_| !is_part) {
            return self.take(start, end, vec![vec![Decimal::of(value)]], value == 1);
        }
        if let Some(value) = unit::of_ordinal_word(&lower).filter(|_| !is_part) {
            let number = vec![vec![Value::Number { number: Decimal::of(value), unit: Unit::Ordinal }]];
            let mut quantity = Quantity::new(&self.chars, start..end, number);
            // "first, note that", "a second look"
            quantity.is_weak = true;
            self.found.push(quantity);
        }
        end
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

    /// Past an id such as F1.2 whose letters were passed before.
    fn past_id(&self, start: usize) -> usize {
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

    /// Past the number of a list's item (`1. `, `2) `, `(3) `) or of a footnote (`[4]`).
    fn past_marker(&self, start: usize) -> Option<usize> {
        let digits = self.digits(start);
        let (before, after) = (self.before(start), self.char(digits.end));
        if before == Some('[') && after == Some(']') && digits.len() <= 3 {
            return Some(digits.end);
        }
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

/// A letter of a script that puts spaces between words: a digit after it is a part of an id.
fn is_word_letter(char: char) -> bool {
    char.is_alphabetic()
        && !is_han_or_kana(char)
        && !is_hangul(char)
        && !matches!(char, '\u{0E00}'..='\u{0EFF}')
}

/// The text with one form for digits, spaces and dashes. Footnotes in superscript and numbers in circles are left out.
fn prepared(text: &str) -> Vec<char> {
    let mut made = Vec::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '½' | '¼' | '¾' => {
                if !made.last().is_some_and(char::is_ascii_digit) {
                    made.push('0');
                }
                let fraction = match char {
                    '½' => ".5",
                    '¼' => ".25",
                    _ => ".75",
                };
                made.extend(fraction.chars());
            }
            '⁰' | '¹' | '²' | '³' | '⁴'..='⁹' | '①'..='⑳' => made.push(' '),
            _ if is_invisible(char) && !char.is_whitespace() => {}
            _ if char.is_ascii() => made.push(char),
            _ => made.extend(std::iter::once(char).nfkc().map(plain)),
        }
    }
    for char in &mut made {
        if char.is_whitespace() && *char != '\n' {
            *char = ' ';
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
        '٠'..='٩' => ascii_digit(char, '٠'),
        '۰'..='۹' => ascii_digit(char, '۰'),
        '०'..='९' => ascii_digit(char, '०'),
        _ => char,
    }
}

fn ascii_digit(char: char, zero: char) -> char {
    char::from_digit(u32::from(char) - u32::from(zero), 10).unwrap_or(char)
}
