//! A private Redis server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::port::Port;
use crate::process::{Process, Program};
use crate::programs;

/// How long a shutdown may take before it is a kill.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// A Redis server that keeps nothing on disk: a restart loses all that is in it.
pub struct Redis {
    process: Option<Process>,
    program: Program,
    port: Port,
    _folder: TempDir,
}

impl Redis {
    /// Starts an empty server.
    ///
    /// # Errors
    /// When Redis is not installed, or does not start.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_with(&[])
    }

    /// Like [`Redis::start`], with more arguments, such as `["--maxmemory-policy", "allkeys-lru"]`.
    ///
    /// # Errors
    /// When Redis is not installed, or does not start.
    pub fn start_with(arguments: &[&str]) -> anyhow::Result<Self> {
        let path = programs::on_path("redis-server", "redis-server")?;
        let folder = tempfile::Builder::new().prefix("nightforge-redis-").tempdir()?;
        let port = Port::reserve()?;
        let (number, place) = (port.number().to_string(), folder.path().display().to_string());
        let fixed = ["--bind", "127.0.0.1", "--port", &number, "--dir", &place].into_iter().chain([
            "--save",
            "",
            "--appendonly",
            "no",
            "--daemonize",
            "no",
        ]);
        let arguments = fixed.chain(arguments.iter().copied()).map(str::to_owned).collect();
        let log = folder.path().join("log");
        let program =
            Program { path, arguments, environment: Vec::new(), user: None, log, orphan_signal: "KILL" };
        let mut server = Self { process: None, program, port, _folder: folder };
        server.launch()?;
        Ok(server)
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port())
    }

    /// Its port of 127.0.0.1; it keeps it through restarts.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Its process id; `None` while it is down.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Kills the server (SIGKILL).
    ///
    /// # Errors
    /// When its end can't be waited for.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.process.take().map_or(Ok(()), |mut process| process.kill().map(drop))
    }

    /// Starts the server again, empty, on the same port; one that runs is shut down first.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        if let Some(mut process) = self.process.take() {
            process.stop(Signal::TERM, STOP_WITHIN)?;
        }
        self.launch()
    }

    /// Stops the server where it is (SIGSTOP): connections stay open, and nothing is answered.
    pub fn freeze(&mut self) {
        if let Some(process) = &mut self.process {
            process.freeze();
        }
    }

    /// Lets the server go on.
    pub fn thaw(&mut self) {
        if let Some(process) = &mut self.process {
            process.thaw();
        }
    }

    fn launch(&mut self) -> anyhow::Result<()> {
        let mut process = self.program.start()?;
        let port = self.port();
        process.wait_until(|| answers(port))?;
        self.process = Some(process);
        Ok(())
    }
}

fn answers(port: u16) -> bool {
    let ask = || -> std::io::Result<[u8; 5]> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| &answer == b"+PONG")
}
