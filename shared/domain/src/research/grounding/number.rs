//! Numbers, amounts and dates of a text, comparable whatever way they are written.
//!
//! Choices: signs are not compared (`-3%` and "fell by 3%" say the same); nothing is rounded (`1.2 million` is not
//! `1,234,567`); a number is compared with its unit only where both have one, so `$5` is not `5%` but a bare `5` in a
//! table is either. Ids that the text may cite, formulas such as CO2 and list markers are no numbers; a number glued to
//! letters, or in brackets like a footnote, is asked for, but carries nothing but itself.

mod cjk;
mod date;
mod digit;
mod english;
mod groups;
mod scan;
mod unit;

use std::ops::Range;

use scan::Scan;
use unit::Unit;

/// A number with the way it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quantity {
    /// As the text has it.
    pub(super) text: String,
    /// Where it stands in the prepared text.
    range: Range<usize>,
    /// What it can mean; each meaning is all of its values together.
    readings: Vec<Vec<Value>>,
    /// "one" is more often a pronoun than a number: it can carry a 1, and asks for none.
    is_weak: bool,
    /// G20 and [4] carry no other 20 and 4.
    is_name: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Number {
        number: Decimal,
        unit: Unit,
    },
    Date {
        year: Option<u32>,
        month: u32,
        day: Option<u32>,
    },
    /// Such as a version, or a name with its number.
    Verbatim(String),
}

/// A number without sign as significant digits and a power of ten, so that equal numbers are equal values.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Decimal {
    digits: String,
    exponent: i32,
}

impl Decimal {
    /// `whole` and `fraction` are ASCII digits.
    fn new(whole: &str, fraction: &str) -> Self {
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0').trim_end_matches('0');
        if significant.is_empty() {
            return Self { digits: "0".to_owned(), exponent: 0 };
        }
        let zeros = all.len() - all.trim_end_matches('0').len();
        let exponent = i32::try_from(zeros)
            .unwrap_or(i32::MAX)
            .saturating_sub(i32::try_from(fraction.len()).unwrap_or(i32::MAX));
        Self { digits: significant.to_owned(), exponent }
    }

    fn of(number: u128) -> Self {
        Self::new(&number.to_string(), "")
    }

    fn times_ten_to(mut self, power: i32) -> Self {
        if self.digits != "0" {
            self.exponent = self.exponent.saturating_add(power);
        }
        self
    }
}

impl Value {
    fn plain(number: u128) -> Self {
        Value::Number { number: Decimal::of(number), unit: Unit::None }
    }

    /// Whether a claim that says this is carried by a passage that says `other`.
    fn is_said_by(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Number { number, unit }, Value::Number { number: same, unit: there }) => {
                number == same && unit.is_said_by(*there)
            }
            (Value::Number { number, .. }, Value::Date { year: Some(year), .. }) => {
                *number == Decimal::of(u128::from(*year))
            }
            (
                Value::Date { year, month, day },
                Value::Date { year: there_year, month: there_month, day: there_day },
            ) => {
                month == there_month
                    && (year.is_none() || year == there_year)
                    && (day.is_none() || day == there_day)
            }
            _ => self == other,
        }
    }
}

/// Every number, amount and date of a text, in order, but for the ids in lower case that it may name.
pub(super) fn quantities(text: &str, ids: &[String]) -> Vec<Quantity> {
    Scan::quantities(text, ids)
}

/// What some passages say in numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures(Vec<Value>);

impl Figures {
    /// Adds those of one passage.
    pub(super) fn add(&mut self, passage: &str) {
        let carried = quantities(passage, &[]).into_iter().flat_map(|quantity| {
            let values = quantity.readings.into_iter().flatten();
            values.filter(move |value| !quantity.is_name || matches!(value, Value::Verbatim(_)))
        });
        for value in carried {
            if !self.0.contains(&value) {
                self.0.push(value);
            }
        }
    }

    /// The numbers of a statement that stand in no passage, as the statement writes them, each once. `ids` are those
    /// that it may name, in lower case.
    pub(super) fn missing(&self, statement: &str, ids: &[String]) -> Vec<String> {
        let mut missing = Vec::new();
        for quantity in quantities(statement, ids) {
            if !quantity.is_weak && !self.say(&quantity) && !missing.contains(&quantity.text) {
                missing.push(quantity.text);
            }
        }
        missing
    }

    fn say(&self, quantity: &Quantity) -> bool {
        let said = |value: &Value| self.0.iter().any(|other| value.is_said_by(other));
        quantity.readings.iter().any(|values| values.iter().all(said))
    }
}

#[cfg(test)]
mod tests;
