//! What a role needs, looked at piece by piece: a line each, with the remedy.

mod machine;
mod neighbours;
mod search;

use serde::Serialize;

use crate::config::Settings;

/// How a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// As it should be.
    Ok,
    /// It works, but a person should know something.
    Warning,
    /// Work can't be done until it is mended.
    Wrong,
}

impl Verdict {
    /// The name that stands in the list.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Wrong => "wrong",
        }
    }
}

/// One piece that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    /// What was found, and what to do about it.
    pub(crate) message: String,
}

impl Finding {
    fn new(name: impl Into<String>, verdict: Verdict, message: impl Into<String>) -> Self {
        Self { name: name.into(), verdict, message: message.into() }
    }
}

/// Looks at everything. Nothing is migrated or loaded, and nothing made but a file that is removed at once.
pub(crate) async fn examine(settings: &Settings) -> Vec<Finding> {
    let mut findings = vec![machine::data_folder(&settings.place.data), machine::disk(&settings.place.data)];
    let (database, clock) = neighbours::database(&settings.place).await;
    findings.push(database);
    findings.extend(clock);
    findings.push(neighbours::redis(&settings.place).await);
    findings.extend(neighbours::models(settings).await);
    findings.extend(search::search(&settings.search).await);
    findings.push(machine::sandbox().await);
    findings.push(machine::git());
    findings
}
