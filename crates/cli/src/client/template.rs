//! Config templates of a business.

use model::UnixMillis;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::view::business_path;
use super::{Client, Path};
use crate::failure::Failure;

/// A template without its text.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TemplateRow {
    pub id: u32,
    pub template_name: String,
    pub file_name: String,
    pub abs_path: String,
    pub owner: String,
    pub group: String,
    pub filemode: String,
    pub line_separator: String,
    pub bindings: Bindings,
    pub draft: Option<u32>,
    pub active: Option<u32>,
    pub versions: u64,
    pub updated_at: UnixMillis,
    pub updated_by: String,
}

/// What a template makes files for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Bindings {
    pub processes: Vec<u32>,
    pub process_templates: Vec<u32>,
}

#[derive(Debug, Clone, Serialize)]
pub struct TemplateFields {
    pub template_name: String,
    pub file_name: String,
    pub abs_path: String,
    pub owner: String,
    pub group: String,
    pub filemode: String,
    pub line_separator: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct VersionRow {
    pub id: u32,
    pub description: String,
    pub state: String,
    pub updated_at: UnixMillis,
    pub updated_by: String,
    pub content: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ConfigFileRow {
    pub process: u32,
    pub local_inst_id: u32,
    pub template: u32,
    pub generated: Option<FileRow>,
    pub released: Option<FileRow>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct FileRow {
    pub version: u32,
    pub path: String,
    pub md5: String,
    pub at: UnixMillis,
    pub by: String,
    pub content: String,
}

/// What is rendered, and for whom.
#[derive(Debug, Clone, Serialize)]
pub struct Preview {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    pub process: u32,
    pub local_inst_id: u32,
}

impl Client {
    pub fn templates(&self, business: u32) -> Result<Value, Failure> {
        self.get(&business_path(business).join("templates"))
    }

    pub fn template<T: DeserializeOwned>(&self, business: u32, id: u32) -> Result<T, Failure> {
        self.get(&template_path(business, id))
    }

    pub fn create_template(&self, business: u32, new: &TemplateFields) -> Result<Value, Failure> {
        self.post(&business_path(business).join("templates"), new)
    }

    pub fn update_template(
        &self,
        business: u32,
        id: u32,
        fields: &TemplateFields,
    ) -> Result<Value, Failure> {
        self.put(&template_path(business, id), fields)
    }

    pub fn delete_template(&self, business: u32, id: u32) -> Result<(), Failure> {
        self.delete::<serde::de::IgnoredAny>(&template_path(business, id), None::<&()>)
            .map(|_| ())
    }

    pub fn bind_template(
        &self,
        business: u32,
        id: u32,
        bindings: &Bindings,
    ) -> Result<Value, Failure> {
        self.put(&template_path(business, id).join("bindings"), bindings)
    }

    pub fn versions(&self, business: u32, id: u32) -> Result<Value, Failure> {
        self.get(&template_path(business, id).join("versions"))
    }

    pub fn version<T: DeserializeOwned>(
        &self,
        business: u32,
        id: u32,
        version: u32,
    ) -> Result<T, Failure> {
        self.get(&version_path(business, id, version))
    }

    pub fn save_draft(
        &self,
        business: u32,
        id: u32,
        description: &str,
        content: &str,
    ) -> Result<Value, Failure> {
        #[derive(Serialize)]
        struct Draft<'a> {
            description: &'a str,
            content: &'a str,
        }
        let draft = Draft {
            description,
            content,
        };
        self.put(&template_path(business, id).join("draft"), &draft)
    }

    pub fn activate_version(&self, business: u32, id: u32, version: u32) -> Result<Value, Failure> {
        self.post(&version_path(business, id, version).join("activate"), &())
    }

    pub fn clone_version(&self, business: u32, id: u32, version: u32) -> Result<Value, Failure> {
        self.post(&version_path(business, id, version).join("clone"), &())
    }

    pub fn preview(&self, business: u32, preview: &Preview) -> Result<Value, Failure> {
        self.post(&business_path(business).join("preview"), preview)
    }

    pub fn config_files(&self, business: u32, process: u32) -> Result<Value, Failure> {
        self.get(&files_path(business, process))
    }

    /// With its text; `of` is `generated` or `released`.
    pub fn config_file(
        &self,
        business: u32,
        file: &ConfigFileRow,
        of: &str,
    ) -> Result<FileRow, Failure> {
        let path = files_path(business, file.process)
            .join(&file.local_inst_id.to_string())
            .join(&file.template.to_string());
        self.get(&path.query("of", of))
    }
}

fn template_path(business: u32, id: u32) -> Path {
    business_path(business)
        .join("templates")
        .join(&id.to_string())
}

fn version_path(business: u32, id: u32, version: u32) -> Path {
    template_path(business, id)
        .join("versions")
        .join(&version.to_string())
}

fn files_path(business: u32, process: u32) -> Path {
    business_path(business)
        .join("processes")
        .join(&process.to_string())
        .join("config-files")
}
