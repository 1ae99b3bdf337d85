//! URLs of databases and of Redis: which are taken, and how they are shown.

pub(crate) use nightforge_domain::masked_url as masked;

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
