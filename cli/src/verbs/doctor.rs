//! `doctor`: what the roles need, and whether it is there.

use crate::args::Doctor;
use crate::config;
use crate::doctor::{Verdict, examine};
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output, table};

pub(super) async fn run(args: Doctor) -> Result<Exit, Failure> {
    let output = Output::new(args.output.output);
    let settings = config::load(&args.settings, None)?;
    let findings = examine(&settings).await;
    match output.format {
        Format::Table => {
            let rows: Vec<Vec<String>> = findings
                .iter()
                .map(|finding| {
                    vec![finding.verdict.as_str().to_owned(), finding.name.clone(), finding.message.clone()]
                })
                .collect();
            output.text(&table(&["", "WHAT", "FOUND"], &rows))?;
        }
        Format::Json => output.json(&findings)?,
        Format::Jsonl => {
            for finding in &findings {
                output.json_line(finding)?;
            }
        }
    }
    let worst = findings.iter().map(|finding| finding.verdict).max();
    Ok(if worst == Some(Verdict::Wrong) { Exit::Failed } else { Exit::Done })
}
