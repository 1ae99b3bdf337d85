//! Dates: 2026-03-03, 3 March 2026, March 3, 2026, 3 de março de 2026, 03/03/2026, 2026年3月3日.

use super::{Quantity, Value, cjk};

/// A date, or two that share their month, and where they end.
pub(super) type Dates = (Vec<Quantity>, usize);

/// Names as they are written, lower case; English, German, French, Spanish, Portuguese, Italian, Dutch.
const MONTHS: [&str; 12] = [
    "january jan januar janvier enero janeiro gennaio januari",
    "february feb februar février febrero fevereiro febbraio februari",
    "march mar märz mars marzo março maart",
    "april apr avril abril aprile",
    "may mai mayo maio maggio mei",
    "june jun juni juin junio junho giugno",
    "july jul juli juillet julio julho luglio",
    "august aug août agosto augustus",
    "september sep sept septembre septiembre setiembre setembro settembre",
    "october oct oktober octobre octubre outubro ottobre",
    "november nov novembre noviembre novembro",
    "december dec dezember décembre diciembre dezembro dicembre",
];

/// The date that starts at a digit or a numeral.
pub(super) fn from_digit(chars: &[char], start: usize) -> Option<Dates> {
    east_asian(chars, start).or_else(|| numeric(chars, start)).or_else(|| day_first(chars, start))
}

/// The date that starts at a word: March 3, 2026; March 3-5; March 2026.
pub(super) fn from_word(chars: &[char], start: usize) -> Option<Dates> {
    let (month, at, is_verb) = month(chars, start)?;
    let at = skip(chars, at, " ");
    if let Some((year, end)) = year(chars, at) {
        return Some((vec![quantity(start..end, &[(Some(year), month, None)])], end));
    }
    if is_verb {
        return None;
    }
    let (first, mut end) = day(chars, at)?;
    let mut days = vec![first];
    if let Some((last, after)) = joined(chars, end).and_then(|at| day(chars, at)) {
        days.push(last);
        end = after;
    }
    let year = year(chars, skip(chars, end, ", "));
    let end = year.map_or(end, |(_, after)| after);
    let date = |day: u32| quantity(start..end, &[(year.map(|(year, _)| year), month, Some(day))]);
    Some((days.into_iter().map(date).collect(), end))
}

fn day_first(chars: &[char], start: usize) -> Option<Dates> {
    let (first, after_first) = day(chars, start)?;
    if let Some(second_at) = joined(chars, after_first)
        && let Some((second, after)) = day(chars, second_at)
        && let Some((month, year, end)) = month_and_year(chars, after)
    {
        let date = |day| quantity(start..end, &[(year, month, Some(day))]);
        return Some((vec![date(first), date(second)], end));
    }
    let (month, year, end) = month_and_year(chars, after_first)?;
    Some((vec![quantity(start..end, &[(year, month, Some(first))])], end))
}

fn month_and_year(chars: &[char], at: usize) -> Option<(u32, Option<u32>, usize)> {
    let at = skip(chars, skip(chars, at, "."), " ");
    let at = of(chars, at);
    let (month, after, is_verb) = month(chars, at)?;
    let year = year(chars, of(chars, skip(chars, after, ", ")));
    if is_verb && year.is_none() {
        return None;
    }
    Some((month, year.map(|(year, _)| year), year.map_or(after, |(_, end)| end)))
}

fn numeric(chars: &[char], start: usize) -> Option<Dates> {
    let (first, first_digits, at) = digits(chars, start)?;
    let separator = *chars.get(at).filter(|char| "-/.".contains(**char))?;
    let (second, second_digits, after) = digits(chars, skip(chars, at + 1, " "))?;
    chars.get(after).filter(|char| **char == separator)?;
    let (third, third_digits, end) = digits(chars, skip(chars, after + 1, " "))?;
    let alternatives: Vec<_> = match (first_digits, second_digits, third_digits) {
        (4, 1..=2, 1..=2) => vec![(first, second, third)],
        (1..=2, 1..=2, 4) if separator == '.' => vec![(third, second, first)],
        (1..=2, 1..=2, 4) => vec![(third, second, first), (third, first, second)],
        _ => return None,
    };
    let possible = |&(year, month, day): &(u32, u32, u32)| {
        (1000..3000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day)
    };
    let dates: Vec<_> = alternatives
        .into_iter()
        .filter(possible)
        .map(|(year, month, day)| (Some(year), month, Some(day)))
        .collect();
    (!dates.is_empty()).then(|| (vec![quantity(start..end, &dates)], end))
}

fn east_asian(chars: &[char], start: usize) -> Option<Dates> {
    let part = |at: usize, marks: &str| -> Option<(u32, usize)> {
        let at = skip(chars, at, " ");
        let numeral = cjk::numeral(chars, at)?;
        let mark = skip(chars, numeral.end, " ");
        chars.get(mark).filter(|char| marks.contains(**char))?;
        let whole = numeral.millionths / 1_000_000;
        Some((u32::try_from(whole).ok().filter(|value| *value > 0)?, mark + 1))
    };
    let year = part(start, "年년").filter(|(year, _)| (1000..3000).contains(year));
    let month = part(year.map_or(start, |(_, end)| end), "月월").filter(|(month, _)| *month <= 12);
    let day = month.and_then(|(_, end)| part(end, "日일")).filter(|(day, _)| *day <= 31);
    let Some((month, month_end)) = month else {
        let (year, end) = year?;
        let plain = vec![vec![Value::plain(u128::from(year))]];
        return Some((vec![Quantity::new(start..end, plain)], end));
    };
    let end = day.map_or(month_end, |(_, end)| end);
    let date = (year.map(|(year, _)| year), month, day.map(|(day, _)| day));
    Some((vec![quantity(start..end, &[date])], end))
}

/// A full date is also carried by its day in one place and its year in another.
fn quantity(range: std::ops::Range<usize>, dates: &[(Option<u32>, u32, Option<u32>)]) -> Quantity {
    let mut readings = Vec::new();
    for &(year, month, day) in dates {
        readings.push(vec![Value::Date { year, month, day }]);
        if let Some(year) = year {
            readings.push(vec![Value::Date { year: None, month, day }, Value::plain(u128::from(year))]);
        }
    }
    Quantity::new(range, readings)
}

/// The month of a name, where it ends, and whether it is rather the verb "may" or "march".
fn month(chars: &[char], start: usize) -> Option<(u32, usize, bool)> {
    let length = chars.get(start..)?.iter().take_while(|char| char.is_alphabetic()).count();
    let written: String = chars[start..start + length].iter().collect();
    let name = written.to_lowercase();
    let number = MONTHS
        .iter()
        .zip(1..)
        .find_map(|(names, number)| names.split(' ').any(|known| known == name).then_some(number))?;
    let is_verb = matches!(written.as_str(), "may" | "march" | "mar");
    let mut end = start + length;
    if length <= 4 && chars.get(end) == Some(&'.') {
        end += 1;
    }
    Some((number, end, is_verb))
}

/// A day of a month with what marks it as one: 3, 3rd, 1er, 1º.
fn day(chars: &[char], start: usize) -> Option<(u32, usize)> {
    let (day, count, end) = digits(chars, start)?;
    if count > 2 || !(1..=31).contains(&day) {
        return None;
    }
    let suffix: String = chars[end..].iter().take_while(|char| char.is_alphabetic()).collect();
    let length = suffix.chars().count();
    match suffix.as_str() {
        "st" | "nd" | "rd" | "th" | "er" | "o" | "a" => Some((day, end + length)),
        "" => Some((day, end)),
        _ => None,
    }
}

fn year(chars: &[char], start: usize) -> Option<(u32, usize)> {
    let (year, count, end) = digits(chars, start)?;
    (count == 4 && (1000..3000).contains(&year)).then_some((year, end))
}

/// Past "of", "de", "do", "di", where there is one.
fn of(chars: &[char], at: usize) -> usize {
    let word: String = chars.iter().skip(at).take(3).collect();
    if matches!(word.as_str(), "of " | "de " | "do " | "di ") { at + 3 } else { at }
}

/// Past what joins two days of one month.
fn joined(chars: &[char], at: usize) -> Option<usize> {
    let at = skip(chars, skip(chars, at, "."), " ");
    let rest: String = chars.iter().skip(at).take(4).collect();
    let joiner = ["- ", "-", "to ", "and ", "bis ", "und ", "a ", "e ", "y "]
        .into_iter()
        .find(|word| rest.starts_with(word))?;
    Some(at + joiner.len())
}

fn skip(chars: &[char], at: usize, skipped: &str) -> usize {
    let count = chars.iter().skip(at).take(2).take_while(|char| skipped.contains(**char)).count();
    at + count
}

/// A run of at most four digits, how many, and where it ends.
fn digits(chars: &[char], start: usize) -> Option<(u32, usize, usize)> {
    let count = chars.iter().skip(start).take_while(|char| char.is_ascii_digit()).count();
    let value: String = chars.get(start..start + count)?.iter().collect();
    (1..=4).contains(&count).then_some(())?;
    Some((value.parse().ok()?, count, start + count))
}
