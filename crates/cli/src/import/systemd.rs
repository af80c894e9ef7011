//! systemd: services, with their drop-ins, and timers with the service that they start.

use std::path::Path;

use super::draft::Draft;
use super::order::Source;
use super::systemd_service::ServiceReader;
use super::systemd_unit::Unit;
use super::{Imported, PidSource, Settings};
use crate::failure::Failure;

pub fn read(
    file: &str,
    text: &str,
    settings: &Settings,
    imported: &mut Imported,
) -> Result<(), Failure> {
    let name = Path::new(file).file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    if name.ends_with(".timer") {
        return timer(file, &name, text, settings, imported);
    }
    let unit = Unit::read(file, text, &mut imported.ledger);
    let beside = file.replace(".service", ".timer");
    if beside != file && Path::new(&beside).exists() {
        let note = format!("{file}: {beside} is beside it: import that to carry its schedule over");
        imported.ledger.note(note);
    }
    services(file, &name, &unit, None, settings, imported);
    Ok(())
}

/// A timer, and the service that it starts.
fn timer(
    file: &str,
    name: &str,
    text: &str,
    settings: &Settings,
    imported: &mut Imported,
) -> Result<(), Failure> {
    let timer = Unit::read(file, text, &mut imported.ledger);
    let default = name.replace(".timer", ".service");
    let service = timer.value("Timer", "Unit").unwrap_or(&default).to_owned();
    let path = Path::new(file).with_file_name(&service);
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(&path).map_err(|e| {
        Failure::usage(format!("{file}: its service {shown} cannot be read: {e}"))
            .advise("a timer is imported with its service: put both into one folder")
    })?;
    let unit = Unit::read(&shown, &text, &mut imported.ledger);
    services(&shown, &service, &unit, Some(&timer), settings, imported);
    Ok(())
}

/// One process, or one for each instance of a template.
fn services(
    file: &str,
    name: &str,
    unit: &Unit,
    timer: Option<&Unit>,
    settings: &Settings,
    imported: &mut Imported,
) {
    let stem = name.strip_suffix(".service").unwrap_or(name);
    let instances: Vec<Option<&str>> = match (stem.ends_with('@'), settings.instances.is_empty()) {
        (true, false) => settings
            .instances
            .iter()
            .map(|one| Some(one.as_str()))
            .collect(),
        (true, true) => vec![None],
        (false, _) => vec![stem.split_once('@').map(|(_, instance)| instance)],
    };
    for instance in instances {
        let whole = match (stem.ends_with('@'), instance) {
            (true, Some(instance)) => format!("{stem}{instance}"),
            _ => stem.trim_end_matches('@').to_owned(),
        };
        let Some(head) = unit.head else {
            let note = format!("{file}: has no [Service] section, so there is no process in it");
            imported.ledger.note(note);
            for setting in &unit.settings {
                imported
                    .ledger
                    .not_carried(setting.id, "there is no [Service] section");
            }
            return;
        };
        let mut reader = ServiceReader {
            unit,
            file,
            name: format!("{whole}.service"),
            instance,
            pid_file: String::new(),
            cores: settings.cores,
            ledger: &mut imported.ledger,
            orders: &mut imported.units,
        };
        let mut draft = Draft::new(whole.clone(), head, Source::new("", &reader.name));
        reader.service(&mut draft);
        if let Some(timer) = timer {
            reader.timer(&mut draft, timer);
        }
        draft.fill_in(settings, Some("root"), Some("/"), file, reader.ledger);
        let namespace = settings.namespace.as_deref().unwrap_or("imported");
        let pid = PidSource::Systemctl(format!("{whole}.service"));
        let finished = draft.finish(settings, namespace, pid, reader.ledger);
        imported.processes.extend(finished);
    }
}
