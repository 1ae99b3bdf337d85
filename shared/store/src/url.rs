//! Database URLs as people write them, and as the drivers want them.

use crate::{Engine, StoreError};

/// The engine that a URL names, and the URL for its driver. With `create`, a missing SQLite file is made.
pub(crate) fn for_driver(url: &str, create: bool) -> Result<(Engine, String), StoreError> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        // A parameter would become part of the file's name.
        if path.is_empty() || path.contains('?') {
            return Err(StoreError::Url(url.to_owned()));
        }
        let mode = if create { "rwc" } else { "rw" };
        Ok((Engine::Sqlite, format!("sqlite:{}?mode={mode}", encoded(path))))
    } else if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        Ok((Engine::Postgres, url.to_owned()))
    } else {
        Err(StoreError::Url(shown(url)))
    }
}

/// The path with everything encoded that means something in a URL.
fn encoded(path: &str) -> String {
    path.chars().fold(String::new(), |mut encoded, c| {
        if c == '%' || c == '#' || c.is_ascii_control() || c == ' ' {
            encoded.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            encoded.push(c);
        }
        encoded
    })
}

/// The URL for logs and errors: without what stands between `://` and `@`, and without parameters, which may hold
/// a password as well.
pub(crate) fn shown(url: &str) -> String {
    let url = url.split('?').next().unwrap_or(url);
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 <= at => format!("{}…{}", &url[..scheme + 3], &url[at..]),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(shown("postgres://ada:secret@db:5432/night"), "postgres://…@db:5432/night");
        assert_eq!(shown("postgres://ada:sec@ret@db/night"), "postgres://…@db/night");
        assert_eq!(shown("postgres://db/night?user=ada&password=secret"), "postgres://db/night");
        assert_eq!(shown("sqlite:/data/a@b.db"), "sqlite:/data/a@b.db");
        let error = for_driver("mysql://ada:secret@db/night", true).map(|_| ()).map_err(|e| e.to_string());
        assert!(error.is_err_and(|text| !text.contains("secret") && text.contains("sqlite:PATH")));
    }

    #[test]
    fn paths_are_taken_as_they_are() {
        let driver = |url| for_driver(url, true).map(|(_, url)| url).map_err(|error| error.to_string());
        assert_eq!(
            driver("sqlite:/data/a b%20#c.db"),
            Ok("sqlite:/data/a%20b%2520%23c.db?mode=rwc".to_owned())
        );
        assert!(driver("sqlite:/data/night.db?mode=ro").is_err());
        assert!(driver("sqlite:").is_err());
    }
}
