//! Collects the names that statements assign. They are local to their function, as in Python.

use std::collections::HashSet;

use super::ast::{Name, Stmt, StmtKind, Target};

pub(crate) fn assigned_by(block: &[Stmt], names: &mut HashSet<Name>) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Assign(targets, _) | StmtKind::Delete(targets) => {
                for target in targets {
                    assigned_to(target, names);
                }
            }
            StmtKind::AugmentedAssign(target, _, _) => assigned_to(target, names),
            StmtKind::If(branches, otherwise) => {
                for (_, body) in branches {
                    assigned_by(body, names);
                }
                assigned_by(otherwise, names);
            }
            StmtKind::For(each) => {
                assigned_to(&each.target, names);
                assigned_by(&each.body, names);
                assigned_by(&each.otherwise, names);
            }
            StmtKind::Def(function) => {
                names.insert(function.name.clone());
            }
            StmtKind::Value(_)
            | StmtKind::Return(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Pass => {}
        }
    }
}

pub(crate) fn assigned_to(target: &Target, names: &mut HashSet<Name>) {
    match target {
        Target::Name(name) => {
            names.insert(name.clone());
        }
        Target::Index(..) => {}
        Target::Tuple(targets) => {
            for target in targets {
                assigned_to(target, names);
            }
        }
    }
}
