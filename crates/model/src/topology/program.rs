//! The description of a process of the view: alias, number of instances, paths and commands as templates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// How many instances one process may have on its host.
const MAX_PROC_NUM: u32 = 10_000;

/// The description before it is rendered for an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Program {
    /// The alias.
    pub bk_process_name: String,
    /// The binary.
    pub bk_func_name: String,
    pub proc_num: u32,
    /// Orders the tasks of jobs; None counts as 0.
    pub priority: Option<i32>,
    pub user: String,
    pub work_path: String,
    pub pid_file: String,
    pub start_cmd: String,
    pub stop_cmd: String,
    pub restart_cmd: String,
    pub reload_cmd: String,
    pub face_stop_cmd: String,
    /// Seconds that an operation may take.
    pub timeout: Option<u32>,
    pub bk_start_check_secs: Option<u32>,
    /// The rest of its spec as JSON of a [`crate::spec::RawSpec`], its texts before they are rendered; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub spec: String,
    /// In addition to the labels that every instance has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// The texts of a program that are rendered for each instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramText {
    WorkPath,
    PidFile,
    Start,
    Stop,
    Restart,
    Reload,
    FaceStop,
}

variant_names!(ProgramText, field, {
    WorkPath = "work_path",
    PidFile = "pid_file",
    Start = "start_cmd",
    Stop = "stop_cmd",
    Restart = "restart_cmd",
    Reload = "reload_cmd",
    FaceStop = "face_stop_cmd",
});

impl Program {
    /// The text before it is rendered.
    pub fn text(&self, of: ProgramText) -> &str {
        match of {
            ProgramText::WorkPath => &self.work_path,
            ProgramText::PidFile => &self.pid_file,
            ProgramText::Start => &self.start_cmd,
            ProgramText::Stop => &self.stop_cmd,
            ProgramText::Restart => &self.restart_cmd,
            ProgramText::Reload => &self.reload_cmd,
            ProgramText::FaceStop => &self.face_stop_cmd,
        }
    }

    /// Checks everything that does not depend on rendering.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.bk_process_name.trim().is_empty() {
            return Err(Invalid::required("bk_process_name"));
        }
        let number = self.proc_num;
        ensure!(
            (1..=MAX_PROC_NUM).contains(&number),
            "proc_num",
            "must be from 1 to {MAX_PROC_NUM}, not {number}"
        );
        Ok(())
    }
}
