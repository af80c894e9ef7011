//! `muster edit`: changes a registered definition in an editor.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::FullName;
use similar::TextDiff;

use super::register::Described;
use super::{Context, environment, export, update};
use crate::client::Client;
use crate::colors::Style;
use crate::definition::{self, Exported};
use crate::failure::{Exit, Failure, Kind};
use crate::out::Out;
use crate::target::{HostArgs, parse_host};

pub const EXAMPLES: &str = "\
Examples:
  muster edit web/nginx
  EDITOR='code --wait' muster edit web/nginx
  muster edit web/nginx --host 10.0.0.1      the definition of that host, where they differ

Opens what muster export writes in $VISUAL, $EDITOR or vi, shows the difference, and updates what
was changed. A text that is wrong is opened again with the reason on top; a text that cannot be
taken at last is kept in a file, which the command names. Nothing is changed then.";

/// Begins the lines that this program writes on top of the text.
const REMARK: &str = "#: ";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process
    #[arg(value_name = "NAMESPACE/NAME")]
    name: FullName,
    #[command(flatten)]
    hosts: HostArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let hosts = args.hosts.read()?;
    let hosts = (!hosts.is_empty()).then_some(hosts);
    let client = context.client()?;
    let read = |client: &Client| export::definitions(client, &args.name, hosts.as_deref());
    let before = read(&client)?;
    if before.is_empty() {
        let what = format!("{} is not registered there", args.name);
        return Err(Failure::new(Kind::NotFound, what)
            .advise(format!("muster status {} shows where it is", args.name)));
    }
    let text = definition::to_text(&before)?;
    let file = EditedFile::create(&args.name)?;
    let Some((edited, after)) = edit(&file, &text, &before)? else {
        file.remove();
        context.out.success("unchanged")?;
        return Ok(Exit::Ok);
    };
    let changed: Vec<Exported> = after
        .into_iter()
        .filter(|one| !before.contains(one))
        .collect();
    if changed.is_empty() {
        file.remove();
        context.out.success("unchanged")?;
        return Ok(Exit::Ok);
    }
    show(&context.out, &text, &edited)?;
    let sent = read(&client).and_then(|now| match now == before {
        true => send(context, &client, changed),
        false => Err(Failure::new(
            Kind::Failed,
            format!("{} was changed by another meanwhile", args.name),
        )),
    });
    match sent {
        Ok(Exit::Ok) => {
            file.remove();
            Ok(Exit::Ok)
        }
        Ok(other) => {
            context.out.note(file.advice());
            Ok(other)
        }
        Err(failure) => {
            let what = failure.to_string();
            Err(Failure::new(failure.kind, what).advise(file.advice()))
        }
    }
}

fn send(context: &Context, client: &Client, changed: Vec<Exported>) -> Result<Exit, Failure> {
    let updates = changed.into_iter().map(|one| {
        let hosts = one.hosts.iter().map(|host| parse_host(host));
        Ok(Described {
            name: one.name,
            hosts: hosts.collect::<Result<_, Failure>>()?,
            labels: one.labels,
            spec: one.spec,
        })
    });
    update::send(context, client, updates.collect::<Result<_, Failure>>()?)
}

/// Equal lines that are shown around a change.
const CONTEXT: usize = 2;

/// Shows how two texts differ, line by line.
pub(super) fn show(out: &Out, before: &str, after: &str) -> Result<(), Failure> {
    let diff = TextDiff::from_lines(before, after);
    let diff = diff.unified_diff().context_radius(CONTEXT).to_string();
    for line in diff.lines() {
        let style = match line.chars().next() {
            Some('+') => Style::Good,
            Some('-') => Style::Bad,
            _ => Style::Dim,
        };
        match out.is_document() {
            true => out.note(line),
            false => out.line(out.paint(style, line))?,
        }
    }
    Ok(())
}

/// Opens the editor until its text is right; none where the text stays as it was.
fn edit(
    file: &EditedFile,
    before: &str,
    registered: &[Exported],
) -> Result<Option<(String, Vec<Exported>)>, Failure> {
    let mut text = before.to_owned();
    let mut refusal: Option<Failure> = None;
    loop {
        file.write(&text, refusal.as_ref())?;
        if let Err(failure) = run_editor(&file.path) {
            return Err(match file.read().is_ok_and(|now| now == before) {
                true => {
                    file.remove();
                    failure
                }
                false => failure.advise(file.advice()),
            });
        }
        let edited = file.read()?;
        if edited == before {
            return Ok(None);
        }
        if let Some(refusal) = refusal.filter(|_| edited == text) {
            // Opened again and left as it was: the user gives up.
            return Err(Failure::usage(refusal.to_string()).advise(file.advice()));
        }
        match check(&edited, registered) {
            Ok(after) => return Ok(Some((edited, after))),
            Err(failure) => refusal = Some(failure),
        }
        text = edited;
    }
}

/// Reads the text. A process cannot be renamed here, and no host can be left out.
fn check(text: &str, registered: &[Exported]) -> Result<Vec<Exported>, Failure> {
    let after = definition::from_text(text)?;
    let name = registered.first().map(|one| &one.name);
    if let Some(other) = after.iter().find(|one| Some(&one.name) != name) {
        return Err(Failure::usage(format!(
            "{}: edit changes a definition and not its name",
            other.name
        )));
    }
    let mut hosts: Vec<&String> = after.iter().flat_map(|one| &one.hosts).collect();
    hosts.sort();
    if let Some(twice) = hosts.windows(2).find(|two| two[0] == two[1]) {
        return Err(Failure::usage(format!("hosts: {} stands twice", twice[0])));
    }
    let mut before = registered.iter().flat_map(|one| &one.hosts);
    if let Some(missing) = before.find(|host| !hosts.contains(host)) {
        return Err(Failure::usage(format!(
            "hosts: {missing} is missing: edit forgets nothing; muster rm --host {missing} does"
        )));
    }
    Ok(after)
}

fn run_editor(file: &Path) -> Result<(), Failure> {
    let given = ["VISUAL", "EDITOR"]
        .iter()
        .filter_map(|name| environment(name));
    let editor = given
        .into_iter()
        .find(|editor| !editor.trim().is_empty())
        .unwrap_or_else(|| "vi".to_owned());
    // The variable may hold arguments, as the shell splits them.
    let ended = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("sh")
        .arg(file)
        .status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(
            Kind::Failed,
            format!("the editor {editor:?} ended with {status}; nothing was changed"),
        )),
        Err(e) => Err(Failure::new(
            Kind::Failed,
            format!("the editor {editor:?} cannot be started: {e}"),
        )
        .advise("set EDITOR to one that can")),
    }
}

/// The file that the editor opens. Others cannot read it: a definition may hold secrets.
struct EditedFile {
    path: PathBuf,
}

impl EditedFile {
    fn create(name: &FullName) -> Result<Self, Failure> {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = name.to_string().chars().map(plain).collect();
        let number = std::process::id();
        for attempt in 0..100 {
            let file = format!("muster-{name}-{number}-{attempt}.toml");
            let path = std::env::temp_dir().join(file);
            let created = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            match created {
                Ok(_) => return Ok(Self { path }),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Self::failed(&path, &e)),
            }
        }
        Err(Failure::new(
            Kind::Failed,
            "no file for the editor can be made",
        ))
    }

    fn failed(path: &Path, error: &std::io::Error) -> Failure {
        let what = format!("{}: cannot be written or read: {error}", path.display());
        Failure::new(Kind::Failed, what)
    }

    /// The text, with what is wrong with it on top.
    fn write(&self, text: &str, refusal: Option<&Failure>) -> Result<(), Failure> {
        let mut whole = String::new();
        if let Some(refusal) = refusal {
            let why = format!(
                "not taken: {refusal}\nleave it as it is to give up; the text is kept then"
            );
            for line in why.lines() {
                whole.push_str(&format!("{REMARK}{line}\n"));
            }
        }
        whole.push_str(text);
        let written = OpenOptions::new()
            .write(true)
            .truncate(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)
            .and_then(|mut file| file.write_all(whole.as_bytes()));
        written.map_err(|e| Self::failed(&self.path, &e))
    }

    /// What the user wrote.
    fn read(&self) -> Result<String, Failure> {
        let text = fs::read_to_string(&self.path).map_err(|e| Self::failed(&self.path, &e))?;
        let own = text.lines().filter(|line| !line.starts_with(REMARK));
        Ok(own.map(|line| format!("{line}\n")).collect())
    }

    fn remove(&self) {
        // What is left in the folder for temporary files does no harm.
        fs::remove_file(&self.path).ok();
    }

    fn advice(&self) -> String {
        let path = self.path.display();
        format!("your text is kept in {path}; muster update --file {path} sends it")
    }
}
