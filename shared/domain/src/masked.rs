//! Database and Redis URLs as they may be shown: in logs, errors and settings.

/// Parameters whose values are no secrets. What any other word in a query is, nobody knows: a password with a `?` in
/// it that is not encoded looks like a query as well.
const PLAIN_PARAMETERS: [&str; 10] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "port",
    "protocol",
    "ssl-mode",
    "sslmode",
    "sslrootcert",
    "user",
];

/// What stands before `://` in any other text may be a part of a password.
const SCHEMES: [&str; 7] = ["mysql", "postgres", "postgresql", "redis", "rediss", "redis+unix", "unix"];

const HIDDEN: &str = "***";

/// The URL without what is or may be a password. People write passwords without encoding them, so everything up to
/// the last `@` counts as user and password, whatever stands in it; where even that is not clear, only the scheme is
/// shown. A Redis URL with one word before the `@` holds a password in the user's place more often than a user.
pub fn masked_url(url: &str) -> String {
    if url.starts_with("sqlite:") {
        return url.to_owned();
    }
    let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| SCHEMES.contains(scheme)) else {
        return HIDDEN.to_owned();
    };
    let shown = match rest.rsplit_once('@') {
        Some((credentials, _)) if may_be_parameters(credentials) => HIDDEN.to_owned(),
        Some((credentials, place)) => {
            format!("{}@{}", masked_credentials(scheme, credentials), without_secrets(place))
        }
        None if is_place(rest) => without_secrets(rest),
        // Perhaps a password whose `@` was forgotten.
        None => HIDDEN.to_owned(),
    };
    format!("{scheme}://{shown}")
}

/// Whether the last `@` may stand in a parameter's value, so that what follows it is no host.
fn may_be_parameters(credentials: &str) -> bool {
    credentials.split_once('?').is_some_and(|(_, after)| after.contains('='))
}

fn masked_credentials(scheme: &str, credentials: &str) -> String {
    let plain = |user: &str| user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    match credentials.split_once(':') {
        Some((user, _)) if plain(user) => format!("{user}:{HIDDEN}"),
        None if plain(credentials) && !scheme.starts_with("redis") => credentials.to_owned(),
        _ => HIDDEN.to_owned(),
    }
}

/// Whether the text begins with hosts and ports as a URL may have them, with no `user:password` in their place.
fn is_place(rest: &str) -> bool {
    let hosts = rest.split(['/', '?', '#']).next().unwrap_or_default();
    hosts.split(',').all(|host| {
        let (name, port) = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
            Some((name, after)) => (name, after.strip_prefix(':')),
            None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
        };
        port.is_none_or(|port| !name.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Host and path, with the values of those parameters that hold no secret.
fn without_secrets(place: &str) -> String {
    let place = place.split('#').next().unwrap_or_default();
    let Some((path, query)) = place.split_once('?') else { return place.to_owned() };
    let parameter = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if PLAIN_PARAMETERS.contains(&name) => pair.to_owned(),
        Some((name @ ("password" | "pass"), _)) => format!("{name}={HIDDEN}"),
        _ => HIDDEN.to_owned(),
    };
    let parameters: Vec<String> = query.split('&').map(parameter).collect();
    format!("{path}?{}", parameters.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_password_is_shown() {
        for (url, shown) in [
            ("postgres://nf:S3CRET@db:5432/nf", "postgres://nf:***@db:5432/nf"),
            ("postgres://nf:S3CRET@db/nf?sslmode=require", "postgres://nf:***@db/nf?sslmode=require"),
            ("postgres://db/nf?user=nf&password=S3CRET", "postgres://db/nf?user=nf&password=***"),
            ("postgres://nf@db/nf", "postgres://nf@db/nf"),
            ("postgres://a:1,b:2/nf", "postgres://a:1,b:2/nf"),
            ("postgres:///nf?host=/run/postgresql", "postgres:///nf?host=/run/postgresql"),
            ("redis://:S3CRET@cache:6379/1", "redis://:***@cache:6379/1"),
            ("redis://me:S3CRET@cache", "redis://me:***@cache"),
            ("redis://[::1]:6379/1", "redis://[::1]:6379/1"),
            ("rediss://cache", "rediss://cache"),
            ("redis+unix:///run/redis.sock?pass=S3CRET", "redis+unix:///run/redis.sock?pass=***"),
            ("sqlite:/data/a@b.db", "sqlite:/data/a@b.db"),
        ] {
            assert_eq!(masked_url(url), shown);
        }
    }

    #[test]
    fn no_part_of_a_password_is_shown_however_it_is_written() {
        let passwords = [
            "S3CRET",
            "ab?S3CRET",
            "S3?x=S3CRET",
            "S3#S3CRET",
            "1#S3CRET",
            "12?S3CRET",
            "12/S3CRET",
            "S3/S3CRET",
            "S3@S3CRET",
            "S3?S3@S3CRET",
            "S3:S3CRET",
            "12:S3CRET",
            "S3%S3CRET",
            "S3%40S3CRET",
            "S3 S3CRET",
            "S3ü密S3CRET",
            "?S3CRET",
            "#S3CRET",
            "/S3CRET",
            "@S3CRET",
            ":S3CRET",
            "S3&S3CRET",
            "S3?a=b&S3CRET",
            "S3://S3CRET",
            "[S3]S3CRET",
            "S3,S3CRET",
        ];
        for password in passwords {
            for url in [
                format!("postgres://nf:{password}@h/x"),
                format!("postgresql://nf:{password}@h/x?sslmode=require"),
                format!("postgres://h/x?password={password}"),
                format!("postgres://h/x?password={password}&sslmode=require"),
                format!("mysql://nf:{password}@h/x"),
                format!("redis://:{password}@h"),
                format!("redis://{password}@h"),
                format!("rediss://nf:{password}@h:1/2"),
                format!("redis+unix:///run/redis.sock?pass={password}"),
                format!("postgres:nf:{password}@h/x"),
                password.to_owned(),
            ] {
                // What stands before the first colon is the user's place by every reading.
                let shown = masked_url(&url).replacen("redis://S3:", "", 1).replacen("redis://12:", "", 1);
                assert!(!shown.contains("S3"), "{url} → {shown}");
            }
        }
    }

    #[test]
    fn a_forgotten_at_sign_shows_no_password() {
        for url in ["redis://:S3CRET", "redis://:12/S3CRET", "postgres://nf:S3CRET/x", "postgres://nf:1S3?a"]
        {
            assert!(!masked_url(url).contains("S3"), "{url} → {}", masked_url(url));
        }
    }
}
