//! The command line.

use std::fmt;

use clap::{Parser, ValueEnum};

/// Measures Nightforge beside bare baselines, against limits.
#[derive(Debug, Parser)]
#[command(name = "nightforge-bench")]
pub(crate) struct Arguments {
    /// A short form that only proves that everything runs; no limit counts, and `demo` is left out unless named
    #[arg(long)]
    quick: bool,
    /// Only this benchmark; can be given several times
    #[arg(long, value_enum, value_name = "NAME")]
    only: Vec<Bench>,
    /// How the figures are printed
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
    /// This process is the program that idle roles are compared with
    #[arg(long, hide = true)]
    pub(crate) idle_baseline: bool,
}

/// What can be measured, in the order of measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bench {
    /// Transitions per second on both databases
    Transitions,
    /// How long a model server's slot stands free between two calls while work waits
    SlotGap,
    /// What the engine adds to an agent run of a research task
    AgentRuns,
    /// What processes use that have nothing to do
    Idle,
    /// From the ring of a bell to its arrival
    Bells,
    /// Objectives accepted per second over HTTP
    Submit,
    /// A folder of documents: how fast it is indexed, looked at again, searched
    Corpus,
    /// A whole build with the scripted model
    Demo,
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Enough for a judgement.
    Full,
    /// As little as proves that it runs.
    Quick,
}

/// How the figures are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
}

impl Arguments {
    pub(crate) fn form(&self) -> Form {
        if self.quick { Form::Quick } else { Form::Full }
    }

    /// What is to be measured: everything unless it was chosen. The quick form leaves the whole build to the tests.
    pub(crate) fn chosen(&self) -> Vec<Bench> {
        let all = Bench::value_variants().iter().copied();
        if self.only.is_empty() {
            return all.filter(|bench| !self.quick || *bench != Bench::Demo).collect();
        }
        all.filter(|bench| self.only.contains(bench)).collect()
    }
}

impl Bench {
    /// Whether it starts the product's executable.
    pub(crate) fn needs_the_executable(self) -> bool {
        matches!(self, Bench::Idle | Bench::Demo)
    }
}

impl fmt::Display for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no benchmark is hidden");
        f.write_str(value.get_name())
    }
}

impl Form {
    /// One of two amounts.
    pub(crate) fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Form::Full => full,
            Form::Quick => quick,
        }
    }
}
