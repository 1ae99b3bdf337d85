//! From a listener to answers, until shutdown.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::guard::Authorities;
use crate::{Api, router};

/// Requests under way at shutdown get this long.
const GRACE: Duration = Duration::from_secs(5);

/// Whether the interface may listen at this address.
///
/// # Errors
/// Anything but loopback: there are no tokens yet, so whoever reaches the port may do everything.
pub fn check_listen(address: SocketAddr) -> Result<(), String> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    // Port 0 is any free one; the tunnel needs the one that was taken, which is said at the start.
    let (port, far_end) = match address.port() {
        0 => (0, "PORT".to_owned()),
        port => (port, port.to_string()),
    };
    Err(format!(
        "{address} can be reached from other machines, and requests are not authenticated; listen on 127.0.0.1:{port}, \
         and reach it from elsewhere through a tunnel such as `ssh -L {far_end}:127.0.0.1:{far_end} HOST`{}",
        if port == 0 { " with the port that is named at the start" } else { "" }
    ))
}

/// Answers requests on `listener` until `shutdown`; those under way then get 5 s.
///
/// # Errors
/// When the listener is not on loopback, or fails.
pub async fn serve(api: Api, listener: TcpListener, shutdown: CancellationToken) -> io::Result<()> {
    let address = listener.local_addr()?;
    check_listen(address).map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason))?;
    let router = router::router(Arc::new(api), Authorities::of(address));
    let serving = axum::serve(listener, router).with_graceful_shutdown(shutdown.clone().cancelled_owned());
    tokio::select! {
        end = async { serving.await } => end,
        // A client that keeps its request half sent must not keep the process alive.
        () = async { shutdown.cancelled().await; tokio::time::sleep(GRACE).await } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_listened_on() {
        for good in ["127.0.0.1:7700", "127.0.0.2:1", "[::1]:7700"] {
            assert_eq!(check_listen(good.parse().unwrap()), Ok(()), "{good}");
        }
        for bad in ["0.0.0.0:7700", "[::]:7700", "192.168.1.5:7700"] {
            let refusal = check_listen(bad.parse().unwrap()).unwrap_err();
            assert!(refusal.contains(bad) && refusal.contains("127.0.0.1:7700"), "{refusal}");
        }
        let refusal = check_listen("0.0.0.0:0".parse().unwrap()).unwrap_err();
        assert!(refusal.contains("`ssh -L PORT:127.0.0.1:PORT HOST` with the port"), "{refusal}");
    }
}
