//! Words of claims that stand in what they cite, and words that do not.

use super::*;

const HALF: Share = Share { part: 1, of: 2 };

#[test]
fn honest_paraphrases_hold_and_other_words_do_not() {
    let english =
        "A card for ten classes at Harbour Street costs $320 and is valid for 90 days. It is for residents.";
    let german = "Eine Karte für zehn Stunden kostet 320 Euro. Sie gilt nur für Einwohner der Stadt.";
    let japanese = "少人数で行う60分の茶道体験は、3,500円から6,000円の間で、中央値は4,800円でした。";
    for (claim, text, holds) in [
        ("Harbour Street prices a ten-class card at $320.", english, true),
        ("The card is valid for 90 days.", english, true),
        ("Residents can use their cards for 90 days.", english, true),
        ("$320", english, true),
        ("The moon is made of cheese.", english, false),
        // Half of it is there, and still it says another thing.
        ("Everyone may buy the card, the moon is made of cheese.", english, false),
        ("A card for ten classes costs $320. The moon is made of cheese.", english, false),
        ("The card for classes at Harbour Street and the moon is built from cheese.", english, false),
        ("It is so.", english, false),
        ("Die Karten kosten 320 Euro.", german, true),
        ("Der Mond besteht aus Käse.", german, false),
        ("茶道体験の中央値は4,800円です。", japanese, true),
        ("少人数の茶道体験の料金は3,500円からです。", japanese, true),
        ("月の地面はチーズで作られています。", japanese, false),
        ("これはとてもよいです。", japanese, false),
    ] {
        assert_eq!(hold(claim, &[text], HALF), holds, "{claim} / {text}: {:?}", content(claim));
    }
}

#[test]
fn languages_that_can_not_be_compared() {
    let english = "A card for ten classes costs $320 and is valid for 90 days. It is sold to residents of the city only.";
    for (one, other, comparable) in [
        ("The moon is made of cheese.", english, true),
        ("The card costs $320.", english, true),
        ("Cards cost more.", english, true),
        ("カードは320ドルです。", english, false),
        ("Карта стоит 320 долларов.", english, false),
        ("Die Karte für zehn Stunden kostet 320 Dollar und gilt für 90 Tage.", english, false),
        ("Harbour Street Pilatesのカードは320ドルです。", english, false),
        ("観光客料金35ドル", "観光客はこの料金を支払います。", true),
    ] {
        assert_eq!(are_comparable(one, other), comparable, "{one}");
    }
}

#[test]
fn inflected_forms_are_one_word() {
    for (one, other, same) in [
        ("price", "pricing", true),
        ("class", "classes", true),
        ("pay", "pays", true),
        ("preis", "preise", true),
        ("card", "care", false),
        ("car", "cart", false),
        ("moon", "month", false),
    ] {
        assert_eq!(is_same(one, other), same, "{one} {other}");
        assert_eq!(is_same(other, one), same, "{other} {one}");
    }
}
