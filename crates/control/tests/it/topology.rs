//! Businesses, from facts to registered processes and back.

use std::sync::Arc;

use control::{Apply, Difference};
use model::expression::Expression;
use model::scope::{Scope, Selection, ViewFilter};
use model::topology::{
    BkProcessId, BusinessFacts, BusinessId, HostFacts, ModuleFacts, Origin, ProcessFacts,
    ProcessSource, Program, ServiceFacts, SetEnv, SetFacts,
};
use model::{Flag, State, Status};
use testing::wait::until_async as until;
use testkit::FakeAgent;
use wire::{ProcessStatus, Report};

use crate::rig::{Rig, full};

const BUSINESS: BusinessId = BusinessId(2);

/// One set with one module, in which every host runs `program`.
pub(crate) fn facts(hosts: &[&str], program: &Program) -> BusinessFacts {
    let mut facts = BusinessFacts {
        business: Some(BUSINESS),
        name: "game".into(),
        clouds: vec![(0, "default area".into())],
        sets: vec![SetFacts {
            id: Some(5),
            name: "管控平台".into(),
            env: SetEnv::Formal,
            attributes: Default::default(),
        }],
        modules: vec![ModuleFacts {
            id: None,
            set: 0,
            name: "gse".into(),
            service_template: 26,
            attributes: Default::default(),
        }],
        ..BusinessFacts::default()
    };
    for (index, ip) in hosts.iter().enumerate() {
        facts.hosts.push(HostFacts {
            id: None,
            cloud: 0,
            ip: ip.parse().unwrap(),
            ip_v6: None,
            other_innerips: Vec::new(),
            agent_id: None,
            attributes: Default::default(),
        });
        facts.services.push(ServiceFacts {
            id: None,
            module: 0,
            host: index,
            name: format!("{ip}_gse"),
        });
        facts.processes.push(process(None, index, program));
    }
    facts
}

pub(crate) fn process(id: Option<u32>, service: usize, program: &Program) -> ProcessFacts {
    ProcessFacts {
        id,
        service,
        process_template: 0,
        program: Arc::new(program.clone()),
        row: ProcessSource::new(format!("process {service}")),
    }
}

pub(crate) fn program(alias: &str, proc_num: u32) -> Program {
    Program {
        bk_process_name: alias.into(),
        bk_func_name: "gsed".into(),
        proc_num,
        user: "root".into(),
        work_path: "/opt/gse".into(),
        pid_file: "run/gsed.pid".into(),
        start_cmd: "./start.sh".into(),
        ..Program::default()
    }
}

async fn import(rig: &Rig, facts: BusinessFacts) -> Difference {
    rig.control
        .topology()
        .import(&rig.caller, facts, Origin::Imported, Apply::Really)
        .await
        .unwrap()
}

fn everything() -> ViewFilter {
    ViewFilter::new(BUSINESS, Selection::Scope(Scope::default()))
}

/// Every instance as `host name start_cmd`, by process and instance.
fn instances(rig: &Rig) -> Vec<String> {
    let fleet = rig.control.inspect_fleet();
    let page = fleet.view_page(&everything(), 0, 1000);
    let mut shown = Vec::new();
    for row in &page.rows {
        for instance in row.instances() {
            let registered = instance.row;
            shown.push(format!(
                "{} {} {} {}",
                row.joined_names(),
                registered.host().host,
                registered.name(),
                registered.definition().spec.control.start_cmd
            ));
        }
    }
    shown
}

async fn reports(agent: &FakeAgent, name: &str, state: State) {
    let status = Status {
        state,
        flag: Some(Flag::Running),
        managed: Some(false),
        ..Status::default()
    };
    let frame = ProcessStatus::new(&full(name), &status);
    let report = Report {
        statuses: vec![frame],
    };
    agent.session.take(report.into()).await.unwrap();
}

#[tokio::test]
async fn importing_a_business_registers_its_processes_idempotently() {
    let rig = Rig::new().await;
    let two = facts(&["10.0.0.1", "10.0.0.2"], &program("gse_agent", 2));
    let difference = import(&rig, two.clone()).await;
    assert_eq!((difference.processes.new, difference.instances.new), (2, 4));
    assert!(difference.troubles.is_empty(), "{:?}", difference.troubles);
    assert_eq!(
        instances(&rig),
        [
            "管控平台.gse.10.0.0.1_gse.gse_agent.1 0:10.0.0.1 GSEKIT_BIZ_2/gse_agent_1 ./start.sh",
            "管控平台.gse.10.0.0.1_gse.gse_agent.1 0:10.0.0.1 GSEKIT_BIZ_2/gse_agent_2 ./start.sh",
            "管控平台.gse.10.0.0.2_gse.gse_agent.2 0:10.0.0.2 GSEKIT_BIZ_2/gse_agent_1 ./start.sh",
            "管控平台.gse.10.0.0.2_gse.gse_agent.2 0:10.0.0.2 GSEKIT_BIZ_2/gse_agent_2 ./start.sh",
        ]
    );
    {
        let fleet = rig.control.inspect_fleet();
        let row = fleet.view_row(BkProcessId(2)).unwrap();
        let instance = row.instances().swap_remove(1);
        assert_eq!(instance.inst_id, 4);
        let labels = instance.row.labels();
        let labels: Vec<_> = labels.iter().collect();
        assert_eq!(
            labels,
            [("bk_process_id", "2"), ("bk_process_name", "gse_agent")]
        );
        let identity = &instance.row.definition().spec.identity;
        assert_eq!(identity.pid_path, "/opt/gse/run/gsed.pid");
    }
    let revision = rig.control.inspect_fleet().revision();
    assert!(import(&rig, two.clone()).await.is_empty());
    assert_eq!(rig.control.inspect_fleet().revision(), revision);
    // The export equals the import.
    let told = rig
        .control
        .topology()
        .export(&rig.caller, BUSINESS)
        .unwrap();
    assert!(import(&rig, told).await.is_empty());
    // A restart changes nothing.
    let before = instances(&rig);
    let rig = rig.restarted().await;
    assert_eq!(instances(&rig), before);
    assert!(import(&rig, two).await.is_empty());
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let rig = Rig::new().await;
    let difference = rig
        .control
        .topology()
        .import(
            &rig.caller,
            facts(&["10.0.0.1"], &program("gse_agent", 1)),
            Origin::Imported,
            Apply::DryRun,
        )
        .await
        .unwrap();
    assert_eq!(difference.instances.new, 1);
    assert!(
        difference
            .lines
            .iter()
            .any(|line| line.to_string() == "+ host 0:10.0.0.1")
    );
    assert!(rig.control.topology().businesses(&rig.caller).is_empty());
    assert!(instances(&rig).is_empty());
}

#[tokio::test]
async fn commands_are_rendered_for_each_instance_and_ordinals_stay() {
    let rig = Rig::new().await;
    let numbered = Program {
        start_cmd: "./start.sh ${inst_id} ${local_inst_id0} ${bk_set_name}".into(),
        ..program("zone", 2)
    };
    import(
        &rig,
        facts(&["10.0.0.1", "10.0.0.2", "10.0.0.3"], &numbered),
    )
    .await;
    let commands = |rig: &Rig| -> Vec<String> {
        let shown = instances(rig);
        let command = |line: &String| line.rsplit_once("zone_").unwrap().1[2..].to_owned();
        shown.iter().map(command).collect()
    };
    assert_eq!(
        commands(&rig),
        [
            "./start.sh 1 0 管控平台",
            "./start.sh 2 1 管控平台",
            "./start.sh 3 0 管控平台",
            "./start.sh 4 1 管控平台",
            "./start.sh 5 0 管控平台",
            "./start.sh 6 1 管控平台",
        ]
    );
    // Another host replaces the second: it takes the free ordinal, and the third keeps its own.
    import(
        &rig,
        facts(&["10.0.0.1", "10.0.0.3", "10.0.0.4"], &numbered),
    )
    .await;
    assert_eq!(
        instances(&rig)
            .iter()
            .map(|line| line.split(' ').nth(1).unwrap().to_owned()
                + " "
                + line.split(' ').nth(4).unwrap())
            .collect::<Vec<_>>(),
        [
            "0:10.0.0.1 1",
            "0:10.0.0.1 2",
            "0:10.0.0.3 5",
            "0:10.0.0.3 6",
            "0:10.0.0.4 3",
            "0:10.0.0.4 4",
        ]
    );
}

#[tokio::test]
async fn a_vanished_process_is_shown_until_it_stops() {
    let rig = Rig::new().await;
    import(
        &rig,
        facts(&["10.0.0.1", "10.0.0.2"], &program("gse_agent", 1)),
    )
    .await;
    let agent = rig.agent("10.0.0.2").await;
    agent.received().await;
    reports(&agent, "GSEKIT_BIZ_2/gse_agent_1", State::Running).await;
    // One was never reported and is removed at once, the other runs.
    let difference = import(&rig, facts(&["10.0.0.3"], &program("gse_agent", 1))).await;
    assert_eq!((difference.processes.gone, difference.vanished), (1, 1));
    assert!(
        rig.control
            .inspect_fleet()
            .view()
            .has_vanished(BkProcessId(2))
    );
    assert_eq!(instances(&rig).len(), 2);
    // It returns before it has stopped: it is the same process.
    import(
        &rig,
        facts(&["10.0.0.2", "10.0.0.3"], &program("gse_agent", 1)),
    )
    .await;
    assert!(
        !rig.control
            .inspect_fleet()
            .view()
            .has_vanished(BkProcessId(2))
    );
    import(&rig, facts(&["10.0.0.3"], &program("gse_agent", 1))).await;
    reports(&agent, "GSEKIT_BIZ_2/gse_agent_1", State::Stopped).await;
    until("it is forgotten", || {
        rig.control
            .inspect_fleet()
            .view()
            .process(BkProcessId(2))
            .is_none()
    })
    .await;
    assert_eq!(instances(&rig).len(), 1);
    assert!(rig.control.inspect_fleet().view().surplus().is_empty());
}

#[tokio::test]
async fn instances_are_added_at_once_and_removed_when_stopped() {
    let rig = Rig::new().await;
    import(&rig, facts(&["10.0.0.1"], &program("gse_agent", 3))).await;
    let agent = rig.agent("10.0.0.1").await;
    agent.received().await;
    reports(&agent, "GSEKIT_BIZ_2/gse_agent_3", State::Running).await;
    let difference = import(&rig, facts(&["10.0.0.1"], &program("gse_agent", 1))).await;
    assert_eq!(difference.instances.gone, 1);
    let names = |rig: &Rig| -> Vec<u32> {
        let fleet = rig.control.inspect_fleet();
        let row = fleet.view_row(BkProcessId(1)).unwrap();
        row.instances()
            .iter()
            .map(|one| one.local_inst_id)
            .collect()
    };
    assert_eq!(names(&rig), [1, 3]);
    reports(&agent, "GSEKIT_BIZ_2/gse_agent_3", State::Stopped).await;
    until("it is tidied", || names(&rig) == [1]).await;
    import(&rig, facts(&["10.0.0.1"], &program("gse_agent", 4))).await;
    assert_eq!(names(&rig), [1, 2, 3, 4]);
}

#[tokio::test]
async fn an_invalid_row_is_reported_and_the_others_count() {
    let rig = Rig::new().await;
    let with_user = |user: &str| Program {
        user: user.into(),
        ..program("spaced", 1)
    };
    let mut mixed = facts(&["10.0.0.1", "10.0.0.2"], &program("gse_agent", 1));
    Arc::make_mut(&mut mixed.processes[0].program).work_path = "relative".into();
    mixed
        .processes
        .push(process(None, 1, &with_user("two words")));
    mixed
        .processes
        .push(process(Some(77), 1, &program("gse_agent", 1)));
    mixed.processes.push(process(None, 1, &program("none", 0)));
    let difference = import(&rig, mixed).await;
    let reasons: Vec<&str> = difference
        .troubles
        .iter()
        .map(|trouble| trouble.reason.as_str())
        .collect();
    assert_eq!(reasons.len(), 4, "{reasons:#?}");
    assert!(
        reasons.contains(&"work_path: must be an absolute path"),
        "{reasons:#?}"
    );
    assert!(
        reasons
            .iter()
            .any(|reason| reason.contains("has the same name on the same host")),
        "{reasons:#?}"
    );
    assert_eq!(difference.instances.new, 1);
    let business = rig.control.topology().businesses(&rig.caller).remove(0);
    assert_eq!(business.row.troubles.len(), 4);
}

#[tokio::test]
async fn a_process_with_an_invalid_row_stays_unchanged() {
    let rig = Rig::new().await;
    let mut right = facts(&["10.0.0.1", "10.0.0.2"], &program("gse_agent", 2));
    right.processes[0].id = Some(46);
    right.processes[1].id = Some(47);
    import(&rig, right.clone()).await;
    let before = instances(&rig);
    let mut wrong = right.clone();
    Arc::make_mut(&mut wrong.processes[0].program).proc_num = 0;
    wrong.processes.remove(1);
    wrong.unread.push(47);
    let difference = import(&rig, wrong).await;
    assert!(difference.is_empty(), "{difference:?}");
    assert_eq!(difference.troubles.len(), 1);
    assert_eq!(instances(&rig), before);
    // An unknown id, or one of another business, does nothing.
    let mut other = facts(&["10.0.0.3"], &program("gse_agent", 1));
    other.business = Some(BusinessId(3));
    other.sets[0].id = None;
    other.unread = vec![46, 99];
    import(&rig, other).await;
    assert_eq!(instances(&rig), before);
}

#[tokio::test]
async fn a_host_that_changes_its_address_is_the_same_host() {
    let rig = Rig::new().await;
    let mut before = facts(&["10.0.0.1"], &program("gse_agent", 1));
    before.hosts[0].id = Some(9);
    before.services[0].id = Some(1);
    before.processes[0].id = Some(46);
    import(&rig, before.clone()).await;
    let mut after = before;
    after.hosts[0].ip = "10.0.0.99".parse().unwrap();
    let difference = import(&rig, after).await;
    assert_eq!(
        (difference.hosts.changed, difference.instances.gone),
        (1, 1)
    );
    assert_eq!(
        instances(&rig),
        ["管控平台.gse.10.0.0.1_gse.gse_agent.46 0:10.0.0.99 GSEKIT_BIZ_2/gse_agent_1 ./start.sh"]
    );
}

#[tokio::test]
async fn ids_of_another_business_are_refused() {
    let rig = Rig::new().await;
    import(&rig, facts(&["10.0.0.1"], &program("gse_agent", 1))).await;
    let mut other = facts(&["10.0.0.1"], &program("gse_agent", 1));
    other.business = Some(BusinessId(3));
    let difference = import(&rig, other.clone()).await;
    assert_eq!(difference.troubles[0].reason, "set 5 belongs to business 2");
    other.sets[0].id = None;
    let difference = import(&rig, other).await;
    assert_eq!(difference.instances.new, 1);
    assert_eq!(instances(&rig).len(), 1, "each business has its own");
    let removed = rig.control.topology().remove(&rig.caller, BUSINESS).await;
    assert_eq!(removed.unwrap().instances.gone, 1);
    assert!(instances(&rig).is_empty());
    assert_eq!(rig.control.topology().businesses(&rig.caller).len(), 1);
}

#[tokio::test]
async fn an_expression_selects_imported_processes() {
    let rig = Rig::new().await;
    let hosts: Vec<String> = (1..=12).map(|n| format!("10.0.0.{n}")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    import(&rig, facts(&hosts, &program("gse_agent", 1))).await;
    let filter = ViewFilter {
        selection: Selection::Expression {
            env: Some(SetEnv::Formal),
            expression: Box::new(
                Expression::parse_dotted("[管控平台, PaaS].gse.10\\.0\\.0\\.*.gse_*.[8-12]")
                    .unwrap(),
            ),
        },
        ..everything()
    };
    assert_eq!(
        rig.control.inspect_fleet().view_page(&filter, 0, 10).count,
        5
    );
}
