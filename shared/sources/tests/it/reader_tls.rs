//! Pages over TLS: the certificate is checked against the machine's roots and the name in the address.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use nightforge_domain::research::SourceStatus;
use nightforge_sources::{Reader, ReaderConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::reader_site::{Names, Site, at_once, config, extractor, prose, status};

/// Names the folder with the certificate, in the process that trusts it.
const TRUSTING: &str = "READER_TLS_FOLDER";

/// The machine's roots are read from where `SSL_CERT_FILE` says, and that must be set before the process starts; so
/// the test starts itself again.
#[test]
fn a_certificate_is_trusted_for_its_own_name_only() {
    if let Some(folder) = std::env::var_os(TRUSTING) {
        return trusting(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let (key, certificate) = (folder.path().join("key.pem"), folder.path().join("certificate.pem"));
    #[expect(clippy::disallowed_methods, reason = "the certificate of this test")]
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=tls.example", "-addext", "subjectAltName=DNS:tls.example"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl is needed to make a certificate; install the package openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    #[expect(clippy::disallowed_methods, reason = "this test, with a root certificate of its own")]
    let again = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "reader_tls::a_certificate_is_trusted_for_its_own_name_only", "--nocapture"])
        .env(TRUSTING, folder.path())
        .env("SSL_CERT_FILE", &certificate)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stdout);
    assert!(
        again.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&again.stderr)
    );
}

fn trusting(folder: &Path) {
    let address = serve(folder);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let names = Names::new(&[("tls.example", &[&["127.0.0.1"]]), ("other.example", &[&["127.0.0.1"]])]);
        let port = address.port();
        let allow = vec![format!("tls.example:{port}"), format!("other.example:{port}")];
        let reader =
            Reader::new(ReaderConfig { allow, resolve: names, ..ReaderConfig::new(extractor()) }).unwrap();
        let page = reader.read(&format!("https://tls.example:{port}/"), &at_once()).await.unwrap();
        assert!(page.text.contains("book a day ahead"));
        let problem = reader.read(&format!("https://other.example:{port}/"), &at_once()).await.unwrap_err();
        assert_eq!(problem.status, SourceStatus::Unreachable);
        assert!(problem.note.contains("certificate"), "{}", problem.note);
    });
}

/// Serves one page; ends with the process.
fn serve(folder: &Path) -> SocketAddr {
    let certificate = CertificateDer::from_pem_file(folder.join("certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls =
        rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let tls = Arc::new(tls.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = rustls::StreamOwned::new(
                rustls::ServerConnection::new(tls.clone()).unwrap(),
                stream.unwrap(),
            );
            let mut head = Vec::new();
            let mut byte = [0];
            // A client that does not trust us hangs up.
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                head.push(byte[0]);
            }
            let (status, body) = if head.starts_with(b"GET /robots.txt") {
                ("404 Not Found", String::new())
            } else {
                ("200 OK", prose())
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    address
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls() {
    let site = Site::start(|_| status("200 OK")).await;
    // It waits for the end of a request, and we for its part of the handshake.
    let config = ReaderConfig { connect: Duration::from_millis(300), ..config(&[&site]) };
    let reader = Reader::new(config).unwrap();
    let problem = reader.read(&format!("https://{}/", site.address), &at_once()).await.unwrap_err();
    assert_eq!(problem.status, SourceStatus::Unreachable, "{problem}");
    assert!(site.requests().is_empty(), "nothing is asked in the clear instead");
}
