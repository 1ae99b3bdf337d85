//! `completions`: a script that completes verbs and flags in a shell.

use clap::CommandFactory;

use crate::args::{Arguments, Completions, Shell};
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};

pub(super) fn run(args: &Completions) -> Result<Exit, Failure> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "nightforge", &mut script);
    Output::new(Format::Table).text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
