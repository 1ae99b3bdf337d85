//! One request over a connection that goes where the guard said.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nightforge_domain::research::SourceStatus;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING};
use reqwest::{Client, Response};
use rustls::RootCertStore;
use rustls::crypto::ring;
use url::Url;

use super::page::PageProblem;
use crate::guard::Checked;

const USER_AGENT: &str = concat!("nightforge/", env!("CARGO_PKG_VERSION"));
const WANTED: &str =
    "text/html,application/xhtml+xml,text/plain,text/markdown,application/pdf,application/json;q=0.8";
/// The client's own limit is bytes; this bounds the work on a header of many short lines.
const MAX_HEADERS: usize = 200;

/// Asks for a page and gives back its answer, whatever its status. Follows nothing.
pub(super) async fn ask(url: &Url, place: &Checked, connect: Duration) -> Result<Response, PageProblem> {
    let client = client(url, place, connect).map_err(|error| unreachable(error.as_ref()))?;
    let request = client.get(url.clone()).header(ACCEPT, WANTED).header(ACCEPT_ENCODING, "gzip, identity");
    request.send().await.map_err(|error| unreachable(&error.without_url()))
}

/// A client for one request. It knows no other address than the checked ones, and it uses no proxy: a proxy
/// would look the name up once more.
fn client(url: &Url, place: &Checked, connect: Duration) -> Result<Client, Failed> {
    let pinned = Pinned { host: place.host.clone(), addresses: place.addresses.clone() };
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .no_proxy()
        .referer(false)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .http1_only()
        .http1_max_headers(MAX_HEADERS)
        .pool_max_idle_per_host(0)
        .connect_timeout(connect)
        .dns_resolver(pinned);
    if url.scheme() == "https" {
        // Fails where another crate of the process was first, which is as good.
        let _ = ring::default_provider().install_default();
    } else {
        // Without this the client reads the machine's root certificates, and fails where there are none.
        let provider = Arc::new(ring::default_provider());
        let tls =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let tls = tls.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        builder = builder.tls_backend_preconfigured(tls);
    }
    Ok(builder.build()?)
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Answers with what was checked, and with nothing for another name.
struct Pinned {
    host: String,
    addresses: Vec<SocketAddr>,
}

impl Resolve for Pinned {
    fn resolve(&self, name: Name) -> Resolving {
        let found: Result<Addrs, Failed> = if name.as_str() == self.host {
            Ok(Box::new(self.addresses.clone().into_iter()))
        } else {
            Err(io::Error::other(format!("{} was not checked", name.as_str())).into())
        };
        Box::pin(std::future::ready(found))
    }
}

fn unreachable(error: &dyn std::error::Error) -> PageProblem {
    PageProblem::new(SourceStatus::Unreachable, format!("no answer: {}", causes(error)))
}

/// An error with all its causes: reqwest's own text leaves out the one that matters.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}
