//! One registered odd program, and the operations requested of it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::odd;

/// One requested operation.
#[derive(Debug)]
pub(super) struct RequestedOperation {
    pub(super) op: Op,
    /// `None` without a response: it may have been executed.
    pub(super) task: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Start = 0,
    Stop = 1,
    Manage = 3,
    Unmanage = 4,
    Restart = 7,
    Kill = 9,
}

#[derive(Debug)]
pub(super) struct Process {
    pub(super) ip: String,
    pub(super) name: String,
    folder: PathBuf,
    kind: Kind,
    /// Of the last acknowledged update; `None` if the last one had no response.
    pub(super) version: Option<u64>,
    pub(super) requested: Vec<RequestedOperation>,
    /// Kills that the server must report by an event.
    pub(super) n_reported_kills: usize,
    /// The killed run that must be reported: no operation until its successor runs, because an operation would explain its
    /// end.
    pub(super) reviving: Option<i32>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Daemon,
    Foreground,
}

impl Process {
    pub(super) fn new(n: usize, ip: String, root: &Path) -> Self {
        let name = format!("soaked-{n}");
        let folder = root.join(&name);
        std::fs::create_dir_all(&folder).unwrap();
        Self {
            ip,
            name,
            folder,
            kind: [Kind::Daemon, Kind::Foreground][n % 2],
            version: None,
            requested: Vec::new(),
            n_reported_kills: 0,
            reviving: None,
        }
    }

    /// The argument that identifies its runs.
    pub(super) fn marker(&self) -> String {
        self.folder.join("marker").display().to_string()
    }

    pub(super) fn key(&self) -> String {
        format!("0:0:{}:soak:{}", self.ip, self.name)
    }

    /// The process and its host, as in every request.
    pub(super) fn target(&self) -> Value {
        json!({
            "meta": {"namespace": "soak", "name": self.name},
            "hosts": [{"ip": self.ip, "bk_cloud_id": 0, "bk_supplier_id": 0}],
        })
    }

    /// The registration. Retries without limit: giving up is not among the soak's properties.
    pub(super) fn definition(&self, version: u64) -> Value {
        let path = |file: &str| self.folder.join(file).display().to_string();
        let odd = odd::odd().display().to_string();
        let (count, pid, marker) = (path("count"), path("pid"), self.marker());
        let start_cmd = match self.kind {
            Kind::Daemon => {
                format!("{odd} --count {count} --daemon --print {marker} --pid-file {pid}")
            }
            Kind::Foreground => format!("{odd} --count {count} --print {marker}"),
        };
        let mut body = self.target();
        body["meta"]["labels"] = json!({"version": version.to_string()});
        body["spec"] = json!({
            "identity": {
                "proc_name": "odd", "setup_path": self.folder, "pid_path": pid, "log_path": path("log"), "user": "root",
            },
            "control": {"start_cmd": start_cmd},
            "resource": {"cpu": 0, "mem": 0},
            "monitor_policy": {
                "auto_type": 1, "start_check_secs": 1, "op_timeout": 20, "start_interval": 1, "start_retries": 1000,
            },
            "runtime": {"env": {"VERSION": version.to_string()}},
        });
        body
    }

    /// How often its start command was executed.
    pub(super) fn n_executions(&self) -> usize {
        let text = std::fs::read_to_string(self.folder.join("count")).unwrap_or_default();
        text.lines().count()
    }
}
