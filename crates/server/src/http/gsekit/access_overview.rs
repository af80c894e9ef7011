//! access_overview: the counts of a business, or of all that the caller may see.

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
    let topology = control.topology();
    let (reads, cost) = (&context.http.long_reads, topology.overview_cost());
    if let Some(business) = business {
        let read = || topology.overview(context.caller, business);
        let overview = reads.run(cost, read).await?;
        return Ok(success(Overview::of(&overview)));
    }
    let read = || topology.overviews(context.caller);
    let businesses = reads.run(cost, read).await;
    let businesses: Vec<OfBusiness<'_>> = businesses
        .iter()
        .map(|(id, name, overview)| OfBusiness {
            bk_biz_id: id.0,
            bk_biz_name: name,
            overview: Overview::of(overview),
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
    fn of(overview: &control::Overview) -> Self {
        let mut overview = Self {
            set_count: overview.n_sets,
            module_count: overview.n_modules,
            host_count: overview.n_hosts,
            process_count: overview.n_processes,
            running_process_count: overview.n_running,
            config_template_count: overview.n_templates,
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
