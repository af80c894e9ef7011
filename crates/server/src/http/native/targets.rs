//! The hosts that a body names, or every host where a process is registered.

use api::{HostRef, Scalar};
use control::{Control, ControlError, HostSelector, TargetHost};
use model::{AgentId, FullName, Host, Invalid};

/// The host that a caller names; one that cannot be read gets a result of its own.
pub(crate) fn parse_host(host: &HostRef) -> TargetHost {
    match host {
        HostRef::Text(text) => TargetHost {
            key_prefix: text.as_str().into(),
            place: text
                .parse()
                .map_or_else(HostSelector::Bad, HostSelector::Host),
        },
        HostRef::Parts(parts) if parts.ip.is_empty() && !parts.agent_id.is_empty() => {
            let id = parts.agent_id.to_text();
            TargetHost {
                key_prefix: (&*id).into(),
                place: AgentId::parse(&id).map_or_else(HostSelector::Bad, HostSelector::Agent),
            }
        }
        HostRef::Parts(parts) => {
            let cloud = match &parts.cloud_id {
                Scalar::Absent => Some(0),
                given => given.to_int(),
            };
            let ip = parts.ip.to_text();
            let host = cloud
                .ok_or_else(|| Invalid::new("cloud_id", "must be a whole number"))
                .and_then(|cloud| Host::parse(cloud, &ip));
            let prefix = match (&host, cloud) {
                (Ok(host), _) => host.to_string(),
                (Err(_), Some(cloud)) => format!("{cloud}:{ip}"),
                (Err(_), None) => format!("{}:{ip}", parts.cloud_id.to_text()),
            };
            TargetHost {
                key_prefix: prefix.into(),
                place: host.map_or_else(HostSelector::Bad, HostSelector::Host),
            }
        }
    }
}

/// The hosts that a request names; none for every host where the process is registered.
pub(crate) fn named(
    hosts: Option<&[HostRef]>,
    all: bool,
) -> Result<Option<Vec<TargetHost>>, Invalid> {
    match (hosts, all) {
        (Some(_), true) => Err(Invalid::new("hosts", "must not be given together with all")),
        (None, true) => Ok(None),
        (None, false) => Err(Invalid::new("hosts", "is required, unless all is true")),
        (Some([]), false) => Err(Invalid::new("hosts", "must not be empty")),
        (Some(hosts), false) => Ok(Some(hosts.iter().map(parse_host).collect())),
    }
}

/// Every host where the process is registered; an error when there is none.
pub(crate) fn everywhere(
    control: &Control,
    name: &FullName,
) -> Result<Vec<TargetHost>, ControlError> {
    let hosts = control.registry().hosts_of(name)?.into_iter();
    let asked = hosts.map(|host| TargetHost {
        key_prefix: host.to_string().into(),
        place: HostSelector::Host(host),
    });
    Ok(asked.collect())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::http::json;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Sample {
        hosts: Vec<HostRef>,
    }

    #[test]
    fn hosts_come_in_every_form() {
        let sample: Sample = json::read(
            br#"{"hosts":["0:10.0.0.1","10.0.0.2",{"ip":"10.0.0.3","cloud_id":7},{"agent_id":"a1"},{"ip":"::1"},
                "x",{"ip":"y"},{"ip":"10.0.0.1","cloud_id":"z"}]}"#,
        )
        .unwrap();
        let read: Vec<(String, String)> = sample
            .hosts
            .iter()
            .map(parse_host)
            .map(|asked| {
                let place = match asked.place {
                    HostSelector::Host(host) => host.to_string(),
                    HostSelector::Agent(agent) => format!("agent {agent}"),
                    HostSelector::Bad(invalid) => format!("bad {}", invalid.field),
                };
                (asked.key_prefix.into(), place)
            })
            .collect();
        let read: Vec<(&str, &str)> = read.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(
            read,
            [
                ("0:10.0.0.1", "0:10.0.0.1"),
                ("10.0.0.2", "0:10.0.0.2"),
                ("7:10.0.0.3", "7:10.0.0.3"),
                ("a1", "agent a1"),
                ("0:::1", "0:::1"),
                ("x", "bad host"),
                ("0:y", "bad ip"),
                ("z:10.0.0.1", "bad cloud_id"),
            ]
        );
    }

    #[test]
    fn a_host_of_a_wrong_type_is_named() {
        let error = json::read::<Sample>(br#"{"hosts":["10.0.0.1",5]}"#).unwrap_err();
        assert_eq!(error.field, "hosts[1]");
    }

    /// Else this would be a host of cloud area 0.
    #[test]
    fn a_misspelt_cloud_area_is_refused() {
        let body = br#"{"hosts":[{"ip":"10.0.0.1","bk_cloud_id":3}]}"#;
        let error = json::read::<Sample>(body).unwrap_err();
        assert_eq!(error.field, "hosts[0].bk_cloud_id");
    }
}
