//! Config templates, from a draft to a watched file on a host.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use control::{
    Apply, ControlError, FileFilter, FileStage, JobView, NewJob, NewTemplate, PreviewOf,
};
use model::config_file::{DesiredFile, FileLookup, FileMetadata, WrittenFile};
use model::config_template::{Binding, LineSeparator, TemplateId};
use model::job::{AfterRelease, JobAction, JobId, JobOptions, JobStatus};
use model::scope::{Scope, Selection};
use model::topology::{BkProcessId, BusinessId, Origin};
use model::{Code, Outcome, State, Status, UnixMillis};
use testkit::fake_agent::{FakeAgent, op_of};
use wire::DownKind;
use wire::ask::Question;

use crate::rig::Rig;
use crate::topology::{facts, program};

const BUSINESS: BusinessId = BusinessId(2);
const PROCESS: BkProcessId = BkProcessId(1);

/// The files of a fake host.
#[derive(Default)]
struct Disk(Mutex<HashMap<String, (DesiredFile, Vec<u8>)>>);

impl Disk {
    fn read(&self, path: &str) -> Option<String> {
        let files = self.0.lock().unwrap();
        let (_, content) = files.get(path)?;
        Some(String::from_utf8(content.clone()).unwrap())
    }

    fn answer(&self, question: Question) -> Vec<u8> {
        let mut files = self.0.lock().unwrap();
        match question {
            Question::WriteFile(write) => {
                let (path, md5) = (write.file.path.clone(), write.file.md5.clone());
                let before = files.insert(path.clone(), (write.file, write.content.to_vec()));
                let written = WrittenFile {
                    backup_path: before.is_some().then(|| format!("{path}.backup")),
                    path,
                    md5,
                    unchanged: false,
                    previous_md5: before.map(|(file, _)| file.md5),
                };
                serde_json::to_vec(&written).unwrap()
            }
            Question::ReadFile(read) => {
                let found = files.get(&read.path);
                let head = found.map_or(FileLookup::Nothing, |(file, content)| {
                    FileLookup::File(FileMetadata {
                        size: content.len() as u64,
                        md5: file.md5.clone(),
                        owner: file.owner.clone(),
                        group: file.group.clone(),
                        mode: file.mode,
                    })
                });
                let mut bytes = serde_json::to_vec(&head).unwrap();
                bytes.push(b'\n');
                bytes.extend(found.iter().flat_map(|(_, content)| content));
                bytes
            }
            other => panic!("{other:?} is not asked here"),
        }
    }
}

/// One host with two instances, an agent, and a template that is bound and active.
async fn rig(text: &str) -> (Rig, FakeAgent, TemplateId) {
    let rig = Rig::new().await;
    let mut one = facts(&["10.0.0.1"], &program("zone", 2));
    one.variables.insert("region".into(), "sz".into());
    rig.control
        .topology()
        .import(&rig.caller, one, Origin::Imported, Apply::Really)
        .await
        .unwrap();
    let agent = rig.agent("10.0.0.1").await;
    let id = rig
        .control
        .templates()
        .create(&rig.caller, BUSINESS, new("zone.conf"))
        .await
        .unwrap();
    activate(&rig, id, text).await;
    let bindings = vec![Binding::Process(PROCESS)];
    rig.control
        .templates()
        .bind(&rig.caller, BUSINESS, id, bindings)
        .await
        .unwrap();
    (rig, agent, id)
}

fn new(name: &str) -> NewTemplate {
    NewTemplate {
        template_name: name.into(),
        file_name: "zone${local_inst_id}.conf".into(),
        abs_path: "/opt/zone/etc/".into(),
        owner: "app".into(),
        group: "app".into(),
        filemode: 0o640,
        line_separator: LineSeparator::CrLf,
    }
}

async fn activate(rig: &Rig, id: TemplateId, text: &str) {
    let draft = rig
        .control
        .templates()
        .save_draft(&rig.caller, BUSINESS, id, "first".into(), text.into())
        .await
        .unwrap();
    rig.control
        .templates()
        .activate_version(&rig.caller, BUSINESS, draft)
        .await
        .unwrap();
}

async fn create(rig: &Rig, action: JobAction, options: JobOptions) -> JobId {
    let all = Selection::Scope(Scope::default());
    let new = NewJob::of_business(BUSINESS, action, all, serde_json::json!({}), options);
    rig.control.jobs().create(&rig.caller, new).await.unwrap().0
}

/// Runs a job to its end with an agent that executes every command.
async fn run(rig: &Rig, agent: &FakeAgent, disk: &Disk, id: JobId) -> JobView {
    let serve = async {
        loop {
            for heard in agent.received().await {
                match heard {
                    DownKind::Ask(ask) => match ask.question().unwrap() {
                        Question::More { .. } | Question::Cancel => {}
                        question => agent.send_all(ask.id, disk.answer(question)).await,
                    },
                    DownKind::Command(command) => {
                        let outcome = Outcome::plain(Code::OK, "success", UnixMillis(9));
                        agent.answer(op_of(&command), outcome).await;
                    }
                    _ => {}
                }
            }
        }
    };
    let wait = Duration::from_secs(20);
    tokio::select! {
        view = rig.control.jobs().wait_for_progress(&rig.caller, id, usize::MAX - 1, wait) => {
            let view = view.unwrap();
            assert!(view.job.status.is_over(), "{:?}", view.tasks);
            view
        }
        () = serve => panic!("it serves for ever"),
    }
}

const TEXT: &str = "inst ${inst_id} of ${bk_process_name}\nip ${InnerIP}\nregion ${global_variables.region} ${region}\n";

#[tokio::test]
async fn a_template_becomes_a_watched_file_for_each_instance() {
    let (rig, agent, _) = rig(TEXT).await;
    let disk = Disk::default();
    let id = create(&rig, JobAction::Generate, JobOptions::default()).await;
    let view = run(&rig, &agent, &disk, id).await;
    assert_eq!(view.count(JobStatus::Succeeded), 2, "{:?}", view.tasks);
    assert!(view.tasks[1].output.ends_with("/opt/zone/etc/zone2.conf\n"));
    assert!(
        disk.read("/opt/zone/etc/zone2.conf").is_none(),
        "nothing is written yet"
    );
    let id = create(&rig, JobAction::Release, JobOptions::default()).await;
    let view = run(&rig, &agent, &disk, id).await;
    assert_eq!(view.job.status, JobStatus::Succeeded, "{:?}", view.tasks);
    assert_eq!(
        disk.read("/opt/zone/etc/zone2.conf").unwrap(),
        "inst 2 of zone\r\nip 10.0.0.1\r\nregion sz sz\r\n"
    );
    let md5 = {
        let files = disk.0.lock().unwrap();
        let (file, _) = &files["/opt/zone/etc/zone2.conf"];
        assert_eq!((file.owner.as_str(), file.mode), ("app", 0o640));
        file.md5.clone()
    };
    let watched = |rig: &Rig| {
        let fleet = rig.control.inspect_fleet();
        let instance = fleet.view_row(PROCESS).unwrap().instances().swap_remove(1);
        instance.row.definition().spec.configmap.clone()
    };
    let before = watched(&rig);
    assert_eq!(before.len(), 1);
    assert_eq!(
        (before[0].path.as_str(), &before[0].md5),
        ("/opt/zone/etc/zone2.conf", &md5)
    );
    // A refresh of the topology keeps the watched files.
    let told = rig
        .control
        .topology()
        .export(&rig.caller, BUSINESS)
        .unwrap();
    let difference = rig
        .control
        .topology()
        .import(&rig.caller, told, Origin::Imported, Apply::Really)
        .await
        .unwrap();
    assert!(difference.is_empty(), "{difference:?}");
    let rig = rig.restarted().await;
    assert_eq!(watched(&rig), before);
}

#[tokio::test]
async fn the_files_of_a_template_show_what_differs_on_the_host() {
    let (rig, agent, template) = rig(TEXT).await;
    let disk = Disk::default();
    let files = |filter: FileFilter| {
        let templates = rig.control.templates();
        templates
            .files(&rig.caller, BUSINESS, template, &filter, (0, 100))
            .unwrap()
    };
    let all = || files(FileFilter::default());
    let differing = |drift| {
        let filter = FileFilter {
            drift: Some(drift),
            ..FileFilter::default()
        };
        let found = files(filter).files;
        let instances = found.iter().map(|file| file.local_inst_id);
        instances.collect::<Vec<u32>>()
    };
    assert_eq!(all().count, 2, "one for each instance that it is bound to");
    assert!(all().files.iter().all(|file| file.state == FileStage::None));
    assert_eq!((differing(true), differing(false)), (vec![], vec![]));

    let id = create(&rig, JobAction::Release, JobOptions::default()).await;
    run(&rig, &agent, &disk, id).await;
    assert!(
        all()
            .files
            .iter()
            .all(|file| file.state == FileStage::Released)
    );
    assert_eq!((differing(true), differing(false)), (vec![], vec![1, 2]));

    let name = {
        let fleet = rig.control.inspect_fleet();
        let instance = fleet.view_row(PROCESS).unwrap().instances().swap_remove(1);
        instance.row.name().to_string()
    };
    let drifted = Status {
        message: "config drift: /opt/zone/etc/zone2.conf has md5 bb and not aa".into(),
        state: State::Running,
        ..Status::default()
    };
    agent.reports(&name, drifted).await;
    testing::wait::until_async("the drift is known", || differing(true) == [2]).await;
    assert_eq!(differing(false), [1]);
    let word = |word: &str| {
        let filter = FileFilter {
            words: vec![word.to_owned()],
            ..FileFilter::default()
        };
        files(filter).count
    };
    assert_eq!(
        (word("zone2.conf"), word("10.0.0.1"), word("nothing")),
        (1, 2, 0)
    );
    let page = rig.control.templates().files(
        &rig.caller,
        BUSINESS,
        template,
        &FileFilter::default(),
        (1, 1),
    );
    let page = page.unwrap();
    assert_eq!((page.count, page.files[0].local_inst_id), (2, 2));
}

#[tokio::test]
async fn a_comparison_shows_manual_changes() {
    let (rig, agent, _) = rig(TEXT).await;
    let disk = Disk::default();
    let id = create(&rig, JobAction::Release, JobOptions::default()).await;
    run(&rig, &agent, &disk, id).await;
    let same = create(&rig, JobAction::Diff, JobOptions::default()).await;
    let view = run(&rig, &agent, &disk, same).await;
    assert!(
        view.tasks.iter().all(|task| task.reason.is_empty()),
        "{:?}",
        view.tasks
    );
    {
        let mut files = disk.0.lock().unwrap();
        let (_, content) = files.get_mut("/opt/zone/etc/zone1.conf").unwrap();
        content.extend(b"by hand\r\n");
        files.remove("/opt/zone/etc/zone2.conf");
    }
    let other = create(&rig, JobAction::Diff, JobOptions::default()).await;
    let view = run(&rig, &agent, &disk, other).await;
    assert_eq!(view.tasks[0].reason, "differs: /opt/zone/etc/zone1.conf");
    assert!(
        view.tasks[0].output.contains("+by hand"),
        "{}",
        view.tasks[0].output
    );
    assert!(
        view.tasks[1].output.contains("is not there"),
        "{}",
        view.tasks[1].output
    );
}

#[tokio::test]
async fn a_release_may_restart_processes_in_batches() {
    let (rig, agent, _) = rig(TEXT).await;
    let disk = Disk::default();
    let options = JobOptions {
        batch_size: Some(1),
        after_release: Some(AfterRelease::Restart),
        ..JobOptions::default()
    };
    let id = create(&rig, JobAction::Release, options).await;
    let view = run(&rig, &agent, &disk, id).await;
    assert_eq!(view.count(JobStatus::Succeeded), 2, "{:?}", view.tasks);
    let ops: Vec<_> = view
        .tasks
        .iter()
        .map(|task| task.op.unwrap().task)
        .collect();
    assert_ne!(ops[0], ops[1], "one after the other");
}

#[tokio::test]
async fn a_failing_template_names_its_line_and_writes_nothing() {
    let (rig, agent, template) = rig("fine\n${nobody}\n").await;
    let disk = Disk::default();
    let id = create(&rig, JobAction::Release, JobOptions::default()).await;
    let view = run(&rig, &agent, &disk, id).await;
    assert_eq!(view.tasks[0].code, Code(4_101_004));
    assert!(
        view.tasks[0].reason.starts_with("zone.conf line 2: "),
        "{}",
        view.tasks[0].reason
    );
    assert!(disk.0.lock().unwrap().is_empty());
    // An invalid template is not stored as a draft.
    for (text, word) in [("<%! import os %>", "line 1"), ("% if x:\n", "line")] {
        let refused = rig
            .control
            .templates()
            .save_draft(&rig.caller, BUSINESS, template, String::new(), text.into())
            .await;
        let Err(ControlError::BadTemplate(bad)) = refused else {
            panic!("{text} was taken");
        };
        assert!(bad.field == "content" && bad.line == Some(1), "{bad}");
        assert!(bad.message.contains(word), "{bad}");
    }
    // With a corrected template the job succeeds.
    activate(&rig, template, "fine\n").await;
    rig.control
        .jobs()
        .retry(&rig.caller, id, None)
        .await
        .unwrap();
    let view = run(&rig, &agent, &disk, id).await;
    assert_eq!(view.job.status, JobStatus::Succeeded, "{:?}", view.tasks);
}

#[tokio::test]
async fn a_version_that_fails_for_a_bound_instance_is_not_activated() {
    let (rig, _agent, template) = rig("fine\n").await;
    let templates = rig.control.templates();
    let before = templates.get(&rig.caller, BUSINESS, template).unwrap();
    // It can be rendered for the first instance and not for the second.
    let text = "% if local_inst_id > 1:\n${nobody}\n% endif\n";
    let draft = templates
        .save_draft(&rig.caller, BUSINESS, template, String::new(), text.into())
        .await
        .unwrap();
    let refused = templates
        .activate_version(&rig.caller, BUSINESS, draft)
        .await;
    let Err(ControlError::BadTemplate(bad)) = refused else {
        panic!("it was activated");
    };
    assert_eq!(
        (bad.field, bad.line, bad.column),
        ("version", Some(2), Some(3))
    );
    let rule = &bad.message;
    assert!(rule.contains("for instance 2 of "), "{rule}");
    assert!(rule.contains("zone.conf line 2: "), "{rule}");
    assert!(!rule.contains("instance 1 of "), "{rule}");
    let after = templates.get(&rig.caller, BUSINESS, template).unwrap();
    assert_eq!(after.active, before.active);
    assert_eq!(after.draft, Some(draft), "the draft is kept");
    activate(&rig, template, "${local_inst_id}\n").await;
}

#[tokio::test]
async fn an_open_release_is_repeated_after_a_restart() {
    let (rig, agent, _) = rig(TEXT).await;
    let disk = Disk::default();
    let id = create(&rig, JobAction::Release, JobOptions::default()).await;
    // The agent receives the question and never answers.
    while !agent
        .received()
        .await
        .iter()
        .any(|heard| matches!(heard, DownKind::Ask(_)))
    {}
    let rig = rig.restarted().await;
    drop(agent);
    let agent = rig.connect("10.0.0.1".parse().unwrap(), 0);
    let view = run(&rig, &agent, &disk, id).await;
    assert_eq!(view.job.status, JobStatus::Succeeded, "{:?}", view.tasks);
    assert_eq!(disk.0.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn names_are_unique_and_a_job_needs_a_bound_template() {
    let (rig, _agent, id) = rig("one ${x}\n").await;
    let again = rig
        .control
        .templates()
        .create(&rig.caller, BUSINESS, new("zone.conf"))
        .await;
    assert!(matches!(again, Err(ControlError::Conflict(_))));
    let relative = NewTemplate {
        abs_path: "etc".into(),
        ..new("other")
    };
    let refused = rig
        .control
        .templates()
        .create(&rig.caller, BUSINESS, relative)
        .await;
    assert!(matches!(refused, Err(ControlError::Invalid(invalid)) if invalid.field == "abs_path"));
    activate(&rig, id, "two\n").await;
    let versions = rig
        .control
        .templates()
        .versions(&rig.caller, BUSINESS, id)
        .unwrap();
    let states: Vec<String> = versions.iter().map(|v| format!("{:?}", v.state)).collect();
    assert_eq!(states, ["Active", "Past"]);
    let first = versions[1].id;
    let draft = rig
        .control
        .templates()
        .clone_version(&rig.caller, BUSINESS, first)
        .await
        .unwrap();
    let shown = rig
        .control
        .templates()
        .get(&rig.caller, BUSINESS, id)
        .unwrap();
    assert_eq!((shown.draft, shown.n_versions), (Some(draft), 3));
    let of = PreviewOf::Text("${inst_id_0}".into());
    let text = rig
        .control
        .templates()
        .preview(&rig.caller, BUSINESS, of, PROCESS, 2)
        .await;
    assert_eq!(text.unwrap(), "1");
    let of = PreviewOf::Template(id);
    let draft = rig
        .control
        .templates()
        .preview(&rig.caller, BUSINESS, of, PROCESS, 2)
        .await;
    assert!(
        matches!(draft, Err(ControlError::BadTemplate(_))),
        "x is not known"
    );
    rig.control
        .templates()
        .bind(&rig.caller, BUSINESS, id, vec![])
        .await
        .unwrap();
    let all = Selection::Scope(Scope::default());
    let (action, options) = (JobAction::Generate, JobOptions::default());
    let new = NewJob::of_business(BUSINESS, action, all, serde_json::json!({}), options);
    let refused = rig.control.jobs().create(&rig.caller, new).await;
    assert!(matches!(refused, Err(ControlError::Invalid(_))));
    rig.control
        .templates()
        .delete(&rig.caller, BUSINESS, id)
        .await
        .unwrap();
    assert!(
        rig.control
            .templates()
            .list(&rig.caller, BUSINESS)
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn files_of_a_deleted_template_are_not_watched() {
    let (rig, agent, template) = rig(TEXT).await;
    let disk = Disk::default();
    let id = create(&rig, JobAction::Release, JobOptions::default()).await;
    run(&rig, &agent, &disk, id).await;
    rig.control
        .templates()
        .delete(&rig.caller, BUSINESS, template)
        .await
        .unwrap();
    let fleet = rig.control.inspect_fleet();
    let instances = fleet.view_row(PROCESS).unwrap().instances();
    assert!(
        instances
            .iter()
            .all(|one| one.row.definition().spec.configmap.is_empty())
    );
    assert!(
        disk.read("/opt/zone/etc/zone1.conf").is_some(),
        "the file stays"
    );
}

#[tokio::test]
async fn a_rendered_path_that_leaves_its_folder_is_refused() {
    let (rig, agent, id) = rig(TEXT).await;
    let disk = Disk::default();
    for (abs_path, file_name, field) in [
        ("/opt/${'..'}/etc", "zone.conf", "abs_path"),
        ("/opt", r"${'..' + '\x2f'}x", "file_name"),
    ] {
        let moved = NewTemplate {
            abs_path: abs_path.into(),
            file_name: file_name.into(),
            ..new("zone.conf")
        };
        rig.control
            .templates()
            .update(&rig.caller, BUSINESS, id, moved)
            .await
            .unwrap();
        let job = create(&rig, JobAction::Release, JobOptions::default()).await;
        let view = run(&rig, &agent, &disk, job).await;
        assert_eq!(view.count(JobStatus::Failed), 2, "{:?}", view.tasks);
        let reason = &view.tasks[0].reason;
        assert!(
            reason.starts_with("template zone.conf: ") && reason.contains(field),
            "{reason}"
        );
    }
    assert!(disk.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn two_templates_never_make_the_same_file() {
    let (rig, agent, first) = rig(TEXT).await;
    let disk = Disk::default();
    let second = rig
        .control
        .templates()
        .create(&rig.caller, BUSINESS, new("other.conf"))
        .await
        .unwrap();
    activate(&rig, second, "other\n").await;
    rig.control
        .templates()
        .bind(
            &rig.caller,
            BUSINESS,
            second,
            vec![Binding::Process(PROCESS)],
        )
        .await
        .unwrap();
    // Whether both or only one of them is released.
    for config_template_ids in [vec![], vec![first], vec![second]] {
        let options = JobOptions {
            config_template_ids,
            ..JobOptions::default()
        };
        let job = create(&rig, JobAction::Release, options).await;
        let view = run(&rig, &agent, &disk, job).await;
        let reason = &view.tasks[0].reason;
        assert!(
            reason.ends_with("both make /opt/zone/etc/zone1.conf"),
            "{reason}"
        );
    }
    assert!(disk.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_number_of_watched_files_is_limited() {
    let (rig, agent, _) = rig(TEXT).await;
    let disk = Disk::default();
    for n in 0..64 {
        let more = NewTemplate {
            file_name: format!("{n}.conf"),
            ..new(&format!("more{n}"))
        };
        let id = rig.control.templates().create(&rig.caller, BUSINESS, more);
        let id = id.await.unwrap();
        activate(&rig, id, "x\n").await;
        let bindings = vec![Binding::Process(PROCESS)];
        let bind = rig
            .control
            .templates()
            .bind(&rig.caller, BUSINESS, id, bindings);
        bind.await.unwrap();
    }
    let job = create(&rig, JobAction::Release, JobOptions::default()).await;
    let view = run(&rig, &agent, &disk, job).await;
    let reason = &view.tasks[0].reason;
    assert!(
        reason.contains("65 config files, and at most 64"),
        "{reason}"
    );
    assert!(disk.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_long_diff_is_cut_and_binary_content_is_only_reported() {
    let (rig, agent, _) = rig(TEXT).await;
    let disk = Disk::default();
    let job = create(&rig, JobAction::Release, JobOptions::default()).await;
    run(&rig, &agent, &disk, job).await;
    {
        let mut files = disk.0.lock().unwrap();
        let long = &mut files.get_mut("/opt/zone/etc/zone1.conf").unwrap().1;
        *long = "by hand\n".repeat(100_000).into_bytes();
        let binary = &mut files.get_mut("/opt/zone/etc/zone2.conf").unwrap().1;
        *binary = vec![0, 159, 146, 150];
    }
    let job = create(&rig, JobAction::Diff, JobOptions::default()).await;
    let view = run(&rig, &agent, &disk, job).await;
    let output = &view.tasks[0].output;
    assert!(output.len() < 66_000, "{}", output.len());
    assert!(output.ends_with("the rest is not kept\n"));
    let output = &view.tasks[1].output;
    assert_eq!(
        *output,
        "/opt/zone/etc/zone2.conf: differs, and is no text: 4 bytes\n"
    );
}
