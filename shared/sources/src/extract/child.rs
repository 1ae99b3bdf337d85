//! The child's side: limits first, then one order, one answer.

use std::io::{self, BufRead, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use robotstxt::DefaultMatcher;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::wire::{Extracted, Order, Reply, Task};
use super::{ADDRESS_SPACE_BYTES, AGENT, CPU_SECONDS, charset, html, pdf, text};

/// The entry of the child process; called before any runtime or thread starts. Reads its order from standard
/// input and answers on standard output; fails only where there is nobody to answer.
pub fn extract_main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody reads this but a person who started the verb by hand.
            eprintln!("this verb reads one document for the page reader, on its standard input: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    limit_myself()?;
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let order: Order = serde_json::from_slice(&line)?;
    // All at once, so that a document over the memory limit ends here and not after seconds of growing.
    let mut bytes = Vec::with_capacity(order.length);
    input.read_to_end(&mut bytes)?;
    if bytes.len() != order.length {
        return Err(io::Error::other(format!("{} of {} bytes came", bytes.len(), order.length)));
    }
    // A panic of a parser is an answer like any other, and nobody reads its backtrace.
    panic::set_hook(Box::new(|_| {}));
    let reply = panic::catch_unwind(AssertUnwindSafe(|| answer(&order.task, &bytes)))
        .unwrap_or_else(|_| Reply::Unreadable { reason: "its parser failed on it".to_owned() });
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &reply)?;
    output.flush()
}

/// No other program, no file, no core dump; as much memory and time as a page may cost.
fn limit_myself() -> io::Result<()> {
    let limits = [
        (Resource::As, ADDRESS_SPACE_BYTES),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 3),
        (Resource::Nproc, 0),
    ];
    for (resource, most) in limits {
        let most = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

fn answer(task: &Task, bytes: &[u8]) -> Reply {
    match task {
        Task::Text { media_type, charset, url, is_page } => {
            let extracted = extracted(media_type, charset.as_deref(), url, bytes);
            let reply = extracted.and_then(|extracted| worth_reading(extracted, *is_page));
            reply.map_or_else(|reason| Reply::Unreadable { reason }, Reply::Text)
        }
        Task::Robots { url } => {
            let rules = String::from_utf8_lossy(bytes);
            let allowed = DefaultMatcher::default().one_agent_allowed_by_robots(&rules, AGENT, url);
            Reply::Permission { allowed }
        }
    }
}

fn extracted(media_type: &str, charset: Option<&str>, url: &str, bytes: &[u8]) -> Result<Extracted, String> {
    let is_html = matches!(media_type, "text/html" | "application/xhtml+xml");
    let mut extracted = if media_type == "application/pdf" {
        pdf::read(bytes)?
    } else {
        let characters = charset::decode(bytes, charset, is_html);
        if text::is_garbage(&characters) {
            return Err("it is a binary file that calls itself text".to_owned());
        }
        match media_type {
            _ if is_html => html::read(&characters, url),
            "text/markdown" => Extracted { title: heading(&characters), text: characters, published: None },
            _ => Extracted { text: characters, ..Extracted::default() },
        }
    };
    if text::is_garbage(&extracted.text) {
        return Err("what came out of it is not text".to_owned());
    }
    text::clip(&mut extracted.text, text::MAX_TEXT_BYTES);
    extracted.title = extracted.title.and_then(|title| text::one_line(&title, 300));
    extracted.published = extracted.published.and_then(|date| text::one_line(&date, 64));
    Ok(extracted)
}

/// A page of a few words is a notice or a wall; a note of one's own may be short.
fn worth_reading(extracted: Extracted, is_page: bool) -> Result<Extracted, String> {
    let reason = match is_page {
        true => text::too_little(&extracted.text),
        false => extracted.text.trim().is_empty().then(|| "no text came out of it".to_owned()),
    };
    reason.map_or(Ok(extracted), Err)
}

/// The first heading of a markdown text.
fn heading(markdown: &str) -> Option<String> {
    markdown.lines().find_map(|line| line.strip_prefix("# ")).map(str::to_owned)
}
