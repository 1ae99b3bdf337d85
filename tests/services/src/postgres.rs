//! A private PostgreSQL server.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Signal, geteuid};
use tempfile::TempDir;

use crate::port::Port;
use crate::process::{Process, Program};
use crate::programs;

/// Every test's process has a pool or two of ten connections.
const MAX_CONNECTIONS: &str = "400";

/// In the server's folder.
const CERTIFICATE: &str = "certificate.pem";

/// How long a shutdown may take before it is a kill.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// A PostgreSQL server with an empty database `postgres` and the superuser `postgres`, without a password.
///
/// Its writes are not flushed to the disk (`fsync=off`), for speed: they survive every end of its processes, not one
/// of the machine. It has no Unix socket. Its default collation is a language's, not the bytes' order, as on most
/// servers.
pub struct Postgres {
    process: Option<Process>,
    program: Program,
    port: Port,
    data: PathBuf,
    folder: TempDir,
}

impl Postgres {
    /// Makes a server and starts it.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not start.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_with(&[])
    }

    /// Like [`Postgres::start`], with settings such as `"ssl=on"`.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not start.
    pub fn start_with(settings: &[&str]) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("nightforge-postgres-").tempdir()?;
        let user = own(&folder)?;
        Self::make(folder, user, settings)
    }

    /// Like [`Postgres::start`], with TLS; the certificate, for `localhost`, is signed by itself.
    ///
    /// # Errors
    /// When PostgreSQL or openssl is not installed, or does not start.
    pub fn start_with_tls() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("nightforge-postgres-").tempdir()?;
        let user = own(&folder)?;
        let (certificate, key) = (folder.path().join(CERTIFICATE), folder.path().join("key.pem"));
        let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
        let arguments =
            ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
                .into_iter()
                .chain([
                    "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-addext",
                    "basicConstraints=critical,CA:FALSE",
                    "-out",
                    &certificate,
                    "-keyout",
                    &key,
                ]);
        let path = programs::on_path("openssl", "openssl")?;
        program(path, arguments, user, &folder).run().context("the certificate can't be made")?;
        let settings = [format!("ssl_cert_file={certificate}"), format!("ssl_key_file={key}")];
        Self::make(folder, user, &["ssl=on", &settings[0], &settings[1]])
    }

    fn make(folder: TempDir, user: Option<(u32, u32)>, settings: &[&str]) -> anyhow::Result<Self> {
        let (initdb, postgres) = (programs::postgres("initdb")?, programs::postgres("postgres")?);
        let data = folder.path().join("data");
        let place = data.display().to_string();
        let arguments =
            ["--pgdata", &place, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"]
                .into_iter()
                .chain(["--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US"]);
        let made = program(initdb, arguments, user, &folder).run();
        made.context("the PostgreSQL database can't be made")?;
        let port = Port::reserve()?;
        let (number, max_connections) =
            (port.number().to_string(), format!("max_connections={MAX_CONNECTIONS}"));
        let fixed = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", &max_connections];
        let settings = fixed.iter().chain(settings).flat_map(|setting| ["-c", setting]);
        let arguments = ["-D", &place, "-p", &number].into_iter().chain(settings);
        let program = program(postgres, arguments, user, &folder);
        let mut server = Self { process: None, program, port, data, folder };
        server.launch()?;
        Ok(server)
    }

    /// The address of its database, without parameters.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port())
    }

    /// Its port of 127.0.0.1; it keeps it through restarts.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The process id of the server's parent process; `None` while it is down.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// The folder of its data.
    pub fn data(&self) -> &std::path::Path {
        &self.data
    }

    /// The certificate of [`Postgres::start_with_tls`].
    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join(CERTIFICATE)
    }

    /// Kills every process of the server at once (SIGKILL). What was committed is there after [`Postgres::restart`].
    ///
    /// # Errors
    /// When its end can't be waited for, or its shared memory can't be given back.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        let lock_file = fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
        process.kill()?;
        remove_shared_memory(&lock_file)
    }

    /// Starts the server again, on the same data and port; one that runs is shut down first, which ends its
    /// connections.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.stop(Signal::INT)?;
        self.launch()
    }

    /// Stops every process of the server where it is (SIGSTOP): connections stay open, and nothing is answered.
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

    fn stop(&mut self, signal: Signal) -> anyhow::Result<()> {
        self.process.take().map_or(Ok(()), |mut process| process.stop(signal, STOP_WITHIN).map(drop))
    }

    fn launch(&mut self) -> anyhow::Result<()> {
        let mut process = self.program.start()?;
        let port = self.port();
        process.wait_until(|| takes_connections(port))?;
        self.process = Some(process);
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Immediate shutdown, which gives its shared memory back.
        if self.stop(Signal::QUIT).is_err() {
            let _nothing_to_be_done = self.kill();
        }
    }
}

/// One of the server's programs, in the server's folder.
fn program<'a>(
    path: PathBuf,
    arguments: impl IntoIterator<Item = &'a str>,
    user: Option<(u32, u32)>,
    folder: &TempDir,
) -> Program {
    let arguments = arguments.into_iter().map(str::to_owned).collect();
    let log = folder.path().join("log");
    // QUIT is an immediate shutdown: the server gives its shared memory back, and ends its children.
    Program { path, arguments, environment: Vec::new(), user, log, orphan_signal: "QUIT" }
}

/// A small segment of shared memory outlives a server that is killed; its id stands in the server's lock file, in
/// line 7 behind its key.
fn remove_shared_memory(lock_file: &str) -> anyhow::Result<()> {
    let id = lock_file.lines().nth(6).and_then(|line| line.split_whitespace().last());
    let Some(id) = id else { return Ok(()) };
    let ipcrm = programs::on_path("ipcrm", "util-linux")?;
    #[expect(clippy::disallowed_methods, reason = "this module cleans up after a service of tests")]
    std::process::Command::new(ipcrm).args(["--shmem-id", id]).status()?;
    Ok(())
}

/// PostgreSQL refuses to run as root: root gives the folder to the user of the Debian package, or to nobody.
fn own(folder: &TempDir) -> anyhow::Result<Option<(u32, u32)>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    for name in ["postgres", "nobody"] {
        let line = users.lines().find(|line| line.split(':').next() == Some(name));
        let Some(line) = line else { continue };
        let ids: Vec<u32> = line.split(':').skip(2).take(2).flat_map(str::parse).collect();
        if let [user, group] = ids[..] {
            chown(folder.path(), Some(user), Some(group))?;
            return Ok(Some((user, group)));
        }
    }
    anyhow::bail!("PostgreSQL can't run as root, and there is no user `postgres` or `nobody`")
}

/// Whether the server lets somebody in: the first message after the greeting is `R`, an answer to the login, and
/// not the error that it is still starting.
fn takes_connections(port: u16) -> bool {
    let greeting = b"\0\0\0\x29\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    let ask = || -> std::io::Result<u8> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(greeting)?;
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        Ok(kind[0])
    };
    ask().is_ok_and(|kind| kind == b'R')
}
