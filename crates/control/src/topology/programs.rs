//! The programs of a plan, each once and numbered, so that a million processes compare numbers instead of texts.

use std::sync::Arc;

use hashbrown::HashMap;
use model::Invalid;
use model::topology::{Program, ProgramId};

use super::render;

/// A program of a plan: equal ones have one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ProgramNumber(u32);

/// An alias of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct AliasNumber(u32);

#[derive(Debug)]
pub(super) struct PlannedProgram {
    pub(super) program: Arc<Program>,
    pub(super) alias: AliasNumber,
    /// What is wrong with it.
    pub(super) fault: Option<Invalid>,
    /// Whether all texts are the same for every instance.
    pub(super) is_plain: bool,
    /// None before the view or the plan has one.
    pub(super) id: Option<ProgramId>,
}

#[derive(Debug, Default)]
pub(super) struct Programs {
    all: Vec<PlannedProgram>,
    /// The facts and the view share a program among processes, and both outlive the plan: an address is found faster than a
    /// content.
    by_address: HashMap<*const Program, ProgramNumber>,
    by_content: HashMap<Arc<Program>, ProgramNumber>,
    aliases: HashMap<Box<str>, AliasNumber>,
    of_view: HashMap<ProgramId, ProgramNumber>,
}

impl Programs {
    /// The number of a program that the facts or the view keep.
    pub(super) fn number(&mut self, program: &Arc<Program>) -> ProgramNumber {
        let address = Arc::as_ptr(program);
        if let Some(number) = self.by_address.get(&address) {
            return *number;
        }
        let number = match self.by_content.get(program) {
            Some(number) => *number,
            None => self.add(program),
        };
        self.by_address.insert(address, number);
        number
    }

    fn add(&mut self, program: &Arc<Program>) -> ProgramNumber {
        let number = ProgramNumber(self.all.len() as u32);
        let next = AliasNumber(self.aliases.len() as u32);
        let alias = program.bk_process_name.as_str();
        let alias = *self.aliases.entry_ref(alias).or_insert(next);
        self.all.push(PlannedProgram {
            program: program.clone(),
            alias,
            fault: program.check().err(),
            is_plain: render::is_plain(program),
            id: None,
        });
        self.by_content.insert(program.clone(), number);
        number
    }

    /// Notes a program of the view. Of equal ones the first gives its id to all.
    pub(super) fn add_known(&mut self, id: ProgramId, program: &Arc<Program>) {
        let number = self.number(program);
        self.of_view.insert(id, number);
        self.all[number.0 as usize].id.get_or_insert(id);
    }

    pub(super) fn is_known(&self, id: ProgramId) -> bool {
        self.of_view.contains_key(&id)
    }

    pub(super) fn get(&self, number: ProgramNumber) -> &PlannedProgram {
        &self.all[number.0 as usize]
    }

    pub(super) fn get_mut(&mut self, number: ProgramNumber) -> &mut PlannedProgram {
        &mut self.all[number.0 as usize]
    }

    /// The alias of a program of the view.
    pub(super) fn alias_of(&self, id: ProgramId) -> Option<AliasNumber> {
        let number = self.of_view.get(&id)?;
        Some(self.get(*number).alias)
    }
}
