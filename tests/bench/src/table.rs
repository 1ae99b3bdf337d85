//! Rows with their limits, as a table for people and as JSON for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::args::Form;

/// One measured figure beside its baseline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    what: String,
    unit: &'static str,
    baseline: Option<f64>,
    ours: f64,
    limit: Option<Limit>,
    note: String,
}

/// What a figure must keep to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Limit {
    /// At least this share of the baseline.
    Share(f64),
    /// At most this, in the row's unit.
    AtMost(f64),
    /// Less than this, in the row's unit.
    Below(f64),
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, unit: &'static str, ours: f64) -> Self {
        Self { what: what.into(), unit, baseline: None, ours, limit: None, note: String::new() }
    }

    pub(crate) fn beside(self, baseline: f64) -> Self {
        Self { baseline: Some(baseline), ..self }
    }

    pub(crate) fn limited(self, limit: Limit) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// What else a reader should know, in a few words.
    pub(crate) fn noting(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    pub(crate) fn breaks_its_limit(&self) -> bool {
        self.passes() == Some(false)
    }

    fn passes(&self) -> Option<bool> {
        Some(match self.limit? {
            // Without a baseline no share can be kept.
            Limit::Share(share) => self.baseline.is_some_and(|baseline| self.ours >= share * baseline),
            Limit::AtMost(most) => self.ours <= most,
            Limit::Below(bound) => self.ours < bound,
        })
    }

    fn difference(&self) -> String {
        match (self.baseline, self.limit) {
            (None, _) => String::new(),
            (Some(baseline), Some(Limit::Share(_))) => format!("× {:.2}", self.ours / baseline),
            (Some(baseline), _) => {
                let sign = if self.ours < baseline { '-' } else { '+' };
                format!("{sign}{} {}", Shown((self.ours - baseline).abs()), self.unit)
            }
        }
    }

    fn verdict(&self) -> &'static str {
        match self.passes() {
            None => "",
            Some(true) => "pass",
            Some(false) => "FAIL",
        }
    }

    fn cells(&self, form: Form) -> [String; 7] {
        let figure = |value: f64| format!("{} {}", Shown(value), self.unit);
        let limit = match self.limit {
            None => String::new(),
            Some(Limit::Share(share)) => format!("≥ {share} of it"),
            Some(Limit::AtMost(most)) => format!("≤ {most} {}", self.unit),
            Some(Limit::Below(bound)) => format!("< {bound} {}", self.unit),
        };
        let verdict = if form == Form::Full { self.verdict() } else { "" };
        [
            self.what.clone(),
            self.baseline.map(figure).unwrap_or_default(),
            figure(self.ours),
            self.difference(),
            limit,
            verdict.to_owned(),
            self.note.clone(),
        ]
    }
}

/// Three digits are enough, and more would pretend to an exactness that is not there.
struct Shown(f64);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = match self.0.abs() {
            100.0.. => 0,
            10.0.. => 1,
            _ => 2,
        };
        write!(f, "{:.digits$}", self.0)
    }
}

const HEADS: [&str; 7] = ["what", "baseline", "Nightforge", "difference", "limit", "", "note"];

/// The table. In the quick form no verdict is shown: its figures mean nothing.
pub(crate) fn text(rows: &[Row], form: Form) -> String {
    let lines: Vec<[String; 7]> =
        std::iter::once(HEADS.map(str::to_owned)).chain(rows.iter().map(|row| row.cells(form))).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let mut text = String::new();
    for line in &lines {
        let mut shown = String::new();
        for (column, cell) in line.iter().enumerate() {
            let padding = " ".repeat(widths[column] - cell.chars().count());
            // Figures end under each other.
            let is_figure = (1..=3).contains(&column);
            let padded = if is_figure { format!("{padding}{cell}") } else { format!("{cell}{padding}") };
            let _ = write!(shown, "{padded}  ");
        }
        let _ = writeln!(text, "{}", shown.trim_end());
    }
    match form {
        Form::Quick => text.push_str("The quick form only shows that it runs: limits are not judged.\n"),
        Form::Full => {
            let broken = rows.iter().filter(|row| row.breaks_its_limit()).count();
            let limited = rows.iter().filter(|row| row.limit.is_some()).count();
            let _ = writeln!(text, "{} of {limited} limits are kept.", limited - broken);
        }
    }
    text
}

/// The same for programs.
pub(crate) fn json(rows: &[Row], form: Form) -> Value {
    let row = |row: &Row| {
        let limit = row.limit.map(|limit| match limit {
            Limit::Share(share) => json!({"share_of_baseline": share}),
            Limit::AtMost(most) => json!({"at_most": most}),
            Limit::Below(bound) => json!({"below": bound}),
        });
        json!({
            "what": row.what,
            "unit": row.unit,
            "baseline": row.baseline,
            "nightforge": row.ours,
            "limit": limit,
            "passed": if form == Form::Full { row.passes() } else { None },
            "note": row.note,
        })
    };
    json!({"form": form.pick("full", "quick"), "rows": rows.iter().map(row).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_can_be_kept_and_broken() {
        let share = |ours| Row::new("a", "/s", ours).beside(100.0).limited(Limit::Share(0.7));
        let most = |ours| Row::new("b", "ms", ours).limited(Limit::AtMost(5.0));
        let below = |ours| Row::new("c", "%", ours).limited(Limit::Below(1.0));
        for (row, broken) in [
            (share(70.0), false),
            (share(69.9), true),
            (most(5.0), false),
            (most(5.1), true),
            (below(0.99), false),
            (below(1.0), true),
            (Row::new("d", "s", 1.0), false),
        ] {
            assert_eq!(row.breaks_its_limit(), broken, "{row:?}");
        }
        assert!(Row::new("no baseline", "/s", 1.0).limited(Limit::Share(0.7)).breaks_its_limit());
    }

    #[test]
    fn the_table_shows_limits_and_verdicts() {
        let rows = [
            Row::new("transitions", "/s", 50.0).beside(100.0).limited(Limit::Share(0.7)).noting("6 rounds"),
            Row::new("gap, p50", "ms", 2.25).beside(0.5).limited(Limit::AtMost(5.0)),
        ];
        let text = text(&rows, Form::Full);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("× 0.50") && lines[1].contains("≥ 0.7 of it  FAIL  6 rounds"), "{text}");
        assert!(
            lines[2].contains("+1.75 ms") && lines[2].contains("≤ 5 ms") && lines[2].ends_with("pass"),
            "{text}"
        );
        assert_eq!(lines[3], "1 of 2 limits are kept.");
        assert!(!super::text(&rows, Form::Quick).contains("FAIL"));
        assert_eq!(json(&rows, Form::Full)["rows"][0]["passed"], false);
    }
}
