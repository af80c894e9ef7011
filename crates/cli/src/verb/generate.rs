//! `muster generate`: the files of a package that are made from the command lines: man pages and completions of `muster` and of
//! `muster-agent`, whose own binary stays small without the code for it. `cargo xtask package` calls it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_complete::aot::{Shell, generate_to};
use clap_complete::env::Shells;
use clap_mangen::Man;
use serde_json::json;

use super::Context;
use crate::args::Cli;
use crate::completion::VARIABLE;
use crate::failure::{Exit, Failure, Kind};

pub const EXAMPLES: &str = "\
Examples:
  muster generate ./files        man1/ and man8/, bash/, zsh/ and fish/ below ./files

Existing files are overwritten.";

/// What a page says below its options: wrapped like the text on a terminal.
const WIDTH: usize = 100;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder to write into
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let folder = &args.folder;
    let n_files = write_all(folder).map_err(|error| {
        let folder = folder.display();
        Failure::new(
            Kind::Failed,
            format!("cannot write below {folder}: {error}"),
        )
    })?;
    match context.out.is_document() {
        true => context
            .out
            .document(&json!({"folder": folder, "files": n_files}))?,
        false => context
            .out
            .text(&format!("{n_files} files below {}\n", folder.display()))?,
    }
    Ok(Exit::Ok)
}

/// Returns how many files there are.
fn write_all(folder: &Path) -> io::Result<usize> {
    let muster = Cli::command().term_width(WIDTH).max_term_width(WIDTH);
    let agent = agent::command_line::CommandLine::command().term_width(WIDTH);
    let mut n_files = Pages::new(&folder.join("man1"), "1")?.write(muster, "muster")?;
    n_files += Pages::new(&folder.join("man8"), "8")?.write(agent.clone(), "muster-agent")?;
    let shells = [
        (Shell::Bash, "bash", "muster", "muster-agent"),
        (Shell::Zsh, "zsh", "_muster", "_muster-agent"),
        (Shell::Fish, "fish", "muster.fish", "muster-agent.fish"),
    ];
    for (shell, name, ours, agents) in shells {
        let below = folder.join(name);
        std::fs::create_dir_all(&below)?;
        // Completes names of processes and hosts, too: the shell asks `muster`.
        let mut script = Vec::new();
        let builtins = Shells::builtins();
        let completer = builtins
            .completer(name)
            .ok_or_else(|| io::Error::other(format!("no dynamic completions for {name}")))?;
        completer.write_registration(VARIABLE, "muster", "muster", "muster", &mut script)?;
        std::fs::write(below.join(ours), script)?;
        let written = generate_to(shell, &mut agent.clone(), "muster-agent", &below)?;
        std::fs::rename(written, below.join(agents))?;
        n_files += 2;
    }
    Ok(n_files)
}

/// The man pages of a command and of everything below it.
struct Pages {
    folder: PathBuf,
    section: &'static str,
}

impl Pages {
    fn new(folder: &Path, section: &'static str) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            section,
        })
    }

    /// `name` is that of the page: `muster-job-create`.
    fn write(&self, mut command: Command, name: &str) -> io::Result<usize> {
        command.build();
        self.write_built(command, name, true)
    }

    fn write_built(&self, command: Command, name: &str, is_root: bool) -> io::Result<usize> {
        // The page of the program describes flags of every verb once.
        let command = match is_root {
            true => command,
            false => without_shared_flags(command),
        };
        let path = self.folder.join(format!("{name}.{}", self.section));
        std::fs::write(path, self.page(&command, name)?)?;
        let mut n_files = 1;
        for below in command.get_subcommands() {
            if below.get_name() != "help" && !below.is_hide_set() {
                let name = format!("{name}-{}", below.get_name());
                n_files += self.write_built(below.clone(), &name, false)?;
            }
        }
        Ok(n_files)
    }

    fn page(&self, command: &Command, name: &str) -> io::Result<Vec<u8>> {
        let version = concat!("Muster ", env!("CARGO_PKG_VERSION"));
        let extra = command.get_after_help().map(ToString::to_string);
        // The name in the heading and in NAME is that of the page, by which `man` finds it.
        let named = command.clone().display_name(name);
        let man = Man::new(named)
            .title(name.to_uppercase())
            .section(self.section)
            .source(version)
            .manual("Muster")
            .date("");
        let mut page = Vec::new();
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        if command.get_arguments().any(|arg| !arg.is_hide_set()) {
            man.render_options_section(&mut page)?;
        }
        if command.get_subcommands().any(|below| !below.is_hide_set()) {
            man.render_subcommands_section(&mut page)?;
        }
        if let Some(extra) = extra {
            write_as_it_is(&mut page, &extra)?;
        }
        Ok(page)
    }
}

/// Hides what the help of every verb repeats: global flags, `--help`, `--version`.
pub fn without_shared_flags(mut command: Command) -> Command {
    let shared: Vec<clap::Id> = command
        .get_arguments()
        .filter(|arg| arg.is_global_set() || ["help", "version"].contains(&arg.get_id().as_str()))
        .map(|arg| arg.get_id().clone())
        .collect();
    for id in shared {
        command = command.mut_arg(id, |arg| arg.hide(true));
    }
    command
}

/// Examples are tables of commands: `man` must not fill their lines.
fn write_as_it_is(page: &mut Vec<u8>, text: &str) -> io::Result<()> {
    writeln!(page, ".SH NOTES\n.nf")?;
    for line in text.lines() {
        let line = line.trim_end().replace('\\', "\\e").replace('-', "\\-");
        // A line that begins with a dot or an apostrophe is a request.
        let guard = match line.starts_with(['.', '\'']) {
            true => "\\&",
            false => "",
        };
        writeln!(page, "{guard}{line}")?;
    }
    writeln!(page, ".fi")
}
