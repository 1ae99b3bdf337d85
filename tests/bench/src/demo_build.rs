//! A whole build with the scripted model, as a person starts it.

use std::time::Instant;

use anyhow::ensure;
use tokio::task::block_in_place;

use crate::process::nightforge;
use crate::table::Row;

/// # Errors
/// When the demo fails.
pub(crate) async fn run() -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let mut demo = nightforge(folder.path())?;
    demo.args(["demo", "--kind", "build", "-o", "json", "--data"]).arg(folder.path().join("data"));
    let started = Instant::now();
    let output = block_in_place(|| demo.output())?;
    ensure!(output.status.success(), "the demo failed: {}", String::from_utf8_lossy(&output.stderr));
    let row = Row::new("a demo build, from start to exit", "s", started.elapsed().as_secs_f64());
    Ok(vec![row.noting("the model answers at once; tests and sandbox are real")])
}
