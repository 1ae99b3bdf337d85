//! Bells over TLS. The certificates in `tls/` are the tests' own, for 127.0.0.1, and good for a hundred years.

use std::process::{Command, Stdio};

use nightforge_queue::{Bell, Bells, RedisConfig, RedisRefused};
use tokio_util::sync::CancellationToken;

use crate::conformance::{soon, task};
use crate::redis_server::RedisServer;

const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls/server.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls/server.key");
const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls/ca.pem");

async fn bells() -> (RedisServer, Result<Bells, RedisRefused>) {
    let server = RedisServer::start_with_tls(CERTIFICATE, KEY, AUTHORITY).await;
    let config = RedisConfig::new(format!("rediss://127.0.0.1:{}", server.tls_port()));
    let bells = Bells::redis(config, CancellationToken::new()).await;
    (server, bells)
}

#[tokio::test]
async fn an_unknown_authority_is_refused() {
    let (_server, bells) = bells().await;
    let refused = bells.expect_err("nobody here knows the authority");
    assert!(matches!(&refused, RedisRefused::Unreachable { .. }), "{refused:?}");
    assert!(refused.to_string().contains("certificate"), "{refused}");
}

/// Runs itself again with `SSL_CERT_FILE`, which a process may only be born with.
#[tokio::test]
async fn bells_travel_over_tls() {
    if std::env::var_os("SSL_CERT_FILE").is_some_and(|file| file == AUTHORITY) {
        let (_server, bells) = bells().await;
        let bells = bells.expect("the authority is known");
        let mut tasks = bells.tasks();
        bells.ring(Bell::Task(task(1)));
        assert_eq!(soon("a bell", tasks.next()).await, Some(task(1)));
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "the program is this test itself")]
    let mut again = Command::new(std::env::current_exe().expect("a test is a program"));
    let output = again
        .args(["--exact", "redis_tls::bells_travel_over_tls", "--nocapture"])
        .env("SSL_CERT_FILE", AUTHORITY)
        .stdin(Stdio::null())
        .output()
        .expect("the same program starts again");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
