//! The extraction's child alone, for tests. `nightforge` has the same as a hidden verb.

use std::process::ExitCode;

fn main() -> ExitCode {
    nightforge_sources::extract_main()
}
