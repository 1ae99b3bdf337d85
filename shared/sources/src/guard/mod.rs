//! Which addresses the reader may ask: http and https, ports 80 and 443, public hosts. A name is looked up once,
//! and the connection then goes to what was found, whatever the name's server says a moment later.

mod address;
mod allow;
mod name;
mod resolve;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use nightforge_domain::research::SourceStatus;
use url::{Host, Url};

pub(crate) use allow::AllowedPlace;
pub use allow::NoPlace;
pub use resolve::{Resolve, Resolving, SystemResolve};

use crate::reader::PageProblem;

/// Longest address, in bytes.
const MAX_ADDRESS_BYTES: usize = 4096;

/// An address that was checked: where the connection must go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checked {
    /// As it stands in the URL.
    pub(crate) host: String,
    /// Each one was checked; never empty.
    pub(crate) addresses: Vec<SocketAddr>,
}

/// The rules, and where names are looked up.
#[derive(Clone)]
pub(crate) struct Guard {
    allow: Vec<AllowedPlace>,
    resolve: Arc<dyn Resolve>,
}

/// What was found for each host and port of one reading. A second request of the same reading goes where the
/// first one went.
pub(crate) type Seen = HashMap<(String, u16), Checked>;

impl Guard {
    pub(crate) fn new(allow: Vec<AllowedPlace>, resolve: Arc<dyn Resolve>) -> Self {
        Self { allow, resolve }
    }

    /// Reads an address that somebody wrote.
    pub(crate) fn parse(address: &str) -> Result<Url, PageProblem> {
        if address.len() > MAX_ADDRESS_BYTES {
            return Err(refused(format!("the address is longer than {MAX_ADDRESS_BYTES} bytes")));
        }
        Url::parse(address).map_err(|error| refused(format!("no address that can be read: {error}")))
    }

    /// Checks an address, and looks its host up unless this reading has done so.
    pub(crate) async fn check(&self, url: &Url, seen: &mut Seen) -> Result<Checked, PageProblem> {
        if url.as_str().len() > MAX_ADDRESS_BYTES {
            return Err(refused(format!("the address is longer than {MAX_ADDRESS_BYTES} bytes")));
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused(format!("only http and https are read, not {:.20}", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("addresses with a user name or a password are not read"));
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(refused("the address has no host"));
        };
        let allowed = self.allow.iter().any(|place| place.is(&host, port));
        if !allowed && !matches!(port, 80 | 443) {
            return Err(refused(format!("only ports 80 and 443 are read, not {port}")));
        }
        let key = (host.to_string(), port);
        if let Some(checked) = seen.get(&key) {
            return Ok(checked.clone());
        }
        let found = match host {
            Host::Ipv4(address) => vec![IpAddr::V4(address)],
            Host::Ipv6(address) => vec![IpAddr::V6(address)],
            Host::Domain(name) => {
                if let Some(why) = name::why_not_asked(name).filter(|_| !allowed) {
                    return Err(refused(format!("{name} is not read: {why}")));
                }
                self.look_up(name).await?
            }
        };
        // One private address among public ones is enough: the connection could go to either.
        let private = found.iter().find_map(|address| Some((address, address::why_not_public(*address)?)));
        if let Some((address, what)) = private.filter(|_| !allowed) {
            return Err(refused(match host {
                Host::Domain(name) => format!("{name} is at {address}, which is not public ({what})"),
                _ => format!("{address} is not public ({what})"),
            }));
        }
        let addresses = found.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        let checked = Checked { host: key.0.clone(), addresses };
        seen.insert(key, checked.clone());
        Ok(checked)
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, PageProblem> {
        let unreachable = |why: String| PageProblem::new(SourceStatus::Unreachable, why);
        let found = self.resolve.resolve(name).await;
        let found = found.map_err(|error| unreachable(format!("{name} was not found: {error}")))?;
        if found.is_empty() {
            return Err(unreachable(format!("{name} has no address")));
        }
        Ok(found)
    }
}

pub(crate) fn refused(note: impl Into<String>) -> PageProblem {
    PageProblem::new(SourceStatus::Refused, note)
}
