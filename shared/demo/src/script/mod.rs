//! What the model says: the project, its features, and a list of steps for every attempt at each of them.
//!
//! The Python sources stand in `script/` beside `src/`, as files that can be read and run. The script errs on
//! purpose, as models do; each mistake is named at the head of its feature's file.

mod f001;
mod f002;
mod f003;
mod f004;
mod f005;
mod f006;
mod f007;
mod f008;
mod f009;
mod f010;
pub(crate) mod project;
mod step;

use nightforge_domain::FeatureId;
use nightforge_domain::contract::{Category, FeatureProposal};

pub(crate) use step::Step;

/// The features in the order in which they build on each other; the first is F001.
pub(crate) static FEATURES: [Feature; 10] = [
    f001::FEATURE,
    f002::FEATURE,
    f003::FEATURE,
    f004::FEATURE,
    f005::FEATURE,
    f006::FEATURE,
    f007::FEATURE,
    f008::FEATURE,
    f009::FEATURE,
    f010::FEATURE,
];

/// One feature and how it is built.
#[derive(Debug)]
pub(crate) struct Feature {
    category: Category,
    description: &'static str,
    steps: &'static [&'static str],
    /// One list of steps for each attempt; later attempts repeat the last.
    attempts: &'static [&'static [Step]],
}

impl Feature {
    pub(crate) fn proposal(&self) -> FeatureProposal {
        FeatureProposal {
            category: self.category,
            description: self.description.to_owned(),
            steps: self.steps.iter().map(|step| (*step).to_owned()).collect(),
        }
    }

    /// The steps of an attempt, counted from 1.
    pub(crate) fn attempt(&self, number: usize) -> &'static [Step] {
        let last = self.attempts.len().saturating_sub(1);
        self.attempts.get(number.saturating_sub(1).min(last)).copied().unwrap_or_default()
    }
}

/// The feature with that id.
pub(crate) fn feature(id: &FeatureId) -> Option<&'static Feature> {
    (1..).zip(&FEATURES).find(|(place, _)| FeatureId::numbered(*place) == *id).map(|(_, feature)| feature)
}
