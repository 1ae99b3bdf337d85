//! Whether a statement denies what a claim says, as far as it can be told: one of two sentences of the same words has a
//! negation. English and Japanese only.

use super::normal::normalised;
use super::words::{content, sentences, shared};

/// Whether a sentence of the statement is one of a claim but for a negation, and no claim says it as it stands.
pub(super) fn is_denied(statement: &str, claims: &[&str]) -> bool {
    sentences(statement).into_iter().any(|said| {
        let alike = claims.iter().flat_map(|claim| sentences(claim)).filter(|claim| are_alike(said, claim));
        let (same, other): (Vec<&str>, Vec<&str>) =
            alike.partition(|claim| has_negation(claim) == has_negation(said));
        same.is_empty() && !other.is_empty()
    })
}

/// All of the words of the statement, and more than three quarters of the claim's: "they sell to residents" leaves away
/// that they do not sell to visitors, and is no denial.
fn are_alike(statement: &str, claim: &str) -> bool {
    let (said, claimed) = (content(statement).len(), content(claim).len());
    said > 0 && shared(statement, claim) == said && shared(claim, statement) * 4 > claimed * 3
}

fn has_negation(sentence: &str) -> bool {
    let normal = normalised(sentence);
    let text = normal.text();
    let words: Vec<&str> = text
        .split(|char: char| !char.is_alphanumeric() && char != '\'')
        .filter(|word| !word.is_empty())
        .collect();
    let is_english = words.iter().zip(words.iter().skip(1).map(Some).chain([None])).any(|(word, next)| {
        let is_only = next.is_some_and(|next| *next == "only");
        let is_number = next.is_some_and(|next| next.starts_with(|char: char| char.is_ascii_digit()));
        match *word {
            "not" => !is_only,
            // "No. 5"
            "no" => !is_number || !text.contains("no."),
            "never" | "cannot" | "none" | "nobody" | "nothing" | "neither" | "nor" | "without" => true,
            _ => word.ends_with("n't"),
        }
    });
    is_english || has_japanese_negation(text)
}

fn has_japanese_negation(text: &str) -> bool {
    // "Must", "might" and "few" have the letters of a negation.
    let mut rest = text.to_owned();
    for other in [
        "なければなりません",
        "なければならない",
        "かもしれない",
        "かもしれません",
        "少ない",
        "少なく",
        "少なかった",
        "危ない",
        "ではないか",
    ] {
        rest = rest.replace(other, "");
    }
    ["ない", "なかった", "なく", "ません", "なし"].iter().any(|negation| rest.contains(negation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negation_more_or_less_is_a_denial() {
        let denied = [
            ("A package is not viable.", "A package is viable."),
            ("A package is viable.", "A package isn’t viable."),
            ("Resorts never sell to cruise passengers.", "Resorts sell to cruise passengers."),
            ("Visitors cannot buy the card. It costs $5.", "Visitors can buy the card."),
            ("体験コースは始める価値がない。", "体験コースは始める価値がある。"),
            ("手数料は必要です。", "手数料は必要ではありません。"),
        ];
        for (statement, claim) in denied {
            assert!(is_denied(statement, &[claim]), "{statement} / {claim}");
            assert!(!is_denied(statement, &[claim, statement]), "another claim says it: {statement}");
        }
        for (statement, claim) in [
            ("A package is viable.", "A package is viable."),
            (
                "The three resorts do not sell to passengers.",
                "None of the three resorts sells to passengers.",
            ),
            ("Studios sell to residents.", "Studios sell to residents but not to visitors."),
            ("It is not only viable but cheap.", "It is viable and cheap."),
            ("The card No. 5 is viable.", "The card 5 is viable."),
            ("許可を取らなければなりません。", "許可を取る。"),
            ("生徒は少ない。", "生徒は少数です。"),
        ] {
            assert!(!is_denied(statement, &[claim]), "{statement} / {claim}");
        }
    }
}
