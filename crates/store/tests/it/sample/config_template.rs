//! Config templates, their versions and files.

use model::config_template::{
    Binding, ConfigFileRow, ContentId, ContentRow, FileState, LineSeparator, TemplateChanges,
    TemplateId, TemplateRow, VersionId, VersionRow, VersionState,
};
use model::topology::{BkProcessId, BusinessId};

use super::moment;

pub fn template(n: u32) -> TemplateRow {
    TemplateRow {
        id: TemplateId(n),
        business: BusinessId(n % 2),
        template_name: format!("it's \"{n}\""),
        file_name: "gse.conf".into(),
        abs_path: "/etc/${bk_process_name}".into(),
        owner: "root".into(),
        group: "组".into(),
        filemode: 0o7644,
        line_separator: [LineSeparator::Lf, LineSeparator::CrLf, LineSeparator::Cr][n as usize % 3],
        bindings: vec![
            Binding::ProcessTemplate(n),
            Binding::Process(BkProcessId(n)),
        ],
        updated_at: moment(n),
        updated_by: "admin".into(),
    }
}

pub fn version(n: u32) -> VersionRow {
    VersionRow {
        id: VersionId(n),
        template: TemplateId(n / 3),
        description: "a 'first' try".into(),
        content: "port = ${port}\r\n空\u{0}".repeat(n as usize).into(),
        state: [
            VersionState::Draft,
            VersionState::Active,
            VersionState::Past,
        ][n as usize % 3],
        updated_at: moment(n),
        updated_by: "üser".into(),
    }
}

pub fn content_id(n: u32) -> ContentId {
    let mut id = [0xa5; 32];
    id[..4].copy_from_slice(&n.to_be_bytes());
    ContentId(id)
}

pub fn content(n: u32) -> ContentRow {
    ContentRow {
        id: content_id(n),
        body: format!("port = {n}\r\n空'\"").into(),
    }
}

/// Generated with one content, released with the other.
pub fn config_file(n: u32, generated: Option<u32>, released: Option<u32>) -> ConfigFileRow {
    let state = |content: u32| FileState {
        version: VersionId(content),
        content: content_id(content),
        md5: "0".repeat(32),
        path: format!("/etc/it's/\"{content}\"/空"),
        at: moment(content),
        by: "admin".into(),
    };
    ConfigFileRow {
        process: BkProcessId(n / 4),
        local_inst_id: n / 2 % 2,
        template: TemplateId(n % 2),
        generated: generated.map(state),
        released: released.map(state),
    }
}

/// Some of everything that is read back.
pub fn templates() -> TemplateChanges {
    TemplateChanges {
        templates: (0..3).map(template).collect(),
        versions: (0..5).map(version).collect(),
        files: vec![
            config_file(0, Some(1), None),
            config_file(1, None, Some(2)),
            config_file(5, Some(3), Some(3)),
        ],
        ..TemplateChanges::default()
    }
}
