//! Config templates: text with versions, bound to processes; what was made of it for each instance, and what was released.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::topology::{BkProcessId, BusinessId};
use crate::{Invalid, UnixMillis};

/// The longest content of one version, in bytes.
pub const MAX_CONTENT: usize = 1024 * 1024;
const MAX_TEXT: usize = 256;

number_id!(TemplateId);
number_id!(VersionId);

/// The line ends of the file on the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LineSeparator {
    #[default]
    #[serde(rename = "LF")]
    Lf,
    #[serde(rename = "CRLF")]
    CrLf,
    #[serde(rename = "CR")]
    Cr,
}

variant_names!(LineSeparator, as_str, {
    Lf = "LF",
    CrLf = "CRLF",
    Cr = "CR",
});

impl LineSeparator {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let known = Self::ALL
            .into_iter()
            .find(|separator| separator.as_str() == text);
        known.ok_or_else(|| {
            let rule = format!("must be LF, CRLF or CR, not {text:?}");
            Invalid::new("line_separator", rule)
        })
    }

    /// Converts all line ends of `text`.
    pub fn apply(self, text: &str) -> String {
        let plain = text.replace("\r\n", "\n").replace('\r', "\n");
        match self {
            Self::Lf => plain,
            Self::CrLf => plain.replace('\n', "\r\n"),
            Self::Cr => plain.replace('\n', "\r"),
        }
    }
}

/// The processes that get a file from a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    ProcessTemplate(u32),
    Process(BkProcessId),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateRow {
    pub id: TemplateId,
    pub business: BusinessId,
    /// Unique in its business.
    pub template_name: String,
    pub file_name: String,
    /// The folder of the file; may contain the same variables as the paths of a program.
    pub abs_path: String,
    pub owner: String,
    pub group: String,
    /// The permission bits.
    pub filemode: u32,
    pub line_separator: LineSeparator,
    #[serde(default)]
    pub bindings: Vec<Binding>,
    pub updated_at: UnixMillis,
    pub updated_by: String,
}

impl TemplateRow {
    pub fn check(&self) -> Result<(), Invalid> {
        let texts = [
            ("template_name", &self.template_name),
            ("file_name", &self.file_name),
            ("abs_path", &self.abs_path),
            ("owner", &self.owner),
            ("group", &self.group),
        ];
        for (field, text) in texts {
            if text.trim().is_empty() {
                return Err(Invalid::required(field));
            }
            let is_plain = text.len() <= MAX_TEXT && !text.chars().any(char::is_control);
            ensure!(
                is_plain,
                field,
                "must be at most {MAX_TEXT} bytes without control characters"
            );
        }
        check_file_path(&self.abs_path, &self.file_name)?;
        ensure!(
            self.filemode <= 0o7777,
            "filemode",
            "must be permission bits like 0644"
        );
        Ok(())
    }
}

/// Checks folder and file name, before and after variables are filled in.
pub fn check_file_path(abs_path: &str, file_name: &str) -> Result<(), Invalid> {
    let is_plain = |text: &str| !text.trim().is_empty() && !text.chars().any(char::is_control);
    let is_name =
        is_plain(file_name) && !file_name.contains('/') && !matches!(file_name.trim(), "." | "..");
    ensure!(
        is_name,
        "file_name",
        "must be the name of a file, without a folder, not {file_name:?}"
    );
    let goes_up = abs_path.split('/').any(|part| part.trim() == "..");
    ensure!(
        is_plain(abs_path) && abs_path.starts_with('/') && !goes_up,
        "abs_path",
        "must be an absolute path without .., not {abs_path:?}"
    );
    Ok(())
}

/// The state of a version of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionState {
    /// Being edited. A template has at most one.
    Draft,
    /// Files are generated from it. A template has at most one.
    Active,
    /// Was active earlier.
    Past,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRow {
    pub id: VersionId,
    pub template: TemplateId,
    pub description: String,
    pub content: Arc<str>,
    pub state: VersionState,
    pub updated_at: UnixMillis,
    pub updated_by: String,
}

/// The SHA-256 of a content. Equal contents are stored once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub [u8; 32]);

/// The file of a template for one instance. A row with neither state deletes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFileRow {
    pub process: BkProcessId,
    pub local_inst_id: u32,
    pub template: TemplateId,
    pub generated: Option<FileState>,
    /// The last content that the agent wrote, with the md5 that it read back.
    pub released: Option<FileState>,
}

impl ConfigFileRow {
    /// Whether what was generated differs from what was released, or was never released.
    pub fn is_changed(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| {
            self.released.as_ref().is_none_or(|released| {
                (&generated.md5, &generated.path) != (&released.md5, &released.path)
            })
        })
    }
}

/// When, by whom and from which version a file was generated or released.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    pub version: VersionId,
    #[serde(with = "hex_content")]
    pub content: ContentId,
    pub md5: String,
    /// The whole path on the host.
    pub path: String,
    pub at: UnixMillis,
    pub by: String,
}

/// A content, stored once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentRow {
    pub id: ContentId,
    pub body: Arc<str>,
}

/// The changes of one commit to config templates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TemplateChanges {
    pub templates: Vec<TemplateRow>,
    pub templates_gone: Vec<TemplateId>,
    pub versions: Vec<VersionRow>,
    pub versions_gone: Vec<VersionId>,
    pub files: Vec<ConfigFileRow>,
    /// Written with the files that refer to them; never read back as changes.
    pub contents: Vec<ContentRow>,
}

impl TemplateChanges {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

mod hex_content {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::ContentId;

    pub(super) fn serialize<S: Serializer>(id: &ContentId, to: S) -> Result<S::Ok, S::Error> {
        let hex: String = id.0.iter().map(|byte| format!("{byte:02x}")).collect();
        to.serialize_str(&hex)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ContentId, D::Error> {
        let text = String::deserialize(from)?;
        let mut id = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(D::Error::custom("a content id has 64 hex digits"));
        }
        for (byte, at) in id.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(D::Error::custom)?;
        }
        Ok(ContentId(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_line_ends_are_converted() {
        let mixed = "a\r\nb\nc\rd";
        assert_eq!(LineSeparator::Lf.apply(mixed), "a\nb\nc\nd");
        assert_eq!(LineSeparator::CrLf.apply(mixed), "a\r\nb\r\nc\r\nd");
        assert_eq!(LineSeparator::Cr.apply(mixed), "a\rb\rc\rd");
    }

    #[test]
    fn a_path_outside_its_folder_is_refused() {
        assert_eq!(
            check_file_path("/opt/${bk_set_name}", "a${inst_id}.conf"),
            Ok(())
        );
        for (folder, file, field) in [
            ("opt", "a", "abs_path"),
            ("/opt/../etc", "a", "abs_path"),
            ("/opt\n", "a", "abs_path"),
            ("/opt", "../a", "file_name"),
            ("/opt", "..", "file_name"),
            ("/opt", " ", "file_name"),
            ("/opt", "a\0", "file_name"),
        ] {
            let refused = check_file_path(folder, file).unwrap_err();
            assert_eq!(refused.field, field, "{folder} {file}");
        }
    }

    #[test]
    fn a_file_state_reads_back_what_it_prints() {
        let state = FileState {
            version: VersionId(3),
            content: ContentId([0xa5; 32]),
            md5: "x".into(),
            path: "/etc/a".into(),
            at: UnixMillis(7),
            by: "admin".into(),
        };
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<FileState>(&json).unwrap(), state);
    }
}
