//! A web site of this test's own, down to the bytes: real connections on the loopback, also badly behaved ones.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use nightforge_sources::{Extractor, LocalTurns, Reader, ReaderConfig, Resolve, Resolving};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a request is answered with.
pub(crate) enum Answer {
    /// These bytes, and the connection closes.
    Bytes(Vec<u8>),
    /// These bytes, and then the chunk again and again until the other side has gone.
    Endless { head: Vec<u8>, chunk: Vec<u8>, pause: Duration },
}

type Script = dyn Fn(&str) -> Answer + Send + Sync;

/// Ends with the test.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Site {
    /// Answers each path with what the script says.
    pub(crate) async fn start(script: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_on(([127, 0, 0, 1], 0).into(), script).await
    }

    /// At an address of the test's choice.
    pub(crate) async fn start_on(
        address: SocketAddr,
        script: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        Self::serve(listener, Arc::new(script))
    }

    fn serve(listener: TcpListener, script: Arc<Script>) -> Self {
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = requests.clone();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, log) = (script.clone(), log.clone());
                // A client that hangs up in the middle is what these tests are about.
                tokio::spawn(async move { drop(answer(stream, &*script, &log).await) });
            }
        });
        Self { address, requests, serving }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests until now: each with its head, in lower case.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The paths that were asked for, but for robots.txt.
    pub(crate) fn paths(&self) -> Vec<String> {
        let path = |head: &String| head.split(' ').nth(1).unwrap_or_default().to_owned();
        self.requests().iter().map(path).filter(|path| path != "/robots.txt").collect()
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
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    log.lock().unwrap().push(head);
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

/// An answer with a body.
pub(crate) fn ok(content_type: &str, body: impl AsRef<[u8]>) -> Answer {
    with_headers(&format!("Content-Type: {content_type}\r\n"), body)
}

/// An answer with these header lines; each ends with a line break.
pub(crate) fn with_headers(headers: &str, body: impl AsRef<[u8]>) -> Answer {
    let body = body.as_ref();
    let head =
        format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    Answer::Bytes([head.as_bytes(), body].concat())
}

pub(crate) fn status(line: &str) -> Answer {
    Answer::Bytes(format!("HTTP/1.1 {line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").into_bytes())
}

pub(crate) fn moved(target: &str) -> Answer {
    let head =
        format!("HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: {target}\r\n\r\n");
    Answer::Bytes(head.into_bytes())
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Text that is worth being a source.
pub(crate) fn prose() -> String {
    "The studio at the harbour teaches visitors in small groups, and asks them to book a day ahead. "
        .repeat(4)
}

pub(crate) fn html(body: &str) -> String {
    format!("<!doctype html><html><head><title>Harbour classes</title></head><body>{body}</body></html>")
}

pub(crate) fn extractor() -> Extractor {
    Extractor::new(PathBuf::from(env!("CARGO_BIN_EXE_extract")), Vec::new())
}

/// May ask these sites.
pub(crate) fn config(sites: &[&Site]) -> ReaderConfig {
    let allow = sites.iter().map(|site| site.address.to_string()).collect();
    ReaderConfig { allow, ..ReaderConfig::new(extractor()) }
}

pub(crate) fn reader(sites: &[&Site]) -> Reader {
    Reader::new(config(sites)).unwrap()
}

/// Everybody may ask at once.
pub(crate) fn at_once() -> LocalTurns {
    LocalTurns::every(Duration::ZERO)
}

/// Names as this test wants them, and how often they were looked up. Each look-up gets the next answer.
pub(crate) struct Names {
    answers: Vec<(&'static str, Vec<Vec<IpAddr>>)>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn new(answers: &[(&'static str, &[&[&str]])]) -> Arc<Self> {
        let addresses = |list: &&[&str]| list.iter().map(|address| address.parse().unwrap()).collect();
        let answers =
            answers.iter().map(|(name, lists)| (*name, lists.iter().map(addresses).collect())).collect();
        Arc::new(Self { answers, asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        let times = self.asked().iter().filter(|asked| *asked == host).count();
        self.asked.lock().unwrap().push(host.to_owned());
        let known = self.answers.iter().find(|(name, _)| *name == host);
        let answer = match known {
            Some((_, lists)) => Ok(lists.get(times).or(lists.last()).cloned().unwrap_or_default()),
            None => Err(std::io::Error::other("no such name")),
        };
        Box::pin(std::future::ready(answer)) as Pin<Box<_>>
    }
}
