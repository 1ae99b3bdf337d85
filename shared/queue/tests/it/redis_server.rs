//! A `redis-server` of a test's own, on a free port, with nothing on disk; it dies with its handle.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nightforge_queue::{Bells, RedisConfig, RedisRefused};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct RedisServer {
    child: Child,
    port: u16,
    arguments: Vec<String>,
    folder: TempDir,
    password: Option<String>,
    tls_port: Option<u16>,
}

impl RedisServer {
    pub(crate) async fn start() -> RedisServer {
        RedisServer::start_with(&[]).await
    }

    /// With more arguments of `redis-server`.
    pub(crate) async fn start_with(arguments: &[&str]) -> RedisServer {
        RedisServer::start_on(None, arguments).await
    }

    /// Speaks TLS on a second port.
    pub(crate) async fn start_with_tls(certificate: &str, key: &str, authority: &str) -> RedisServer {
        let tls_port = free_port();
        let arguments = [
            ["--tls-port", &tls_port.to_string()],
            ["--tls-cert-file", certificate],
            ["--tls-key-file", key],
            ["--tls-ca-cert-file", authority],
            ["--tls-auth-clients", "no"],
        ];
        RedisServer::start_on(Some(tls_port), arguments.as_flattened()).await
    }

    async fn start_on(tls_port: Option<u16>, arguments: &[&str]) -> RedisServer {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let password = arguments
            .iter()
            .position(|argument| argument == "--requirepass")
            .map(|at| arguments[at + 1].clone());
        // Somebody may take the port between the look and the start.
        for _ in 0..20 {
            let port = free_port();
            let folder = tempfile::tempdir().expect("a folder for redis-server");
            let mut server = RedisServer {
                child: spawn(port, &arguments, &folder),
                port,
                arguments: arguments.clone(),
                folder,
                password: password.clone(),
                tls_port,
            };
            if server.answers().await {
                return server;
            }
        }
        panic!("redis-server {arguments:?} did not start on any of 20 ports");
    }

    pub(crate) fn url(&self) -> String {
        match &self.password {
            Some(password) => format!("redis://:{password}@127.0.0.1:{}", self.port),
            None => format!("redis://127.0.0.1:{}", self.port),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// # Panics
    /// If it does not speak TLS.
    pub(crate) fn tls_port(&self) -> u16 {
        self.tls_port.expect("started with TLS")
    }

    pub(crate) fn config(&self) -> RedisConfig {
        RedisConfig::new(self.url())
    }

    /// Bells of another process, as far as Redis can tell.
    pub(crate) async fn bells(&self) -> Bells {
        self.bells_until(CancellationToken::new()).await
    }

    pub(crate) async fn bells_until(&self, shutdown: CancellationToken) -> Bells {
        Bells::redis(self.config(), shutdown).await.expect("a plain redis-server is fit for bells")
    }

    pub(crate) async fn refusal(&self) -> RedisRefused {
        Bells::redis(self.config(), CancellationToken::new()).await.expect_err("it is not fit for bells")
    }

    pub(crate) async fn connect(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.url()).expect("a good URL");
        client.get_multiplexed_async_connection().await.expect("redis-server answers")
    }

    /// One command, and its answer.
    pub(crate) async fn run<T: redis::FromRedisValue>(&self, command: &[&str]) -> T {
        let mut connection = self.connect().await;
        let mut cmd = redis::cmd(command[0]);
        cmd.arg(&command[1..]);
        cmd.query_async(&mut connection).await.unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// How many bells wait in a queue.
    pub(crate) async fn waiting(&self, queue: &str) -> usize {
        let active: usize = self.run(&["LLEN", &format!("{queue}:active")]).await;
        let scheduled: usize = self.run(&["ZCARD", &format!("{queue}:scheduled")]).await;
        active + scheduled
    }

    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.child.wait().expect("our child");
    }

    /// Starts again on the same port, empty.
    pub(crate) async fn restart(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) {
            self.child = spawn(self.port, &self.arguments, &self.folder);
            if self.answers().await {
                return;
            }
        }
        panic!("redis-server did not come back on port {}", self.port);
    }

    /// Stops it where it is, as a frozen machine would.
    pub(crate) fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("our child lives");
    }

    /// Waits until it answers; `false` if it has ended.
    async fn answers(&mut self) -> bool {
        let client = redis::Client::open(self.url()).expect("a good URL");
        loop {
            if self.child.try_wait().expect("our child").is_some() {
                return false;
            }
            if let Ok(mut connection) = client.get_multiplexed_async_connection().await {
                // Another process's server could answer on a port that ours did not get.
                let info: redis::RedisResult<redis::InfoDict> =
                    redis::cmd("INFO").arg("server").query_async(&mut connection).await;
                match info {
                    Ok(info) if info.get::<u32>("process_id") != Some(self.child.id()) => return false,
                    Ok(_) => return true,
                    // A test may forbid INFO.
                    Err(error) if error.code() == Some("NOPERM") => return true,
                    Err(_) => {}
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // An error means that it is gone, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    free.expect("a free port").port()
}

#[expect(clippy::disallowed_methods, reason = "the tests' Redis is a program of the machine")]
fn spawn(port: u16, arguments: &[String], folder: &TempDir) -> Child {
    if let Err(error) = Command::new("redis-server").arg("--version").output() {
        panic!("cannot start redis-server ({error}); install the Debian package `redis-server`");
    }
    // A test that is killed drops nothing; the server dies with it all the same.
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "redis-server"])
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--appendonly", "no"])
        .arg("--dir")
        .arg(folder.path())
        .arg("--logfile")
        .arg(folder.path().join("log"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("cannot start setpriv ({error}); install the Debian package `util-linux`")
        })
}
