//! The process view: most of it documents, services and processes in tables of their own.

pub(crate) mod service;
pub(crate) mod view_process;

use std::sync::Arc;

use model::topology::{
    BkHostId, BusinessId, BusinessRow, CloudRow, MachineRow, ModuleId, ModuleRow, Program,
    ProgramId, ProgramRow, SetId, SetRow, TopologyChanges,
};

use super::Connection;
use super::document::{self, Document, document};
use super::log::{LogEntry, LoggedTable};
use crate::StoreError;

document!(BusinessRow, BusinessId, Businesses);
document!(SetRow, SetId, Sets);
document!(ModuleRow, ModuleId, Modules);
// Many and short.
document!(MachineRow, BkHostId, Machines, batch = 2048);

impl Document for CloudRow {
    type Id = u32;
    type Body = Self;
    const TABLE: LoggedTable = LoggedTable::Clouds;

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
    const TABLE: LoggedTable = LoggedTable::Programs;

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
    log: &mut LogEntry,
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
    document::gone::<BusinessRow>(conn, log, businesses_gone).await?;
    document::write(conn, log, businesses).await?;
    document::write(conn, log, clouds).await?;
    document::gone::<SetRow>(conn, log, sets_gone).await?;
    document::write(conn, log, sets).await?;
    document::gone::<ModuleRow>(conn, log, modules_gone).await?;
    document::write(conn, log, modules).await?;
    document::gone::<MachineRow>(conn, log, machines_gone).await?;
    document::write(conn, log, machines).await?;
    service::gone(conn, log, services_gone).await?;
    service::write(conn, log, services).await?;
    document::gone::<ProgramRow>(conn, log, programs_gone).await?;
    document::write(conn, log, programs).await?;
    view_process::gone(conn, log, processes_gone).await?;
    view_process::write(conn, log, processes).await
}

pub(crate) async fn read(conn: &mut Connection) -> Result<TopologyChanges, StoreError> {
    Ok(TopologyChanges {
        businesses: document::read(conn).await?,
        clouds: document::read(conn).await?,
        sets: document::read(conn).await?,
        modules: document::read(conn).await?,
        machines: document::read(conn).await?,
        services: service::read(conn).await?,
        programs: document::read(conn).await?,
        processes: view_process::read(conn).await?,
        ..TopologyChanges::default()
    })
}
