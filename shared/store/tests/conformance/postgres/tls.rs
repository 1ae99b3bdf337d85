//! `sslmode` means what it says.

use nightforge_services::Postgres;
use nightforge_store::{DbClock, Store, StoreError};
use sqlx::AnyPool;

async fn error(url: &str) -> String {
    let error = Store::open(url, DbClock::Database).await.map(drop).unwrap_err();
    assert!(matches!(error, StoreError::Open { .. }), "{error}");
    error.to_string()
}

#[tokio::test]
async fn connections_are_encrypted_and_the_certificate_is_checked_as_asked() {
    sqlx::any::install_default_drivers();
    let server = Postgres::start_with_tls().unwrap();
    let here = server.url();
    let watcher = AnyPool::connect(&format!("{here}?sslmode=disable")).await.unwrap();
    let certificate = server.certificate().display().to_string();
    let verified =
        format!("{}?sslmode=verify-full&sslrootcert={certificate}", here.replace("127.0.0.1", "localhost"));
    for (url, encrypted) in [
        (format!("{here}?sslmode=disable"), 0),
        (format!("{here}?sslmode=require"), 1),
        (format!("{here}?sslmode=verify-ca&sslrootcert={certificate}"), 1),
        (verified, 1),
        (here.clone(), 1),
    ] {
        let store = Store::open(&url, DbClock::Database).await.unwrap();
        store.ping().await.unwrap();
        let by_ssl = "SELECT DISTINCT CASE WHEN s.ssl THEN 1 ELSE 0 END FROM pg_stat_ssl s
                      JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'nightforge'";
        let found: Vec<i32> = sqlx::query_scalar(by_ssl).fetch_all(&watcher).await.unwrap();
        assert_eq!(found, [encrypted], "{url}");
        store.close().await;
        // Until the server has seen them go.
        let left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'nightforge'";
        while sqlx::query_scalar::<_, i64>(left).fetch_one(&watcher).await.unwrap() > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
    let unknown = error(&format!("{here}?sslmode=verify-full")).await;
    assert!(unknown.to_lowercase().contains("certificate"), "{unknown}");
    let text = error(&format!("{here}?sslmode=sometimes")).await;
    assert!(text.contains("sometimes"), "{text}");
    watcher.close().await;
}

#[tokio::test]
async fn a_server_without_tls_is_refused_when_it_is_required() {
    let server = Postgres::start().unwrap();
    let text = error(&format!("{}?sslmode=require", server.url())).await;
    assert!(text.contains("TLS"), "{text}");
}
