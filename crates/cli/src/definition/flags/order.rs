//! Flags of `spec.after`: what must be there before the process is started.

use model::spec::RawSpec;
use model::spec::after::{Place, RawDependency, When};

use super::parse_secs;

#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(super) struct OrderArgs {
    /// Start it only after this process is ready; may be given several times, and replaces the list of before. More behind
    /// commas: when=ready|up|exited_ok, where=same_host|any|all, patience=DURATION, restart
    #[arg(
        long,
        value_name = "NS/NAME[,KEY=VALUE...]",
        value_parser = parse_dependency,
        help_heading = "Order"
    )]
    after: Vec<DependencyArg>,
    /// Start it without waiting for other processes
    #[arg(long, conflicts_with = "after", help_heading = "Order")]
    no_after: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct DependencyArg {
    process: String,
    when: Option<When>,
    place: Option<Place>,
    patience: Option<i64>,
    restart: Option<bool>,
}

impl OrderArgs {
    pub(super) fn apply(&self, spec: &mut RawSpec) {
        let dependency = |arg: &DependencyArg| {
            Some(RawDependency {
                process: Some(arg.process.clone()),
                when: arg.when,
                place: arg.place,
                patience: arg.patience,
                restart: arg.restart,
            })
        };
        if self.no_after || !self.after.is_empty() {
            spec.after = Some(self.after.iter().map(dependency).collect());
        }
    }
}

/// `db/postgres,when=up,where=any,patience=30s` and `db/postgres,restart`.
fn parse_dependency(text: &str) -> Result<DependencyArg, String> {
    let mut parts = text.split(',').map(str::trim);
    let mut dependency = DependencyArg {
        process: parts.next().unwrap_or_default().to_owned(),
        ..DependencyArg::default()
    };
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        match key {
            "when" => {
                let known = When::ALL.map(When::as_str);
                dependency.when = Some(When::parse(value).ok_or_else(|| one_of(key, &known))?);
            }
            "where" => {
                let known = Place::ALL.map(Place::as_str);
                dependency.place = Some(Place::parse(value).ok_or_else(|| one_of(key, &known))?);
            }
            "patience" => {
                let secs = parse_secs(value).map_err(|rule| format!("patience: {rule}"))?;
                dependency.patience = Some(secs);
            }
            "restart" => {
                dependency.restart = Some(match value {
                    "" | "true" => true,
                    "false" => false,
                    _ => return Err(one_of(key, &["true", "false"])),
                });
            }
            _ => {
                return Err(format!(
                    "{key:?} is unknown; there are when, where, patience, restart"
                ));
            }
        }
    }
    Ok(dependency)
}

fn one_of(key: &str, known: &[&str]) -> String {
    format!("{key}: must be one of {}", known.join(", "))
}
