//! Refuses what is declared twice.

use model::FullName;

use super::{Declared, DeclaredHosts, DeclaredProcess, DeclaredWebhook, Place};
use crate::failure::Failure;

/// What can be seen to stand twice before the server is asked: the same process on the same host, the same template.
pub(super) fn refuse(all: &Declared) -> Result<(), Failure> {
    let mut seen: Vec<(&FullName, &DeclaredProcess)> = Vec::new();
    for one in &all.processes {
        for (_, other) in seen.iter().filter(|(name, _)| **name == one.name) {
            if overlap(&one.hosts, &other.hosts) {
                return Err(twice(
                    &format!("process {}", one.name),
                    &one.place,
                    &other.place,
                ));
            }
        }
        seen.push((&one.name, one));
    }
    for (index, one) in all.templates.iter().enumerate() {
        let mut before = all.templates[..index].iter();
        if let Some(other) =
            before.find(|other| other.name == one.name && other.business == one.business)
        {
            return Err(twice(
                &format!("template {}", one.name),
                &one.place,
                &other.place,
            ));
        }
    }
    for (index, one) in all.webhooks.iter().enumerate() {
        let same = |other: &&DeclaredWebhook| {
            (&other.url, &other.namespaces, &other.kinds, &other.label)
                == (&one.url, &one.namespaces, &one.kinds, &one.label)
        };
        if let Some(other) = all.webhooks[..index].iter().find(same) {
            return Err(twice(
                &format!("webhook {}", one.url),
                &one.place,
                &other.place,
            ));
        }
    }
    Ok(())
}

pub(super) fn twice(what: &str, place: &Place, other: &Place) -> Failure {
    Failure::usage(format!(
        "{place}: {what} is declared twice; also at {other}"
    ))
}

fn overlap(one: &DeclaredHosts, other: &DeclaredHosts) -> bool {
    match (one, other) {
        (DeclaredHosts::Listed(one), DeclaredHosts::Listed(other)) => {
            one.iter().any(|host| other.contains(host))
        }
        (one, other) => one == other,
    }
}
