//! Places that may be asked although they are not public.

use url::Host;

/// One place, exactly: a host and its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllowedPlace {
    host: Host,
    port: u16,
}

/// An entry of the list that names no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no place to allow; write host:port, such as wiki.example:8080 or [fd00::1]:80")]
pub struct NoPlace(String);

impl AllowedPlace {
    pub(crate) fn parse(entry: &str) -> Result<Self, NoPlace> {
        let refused = || NoPlace(entry.to_owned());
        let (host, port) = entry.trim().rsplit_once(':').ok_or_else(refused)?;
        // A pattern would look like it allowed many places, and allow none.
        let host = Host::parse(host).ok().filter(|_| !host.contains('*')).ok_or_else(refused)?;
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(refused)?;
        Ok(Self { host, port })
    }

    pub(super) fn is(&self, host: &Host<&str>, port: u16) -> bool {
        self.port == port && self.host == *host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_this_place() {
        let wiki = AllowedPlace::parse("Wiki.Example:8080").unwrap();
        assert!(wiki.is(&Host::Domain("wiki.example"), 8080));
        assert!(!wiki.is(&Host::Domain("wiki.example"), 80));
        assert!(!wiki.is(&Host::Domain("a.wiki.example"), 8080));
        let local = AllowedPlace::parse("[::1]:80").unwrap();
        assert!(local.is(&Host::Ipv6(std::net::Ipv6Addr::LOCALHOST), 80));
    }

    #[test]
    fn what_names_no_place() {
        for entry in
            ["wiki", "wiki:", ":80", "wiki:0", "wiki:70000", "http://wiki:80", "*:80", "wiki:80/a", ""]
        {
            let error = AllowedPlace::parse(entry).expect_err(entry).to_string();
            assert!(error.contains(&format!("`{entry}`")), "{error}");
        }
    }
}
