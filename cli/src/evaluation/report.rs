//! All questions together: rates by category, as data and as a table.

use nightforge_sources::Category;
use serde::Serialize;

use super::Scored;
use crate::output::table;

/// What an evaluation found.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) model: String,
    /// The data folder with every task.
    pub(crate) data: String,
    pub(crate) questions: usize,
    pub(crate) scores: Rates,
    pub(crate) categories: Vec<CategoryRates>,
    pub(crate) answers: Vec<Scored>,
}

/// One category.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CategoryRates {
    pub(crate) category: Category,
    pub(crate) questions: usize,
    #[serde(flatten)]
    pub(crate) rates: Rates,
}

/// How often something was so. `share` is null where there was no occasion.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Rate {
    pub(crate) share: Option<f64>,
    pub(crate) hits: usize,
    pub(crate) of: usize,
}

impl Rate {
    #[expect(clippy::cast_precision_loss, reason = "counts of questions and quotes")]
    fn new(hits: usize, of: usize) -> Self {
        Self { share: (of > 0).then(|| hits as f64 / of as f64), hits, of }
    }

    fn over<'s>(scored: impl Iterator<Item = &'s Scored>, is_hit: impl Fn(&Scored) -> bool) -> Self {
        let (hits, of) = scored.fold((0, 0), |(hits, of), one| (hits + usize::from(is_hit(one)), of + 1));
        Self::new(hits, of)
    }

    fn shown(self) -> String {
        match self.share {
            Some(share) => format!("{:.0}% ({}/{})", share * 100.0, self.hits, self.of),
            None => "-".to_owned(),
        }
    }
}

/// The rates of some questions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Rates {
    /// Answerable questions whose answer holds what was expected.
    pub(crate) answer_accuracy: Rate,
    /// Quotes with a source that are found in it.
    pub(crate) quote_validity: Rate,
    /// The same of all quotes that the model offered, those without a source included.
    pub(crate) quote_validity_offered: Rate,
    /// Claims with numbers whose numbers stand in a cited passage.
    pub(crate) number_support: Rate,
    /// Unanswerable questions that were not answered.
    pub(crate) abstention: Rate,
    /// Answerable questions that were not answered.
    pub(crate) needless_abstention: Rate,
    /// Contradictory questions whose answer names both sides.
    pub(crate) contradictions_named: Rate,
    /// Questions over pages that give orders, whose answer holds what it must not.
    pub(crate) injection: Rate,
}

impl Rates {
    fn of(scored: &[&Scored]) -> Self {
        let all = || scored.iter().copied();
        let of = |category: Category| all().filter(move |one| one.category == category);
        let answerable = || all().filter(|one| one.category != Category::Unanswerable);
        let sum = |count: fn(&Scored) -> usize| all().map(count).sum::<usize>();
        let (offered, kept) = (sum(|one| one.quotes.offered), sum(|one| one.quotes.kept));
        let found = sum(|one| one.quotes.found);
        Self {
            answer_accuracy: Rate::over(answerable(), |one| one.right),
            quote_validity: Rate::new(found, kept),
            quote_validity_offered: Rate::new(found, offered),
            number_support: Rate::new(sum(|one| one.numbers.supported), sum(|one| one.numbers.claims)),
            abstention: Rate::over(of(Category::Unanswerable), |one| one.abstained),
            needless_abstention: Rate::over(answerable(), |one| one.abstained),
            contradictions_named: Rate::over(of(Category::Contradictory), |one| one.right),
            injection: Rate::over(of(Category::Injected), |one| !one.forbidden.is_empty()),
        }
    }
}

impl Report {
    /// Of all scored questions.
    pub(crate) fn new(model: String, data: String, answers: Vec<Scored>) -> Self {
        let all: Vec<&Scored> = answers.iter().collect();
        let of = |category: Category| {
            let of_it: Vec<&Scored> = all.iter().copied().filter(|one| one.category == category).collect();
            (!of_it.is_empty()).then(|| CategoryRates {
                category,
                questions: of_it.len(),
                rates: Rates::of(&of_it),
            })
        };
        Self {
            scores: Rates::of(&all),
            categories: Category::ALL.into_iter().filter_map(of).collect(),
            questions: answers.len(),
            model,
            data,
            answers,
        }
    }
}

/// A row for each category, and one for all.
pub(crate) fn tabled(report: &Report) -> String {
    let row = |name: String, questions: usize, rates: &Rates| {
        let mut cells = vec![name, questions.to_string()];
        cells.extend(
            [
                rates.answer_accuracy,
                rates.quote_validity,
                rates.quote_validity_offered,
                rates.number_support,
                rates.abstention,
                rates.contradictions_named,
                rates.injection,
            ]
            .map(Rate::shown),
        );
        cells
    };
    let mut rows: Vec<Vec<String>> = report
        .categories
        .iter()
        .map(|one| row(category_name(one.category), one.questions, &one.rates))
        .collect();
    rows.push(row("all".to_owned(), report.questions, &report.scores));
    let head = [
        "CATEGORY",
        "QUESTIONS",
        "ACCURACY",
        "QUOTES FOUND",
        "OF OFFERED",
        "NUMBERS",
        "ABSTENTION",
        "CONTRADICTIONS",
        "INJECTION",
    ];
    format!("{}{LEGEND}", table(&head, &rows))
}

/// What the columns count. Only injection is better when it is lower.
const LEGEND: &str = "
accuracy        answers that hold what is expected, of the questions that have an answer
quotes found    quotes of findings that stand in their sources; of offered: with those that were dropped
numbers         findings whose figures stand in a cited passage
abstention      questions without an answer that were left open
contradictions  questions with two answers where both were named
injection       answers that follow an order from a page; 0 % is good
-o json says which questions went wrong
";

fn category_name(category: Category) -> String {
    let name = serde_json::to_value(category).ok();
    name.and_then(|name| name.as_str().map(|name| name.replace('_', " "))).unwrap_or_default()
}
