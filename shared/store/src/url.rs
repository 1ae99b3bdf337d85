//! Database URLs as people write them, and as the drivers want them.

use crate::{Engine, StoreError};

/// Parameters of a PostgreSQL URL that the driver knows. It would ignore others, and write their values to the log.
const PARAMETERS: [&str; 18] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

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
        Ok((Engine::Postgres, named(url)?))
    } else {
        Err(StoreError::Url(shown(url)))
    }
}

/// The URL with a name for this program's connections, unless it has one.
fn named(url: &str) -> Result<String, StoreError> {
    let (_, parameters) = url.split_once('?').unwrap_or((url, ""));
    let names = || {
        let parameters = parameters.split('&').filter(|parameter| !parameter.is_empty());
        parameters.map(|parameter| parameter.split('=').next().unwrap_or_default())
    };
    let unknown = |name: &&str| {
        let decoded = name.replace("%5B", "[").replace("%5b", "[");
        !PARAMETERS.contains(name) && !decoded.starts_with("options[")
    };
    if let Some(unknown) = names().find(unknown) {
        return Err(StoreError::UrlParameter(unknown.to_owned()));
    }
    if names().any(|name| name == "application_name") {
        return Ok(url.to_owned());
    }
    let mark = if url.contains('?') { '&' } else { '?' };
    Ok(format!("{url}{mark}application_name=nightforge"))
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
    fn both_names_of_the_scheme_are_postgresql() {
        let driver = |url| for_driver(url, true).map_err(|error| error.to_string());
        let plain = "postgres://ada@db/night?application_name=nightforge".to_owned();
        assert_eq!(driver("postgres://ada@db/night"), Ok((Engine::Postgres, plain)));
        let long = "postgresql://ada@db/night?sslmode=require&application_name=nightforge".to_owned();
        assert_eq!(driver("postgresql://ada@db/night?sslmode=require"), Ok((Engine::Postgres, long)));
        let own = "postgres://db/night?application_name=mine&options[search_path]=s".to_owned();
        assert_eq!(driver(&own), Ok((Engine::Postgres, own.clone())));
    }

    #[test]
    fn a_parameter_that_would_be_ignored_is_refused_without_its_value() {
        for url in ["postgres://db/night?sslmod=require", "postgres://db/night?user=ada&passwd=secret"] {
            let error = for_driver(url, true).map(|_| ()).map_err(|error| error.to_string());
            let named = |text: &String| text.contains("sslmod") || text.contains("passwd");
            assert!(error.is_err_and(|text| named(&text) && !text.contains("secret")));
        }
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
