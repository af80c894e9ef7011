//! access_overview: the counts of a business, or of all that the caller may see.

use fleet::Fleet;
use model::access::Permission;
use model::scope::{ProcessStatus, Scope, Selection, ViewFilter};
use model::topology::BusinessId;
use serde::Serialize;

use super::refusal::Refusal;
use super::request::RawRequest;
use super::{RequestContext, success};

pub(crate) async fn access_overview(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let business = request.named_business()?;
    let control = &context.http.control;
    if let Some(business) = business {
        context
            .http
            .control
            .check(context.caller, Permission::View, business)?;
        let overview = Overview::of(&control.fleet(), business);
        return Ok(success(overview));
    }
    let rows = control.businesses(context.caller);
    let fleet = control.fleet();
    let businesses: Vec<OfBusiness<'_>> = rows
        .iter()
        .map(|row| OfBusiness {
            bk_biz_id: row.id.0,
            bk_biz_name: &row.name,
            overview: Overview::of(&fleet, row.id),
        })
        .collect();
    let mut total = Overview::default();
    for business in &businesses {
        total.add(&business.overview);
    }
    Ok(success(OfAll { total, businesses }))
}

#[derive(Serialize)]
struct OfAll<'a> {
    #[serde(flatten)]
    total: Overview,
    businesses: Vec<OfBusiness<'a>>,
}

#[derive(Serialize)]
struct OfBusiness<'a> {
    bk_biz_id: u32,
    bk_biz_name: &'a str,
    #[serde(flatten)]
    overview: Overview,
}

/// The first three are GSEKit's: whether processes and config files are managed here, and either of them.
#[derive(Debug, Default, Serialize)]
struct Overview {
    process: bool,
    configfile: bool,
    is_access: bool,
    set_count: usize,
    module_count: usize,
    host_count: usize,
    process_count: u64,
    running_process_count: u64,
    config_template_count: usize,
}

impl Overview {
    fn of(fleet: &Fleet, business: BusinessId) -> Self {
        let view = fleet.view();
        let sets = view.sets_of(business);
        let modules = sets.iter().map(|set| view.modules_of(set.id).len());
        let processes = view.processes_of(business);
        let hosts = view.machines().filter(|machine| {
            let on_it = view.processes_on(machine.id);
            on_it
                .zip(processes)
                .is_some_and(|(on_it, all)| !on_it.is_disjoint(all))
        });
        let running = ViewFilter {
            business,
            selection: Selection::Scope(Scope::default()),
            clouds: None,
            statuses: Some(vec![ProcessStatus::Running]),
            is_auto: None,
            ips: None,
            searches: Vec::new(),
            ordering: Vec::new(),
        };
        let mut overview = Self {
            set_count: sets.len(),
            module_count: modules.sum(),
            host_count: hosts.count(),
            process_count: processes.map_or(0, |processes| processes.len()),
            running_process_count: view.matching(&running).len(),
            config_template_count: view.templates_of(business).count(),
            ..Self::default()
        };
        overview.derive_flags();
        overview
    }

    fn derive_flags(&mut self) {
        self.process = self.process_count > 0;
        self.configfile = self.config_template_count > 0;
        self.is_access = self.process || self.configfile;
    }

    /// A host with processes of two businesses counts in both.
    fn add(&mut self, other: &Self) {
        self.set_count += other.set_count;
        self.module_count += other.module_count;
        self.host_count += other.host_count;
        self.process_count += other.process_count;
        self.running_process_count += other.running_process_count;
        self.config_template_count += other.config_template_count;
        self.derive_flags();
    }
}
