//! `Retry-After`: how long a service wants to be left alone.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The longest pause that a service may ask for.
pub(crate) const CAP: Duration = Duration::from_secs(5 * 60);

/// Both forms: seconds, or a date. A date is compared with the answer's own `Date`, so that no two clocks have to
/// agree; without one it says nothing.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return capped_seconds(seconds);
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let now = httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?.trim()).ok()?;
    Some(until.duration_since(now).unwrap_or_default().min(CAP))
}

/// `None` for what is no length of time.
pub(crate) fn capped_seconds(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(CAP.as_secs_f64())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read_and_capped() {
        let read = |text: &str, date: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            if let Some(date) = date {
                headers.insert(DATE, date.parse().unwrap());
            }
            retry_after(&headers)
        };
        let noon = Some("Wed, 21 Oct 2026 12:00:00 GMT");
        assert_eq!(read("7", None), Some(Duration::from_secs(7)));
        assert_eq!(read("86400", None), Some(CAP));
        assert_eq!(read("Wed, 21 Oct 2026 12:01:30 GMT", noon), Some(Duration::from_secs(90)));
        assert_eq!(read("Thu, 22 Oct 2026 12:00:00 GMT", noon), Some(CAP));
        assert_eq!(read("Wed, 21 Oct 2026 11:00:00 GMT", noon), Some(Duration::ZERO), "already over");
        for (wrong, date) in
            [("-1", noon), ("NaN", noon), ("soon", noon), ("Wed, 21 Oct 2026 12:01:30 GMT", None)]
        {
            assert_eq!(read(wrong, date), None, "{wrong}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
