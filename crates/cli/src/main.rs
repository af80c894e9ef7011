//! `muster`: the whole of Muster in one binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
