//! Config templates, their versions, and the files made of them.

use std::borrow::Cow;
use std::sync::Arc;

use model::UnixMillis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{HostText, ReasonView, Rows, Scalar};

responses! {
    pub struct TemplateList {
        pub templates: Vec<TemplateShown>,
    }

    /// A config template: what is written where, without its text.
    #[derive(Clone)]
    pub struct TemplateShown {
        pub id: u32,
        pub template_name: String,
        pub file_name: String,
        /// The folder of the file.
        pub abs_path: String,
        pub owner: String,
        pub group: String,
        /// Octal, such as `0644`.
        pub filemode: String,
        /// `LF`, `CRLF` or `CR`.
        pub line_separator: Cow<'static, str>,
        pub bindings: Bindings,
        /// The version that is being written, if there is one.
        pub draft: Option<u32>,
        /// The version that is generated from, if there is one.
        pub active: Option<u32>,
        pub versions: usize,
        #[schema(value_type = i64)]
        pub updated_at: UnixMillis,
        pub updated_by: String,
    }
}

/// What a template makes files for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bindings {
    /// Ids of processes.
    pub processes: Vec<u32>,
    /// Ids of process templates: every process that was made from one.
    pub process_templates: Vec<u32>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TemplateBody {
    /// Unique in its business.
    #[serde(default)]
    #[schema(required)]
    pub template_name: String,
    #[serde(default)]
    #[schema(required)]
    pub file_name: String,
    /// The folder of the file.
    #[serde(default)]
    #[schema(required)]
    pub abs_path: String,
    /// root if not given
    pub owner: Option<String>,
    /// root if not given
    pub group: Option<String>,
    /// Octal; 0644 if not given
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub filemode: Scalar,
    /// LF, CRLF or CR; LF if not given
    pub line_separator: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewBody {
    /// Its draft, or its active version where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<u32>,
    /// In place of `template`: a text that is not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The id of the process.
    #[schema(required)]
    pub process: Option<u32>,
    /// 1 if not given
    pub local_inst_id: Option<u32>,
}

responses! {
    pub struct Preview {
        pub content: String,
    }

    /// What templates of an instance may use.
    pub struct VariableList {
        /// By name.
        #[schema(value_type = Object)]
        pub variables: serde_json::Map<String, serde_json::Value>,
    }

    pub struct VersionList {
        pub versions: Vec<VersionShown>,
    }

    pub struct VersionShown {
        pub id: u32,
        pub template: u32,
        pub description: String,
        /// `draft`, `active` or `past`.
        pub state: Cow<'static, str>,
        #[schema(value_type = i64)]
        pub updated_at: UnixMillis,
        pub updated_by: String,
        /// Its text; lists leave it out.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<String>)]
        pub content: Option<Arc<str>>,
    }
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftBody {
    #[serde(default)]
    pub description: String,
    /// The text, in Mako.
    #[schema(required)]
    pub content: Option<String>,
}

responses! {
    /// Files of one template.
    pub struct TemplateFileList {
        /// How many match.
        pub count: usize,
        pub start: u64,
        /// The version that is generated from, if there is one.
        pub active: Option<u32>,
        #[schema(value_type = Vec<TemplateFileRow>)]
        pub files: Rows<TemplateFileRow>,
    }

    /// The file of a template for one instance.
    pub struct TemplateFileRow {
        /// The id of the process.
        pub process: u32,
        pub local_inst_id: u32,
        /// `set.module.service.process.id`
        pub expression: String,
        /// `cloud:ip`
        pub host: String,
        /// Whether its host's agent is connected.
        pub connected: bool,
        /// `none` (nothing was generated), `generated` (and never released), `changed` (what was generated last is not what was
        /// released) or `released`.
        pub state: Cow<'static, str>,
        pub generated: Option<FileShown>,
        /// What the agent wrote last.
        pub released: Option<FileShown>,
        /// Whether what is on the host differs from what was released, as the agent last said; null where that is not known.
        pub drift: Option<bool>,
        /// How it differs, in words; empty where it does not.
        pub drift_text: String,
        /// How it differs (`differs` with `md5`, `unreadable`), or why that is not known (`not_released`, `not_registered`,
        /// `not_watched`, `agent_away`); null where it does not differ.
        pub drift_reason: Option<ReasonView<'static>>,
    }

    pub struct ConfigFileList {
        pub files: Vec<ConfigFileShown>,
    }

    pub struct ConfigFileShown {
        pub process: u32,
        pub local_inst_id: u32,
        pub template: u32,
        pub generated: Option<FileShown>,
        /// What the agent wrote last.
        pub released: Option<FileShown>,
    }

    /// A page of the config files of a business.
    pub struct ConfigFilePage {
        /// How many match.
        pub count: u64,
        /// How many would match without `changed`.
        pub total: u64,
        pub start: u64,
        #[schema(value_type = Vec<ConfigFileOf>)]
        pub files: Rows<ConfigFileOf>,
    }

    /// A config file, and the process that it is for.
    pub struct ConfigFileOf {
        pub process: u32,
        /// The alias of the process.
        pub name: String,
        /// `cloud:ip`
        #[schema(value_type = String)]
        pub host: HostText,
        pub local_inst_id: u32,
        pub template: u32,
        pub generated: Option<FileShown>,
        /// What the agent wrote last.
        pub released: Option<FileShown>,
    }

    pub struct FileShown {
        pub version: u32,
        /// The whole path on the host.
        pub path: String,
        pub md5: String,
        #[schema(value_type = i64)]
        pub at: UnixMillis,
        pub by: String,
        /// Its text; lists leave it out.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<String>)]
        pub content: Option<Arc<str>>,
    }
}
