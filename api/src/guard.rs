//! What stands before every handler: Host against DNS rebinding, Origin against pages of other sites, and the
//! header that keeps browsers from guessing media types.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;

/// The authorities that this server answers to, such as `localhost:7700`.
#[derive(Debug, Clone)]
pub(crate) struct Authorities(Arc<[String]>);

impl Authorities {
    /// Those of a listener on loopback.
    pub(crate) fn of(address: SocketAddr) -> Self {
        let port = address.port();
        let mut names: Vec<String> =
            ["127.0.0.1", "localhost", "[::1]"].iter().map(|host| format!("{host}:{port}")).collect();
        let own = address.to_string();
        if !names.contains(&own) {
            names.push(own);
        }
        // Clients leave the port out where it is HTTP's own.
        if port == 80 {
            names.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
        }
        Self(names.into())
    }

    fn contain(&self, authority: &str) -> bool {
        self.0.iter().any(|own| own.eq_ignore_ascii_case(authority))
    }

    fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let host = headers.get(header::HOST).map(text).unwrap_or_default();
        if !self.contain(&host) {
            return Err(Problem::host_not_allowed(&host, &self.0.join(", ")));
        }
        if matches!(*method, Method::GET | Method::HEAD) {
            return Ok(());
        }
        if let Some(origin) = headers.get(header::ORIGIN).map(text) {
            let own = origin.strip_prefix("http://").is_some_and(|authority| self.contain(authority));
            if !own {
                return Err(Problem::cross_site(&origin));
            }
        }
        // Browsers send this also where they leave the origin out.
        match headers.get("sec-fetch-site").map(text) {
            Some(site) if site != "same-origin" && site != "none" => Err(Problem::cross_site(&site)),
            _ => Ok(()),
        }
    }
}

/// Lets a request through, or answers it.
pub(crate) async fn stand_before(
    State(authorities): State<Authorities>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match authorities.check(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Answers change at any moment and may hold what nobody else should read from a cache.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(method: &Method, pairs: &[(&'static str, &str)]) -> bool {
        let authorities = Authorities::of("127.0.0.1:7700".parse().unwrap());
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        authorities.check(method, &headers).is_ok()
    }

    #[test]
    fn only_own_names_with_the_own_port_pass() {
        for good in ["127.0.0.1:7700", "localhost:7700", "LOCALHOST:7700", "[::1]:7700"] {
            assert!(verdict(&Method::GET, &[("host", good)]), "{good}");
        }
        for bad in ["", "evil.example:7700", "127.0.0.1", "127.0.0.1:7701", "localhost.evil.example:7700"] {
            assert!(!verdict(&Method::GET, &[("host", bad)]), "{bad}");
        }
        assert!(!verdict(&Method::GET, &[]), "no Host");
    }

    #[test]
    fn pages_of_other_sites_change_nothing() {
        let host = ("host", "localhost:7700");
        assert!(verdict(&Method::POST, &[host]), "the command line sends no Origin");
        assert!(verdict(&Method::POST, &[host, ("origin", "http://localhost:7700")]));
        assert!(verdict(&Method::POST, &[host, ("sec-fetch-site", "same-origin")]));
        for origin in ["null", "http://localhost:3000", "https://localhost:7700", "http://evil.example"] {
            assert!(!verdict(&Method::POST, &[host, ("origin", origin)]), "{origin}");
            assert!(verdict(&Method::GET, &[host, ("origin", origin)]), "reading is not refused");
        }
        assert!(!verdict(&Method::POST, &[host, ("sec-fetch-site", "cross-site")]));
        assert!(!verdict(&Method::DELETE, &[host, ("sec-fetch-site", "same-site")]));
    }
}
