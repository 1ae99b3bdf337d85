//! Finding passages: BM25 over any of the words, more for all of them, two passages of a document at most.

use std::collections::HashMap;

use sqlx::{Row, SqlitePool};

use super::query::Query;
use super::snippet::snippet;
use crate::answer::Hit;

/// Candidates that are looked at for one search, and of which the best are shown.
const CANDIDATES: i64 = 200;

/// Most passages of one document in an answer.
const MOST_OF_A_DOCUMENT: usize = 2;

/// What having every word multiplies a score by.
const ALL_WORDS: f64 = 1.5;

/// Most places that are read for all pieces of a query together, and most and least for each: a piece with more says
/// next to nothing.
const MOST_PLACES: usize = 30_000;
const MOST_PLACES_OF_A_PIECE: usize = 20_000;
const LEAST_PLACES_OF_A_PIECE: usize = 3_000;

/// Most passages that are ranked for the words of a query, as far as more than one word is looked for.
const MOST_RANKED: i64 = 4_000;

/// The same for passages with all of the words. There are fewer of these, but `bm25` first counts those of each word.
const MOST_COUNTED: i64 = 20_000;

/// BM25's saturation, as FTS5 has it.
const SATURATION: f64 = 1.2;

#[derive(Default)]
struct Score {
    points: f64,
    pieces: usize,
    all_words: bool,
}

/// The best passages for `query` among about `passages` of them.
pub(super) async fn search(
    pool: &SqlitePool,
    query: &Query,
    passages: usize,
    limit: usize,
) -> Result<Vec<Hit>, sqlx::Error> {
    let mut scores: HashMap<i64, Score> = HashMap::new();
    if !query.words.is_empty() {
        let counted = counted(pool, &query.words).await?;
        let any = rarest(&counted, MOST_RANKED);
        let by_any = by_words(pool, &quoted(any, " OR ")).await?;
        for (id, points) in &by_any {
            scores.entry(*id).or_default().points += points;
        }
        let all = rarest(&counted, MOST_COUNTED);
        // Asked apart, so that a passage with every word is found also where each is common.
        let by_all = if all.len() == 1 { by_any } else { by_words(pool, &quoted(all, " AND ")).await? };
        for (id, points) in by_all {
            let score = scores.entry(id).or_insert_with(|| Score { points, ..Score::default() });
            score.all_words = true;
        }
    }
    let pieces = all_places(pool, &query.pieces).await?;
    for places in &pieces {
        let rarity = rarity(passages, places.len());
        for (id, weight) in places {
            let score = scores.entry(*id).or_default();
            score.points += rarity * weight * (SATURATION + 1.0) / (weight + SATURATION);
            score.pieces += 1;
        }
    }
    let mut ranked: Vec<(i64, f64)> = scores
        .into_iter()
        .map(|(id, score)| {
            let all = (score.all_words || query.words.is_empty()) && score.pieces == pieces.len();
            (id, if all { score.points * ALL_WORDS } else { score.points })
        })
        .collect();
    // The id decides between equals, so that the same index gives the same answer.
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    ranked.truncate(usize::try_from(CANDIDATES).unwrap_or(usize::MAX));
    shown(pool, query, &ranked, limit).await
}

/// Each word with the number of passages that hold it, the rarest first.
async fn counted<'q>(pool: &SqlitePool, words: &'q [String]) -> Result<Vec<(i64, &'q str)>, sqlx::Error> {
    let mut counted = Vec::with_capacity(words.len());
    for word in words {
        let count: Option<i64> = sqlx::query_scalar("SELECT doc FROM word_counts WHERE term = $1")
            .bind(word)
            .fetch_optional(pool)
            .await?;
        // A number with separators is no term of the index but a phrase, and so is rare.
        counted.push((count.unwrap_or(0), word.as_str()));
    }
    counted.sort_unstable();
    Ok(counted)
}

/// The first word and those after it that stand in at most so many passages together: what stands in every other
/// passage tells little, and costs most.
fn rarest<'c, 'q>(counted: &'c [(i64, &'q str)], most: i64) -> &'c [(i64, &'q str)] {
    let mut passages = 0;
    let within = counted.iter().take_while(|(count, _)| {
        passages += count;
        passages <= most
    });
    let number = within.count().max(1).min(counted.len());
    &counted[..number]
}

/// Words as the index's syntax. They hold letters, digits, points and commas only, so the quotes can't be left.
fn quoted(words: &[(i64, &str)], between: &str) -> String {
    words.iter().map(|(_, word)| format!("\"{word}\"")).collect::<Vec<_>>().join(between)
}

async fn by_words(pool: &SqlitePool, expression: &str) -> Result<Vec<(i64, f64)>, sqlx::Error> {
    // FTS5's bm25 is smaller for better matches. Title and heading weigh more than the body.
    sqlx::query_as(
        "SELECT rowid, -bm25(words, 3.0, 2.0, 1.0) FROM words
         WHERE words MATCH $1 AND rank MATCH 'bm25(3.0, 2.0, 1.0)' ORDER BY rank LIMIT $2",
    )
    .bind(expression)
    .bind(CANDIDATES)
    .fetch_all(pool)
    .await
}

/// The passages of each piece. Pieces with too many places are left out where others have fewer.
async fn all_places(pool: &SqlitePool, pieces: &[String]) -> Result<Vec<Vec<(i64, f64)>>, sqlx::Error> {
    let most = (MOST_PLACES / pieces.len().max(1)).clamp(LEAST_PLACES_OF_A_PIECE, MOST_PLACES_OF_A_PIECE);
    let (mut telling, mut common) = (Vec::new(), Vec::new());
    for piece in pieces {
        let places = places(pool, piece, most).await?;
        let count: i64 = places.iter().map(|(.., count)| count).sum();
        let weights = places.into_iter().map(|(id, weight, _)| (id, weight)).collect();
        if usize::try_from(count).is_ok_and(|count| count < most) {
            telling.push(weights);
        } else {
            common.push(weights);
        }
    }
    let tells = common.is_empty() || telling.iter().any(|places: &Vec<_>| !places.is_empty());
    Ok(if tells { telling } else { common })
}

/// Passages with trigrams that begin with `piece`, how often, weighed by column as words are, and in how many places.
///
/// The trigram index itself finds nothing shorter than three letters, while most Chinese, Japanese and Korean words
/// have two; its vocabulary, being sorted, finds them without reading any text.
async fn places(pool: &SqlitePool, piece: &str, most: usize) -> Result<Vec<(i64, f64, i64)>, sqlx::Error> {
    sqlx::query_as(
        "SELECT doc, sum(CASE col WHEN 'title' THEN 3.0 WHEN 'heading' THEN 2.0 ELSE 1.0 END), count(*)
         FROM (SELECT doc, col FROM piece_places WHERE term >= $1 AND term < $2 LIMIT $3) GROUP BY doc",
    )
    .bind(piece)
    .bind(format!("{piece}{}", char::MAX))
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .fetch_all(pool)
    .await
}

/// BM25's weight of a term: the rarer, the more.
#[expect(clippy::cast_precision_loss, reason = "counts of passages are far below 2^52")]
fn rarity(all: usize, with: usize) -> f64 {
    let (all, with) = (all.max(with) as f64, with as f64);
    ((all - with + 0.5) / (with + 0.5)).ln().max(1e-6)
}

async fn shown(
    pool: &SqlitePool,
    query: &Query,
    ranked: &[(i64, f64)],
    limit: usize,
) -> Result<Vec<Hit>, sqlx::Error> {
    let mut hits = Vec::new();
    let mut of_document: HashMap<String, usize> = HashMap::new();
    for (id, _) in ranked {
        if hits.len() >= limit {
            break;
        }
        let row = sqlx::query(
            "SELECT path, title, lines, heading, body FROM passages
             JOIN documents ON documents.id = passages.document WHERE passages.id = $1",
        )
        .bind(id)
        .fetch_optional(pool)
        .await?;
        // Replaced since it was found.
        let Some(row) = row else { continue };
        let path: String = row.try_get("path")?;
        let shown = of_document.entry(path.clone()).or_default();
        if *shown >= MOST_OF_A_DOCUMENT {
            continue;
        }
        *shown += 1;
        let (title, heading): (String, String) = (row.try_get("title")?, row.try_get("heading")?);
        let (lines, body): (String, String) = (row.try_get("lines")?, row.try_get("body")?);
        hits.push(Hit {
            url: format!("{path}#{lines}"),
            title: if heading.is_empty() || heading == title { title } else { format!("{title}: {heading}") },
            snippet: snippet(&body, query),
            published: None,
            text: Some(body),
            placeholder: false,
        });
    }
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_are_left_out_where_a_rarer_one_is_there() {
        let counted = [(3, "pilates"), (90, "nassau"), (5_000, "the")];
        assert_eq!(quoted(rarest(&counted, 100), " OR "), r#""pilates" OR "nassau""#);
        assert_eq!(rarest(&counted, 10_000).len(), 3);
        assert_eq!(rarest(&counted[2..], 100), &counted[2..], "the only one stays");
        assert!(rarest(&[], 100).is_empty());
    }
}
