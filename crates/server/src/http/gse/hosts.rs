//! The hosts and agents of a request, and how responses echo them.

use std::borrow::Cow;
use std::collections::HashMap;

use control::{HostSelector, TargetHost};
use fleet::HostView;
use model::{AgentId, Host, Invalid};
use serde::{Deserialize, Serialize};

use super::endpoint::Keys;
use super::request::RawRequest;
use crate::http::json::Scalar;

/// One element of `hosts`, unparsed: a wrong value fails its own key only.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawHost {
    pub ip: Scalar,
    pub bk_cloud_id: Scalar,
    pub bk_supplier_id: Scalar,
    pub bk_agent_id: Scalar,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestedHost<'a> {
    Host(&'a RawHost),
    /// An element of `agent_id_list`: an agent id, or `cloud:ip`.
    Agent(&'a Scalar),
}

impl RawRequest {
    /// The hosts of the request, in its order; at least one. A host without a key of its own refuses the request.
    pub(crate) fn named(&self) -> Result<Vec<RequestedHost<'_>>, Invalid> {
        let agents = self.agent_id_list.as_deref().unwrap_or_default();
        if let Some(index) = agents.iter().position(Scalar::is_empty) {
            return Err(Invalid::required(format!("agent_id_list[{index}]")));
        }
        if !agents.is_empty() {
            return Ok(agents.iter().map(RequestedHost::Agent).collect());
        }
        for (index, host) in self.hosts.iter().flatten().enumerate() {
            let at = |error: Invalid| error.within(&format!("hosts[{index}]"));
            host.0.check().map_err(at)?;
        }
        match self.hosts.as_deref() {
            None if self.agent_id_list.is_some() => {
                Err(Invalid::new("agent_id_list", "must not be empty"))
            }
            None => Err(Invalid::required("hosts")),
            Some([]) => Err(Invalid::new("hosts", "must not be empty")),
            Some(hosts) => Ok(hosts
                .iter()
                .map(|host| RequestedHost::Host(&host.0))
                .collect()),
        }
    }

    /// `bk_supplier_id` of the hosts that have one.
    pub(crate) fn suppliers(&self) -> HashMap<Host, i64> {
        let hosts = self.hosts.iter().flatten().map(|host| &host.0);
        hosts
            .filter_map(|host| Some((host.parse().ok()?, host.bk_supplier_id.to_int()?)))
            .collect()
    }

    pub(crate) fn asked(&self, keys: Keys) -> Result<Vec<TargetHost>, Invalid> {
        let named = self.named()?;
        Ok(named.into_iter().map(|named| named.asked(keys)).collect())
    }
}

impl<'a> RequestedHost<'a> {
    pub(crate) fn asked(self, keys: Keys) -> TargetHost {
        TargetHost {
            key_prefix: self.prefix(keys).into(),
            place: self.place(),
        }
    }

    /// The part of a key before `:namespace:name`, exactly as the caller wrote it.
    pub(crate) fn prefix(self, keys: Keys) -> String {
        match self {
            Self::Agent(text) => text.to_text().into_owned(),
            Self::Host(host) if host.is_agent() => host.bk_agent_id.to_text().into_owned(),
            Self::Host(host) => {
                let (cloud, ip) = (host.bk_cloud_id.to_text(), host.ip.to_text());
                match keys {
                    Keys::V1 => format!("{cloud}:{}:{ip}", host.supplier()),
                    Keys::V2 => format!("{cloud}:{ip}"),
                }
            }
        }
    }

    pub(crate) fn place(self) -> HostSelector {
        let placed = match self {
            Self::Agent(text) => place_of(&text.to_text()),
            Self::Host(host) if host.is_agent() => {
                AgentId::parse(&host.bk_agent_id.to_text()).map(HostSelector::Agent)
            }
            Self::Host(host) => host.parse().map(HostSelector::Host),
        };
        placed.unwrap_or_else(HostSelector::Bad)
    }

    /// `host` of its row: as the caller wrote it, or the host of an agent id.
    pub(crate) fn echo(self, found: Option<&HostView<'_>>, keys: Keys) -> HostEcho<'a> {
        match self {
            Self::Host(host) if !host.is_agent() => HostEcho {
                ip: host.ip.to_text(),
                bk_cloud_id: host.bk_cloud_id.to_int().unwrap_or(UNKNOWN_CLOUD),
                bk_supplier_id: (keys == Keys::V1)
                    .then(|| host.bk_supplier_id.to_int().unwrap_or(0)),
            },
            Self::Host(_) | Self::Agent(_) => {
                let host = match (found, self.place()) {
                    (Some(view), _) => Some(view.host),
                    (None, HostSelector::Host(host)) => Some(host),
                    (None, HostSelector::Agent(_) | HostSelector::Bad(_)) => None,
                };
                HostEcho {
                    ip: host.map_or(Cow::Borrowed(""), |host| host.ip.to_string().into()),
                    bk_cloud_id: host.map_or(UNKNOWN_CLOUD, |host| host.cloud.into()),
                    bk_supplier_id: (keys == Keys::V1)
                        .then(|| found.map_or(0, |view| view.supplier)),
                }
            }
        }
    }

    /// `bk_agent_id` of its row: exactly the text of the request, if it has one.
    pub(crate) fn agent_id(self, found: Option<&HostView<'a>>) -> Cow<'a, str> {
        match self {
            Self::Agent(text) => text.to_text(),
            Self::Host(host) => match found.and_then(|view| view.agent_id) {
                Some(id) => id.as_str().into(),
                None => host.bk_agent_id.to_text(),
            },
        }
    }
}

/// The cloud area of an unknown host.
const UNKNOWN_CLOUD: i64 = -1;

#[derive(Debug, Serialize)]
pub(crate) struct HostEcho<'a> {
    pub ip: Cow<'a, str>,
    pub bk_cloud_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bk_supplier_id: Option<i64>,
}

impl HostEcho<'static> {
    /// A host that the request does not name.
    pub(crate) fn of(view: &HostView<'_>) -> Self {
        Self {
            ip: view.host.ip.to_string().into(),
            bk_cloud_id: view.host.cloud.into(),
            bk_supplier_id: Some(view.supplier),
        }
    }
}

impl RawHost {
    /// Named by its agent id alone.
    fn is_agent(&self) -> bool {
        self.ip.is_empty() && !self.bk_agent_id.is_empty()
    }

    /// Refuses a host that is malformed for every verb.
    fn check(&self) -> Result<(), Invalid> {
        if self.ip.is_empty() && self.bk_agent_id.is_empty() {
            return Err(Invalid::required("ip"));
        }
        let supplier = &self.bk_supplier_id;
        if !supplier.is_empty() && supplier.to_int().is_none() {
            let rule = format!("must be a whole number, not {:?}", supplier.to_text());
            return Err(Invalid::new("bk_supplier_id", rule));
        }
        Ok(())
    }

    /// Older callers omit it. It is echoed and never part of the identity.
    fn supplier(&self) -> Cow<'_, str> {
        match self.bk_supplier_id.is_empty() {
            true => "0".into(),
            false => self.bk_supplier_id.to_text(),
        }
    }

    fn parse(&self) -> Result<Host, Invalid> {
        let ip = model::host::parse_ip(&self.ip.to_text())?;
        if self.bk_cloud_id.is_empty() {
            return Err(Invalid::required("bk_cloud_id"));
        }
        // Text that is no number breaks the same rule as a number out of range.
        let cloud = self.bk_cloud_id.to_int().unwrap_or(UNKNOWN_CLOUD);
        let cloud = model::host::parse_cloud(cloud)?;
        Ok(Host::new(cloud, ip))
    }
}

fn place_of(text: &str) -> Result<HostSelector, Invalid> {
    match text.contains(':') {
        true => text.parse().map(HostSelector::Host),
        false => AgentId::parse(text).map(HostSelector::Agent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::json;

    fn asked(body: &str, keys: Keys) -> Vec<TargetHost> {
        json::read::<RawRequest>(body.as_bytes())
            .unwrap()
            .asked(keys)
            .unwrap()
    }

    fn host(text: &str) -> HostSelector {
        HostSelector::Host(text.parse().unwrap())
    }

    #[test]
    fn prefixes_echo_the_form_of_the_request() {
        let body = r#"{"hosts":[
            {"ip":"10.0.0.1","bk_cloud_id":1,"bk_supplier_id":2},
            {"ip":" ::ffff:10.0.0.1 ","bk_cloud_id":"1","bk_supplier_id":" 2 "},
            {"ip":"10.0.0.2","bk_cloud_id":0}]}"#;
        let v1 = asked(body, Keys::V1);
        let prefixes: Vec<_> = v1.iter().map(|a| &*a.key_prefix).collect();
        assert_eq!(
            prefixes,
            ["1:2:10.0.0.1", "1:2:::ffff:10.0.0.1", "0:0:10.0.0.2"]
        );
        assert_eq!(v1[0].place, v1[1].place);
        let v2 = asked(body, Keys::V2);
        let prefixes: Vec<_> = v2.iter().map(|a| &*a.key_prefix).collect();
        assert_eq!(prefixes, ["1:10.0.0.1", "1:::ffff:10.0.0.1", "0:10.0.0.2"]);
    }

    #[test]
    fn a_malformed_host_is_refused_with_its_field() {
        for (hosts, message) in [
            (
                r#"{"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0},{"bk_cloud_id":0}]}"#,
                "hosts[1].ip: is required",
            ),
            (
                r#"{"hosts":[{"ip":" ","bk_cloud_id":0,"bk_agent_id":""}]}"#,
                "hosts[0].ip: is required",
            ),
            (
                r#"{"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0,"bk_supplier_id":"x"}]}"#,
                "hosts[0].bk_supplier_id: must be a whole number, not \"x\"",
            ),
            (
                r#"{"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0,"bk_supplier_id":1.5}]}"#,
                "hosts[0].bk_supplier_id: must be a whole number, not \"1.5\"",
            ),
            (
                r#"{"agent_id_list":["0:10.0.0.1"," "]}"#,
                "agent_id_list[1]: is required",
            ),
        ] {
            let request = json::read::<RawRequest>(hosts.as_bytes()).unwrap();
            let refused = request.named().unwrap_err().to_string();
            assert_eq!(refused, message, "{hosts}");
        }
    }

    #[test]
    fn an_agent_id_list_takes_both_forms_and_wins_over_hosts() {
        let long = "a".repeat(65);
        let body = format!(
            r#"{{"agent_id_list":["020000abc","0:10.0.0.1","3:::1","{long}","x:y"],
                "hosts":[{{"ip":"10.9.9.9","bk_cloud_id":0}}]}}"#
        );
        let asked = asked(&body, Keys::V2);
        assert_eq!(
            asked[0].place,
            HostSelector::Agent(AgentId::parse("020000abc").unwrap())
        );
        assert_eq!(
            (&*asked[1].key_prefix, &asked[1].place),
            ("0:10.0.0.1", &host("0:10.0.0.1"))
        );
        assert_eq!(asked[2].place, host("3:::1"));
        assert!(
            matches!(&asked[3].place, HostSelector::Bad(e) if e.rule == "must be at most 64 bytes")
        );
        assert!(matches!(&asked[4].place, HostSelector::Bad(_)));
        assert_eq!(asked.len(), 5);
    }

    #[test]
    fn an_empty_agent_id_list_leaves_the_hosts() {
        let asked = asked(
            r#"{"agent_id_list":[],"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0}]}"#,
            Keys::V2,
        );
        assert_eq!(asked[0].place, host("0:10.0.0.1"));
    }

    #[test]
    fn a_bad_host_fails_its_own_key_only() {
        let asked = asked(
            r#"{"hosts":[{"ip":"10.0.0","bk_cloud_id":0},{"ip":"10.0.0.1","bk_cloud_id":-1},
                {"ip":"10.0.0.1","bk_cloud_id":"x"},{"ip":"10.0.0.1"},{"ip":"10.0.0.1","bk_cloud_id":0}]}"#,
            Keys::V2,
        );
        let fields: Vec<_> = asked
            .iter()
            .map(|a| match &a.place {
                HostSelector::Bad(invalid) => invalid.field.as_str(),
                HostSelector::Host(_) | HostSelector::Agent(_) => "",
            })
            .collect();
        assert_eq!(
            fields,
            ["ip", "bk_cloud_id", "bk_cloud_id", "bk_cloud_id", ""]
        );
        assert_eq!(&*asked[2].key_prefix, "x:10.0.0.1");
    }

    #[test]
    fn no_hosts_at_all_is_an_error_of_the_request() {
        for (body, message) in [
            ("{}", "hosts: is required"),
            (r#"{"hosts":null}"#, "hosts: is required"),
            (r#"{"hosts":[]}"#, "hosts: must not be empty"),
            (
                r#"{"agent_id_list":[]}"#,
                "agent_id_list: must not be empty",
            ),
        ] {
            let request: RawRequest = json::read(body.as_bytes()).unwrap();
            assert_eq!(request.named().unwrap_err().to_string(), message);
        }
    }
}
