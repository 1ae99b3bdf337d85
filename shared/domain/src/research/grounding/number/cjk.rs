//! Chinese, Japanese and Korean numerals: 3万5000, 1億2,000万, 三十五, 二〇二六.

/// What a compound numeral says, and where it ends.
pub(super) struct Numeral {
    /// In millionths, so that 3.5万 is whole.
    pub(super) millionths: u128,
    pub(super) end: usize,
    /// No Arabic digit in it.
    is_plain: bool,
    multipliers: usize,
    /// Digits in a row, as in 二〇二六.
    row: usize,
    has_zero: bool,
    digits: usize,
}

const MILLION: u128 = 1_000_000;

fn digit(char: char) -> Option<u128> {
    Some(match char {
        '〇' | '零' => 0,
        '一' => 1,
        '二' | '两' | '兩' => 2,
        '三' => 3,
        '四' => 4,
        '五' => 5,
        '六' => 6,
        '七' => 7,
        '八' => 8,
        '九' => 9,
        _ => return None,
    })
}

/// Power of ten; those from 10,000 take all before them.
fn power(char: char) -> Option<u32> {
    Some(match char {
        '十' => 1,
        '百' => 2,
        '千' | '천' => 3,
        '万' | '萬' | '만' => 4,
        '億' | '亿' | '억' => 8,
        '兆' | '조' => 12,
        _ => return None,
    })
}

pub(super) fn is_numeral(char: char) -> bool {
    digit(char).is_some() || power(char).is_some()
}

/// The numeral that starts here; `None` where there is none, or it is too large.
pub(super) fn numeral(chars: &[char], start: usize) -> Option<Numeral> {
    let mut made = Numeral {
        millionths: 0,
        end: start,
        is_plain: true,
        multipliers: 0,
        row: 0,
        has_zero: false,
        digits: 0,
    };
    let (mut total, mut section, mut current) = (0u128, 0u128, None::<u128>);
    let mut lowest = u32::MAX;
    while let Some(&char) = chars.get(made.end) {
        if char.is_ascii_digit() && current.is_none() {
            let (value, end) = arabic(chars, made.end)?;
            current = Some(value);
            (made.end, made.is_plain) = (end, false);
            made.row = 0;
        } else if let Some(value) = digit(char) {
            let in_row = made.row > 0;
            if current.is_some() && !in_row {
                break;
            }
            current = Some(current.unwrap_or(0).checked_mul(10)?.checked_add(value * MILLION)?);
            made.row += 1;
            made.digits += 1;
            made.has_zero |= value == 0;
            made.end += 1;
        } else if let Some(power) = power(char) {
            let factor = 10u128.pow(power);
            if power < 4 {
                section = section.checked_add(current.take().unwrap_or(MILLION).checked_mul(factor)?)?;
            } else {
                let before = section.checked_add(current.take().unwrap_or(0))?;
                if before == 0 || power >= lowest {
                    break;
                }
                total = total.checked_add(before.checked_mul(factor)?)?;
                (section, lowest) = (0, power);
            }
            made.multipliers += 1;
            made.row = 0;
            made.end += 1;
        } else if char == ' '
            && made.multipliers > 0
            && current.is_none()
            && chars.get(made.end - 1).is_some_and(|last| matches!(last, '만' | '억' | '조'))
            && chars.get(made.end + 1).is_some_and(char::is_ascii_digit)
        {
            // Korean puts a space between the parts.
            made.end += 1;
        } else {
            break;
        }
    }
    made.millionths = total.checked_add(section)?.checked_add(current.unwrap_or(0))?;
    (made.end > start).then_some(made)
}

impl Numeral {
    /// Whether it is more than the Arabic number that other code reads.
    pub(super) fn has_multiplier(&self) -> bool {
        self.multipliers > 0
    }

    /// Whether it surely is a number. 四国 and 十分 are words, 二三人 is two or three.
    pub(super) fn is_unambiguous(&self, chars: &[char], start: usize) -> bool {
        let before = start.checked_sub(1).and_then(|at| chars.get(at));
        let after = chars.get(self.end);
        let vague =
            |char: Option<&char>| char.is_some_and(|char| matches!(char, '数' | '數' | '何' | '幾' | '几'));
        if vague(before) || vague(after) {
            return false;
        }
        if !self.is_plain {
            return true;
        }
        let counted = after.is_some_and(|char| is_counter(*char));
        match (self.digits, self.multipliers) {
            (0, _) | (1, 0) => counted,
            (row, 0) => row > 2 || self.has_zero,
            _ => true,
        }
    }

    /// 一人 can mean "alone".
    pub(super) fn is_weak(&self) -> bool {
        self.is_plain && self.multipliers == 0 && self.millionths == MILLION
    }
}

fn is_counter(char: char) -> bool {
    "年月日人名円元社店件回個歳岁台軒家本枚冊棟室席倍階週时時か箇ヶカヵつ番割校项項%".contains(char)
}

/// An Arabic number with thousands by comma and decimals by point, as these languages write it, in millionths.
fn arabic(chars: &[char], start: usize) -> Option<(u128, usize)> {
    let mut end = start;
    let mut value = 0u128;
    let mut places: Option<u32> = None;
    while let Some(&char) = chars.get(end) {
        let digit_follows = chars.get(end + 1).is_some_and(char::is_ascii_digit);
        match char {
            '0'..='9' if places.is_none_or(|places| places < 6) => {
                value = value.checked_mul(10)?.checked_add(u128::from(u32::from(char) - u32::from('0')))?;
                places = places.map(|places| places + 1);
            }
            ',' if places.is_none() && digit_follows => {}
            '.' if places.is_none() && digit_follows => places = Some(0),
            _ => break,
        }
        end += 1;
    }
    Some((value.checked_mul(10u128.pow(6 - places.unwrap_or(0)))?, end))
}
