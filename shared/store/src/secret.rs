//! What only this system knows of a task: markers around words from outside are derived from it.

use std::fmt;

/// A task's secret. It is in no view, event or prompt, and not in debug output either.
#[derive(Clone, PartialEq, Eq)]
pub struct TaskSecret(String);

impl TaskSecret {
    pub(crate) fn new(secret: String) -> Self {
        Self(secret)
    }

    /// The secret itself, to derive something from it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TaskSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::TaskSecret;

    #[test]
    fn debug_output_does_not_tell_it() {
        assert_eq!(format!("{:?}", TaskSecret::new("hush".to_owned())), "TaskSecret(..)");
    }
}
