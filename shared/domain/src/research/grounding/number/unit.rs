//! What a number counts, as far as it matters for comparing: percent, money, a place in an order.

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// None was given, or none that is compared.
    None,
    Percent,
    /// Third, 3rd.
    Ordinal,
    /// An ISO 4217 code, or `$` for some dollar.
    Money(&'static str),
}

impl Unit {
    /// Whether a claim in this unit is carried by a passage in `there`.
    pub(super) fn is_said_by(self, there: Unit) -> bool {
        match (self, there) {
            (Unit::Money(one), Unit::Money(other)) => {
                one == other || (one == "$" && is_dollar(other)) || (other == "$" && is_dollar(one))
            }
            // "the third floor" does not count to three
            (_, Unit::Ordinal) => self == Unit::Ordinal,
            (Unit::None, _) | (_, Unit::None) => true,
            _ => self == there,
        }
    }
}

const CODES: [&str; 34] = [
    "AED", "AUD", "BRL", "BSD", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "IDR", "ILS",
    "INR", "JPY", "KRW", "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "RUB", "SAR", "SEK", "SGD", "THB", "TRY",
    "TWD", "USD", "VND", "ZAR",
];

fn is_dollar(code: &str) -> bool {
    matches!(code, "$" | "AUD" | "BSD" | "CAD" | "HKD" | "NZD" | "SGD" | "TWD" | "USD")
}

/// The code that these letters are.
pub(super) fn of_code(letters: &str) -> Option<Unit> {
    CODES.into_iter().find(|code| *code == letters).map(Unit::Money)
}

/// The money of a symbol, with the letters that stand right before it: `US$`, `R$`.
pub(super) fn of_symbol(letters: &str, symbol: char) -> Option<Unit> {
    let code = match (symbol, letters) {
        ('$', "US" | "U") => "USD",
        ('$', "A" | "AU") => "AUD",
        ('$', "B" | "BS") => "BSD",
        ('$', "C" | "CA") => "CAD",
        ('$', "HK") => "HKD",
        ('$', "NZ") => "NZD",
        ('$', "S" | "SG") => "SGD",
        ('$', "NT") => "TWD",
        ('$', "R") => "BRL",
        ('$', _) => "$",
        ('€', _) => "EUR",
        ('£', _) => "GBP",
        ('¥', _) => "¥",
        ('円', _) => "JPY",
        ('元', _) => "CNY",
        ('₩' | '원', _) => "KRW",
        ('₹', _) => "INR",
        ('₽', _) => "RUB",
        ('₪', _) => "ILS",
        ('฿', _) => "THB",
        ('₫', _) => "VND",
        ('₺', _) => "TRY",
        _ => return None,
    };
    // The sign of the yen is the yuan's as well.
    Some(if code == "¥" { Unit::None } else { Unit::Money(code) })
}

/// The unit of a word after a number, in lower case.
pub(super) fn of_word(word: &str) -> Option<Unit> {
    Some(match word {
        "percent" | "pct" | "prozent" | "procent" => Unit::Percent,
        "dollar" | "dollars" | "dólares" => Unit::Money("$"),
        "euro" | "euros" => Unit::Money("EUR"),
        "yen" => Unit::Money("JPY"),
        "yuan" => Unit::Money("CNY"),
        _ => return None,
    })
}

/// The power of ten of a word after a number, in lower case.
pub(super) fn power_of(word: &str) -> Option<i32> {
    Some(match word {
        "thousand" | "k" => 3,
        "million" | "millions" | "mn" | "mio" | "millionen" | "millones" | "milhões" | "milioni" => 6,
        "billion" | "billions" | "bn" | "mrd" | "milliarden" | "milliard" | "milliards" | "miliardi" => 9,
        "trillion" | "trillions" | "tn" => 12,
        _ => return None,
    })
}

/// Zero to twelve; larger ones are written in too many ways, and those of other languages mean too much else.
pub(super) fn of_number_word(word: &str) -> Option<u128> {
    const WORDS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    WORDS.iter().zip(0..).find_map(|(known, value)| (*known == word).then_some(value))
}

/// First to twelfth.
pub(super) fn of_ordinal_word(word: &str) -> Option<u128> {
    const WORDS: [&str; 12] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
        "eleventh", "twelfth",
    ];
    WORDS.iter().zip(1..).find_map(|(known, value)| (*known == word).then_some(value))
}

/// Words after which a number word is only a part of a larger number.
pub(super) fn is_tens(word: &str) -> bool {
    matches!(
        word,
        "twenty" | "thirty" | "forty" | "fifty" | "sixty" | "seventy" | "eighty" | "ninety" | "hundred"
    )
}
