//! Database URLs as people write them, and as the drivers want them.

use nightforge_domain::masked_url;

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
        Err(StoreError::Url(masked_url(url)))
    }
}

/// The URL with a name for this program's connections, unless it has one.
fn named(url: &str) -> Result<String, StoreError> {
    // A driver would take a part of the password for a port, a path or parameters, and tell it in its errors.
    let before_parameters = url.split('?').next().unwrap_or(url);
    let place = before_parameters.split_once("://").map_or("", |(_, place)| place);
    let (authority, path) = place.split_once('/').unwrap_or((place, ""));
    if url.contains('#') || path.contains('@') || (authority.contains(':') && has_no_host(authority)) {
        return Err(StoreError::UrlEncoding);
    }
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
        // The name of a parameter that somebody mistyped, unless it may be a part of the password.
        let is_name = unknown.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-".contains(&byte));
        return Err(
            match is_name && !parameters.contains('@') && parameters.contains(&format!("{unknown}=")) {
                true => StoreError::UrlParameter(unknown.to_owned()),
                false => StoreError::UrlEncoding,
            },
        );
    }
    if names().any(|name| name == "application_name") {
        return Ok(url.to_owned());
    }
    let mark = if url.contains('?') { '&' } else { '?' };
    Ok(format!("{url}{mark}application_name=nightforge"))
}

/// Whether what follows the last colon is no port, as in `user:password` whose `@host` stands elsewhere.
fn has_no_host(authority: &str) -> bool {
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    let port = hosts.rsplit_once(':').filter(|_| !hosts.ends_with(']')).map_or("", |(_, port)| port);
    !port.bytes().all(|byte| byte.is_ascii_digit())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_refusal_shows_a_password() {
        for password in [
            "S3CRET",
            "ab?S3CRET",
            "12?S3CRET",
            "a?S3=S3CRET",
            "12?S3=S3CRET",
            "12#S3CRET",
            "12/S3CRET",
            "S3 @S3CRET",
            "S3:S3CRET",
            "12%S3CRET",
            "ü?S3CRET",
        ] {
            for url in [
                format!("postgres://nf:{password}@h/x"),
                format!("postgres://nf:{password}@h/x?sslmod=require"),
                format!("postgres://nf:{password}/x"),
                format!("postgres://h/x?passwd={password}"),
                format!("mysql://nf:{password}@h/x"),
                format!("postgres:nf:{password}@h/x"),
            ] {
                let told = for_driver(&url, true).map_or_else(|error| error.to_string(), |_| String::new());
                assert!(!told.contains("S3"), "{url}: {told}");
            }
        }
    }

    #[test]
    fn a_password_that_is_not_encoded_is_refused_with_the_remedy() {
        let refused = |url: &str| for_driver(url, true).map(|_| ()).map_err(|error| error.to_string());
        for password in ["ab?cd", "12?cd", "12#cd", "12/cd", "ab?c=d", "ab/cd", "?"] {
            let told = refused(&format!("postgres://nf:{password}@h/x")).unwrap_err();
            assert!(told.contains("`?` as %3F"), "{password}: {told}");
        }
        // An `@` in a parameter's value is none of that.
        assert_eq!(refused("postgres://h/x?user=nf&password=p@ss"), Ok(()));
        assert_eq!(refused("postgres://nf:p@ss@h/x"), Ok(()));
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
