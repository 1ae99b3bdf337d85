//! The language that a task is answered in.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use whatlang::{Lang, Script};

use super::grounding::{is_han_or_kana, is_kana};

/// A language that can be told from a text.
///
/// In JSON it is its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Language {
    /// ISO 639-1.
    pub code: &'static str,
    /// Such as Japanese; what a prompt says.
    pub english_name: &'static str,
}

/// The text names no language that is known here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown language `{given}`; known are {}", known_codes())]
pub struct UnknownLanguage {
    given: String,
}

/// Those that whatlang tells apart and that have a code of two letters.
const LANGUAGES: [(Lang, Language); 68] = [
    language(Lang::Afr, "af", "Afrikaans"),
    language(Lang::Amh, "am", "Amharic"),
    language(Lang::Ara, "ar", "Arabic"),
    language(Lang::Aze, "az", "Azerbaijani"),
    language(Lang::Bel, "be", "Belarusian"),
    language(Lang::Bul, "bg", "Bulgarian"),
    language(Lang::Ben, "bn", "Bengali"),
    language(Lang::Cat, "ca", "Catalan"),
    language(Lang::Ces, "cs", "Czech"),
    language(Lang::Cym, "cy", "Welsh"),
    language(Lang::Dan, "da", "Danish"),
    language(Lang::Deu, "de", "German"),
    language(Lang::Ell, "el", "Greek"),
    language(Lang::Eng, "en", "English"),
    language(Lang::Epo, "eo", "Esperanto"),
    language(Lang::Spa, "es", "Spanish"),
    language(Lang::Est, "et", "Estonian"),
    language(Lang::Pes, "fa", "Persian"),
    language(Lang::Fin, "fi", "Finnish"),
    language(Lang::Fra, "fr", "French"),
    language(Lang::Guj, "gu", "Gujarati"),
    language(Lang::Heb, "he", "Hebrew"),
    language(Lang::Hin, "hi", "Hindi"),
    language(Lang::Hrv, "hr", "Croatian"),
    language(Lang::Hun, "hu", "Hungarian"),
    language(Lang::Hye, "hy", "Armenian"),
    language(Lang::Ind, "id", "Indonesian"),
    language(Lang::Ita, "it", "Italian"),
    language(Lang::Jpn, "ja", "Japanese"),
    language(Lang::Jav, "jv", "Javanese"),
    language(Lang::Kat, "ka", "Georgian"),
    language(Lang::Khm, "km", "Khmer"),
    language(Lang::Kan, "kn", "Kannada"),
    language(Lang::Kor, "ko", "Korean"),
    language(Lang::Lat, "la", "Latin"),
    language(Lang::Lit, "lt", "Lithuanian"),
    language(Lang::Lav, "lv", "Latvian"),
    language(Lang::Mkd, "mk", "Macedonian"),
    language(Lang::Mal, "ml", "Malayalam"),
    language(Lang::Mar, "mr", "Marathi"),
    language(Lang::Mya, "my", "Burmese"),
    language(Lang::Nob, "nb", "Norwegian"),
    language(Lang::Nep, "ne", "Nepali"),
    language(Lang::Nld, "nl", "Dutch"),
    language(Lang::Ori, "or", "Odia"),
    language(Lang::Pan, "pa", "Punjabi"),
    language(Lang::Pol, "pl", "Polish"),
    language(Lang::Por, "pt", "Portuguese"),
    language(Lang::Ron, "ro", "Romanian"),
    language(Lang::Rus, "ru", "Russian"),
    language(Lang::Sin, "si", "Sinhala"),
    language(Lang::Slk, "sk", "Slovak"),
    language(Lang::Slv, "sl", "Slovenian"),
    language(Lang::Sna, "sn", "Shona"),
    language(Lang::Srp, "sr", "Serbian"),
    language(Lang::Swe, "sv", "Swedish"),
    language(Lang::Tam, "ta", "Tamil"),
    language(Lang::Tel, "te", "Telugu"),
    language(Lang::Tha, "th", "Thai"),
    language(Lang::Tuk, "tk", "Turkmen"),
    language(Lang::Tgl, "tl", "Tagalog"),
    language(Lang::Tur, "tr", "Turkish"),
    language(Lang::Ukr, "uk", "Ukrainian"),
    language(Lang::Urd, "ur", "Urdu"),
    language(Lang::Uzb, "uz", "Uzbek"),
    language(Lang::Vie, "vi", "Vietnamese"),
    language(Lang::Yid, "yi", "Yiddish"),
    language(Lang::Zul, "zu", "Zulu"),
];

/// And the one that has its own rule.
const CHINESE: Language = Language { code: "zh", english_name: "Chinese" };

/// Letters of a Latin text without little words that a guess is taken from.
const ENOUGH_LATIN_LETTERS: usize = 60;
/// Languages of one script are told apart by their most common letter triples; this many letters show enough of them.
const ENOUGH_LETTERS: usize = 24;
/// Of 0 to 1, as whatlang reports it for a text with enough letters.
const ENOUGH_CONFIDENCE: f64 = 0.2;

/// Little words that tell where letter triples do not: an objective is often one short question full of names.
const LITTLE_WORDS: [(Lang, &str); 7] = [
    (
        Lang::Eng,
        "a and are compare do does determine find for from how in is list of on research the to was what which who why with",
    ),
    (
        Lang::Deu,
        "als auf das der die ein eine finde für gibt im in ist kostet mit oder sind und vergleiche von was welche wie wo",
    ),
    (
        Lang::Fra,
        "à combien comment dans de des en est et la le les ou pour quel quelle quels sont sur un une",
    ),
    (Lang::Spa, "como cuál cuánto cuesta de el en es la las los para por qué son un una y"),
    (Lang::Por, "as como custa da de do e em na no o os para por qual quanto que são um uma"),
    (Lang::Ita, "che come costa con del della di e gli i il in la per quale quanto sono un una"),
    (Lang::Nld, "de een en het hoe hoeveel in is kost met op van voor wat welke wie zijn"),
];

const fn language(lang: Lang, code: &'static str, english_name: &'static str) -> (Lang, Language) {
    (lang, Language { code, english_name })
}

/// The language of a text; `None` where it does not show. Chinese characters are Japanese as soon as one in twenty of
/// them and the kana is kana, else Chinese: a Japanese title without kana is taken for Chinese. A script of one language
/// is enough at any length. Others are told by whatlang where it is reliable, else by little words such as `the`, else by
/// whatlang where the text has at least 24 letters.
pub fn language_of(text: &str) -> Option<Language> {
    let letters = text.chars().filter(|char| char.is_alphabetic());
    let (mut all, mut east_asian, mut kana) = (0, 0, 0);
    for char in letters {
        all += 1;
        east_asian += usize::from(is_han_or_kana(char));
        kana += usize::from(is_kana(char));
    }
    if all == 0 {
        return None;
    }
    if east_asian * 3 > all {
        let is_japanese = kana > 0 && kana * 20 >= east_asian;
        return if is_japanese { Language::from_str("ja").ok() } else { Some(CHINESE) };
    }
    let info = whatlang::detect(text)?;
    let alone = matches!(
        info.script(),
        Script::Hangul | Script::Thai | Script::Greek | Script::Georgian | Script::Armenian
    );
    if alone {
        return known(info.lang());
    }
    if info.script() == Script::Latin {
        // A title of a few English words counts as reliably Latin, Romanian or French, so little words decide.
        let lang = by_little_words(text);
        let guessed = info.is_reliable() && all >= ENOUGH_LATIN_LETTERS;
        return lang
            .or_else(|| guessed.then(|| info.lang()))
            .and_then(known)
            .filter(|_| lang.is_some() || !matches!(info.lang(), Lang::Lat | Lang::Epo));
    }
    let is_enough = all >= ENOUGH_LETTERS && info.confidence() >= ENOUGH_CONFIDENCE;
    known(info.lang()).filter(|_| info.is_reliable() || is_enough)
}

fn known(lang: Lang) -> Option<Language> {
    LANGUAGES.iter().find(|(known, _)| *known == lang).map(|(_, language)| *language)
}

/// The language that has the most little words in a text, if it has two, and more than any other.
fn by_little_words(text: &str) -> Option<Lang> {
    let text = text.to_lowercase();
    let words: BTreeSet<&str> = text.split(|char: char| !char.is_alphabetic()).collect();
    let count = |known: &str| known.split(' ').filter(|word| words.contains(word)).count();
    let mut counts: Vec<(usize, Lang)> =
        LITTLE_WORDS.iter().map(|(lang, known)| (count(known), *lang)).collect();
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    match counts[..] {
        [(most, lang), (next, _), ..] if most > 1 && most > next => Some(lang),
        _ => None,
    }
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    /// Takes BCP 47 tags for their language alone: `ja`, `pt-BR`, `zh_Hant_TW`; codes of three letters where whatlang
    /// has them.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let primary = text.trim().split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        let alias = match primary.as_str() {
            "no" | "nn" | "nor" => "nb",
            "iw" => "he",
            "in" => "id",
            "fil" => "tl",
            "cmn" | "zho" | CHINESE_CODE => return Ok(CHINESE),
            other => other,
        };
        let three = Lang::from_code(alias);
        LANGUAGES
            .iter()
            .find(|(lang, language)| language.code == alias || Some(*lang) == three)
            .map(|(_, language)| *language)
            .ok_or_else(|| UnknownLanguage { given: text.chars().take(40).collect() })
    }
}

const CHINESE_CODE: &str = CHINESE.code;

fn known_codes() -> String {
    let mut codes: Vec<&str> =
        LANGUAGES.iter().map(|(_, language)| language.code).chain([CHINESE.code]).collect();
    codes.sort_unstable();
    codes.join(", ")
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code)
    }
}

impl Serialize for Language {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code)
    }
}

impl<'de> Deserialize<'de> for Language {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_an_objective() {
        for (text, code) in [
            ("Determine whether a tourist-focused Pilates package would be viable in Nassau.", Some("en")),
            ("What do visitors pay for yoga classes in Lisbon?", Some("en")),
            ("Finde heraus, was ein Besuch im Schwimmbad für eine Familie in Hamburg kostet.", Some("de")),
            ("Quels sont les prix des cours de Pilates pour les touristes à Nassau ?", Some("fr")),
            ("¿Cuánto pagan los turistas por una clase de Pilates en Nassau?", Some("es")),
            ("Quanto custa uma aula de Pilates para turistas em Nassau?", Some("pt")),
            ("観光客向けのピラティス教室はナッソーで成り立つか調べてください。", Some("ja")),
            ("料金は？", Some("ja")),
            ("调查面向游客的普拉提课程在拿骚是否可行。", Some("zh")),
            ("나소에서 관광객을 위한 필라테스 수업이 가능한지 조사하세요.", Some("ko")),
            ("요금", Some("ko")),
            ("Узнайте, сколько стоят занятия пилатесом для туристов в Нассау.", Some("ru")),
            ("اكتشف أسعار دروس البيلاتس للسياح في ناساو", Some("ar")),
            ("Compare the OpenAI API with 日本 in three sentences, please.", Some("en")),
            ("Who sells bikes in Berlin?", Some("en")),
            ("Was kostet Yoga in Berlin?", Some("de")),
            ("Quanto costa una lezione di pilates a Roma?", Some("it")),
            ("Hoeveel kost een yogales in Amsterdam?", Some("nl")),
            ("Compare PostgreSQL and SQLite for job queues", Some("en")),
            ("Latest advances in solid state batteries", None),
            ("Pilates studio prices in Nassau", None),
            ("A question about card prices", None),
            ("Nassau Pilates prices 2026", None),
            ("", None),
            ("42 + 17", None),
            ("Nassau", None),
        ] {
            assert_eq!(language_of(text).map(|language| language.code), code, "{text}");
        }
    }

    #[test]
    fn codes_are_read_as_people_write_them() {
        for (text, name) in [
            ("ja", "Japanese"),
            ("JA", "Japanese"),
            ("ja-JP", "Japanese"),
            ("jpn", "Japanese"),
            (" pt_BR ", "Portuguese"),
            ("zh-Hant-TW", "Chinese"),
            ("cmn", "Chinese"),
            ("no", "Norwegian"),
            ("en-GB", "English"),
        ] {
            assert_eq!(text.parse::<Language>().map(|language| language.english_name), Ok(name), "{text}");
        }
        for text in ["", "xx", "klingon", "日本語"] {
            let error = text.parse::<Language>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(" en, ") && error.contains("zh"), "{error}");
        }
        let json = serde_json::to_string(&"de".parse::<Language>().unwrap()).unwrap();
        assert_eq!(json, "\"de\"");
        assert_eq!(serde_json::from_str::<Language>(&json).unwrap().english_name, "German");
    }
}
