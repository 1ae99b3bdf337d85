//! Web servers of a story's own, down to the bytes: real connections on the loopback, also badly behaved ones.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a request is answered with.
pub enum Answer {
    /// These bytes, and the connection closes.
    Bytes(Vec<u8>),
    /// These bytes, and then the chunk again and again until the other side has gone.
    Endless {
        /// Once.
        head: Vec<u8>,
        /// Again and again.
        chunk: Vec<u8>,
        /// Between two chunks.
        pause: Duration,
    },
}

type Script = dyn Fn(&str) -> Answer + Send + Sync;

/// One server; it ends when it is dropped.
pub struct Site {
    address: SocketAddr,
    paths: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Site {
    /// A server at `127.0.0.<host>` that answers each path with what the script says.
    ///
    /// # Panics
    /// When the address can't be listened on.
    pub async fn start(host: u8, script: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((std::net::Ipv4Addr::new(127, 0, 0, host), 0)).await;
        let listener = listener.expect("an address of the loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let script: Arc<Script> = Arc::new(script);
        let paths = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&paths);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                // Some clients hang up in the middle; that is what such a story is about.
                tokio::spawn(async move { drop(answer(stream, &*script, &log).await) });
            }
        });
        Self { address, paths, serving }
    }

    /// As a reader's `allow` names it.
    pub fn place(&self) -> String {
        self.address.to_string()
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The paths with their queries that were asked for so far, robots.txt left out.
    pub fn asked(&self) -> Vec<String> {
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.iter().filter(|path| *path != "/robots.txt").cloned().collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(mut stream: TcpStream, script: &Script, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    log.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
    match script(&path) {
        Answer::Bytes(bytes) => stream.write_all(&bytes).await?,
        Answer::Endless { head, chunk, pause } => {
            stream.write_all(&head).await?;
            loop {
                stream.write_all(&chunk).await?;
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }
    stream.shutdown().await
}

/// An answer with these headers, each ended by CRLF, and this body.
pub fn with_headers(headers: &str, body: impl AsRef<[u8]>) -> Answer {
    let body = body.as_ref();
    let head =
        format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    Answer::Bytes([head.as_bytes(), body].concat())
}

/// An answer of this type.
pub fn ok(content_type: &str, body: impl AsRef<[u8]>) -> Answer {
    with_headers(&format!("Content-Type: {content_type}\r\n"), body)
}

/// An answer without a body, such as `404 Not Found`.
pub fn status(line: &str) -> Answer {
    Answer::Bytes(format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes())
}

/// What SearXNG answers when it finds these pages: address, title, snippet each.
pub fn searxng(hits: &[(String, String, String)]) -> Answer {
    let results: Vec<serde_json::Value> = hits
        .iter()
        .map(|(url, title, content)| serde_json::json!({ "url": url, "title": title, "content": content }))
        .collect();
    let found = serde_json::json!({ "query": "q", "results": results, "unresponsive_engines": [] });
    ok("application/json", found.to_string())
}
