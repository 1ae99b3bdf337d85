//! Host names that never mean a public server.

/// Endings that stand for one's own machine or net: RFC 6761, RFC 6762 with its appendix G, RFC 7686, RFC 8375,
/// and `internal`, which ICANN keeps for that.
const PRIVATE_ENDINGS: [&str; 11] = [
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
    "onion",
];

/// Why this name is not asked at all; it is in lower case.
pub(super) fn why_not_asked(host: &str) -> Option<String> {
    let name = host.strip_suffix('.').unwrap_or(host);
    let private = PRIVATE_ENDINGS.iter().find(|ending| {
        name.strip_suffix(**ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    if let Some(ending) = private {
        return Some(format!("names under `{ending}` are not public"));
    }
    (!name.contains('.')).then(|| "a name without a dot is not public".to_owned())
}
