//! The hosts that a body names: `"0:10.0.0.1"`, `"10.0.0.1"`, `{"ip", "cloud_id"}`, `{"agent_id"}`; or all of them.

use control::{Control, ControlError, HostSelector, TargetHost};
use model::{AgentId, FullName, Host, Invalid};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};

use crate::http::json::Scalar;

/// One host as a caller of the native API names it.
#[derive(Debug, Clone)]
pub(crate) enum HostRef {
    Text(String),
    Parts(HostParts),
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HostParts {
    ip: Scalar,
    cloud_id: Scalar,
    agent_id: Scalar,
}

impl<'de> Deserialize<'de> for HostRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RefVisitor;

        impl<'de> Visitor<'de> for RefVisitor {
            type Value = HostRef;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"CLOUD:IP\", or an object with ip and cloud_id, or with agent_id")
            }

            fn visit_str<E>(self, text: &str) -> Result<HostRef, E> {
                Ok(HostRef::Text(text.trim().to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HostRef, A::Error> {
                HostParts::deserialize(MapAccessDeserializer::new(map)).map(HostRef::Parts)
            }
        }

        deserializer.deserialize_any(RefVisitor)
    }
}

impl HostRef {
    pub(crate) fn asked(&self) -> TargetHost {
        match self {
            Self::Text(text) => TargetHost {
                key_prefix: text.as_str().into(),
                place: text
                    .parse()
                    .map_or_else(HostSelector::Bad, HostSelector::Host),
            },
            Self::Parts(parts) if parts.ip.is_empty() && !parts.agent_id.is_empty() => {
                let id = parts.agent_id.to_text();
                TargetHost {
                    key_prefix: (&*id).into(),
                    place: AgentId::parse(&id).map_or_else(HostSelector::Bad, HostSelector::Agent),
                }
            }
            Self::Parts(parts) => {
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
}

/// Either the hosts that are named, or every host where the process is registered.
pub(crate) fn asked(
    hosts: Option<&[HostRef]>,
    all: bool,
) -> Result<Option<Vec<TargetHost>>, Invalid> {
    match (hosts, all) {
        (Some(_), true) => Err(Invalid::new("hosts", "must not be given beside all")),
        (None, true) => Ok(None),
        (None, false) => Err(Invalid::new("hosts", "is required, or all")),
        (Some([]), false) => Err(Invalid::new("hosts", "must not be empty")),
        (Some(hosts), false) => Ok(Some(hosts.iter().map(HostRef::asked).collect())),
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
            .map(HostRef::asked)
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
    fn a_host_of_another_type_names_its_place() {
        let error = json::read::<Sample>(br#"{"hosts":["10.0.0.1",5]}"#).unwrap_err();
        assert_eq!(error.field, "hosts[1]");
    }
}
