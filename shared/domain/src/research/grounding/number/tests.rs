//! Numbers, dates and amounts as texts write them.

use proptest::prelude::*;

use super::*;

fn missing(claim: &str, passage: &str) -> Vec<String> {
    let mut figures = Figures::default();
    figures.add(passage);
    figures.missing(claim, &[])
}

#[test]
fn the_same_number_in_other_clothes_is_found() {
    for (claim, passage) in [
        ("1,234 visitors", "1.234 Besucher"),
        ("1,234 visitors", "1 234 visiteurs"),
        ("1,234 visitors", "1\u{202F}234 visiteurs"),
        ("1,234 visitors", "1’234 Besucher"),
        ("1 234 visitors", "1234 visitors"),
        ("1,234,567", "1.234.567"),
        ("12,34,567 rupees", "1,234,567 rupees"),
        ("3.5 percent", "3,5 %"),
        ("3.50", "3.5"),
        ("1,234.56", "1.234,56"),
        ("$150", "150 dollars"),
        ("$150", "US$150 a head"),
        ("USD 150", "150 USD"),
        ("EUR150", "€150"),
        ("150 and 180", "$150–180"),
        ("between $150 and $180", "150-180 USD"),
        ("５０％", "50 percent"),
        ("50 per cent", "50パーセント"),
        ("two studios", "2 studios"),
        ("2 studios", "Two studios serve residents"),
        ("five percent", "5%"),
        ("three-day pass", "3-day pass"),
        ("two million", "2,000,000"),
        ("1.2 million", "1,200,000"),
        ("$1.2bn", "1.2 billion dollars"),
        ("50k", "50,000"),
        ("$5m", "$5 million"),
        ("5 m", "5 m wide"),
        ("the 3rd floor", "the third floor"),
        ("3rd", "3"),
        ("1.5 hours", "1½ hours"),
        ("0.5", ".5"),
        ("9:00", "from 9 am"),
        ("2024-25", "2024–2025"),
        ("2024 and 2025", "2024/25"),
        ("35000円", "3万5000円"),
        ("35,000 yen", "３万５千円"),
        ("1億2,000万円", "120,000,000"),
        ("3.5万人", "35000人"),
        ("35 people", "三十五人"),
        ("二〇二六年", "2026"),
        ("3人", "三人"),
        ("150円", "百五十円"),
        ("8000만 원", "80,000,000원"),
        ("1억 2000만", "120000000"),
        ("١٢٣", "123"),
        ("in 2026", "on 3 March 2026"),
        ("version 1.2.3", "v: 1.2.3"),
    ] {
        assert_eq!(missing(claim, passage), Vec::<String>::new(), "{claim} / {passage}");
    }
}

#[test]
fn another_number_is_not() {
    for (claim, passage, figure) in [
        ("42 studios", "24 studios", "42"),
        ("$180", "$150", "180"),
        ("$150", "€150", "150"),
        ("5%", "$5", "5"),
        ("1.2 million", "1.3 million", "1.2 million"),
        ("1.2 million", "1.2", "1.2 million"),
        ("1,234", "12,34", "1,234"),
        ("15", "150", "15"),
        ("150", "1500", "150"),
        ("1.5", "15", "1.5"),
        ("three studios", "several studios", "three"),
        ("3 studios", "on the third floor", "3"),
        ("3 studios", "S3 and F1.3 and CO3", "3"),
        ("3 studios", "twenty-three studios", "3"),
        ("3 studios", "three hundred studios", "3"),
        ("2 studios", "1. One studio\n2. Another studio", "2"),
        ("4 studios", "A studio [4] that opened", "4"),
        ("2 studios", "per m²", "2"),
        ("35000円", "3万6000円", "35000"),
        ("10分", "十分な量", "10"),
        ("4 countries", "四国の旅", "4"),
        ("10 people", "数十人", "10"),
        ("23 people", "二三人", "23"),
        ("version 1.2.3", "version 1.2.4", "1.2.3"),
        // The passage writes decimals with a point, so 1.234 is no thousand there.
        ("1234 metres", "1.234 metres of 2.5", "1234"),
        ("2023-24", "2024–25", "2023-24"),
    ] {
        assert_eq!(missing(claim, passage), [figure], "{claim} / {passage}");
    }
}

#[test]
fn dates_are_one_date() {
    let same = [
        "3 March 2026",
        "March 3, 2026",
        "March 3rd, 2026",
        "Mar. 3, 2026",
        "3rd of March 2026",
        "2026-03-03",
        "2026/3/3",
        "3.3.2026",
        "03.03.2026",
        "03/03/2026",
        "3. März 2026",
        "3 mars 2026",
        "3 de marzo de 2026",
        "3 de março de 2026",
        "3 marzo 2026",
        "2026年3月3日",
        "２０２６年３月３日",
        "二〇二六年三月三日",
        "2026년 3월 3일",
        "2026. 3. 3.",
    ];
    for claim in same {
        for passage in same {
            assert_eq!(missing(claim, passage), Vec::<String>::new(), "{claim} / {passage}");
        }
        for other in ["4 March 2026", "3 April 2026", "3 March 2025", "March 2026", "3, 3 and 2026"] {
            assert_ne!(missing(claim, other), Vec::<String>::new(), "{claim} / {other}");
        }
        assert_eq!(missing("March 2026", claim), Vec::<String>::new(), "{claim}");
        assert_eq!(missing("3 March", claim), Vec::<String>::new(), "{claim}");
        assert_eq!(missing(claim, "In 2026 it opened, on 3 March."), Vec::<String>::new(), "{claim}");
    }
    for (claim, passage) in [
        ("3–5 March 2026", "from 3 March 2026 to 5 March 2026"),
        ("5 March", "March 3-5, 2026"),
        ("5 April 2026", "4/5/2026"),
        ("4 May 2026", "4/5/2026"),
        ("2026年3月", "March 2026"),
        ("On 1 May 2026", "1er mai 2026"),
    ] {
        assert_eq!(missing(claim, passage), Vec::<String>::new(), "{claim} / {passage}");
    }
    assert_eq!(missing("Of the 3 may stay", "3 of them"), Vec::<String>::new());
    assert_eq!(missing("31/12/2026", "12/31/2026"), Vec::<String>::new());
}

#[test]
fn what_is_no_number_asks_for_none() {
    for claim in [
        "Source S1 and finding F1.2 agree",
        "CO2 and H2O",
        "[3] says so",
        "One of them, for the first time",
        "1. Studios are few",
        "(2) Studios are few",
        "数十人",
        "一般的な十分な量",
        "no numbers",
    ] {
        let ids = ["s1", "s3", "f1.2"].map(str::to_owned);
        assert_eq!(Figures::default().missing(claim, &ids), Vec::<String>::new(), "{claim}");
    }
    assert_eq!(missing("5 and 5 and 6", ""), ["5", "6"], "each once");
}

proptest! {
    #[test]
    fn every_text_is_read_without_a_panic(text in "([0-9.,'$% /:()\\[\\]-]|[一二十百千万億年月日만억수]|[a-zA-Zé]|½|²|①|March|May| of |\\PC|\\n){0,40}") {
        let mut figures = Figures::default();
        figures.add(&text);
        prop_assert_eq!(figures.missing(&text, &[]), Vec::<String>::new(), "a text says its own numbers: {:?}", quantities(&text, &[]));
    }

    #[test]
    fn thousands_by_any_separator_are_one_number(number in 1_000u64..1_000_000_000, separator in "[,.' \u{A0}\u{2009}’]") {
        let digits = number.to_string();
        let mut grouped = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                grouped.push_str(&separator);
            }
            grouped.push(digit);
        }
        prop_assert_eq!(missing(&grouped, &digits), Vec::<String>::new(), "{}", grouped);
        prop_assert_eq!(missing(&digits, &grouped), Vec::<String>::new(), "{}", grouped);
        let other = (number + 1).to_string();
        prop_assert_eq!(missing(&other, &grouped).len(), 1, "{}", grouped);
    }
}

#[test]
fn a_changed_number_is_seen_however_it_is_written() {
    for (claim, passage) in [
        ("thirteen studios", "12 studios"),
        ("fifty studios", "40 studios"),
        ("twenty-five studios", "20 and 5 studios"),
        ("ninety-nine dollars", "$90"),
        ("one hundred studios", "1 studio"),
        ("three hundred and ninety dollars", "$320"),
        ("two and a half hours", "2 hours"),
        ("Rs500", "Rs 300"),
        ("RM999", "RM 99"),
        ("Rp50000", "Rp 5000"),
        ("kr777", "kr 77"),
        ("S320 dollars", "$390"),
        ("[500] days", "90 days"),
        ("³²⁰ dollars", "$390"),
        ("৫০০ টাকা", "300"),
        ("๕๐๐", "300"),
        ("௫௦௦", "300"),
        ("$90 and valid for 320 days", "$320, valid for 90 days"),
    ] {
        assert_ne!(missing(claim, passage), Vec::<String>::new(), "{claim} / {passage}");
    }
    for (claim, passage) in [
        ("thirteen studios", "13 studios"),
        ("25 studios", "twenty-five studios"),
        ("$390", "three hundred and ninety dollars"),
        ("a dozen studios", "12 studios"),
        ("two and a half hours", "2.5 hours"),
        ("nineteen ninety-five", "1995"),
        ("Rs500", "₹500"),
        ("500 kronor", "kr500"),
        ("[500] days", "500 days"),
        ("³²⁰ dollars", "$320"),
        ("৫০০ টাকা", "500"),
        ("$320, valid for 90 days", "$320 and valid for 90 days"),
        ("90日間", "90 days"),
        ("三 and a三", "三人 and 3"),
    ] {
        assert_eq!(missing(claim, passage), Vec::<String>::new(), "{claim} / {passage}");
    }
    assert_eq!(missing("It has ½m and 10m", ""), ["½m", "10m"], "as the claim writes them");
}
