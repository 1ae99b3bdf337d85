//! Nothing of a call comes from the environment.

use std::process::Stdio;

use nightforge_llm::{Client, ConfigError};

use crate::chat::ask;
use crate::server::{Reply, Server, config};

const INSIDE: &str = "NIGHTFORGE_TEST_INSIDE";

#[tokio::test]
async fn openai_and_proxy_variables_are_not_read() {
    if std::env::var_os(INSIDE).is_some() {
        let server = Server::start(vec![Reply::answer("a")]).await;
        assert_eq!(ask(&server.client()).await.unwrap().text, "a");
        let headers = server.asked()[0].headers.clone();
        for name in ["authorization", "openai-organization", "openai-project"] {
            assert!(!headers.contains_key(name), "{headers:?}");
        }
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "a process's own environment can't be changed safely")]
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let status = again
        .args(["--exact", "environment::openai_and_proxy_variables_are_not_read", "--nocapture"])
        .env(INSIDE, "1")
        .env("OPENAI_API_KEY", "sk-from-the-environment")
        .env("OPENAI_ADMIN_KEY", "sk-from-the-environment")
        .env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
        .env("OPENAI_ORG_ID", "org")
        .env("OPENAI_PROJECT_ID", "project")
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("http_proxy", "http://127.0.0.1:1")
        .env("ALL_PROXY", "http://127.0.0.1:1")
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_tls_client_needs_no_crypto_provider_of_its_caller() {
    // Without one installed, making the client panics. A machine without root certificates gives an error.
    match Client::new(config("https://127.0.0.1:1/v1", None)) {
        Ok(client) => assert_eq!(client.url(), "https://127.0.0.1:1/v1"),
        Err(error) => assert!(matches!(error, ConfigError::Http { .. }), "{error}"),
    }
}
