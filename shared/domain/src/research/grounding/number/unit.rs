//! What a number counts, as far as it matters for comparing: percent, money, a place in an order.

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// None was given, or none that is compared.
    None,
    Percent,
    /// Third, 3rd.
    Ordinal,
    /// An ISO 4217 code, or `$` for some dollar, `kr` for some crown, `Rs` for some rupee.
    Money(&'static str),
    /// Days, people and the like, by their English name.
    Thing(&'static str),
}

impl Unit {
    /// Whether a claim in this unit is carried by a passage in `there`.
    pub(super) fn is_said_by(self, there: Unit) -> bool {
        match (self, there) {
            (Unit::Money(one), Unit::Money(other)) => {
                one == other || is_some(one, other) || is_some(other, one)
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

/// Whether a sign that several currencies share can mean this one.
fn is_some(sign: &str, code: &str) -> bool {
    match sign {
        "$" => is_dollar(code),
        "kr" => matches!(code, "DKK" | "NOK" | "SEK"),
        "Rs" => code == "INR",
        _ => false,
    }
}

fn is_dollar(code: &str) -> bool {
    matches!(code, "$" | "AUD" | "BSD" | "CAD" | "HKD" | "NZD" | "SGD" | "TWD" | "USD")
}

/// The money of letters before or after a number, as they are written.
pub(super) fn of_code(letters: &str) -> Option<Unit> {
    let sign = match letters {
        "Rs" | "rs" | "RS" => "Rs",
        "RM" | "rm" => "MYR",
        "Rp" | "rp" | "RP" => "IDR",
        "kr" | "Kr" | "KR" => "kr",
        _ => CODES.into_iter().find(|code| *code == letters)?,
    };
    Some(Unit::Money(sign))
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
        "rupee" | "rupees" => Unit::Money("Rs"),
        "ringgit" => Unit::Money("MYR"),
        "rupiah" => Unit::Money("IDR"),
        "kronor" | "kroner" => Unit::Money("kr"),
        "day" | "days" | "tag" | "tage" | "tagen" | "jour" | "jours" | "día" | "días" | "dia" | "dias"
        | "giorno" | "giorni" | "dag" | "dagen" => Unit::Thing("day"),
        "week" | "weeks" | "woche" | "wochen" | "semaine" | "semaines" | "semana" | "semanas" => {
            Unit::Thing("week")
        }
        "month" | "months" | "monat" | "monate" | "monaten" | "mois" | "mes" | "meses" => {
            Unit::Thing("month")
        }
        "year" | "years" | "jahr" | "jahre" | "jahren" | "an" | "ans" | "año" | "años" | "anos" => {
            Unit::Thing("year")
        }
        "hour" | "hours" | "stunde" | "stunden" | "heure" | "heures" | "hora" | "horas" => {
            Unit::Thing("hour")
        }
        "minute" | "minutes" | "min" | "minuten" | "minuto" | "minutos" => Unit::Thing("minute"),
        "people" | "persons" | "personen" | "personnes" | "personas" | "pessoas" => Unit::Thing("person"),
        _ => return None,
    })
}

/// The unit that stands right after a number in Chinese or Japanese.
pub(super) fn of_counter(rest: &str) -> Option<Unit> {
    const COUNTERS: [(&str, Unit); 18] = [
        ("ドル", Unit::Money("$")),
        ("美元", Unit::Money("USD")),
        ("ユーロ", Unit::Money("EUR")),
        ("欧元", Unit::Money("EUR")),
        ("달러", Unit::Money("$")),
        ("日", Unit::Thing("day")),
        ("週", Unit::Thing("week")),
        ("か月", Unit::Thing("month")),
        ("ヶ月", Unit::Thing("month")),
        ("カ月", Unit::Thing("month")),
        ("ヵ月", Unit::Thing("month")),
        ("个月", Unit::Thing("month")),
        ("年", Unit::Thing("year")),
        ("時間", Unit::Thing("hour")),
        ("小时", Unit::Thing("hour")),
        ("分", Unit::Thing("minute")),
        ("人", Unit::Thing("person")),
        ("名", Unit::Thing("person")),
    ];
    COUNTERS.into_iter().find_map(|(word, unit)| rest.starts_with(word).then_some(unit))
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

/// First to twelfth.
pub(super) fn of_ordinal_word(word: &str) -> Option<u128> {
    const WORDS: [&str; 12] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
        "eleventh", "twelfth",
    ];
    WORDS.iter().zip(1..).find_map(|(known, value)| (*known == word).then_some(value))
}
