//! Which limits a task or a configuration may ask for.

use nightforge_domain::Limits;

/// The longest call, session or task, in milliseconds: 7 days.
const MAX_MS: u64 = 7 * 24 * 60 * 60 * 1_000;

/// Whether these limits make sense, and none is so large that a time computed from it could overflow.
///
/// # Errors
/// With the limit's name between backticks, and what it may be.
pub fn check_limits(limits: &Limits) -> Result<(), String> {
    limits.check()?;
    let times = [
        ("session_ms", limits.session_ms),
        ("task_timeout_ms", limits.task_timeout_ms),
        ("agent_timeout_ms", limits.agent_timeout_ms),
    ];
    for (name, value) in times {
        if value > MAX_MS {
            return Err(format!("limit `{name}` must be at most {MAX_MS}, which is 7 days"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_end_at_seven_days() {
        let with = |session_ms, agent_timeout_ms| {
            check_limits(&Limits { session_ms, agent_timeout_ms, ..Limits::default() })
        };
        assert_eq!(with(604_800_000, 604_800_000), Ok(()));
        assert!(with(604_800_001, 1).unwrap_err().contains("`session_ms` must be at most 604800000"));
        assert!(with(1, u64::MAX).unwrap_err().contains("`agent_timeout_ms` must be at most"));
        let long_task = Limits { task_timeout_ms: 604_800_001, ..Limits::default() };
        assert!(check_limits(&long_task).unwrap_err().contains("`task_timeout_ms` must be at most"));
        assert!(with(0, 1).unwrap_err().contains("`session_ms` must be at least 1"));
    }
}
