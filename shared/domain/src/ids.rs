//! Newtypes for every id and unit that crosses a crate border.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a text is not the id that it was read as.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct ParseIdError {
    text: String,
    expected: &'static str,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $expected:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let valid: fn(&str) -> bool = $valid;
                if valid(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(ParseIdError { text: text.chars().take(80).collect(), expected: $expected })
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = ParseIdError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

fn is_ulid(text: &str) -> bool {
    text.len() == 26 && text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase())
}

text_id!(
    /// A task: a ULID in lower case, so ids sort by age and are safe in paths and URLs.
    TaskId, "a task id (26 letters and digits in lower case)", is_ulid
);
text_id!(
    /// One process, from its start to its end. A ULID in lower case.
    BootId, "a boot id (26 letters and digits in lower case)", is_ulid
);
text_id!(
    /// A model as named in the configuration; not the server's own name for it.
    ModelName, "a model name (letters, digits and any of `-_.:/@`, at most 100)",
    |text| (1..=100).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:/@".contains(&b))
);
text_id!(
    /// A feature of a build: `F001`.
    FeatureId, "a feature id (`F` and at least three digits)",
    |text| text.len() >= 4 && text.starts_with('F') && text[1..].bytes().all(|b| b.is_ascii_digit())
);
text_id!(
    /// A git commit, as 40 hexadecimal digits.
    CommitId, "a commit id (40 hexadecimal digits)",
    |text| text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
);

impl FeatureId {
    /// The id of the feature at a place in the list, counted from 1.
    pub fn numbered(place: usize) -> Self {
        Self(format!("F{place:03}"))
    }

    /// The id in lower case without anything else, for file names: `f001`.
    pub fn slug(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// A job's number inside its task, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobNo(pub u32);

impl fmt::Display for JobNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A job: its task and its number there, written `<task>.<number>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId {
    /// The task that asked for the job.
    pub task: TaskId,
    /// The job's number there.
    pub no: JobNo,
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.task, self.no)
    }
}

impl FromStr for JobId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseIdError {
            text: text.chars().take(80).collect(),
            expected: "a job id (`<task>.<number>`)",
        };
        let (task, no) = text.split_once('.').ok_or_else(wrong)?;
        Ok(Self { task: task.parse()?, no: JobNo(no.parse().map_err(|_| wrong())?) })
    }
}

/// The number of one claim of a job. It only grows; a write under an older one is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub i64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A moment, in milliseconds since 1970 by the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// Milliseconds from `earlier` to `self`, never negative.
    pub fn since(self, earlier: Millis) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }

    /// The day in UTC, as `2026-11-30`.
    pub fn date(self) -> String {
        // Days since 1 March of the year 0; a year that begins in March has its leap day at its end.
        let days = self.0.div_euclid(86_400_000) + 719_468;
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        format!("{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let day = 86_400_000;
        let dates = [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (951_782_400_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"),
            (1_796_083_199_999, "2026-11-30"),
            (4_107_542_400_000, "2100-03-01"),
            (4_107_542_400_000 - day, "2100-02-28"),
        ];
        for (at, date) in dates {
            assert_eq!(Millis(at).date(), date);
        }
    }

    fn parses<T: FromStr>(texts: &[&str]) -> Vec<bool> {
        texts.iter().map(|text| text.parse::<T>().is_ok()).collect()
    }

    #[test]
    fn texts_are_checked_before_they_are_ids() {
        let ulid = "01k0000000000000000000000a";
        assert_eq!(
            parses::<TaskId>(&[ulid, &ulid.to_uppercase(), &ulid[1..], "../../../../etc/passwd____"]),
            [true, false, false, false]
        );
        assert_eq!(
            parses::<ModelName>(&["qwen/qwen3:30b@q4_k.m", "", "two words", "é"]),
            [true, false, false, false]
        );
        assert_eq!(
            parses::<FeatureId>(&["F001", "F1000", "F01", "f001", "Fabc"]),
            [true, true, false, false, false]
        );
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(
            parses::<CommitId>(&[commit, &commit.to_uppercase(), &commit[..39]]),
            [true, false, false]
        );
        let job = format!("{ulid}.12");
        assert_eq!(parses::<JobId>(&[&job, ulid, "x.1", &format!("{ulid}.-1")]), [true, false, false, false]);
        assert_eq!(job.parse::<JobId>().map(|job| job.to_string()), Ok(job));
    }

    #[test]
    fn stored_texts_are_checked_too() {
        let read: Result<CommitId, _> = serde_json::from_str("\"main\"");
        let error = read.map_err(|error| error.to_string());
        assert_eq!(error, Err("`main` is not a commit id (40 hexadecimal digits)".to_owned()));
        assert_eq!(serde_json::to_string(&FeatureId::numbered(7)).unwrap(), "\"F007\"");
    }
}
