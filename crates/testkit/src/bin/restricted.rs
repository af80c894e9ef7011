//! `restricted old-kernel PROGRAM ARGUMENTS…`: becomes the program without the system calls of newer kernels; see
//! `testkit::restricted`.

#![allow(clippy::print_stderr, reason = "a program for the terminal")]

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use testkit::restricted::Restriction;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let restriction = args.next().and_then(|name| name.into_string().ok());
    let (Some(restriction), Some(program)) = (restriction, args.next()) else {
        let names = Restriction::ALL.map(Restriction::name).join("|");
        eprintln!("usage: restricted {names} PROGRAM [ARGUMENT…]");
        return ExitCode::from(2);
    };
    let applied = restriction
        .parse::<Restriction>()
        .and_then(|restriction| restriction.apply().map_err(|error| error.to_string()));
    let failed = match applied {
        Ok(()) => Command::new(&program).args(args).exec().to_string(),
        Err(why) => why,
    };
    eprintln!("restricted: {}: {failed}", program.display());
    ExitCode::from(2)
}
