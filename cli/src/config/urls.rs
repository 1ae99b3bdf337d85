//! URLs of databases and of Redis: which are taken, and how they are shown.

/// How the URL of a database may begin.
pub(super) const DATABASES: [&str; 3] = ["sqlite:", "postgres://", "postgresql://"];

/// How the URL of Redis may begin.
pub(super) const REDIS: [&str; 2] = ["redis://", "rediss://"];

/// The URL, when it begins with one of `schemes`. It stands in no message: it may hold a password.
pub(super) fn checked(url: String, schemes: &[&str]) -> Result<String, String> {
    if schemes.iter().any(|scheme| url.starts_with(scheme)) {
        return Ok(url);
    }
    Err(match schemes {
        schemes if schemes == DATABASES => {
            "write sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE".to_owned()
        }
        _ => "write redis://:PASSWORD@HOST:6379, or rediss://… for TLS".to_owned(),
    })
}

/// A URL without its password, and without the values of parameters that are one.
pub(crate) fn masked(url: &str) -> String {
    let (base, query) = url.split_once('?').map_or((url, None), |(base, query)| (base, Some(query)));
    // The last `@`: a password that is not escaped may hold some itself.
    let base = match base.split_once("://") {
        Some((scheme, rest)) if scheme != "sqlite" => match rest.rsplit_once('@') {
            Some((user, host)) => match user.split_once(':') {
                Some((user, _)) => format!("{scheme}://{user}:***@{host}"),
                None => base.to_owned(),
            },
            None => base.to_owned(),
        },
        _ => base.to_owned(),
    };
    let parameter = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}=***"),
        _ => pair.to_owned(),
    };
    match query {
        Some(query) => format!("{base}?{}", query.split('&').map(parameter).collect::<Vec<_>>().join("&")),
        None => base,
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "secret", "token", "key"].iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("postgres://nf:hunter2@db:5432/nf", "postgres://nf:***@db:5432/nf"),
            ("postgres://nf:hun@ter/2@db/nf?sslmode=require", "postgres://nf:***@db/nf?sslmode=require"),
            ("postgres://db/nf?user=nf&password=hunter2", "postgres://db/nf?user=nf&password=***"),
            ("redis://:hunter2@cache:6379/1", "redis://:***@cache:6379/1"),
            ("redis://cache", "redis://cache"),
            ("postgres://nf@db/nf", "postgres://nf@db/nf"),
            ("sqlite:/data/a@b.db", "sqlite:/data/a@b.db"),
        ] {
            assert_eq!(masked(url), shown);
        }
    }
}
