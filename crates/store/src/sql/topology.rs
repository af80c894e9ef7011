//! The process view: most of it documents, services and processes in tables of their own.

mod service;
mod view_process;

use std::sync::Arc;

use model::change::Revision;
use model::topology::{
    BkHostId, BusinessId, BusinessRow, CloudRow, MachineRow, ModuleId, ModuleRow, Program,
    ProgramId, ProgramRow, SetId, SetRow, TopologyChanges,
};

use super::document::{self, Document, document};
use super::{Connection, Wanted};
use crate::StoreError;

document!(BusinessRow, BusinessId, "businesses");
document!(SetRow, SetId, "sets");
document!(ModuleRow, ModuleId, "modules");
document!(MachineRow, BkHostId, "machines");

impl Document for CloudRow {
    type Id = u32;
    type Body = Self;
    const TABLE: &'static str = "clouds";

    fn id(&self) -> u32 {
        self.id
    }
    fn number(id: u32) -> u32 {
        id
    }
    fn id_of(number: u32) -> u32 {
        number
    }
    fn body(&self) -> &Self {
        self
    }
    fn new(_: u32, body: Self) -> Self {
        body
    }
}

impl Document for ProgramRow {
    type Id = ProgramId;
    type Body = Program;
    const TABLE: &'static str = "programs";

    fn id(&self) -> ProgramId {
        self.id
    }
    fn number(id: ProgramId) -> u32 {
        id.0
    }
    fn id_of(number: u32) -> ProgramId {
        ProgramId(number)
    }
    fn body(&self) -> &Program {
        &self.program
    }
    fn new(id: ProgramId, program: Program) -> Self {
        let program = Arc::new(program);
        Self { id, program }
    }
}

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    changes: &TopologyChanges,
) -> Result<(), StoreError> {
    let TopologyChanges {
        businesses,
        businesses_gone,
        clouds,
        sets,
        sets_gone,
        modules,
        modules_gone,
        machines,
        machines_gone,
        services,
        services_gone,
        programs,
        programs_gone,
        processes,
        processes_gone,
    } = changes;
    document::gone::<BusinessRow>(conn, revision, businesses_gone).await?;
    document::write(conn, revision, businesses).await?;
    document::write(conn, revision, clouds).await?;
    document::gone::<SetRow>(conn, revision, sets_gone).await?;
    document::write(conn, revision, sets).await?;
    document::gone::<ModuleRow>(conn, revision, modules_gone).await?;
    document::write(conn, revision, modules).await?;
    document::gone::<MachineRow>(conn, revision, machines_gone).await?;
    document::write(conn, revision, machines).await?;
    service::gone(conn, revision, services_gone).await?;
    service::write(conn, revision, services).await?;
    document::gone::<ProgramRow>(conn, revision, programs_gone).await?;
    document::write(conn, revision, programs).await?;
    view_process::gone(conn, revision, processes_gone).await?;
    view_process::write(conn, revision, processes).await
}

pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<TopologyChanges, StoreError> {
    let (businesses, businesses_gone) = document::read(conn, wanted).await?;
    // Nothing takes a cloud area away.
    let (clouds, _) = document::read(conn, wanted).await?;
    let (sets, sets_gone) = document::read(conn, wanted).await?;
    let (modules, modules_gone) = document::read(conn, wanted).await?;
    let (machines, machines_gone) = document::read(conn, wanted).await?;
    let (services, services_gone) = service::read(conn, wanted).await?;
    let (programs, programs_gone) = document::read(conn, wanted).await?;
    let (processes, processes_gone) = view_process::read(conn, wanted).await?;
    Ok(TopologyChanges {
        businesses,
        businesses_gone,
        clouds,
        sets,
        sets_gone,
        modules,
        modules_gone,
        machines,
        machines_gone,
        services,
        services_gone,
        programs,
        programs_gone,
        processes,
        processes_gone,
    })
}
