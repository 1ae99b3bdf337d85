//! Groups of digits with separators between them: thousands, decimals, lists, versions.

use super::Decimal;

/// What separates decimals, as far as the text shows it by numbers that can be read in one way only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Style {
    point: bool,
    comma: bool,
}

impl Style {
    /// Whether `separator` before three digits may separate decimals here; it may also be one of thousands otherwise.
    fn may_be_decimal(self, separator: char) -> bool {
        match separator {
            '.' => self.point || !self.comma,
            _ => self.comma || !self.point,
        }
    }

    fn may_be_thousands(self, separator: char) -> bool {
        match separator {
            '.' => self.comma || !self.point,
            _ => self.point || !self.comma,
        }
    }

    fn see(&mut self, decimal_separator: char) {
        self.point |= decimal_separator == '.';
        self.comma |= decimal_separator == ',';
    }

    fn see_thousands(&mut self, separator: char) {
        match separator {
            ',' => self.see('.'),
            '.' => self.see(','),
            _ => {}
        }
    }
}

/// What groups of digits can mean; `None` where it is no number, such as a version. `style` is what the text writes
/// elsewhere, as far as that is known; what these groups show of it is added to `seen`.
pub(super) fn readings(
    groups: &[&str],
    separators: &[char],
    style: Style,
    seen: &mut Style,
) -> Option<Vec<Vec<Decimal>>> {
    let (Some(last), Some(separator)) = (groups.last(), separators.last()) else {
        return Some(vec![vec![Decimal::new(groups[0], "")]]);
    };
    let before = &groups[..groups.len() - 1];
    let others = &separators[..separators.len() - 1];
    let joined = Decimal::new(&groups.concat(), "");
    let decimal = Decimal::new(&before.concat(), last);
    let apart = || groups.iter().map(|group| Decimal::new(group, "")).collect::<Vec<_>>();
    if others.iter().any(|other| other != separator) {
        // 1,234.56 and 1.234,56
        let uniform = others.iter().all(|other| *other == others[0]);
        if !uniform || !are_thousands(before) || !matches!(separator, ',' | '.') {
            return Some(vec![apart()]);
        }
        seen.see(*separator);
        return Some(vec![vec![decimal]]);
    }
    if !others.is_empty() {
        return match separator {
            _ if are_thousands(groups) => {
                seen.see_thousands(*separator);
                Some(vec![vec![joined]])
            }
            '.' => None,
            _ => Some(vec![apart()]),
        };
    }
    match separator {
        ' ' | '\'' if are_thousands(groups) => Some(vec![vec![joined], apart()]),
        ' ' | '\'' => Some(vec![apart()]),
        _ if are_thousands(groups) && groups[0] != "0" => {
            let mut readings = Vec::new();
            if style.may_be_thousands(*separator) {
                readings.push(vec![joined]);
            }
            if style.may_be_decimal(*separator) {
                readings.push(vec![decimal]);
            }
            Some(readings)
        }
        // 3,14 is a decimal or two numbers; 3.14 also reads as a time, which is the same.
        ',' if last.len() <= 2 => {
            seen.see(',');
            Some(vec![vec![decimal], apart()])
        }
        ',' => Some(vec![apart(), vec![decimal]]),
        _ => {
            seen.see('.');
            Some(vec![vec![decimal]])
        }
    }
}

/// Whether these are groups of thousands: 1,234,567, or 12,34,567 as in India.
fn are_thousands(groups: &[&str]) -> bool {
    let (Some(first), Some(last)) = (groups.first(), groups.last()) else {
        return false;
    };
    let middle = &groups[1..groups.len().saturating_sub(1).max(1)];
    let (western, indian) =
        (middle.iter().all(|group| group.len() == 3), middle.iter().all(|group| group.len() == 2));
    let is_single = groups.len() == 1;
    (1..=3).contains(&first.len())
        && (is_single || last.len() == 3)
        && (western || (indian && first.len() <= 2))
}
