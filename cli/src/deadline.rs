//! Deadlines as people write them, made into moments.

use jiff::civil::Time;
use jiff::{SignedDuration, Timestamp, ZonedDateTime};

/// The moment that `text` means at `now`: `07:00` (the next one, local time), `+8h`, or RFC 3339.
///
/// # Errors
/// What is wrong, and what can be written.
pub(crate) fn resolve(text: &str, now: &ZonedDateTime) -> Result<Timestamp, String> {
    let wrong =
        || format!("`{text}` is not a deadline; write 07:00, +8h, +90m, or 2026-12-01T07:00:00+01:00");
    let text = text.trim();
    let moment = if let Some(span) = text.strip_prefix('+') {
        let length: SignedDuration = span.parse().map_err(|_| wrong())?;
        now.timestamp().checked_add(length).map_err(|_| wrong())?
    } else if let Some(time) = time_of_day(text) {
        next(time, now).ok_or_else(wrong)?
    } else {
        text.parse().map_err(|_| wrong())?
    };
    if moment <= now.timestamp() {
        return Err(format!("the deadline {moment} is in the past; name a later one, or none"));
    }
    Ok(moment)
}

/// `7:00` or `07:00`, and nothing else.
fn time_of_day(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let digits = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !digits(hour, 2) || !digits(minute, 2) || minute.len() != 2 {
        return None;
    }
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

/// Today at `time` or, if that has passed, tomorrow. A time that a change of clocks leaves out is taken as much
/// later as the clocks jump.
fn next(time: Time, now: &ZonedDateTime) -> Option<Timestamp> {
    let today = now.date();
    [today, today.tomorrow().ok()?]
        .into_iter()
        .filter_map(|day| day.to_datetime(time).to_zoned_datetime(now.time_zone().clone()).ok())
        .map(|zoned| zoned.timestamp())
        .find(|moment| *moment > now.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(now: &str, text: &str) -> String {
        let now: ZonedDateTime = now.parse().unwrap();
        match resolve(text, &now) {
            Ok(moment) => moment.to_string(),
            Err(reason) => reason,
        }
    }

    #[test]
    fn a_time_of_day_is_its_next_one() {
        let evening = "2026-11-30T22:30:00+01:00[Europe/Berlin]";
        assert_eq!(at(evening, "07:00"), "2026-12-01T06:00:00Z");
        assert_eq!(at(evening, "7:00"), "2026-12-01T06:00:00Z");
        assert_eq!(at(evening, "23:15"), "2026-11-30T22:15:00Z");
        assert_eq!(at(evening, "22:30"), "2026-12-01T21:30:00Z", "now is not in the future");
    }

    #[test]
    fn changes_of_clocks_are_followed() {
        // On 29 March 2026 the clocks in Berlin go from 02:00 to 03:00; on 25 October from 03:00 back to 02:00.
        assert_eq!(at("2026-03-28T22:00:00+01:00[Europe/Berlin]", "07:00"), "2026-03-29T05:00:00Z");
        assert_eq!(at("2026-03-28T22:00:00+01:00[Europe/Berlin]", "02:30"), "2026-03-29T01:30:00Z");
        assert_eq!(at("2026-10-24T22:00:00+02:00[Europe/Berlin]", "07:00"), "2026-10-25T06:00:00Z");
    }

    #[test]
    fn spans_and_moments_are_taken() {
        let now = "2026-11-30T22:30:00+01:00[Europe/Berlin]";
        assert_eq!(at(now, "+8h"), "2026-12-01T05:30:00Z");
        assert_eq!(at(now, "+1h 30m"), "2026-11-30T23:00:00Z");
        assert_eq!(at(now, "2026-12-01T07:00:00+01:00"), "2026-12-01T06:00:00Z");
    }

    #[test]
    fn what_means_no_moment_is_named() {
        let now = "2026-11-30T22:30:00+01:00[Europe/Berlin]";
        for text in ["tomorrow", "", "+", "+soon", "25:00", "7:5", "07:00:99", "2026-13-01T00:00:00Z", "7"] {
            assert!(at(now, text).contains("is not a deadline"), "{text}: {}", at(now, text));
        }
        for text in ["+0s", "+-1h", "2020-01-01T00:00:00Z"] {
            assert!(at(now, text).contains("in the past"), "{text}: {}", at(now, text));
        }
    }
}
