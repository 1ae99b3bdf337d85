//! Task kind `build`: the feature registry and its state machine.

mod machine;
mod registry;
mod report;
mod turns;

pub use machine::{Build, Phase, RECENT_SESSIONS};
pub use registry::{Feature, FeatureDraft, FeatureStatus, Project, RegistryFile, feature_list};
pub use report::{ReportFacts, Spent, report};
pub use turns::Granted;
