//! Filters the processes of a business: by bitmaps first, then by testing each that is left.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

use model::expression::{Expression, ExpressionPart, IdPart, Pattern};
use model::scope::{ProcessStatus, Scope, Selection, ViewFilter};
use model::topology::{BusinessId, SetEnv};
use roaring::RoaringBitmap;

use super::View;
use super::places::Service;
use crate::cow::CowMap;
use crate::filter::FoldedText;
use crate::scan;

/// A pattern with up to so many possible names is looked up by name; otherwise each name is tested.
const MAX_LOOKED_UP: usize = 1024;

/// How many processes are left after a part of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Narrowed {
    pub part: ExpressionPart,
    pub count: u64,
}

impl View {
    /// All matches, in order of `bk_process_id`.
    pub fn matching(&self, filter: &ViewFilter) -> RoaringBitmap {
        let mut ids = self.selected(filter.business, &filter.selection);
        if let Some(statuses) = &filter.statuses {
            ids &= self.with_status(&ids, statuses);
        }
        match filter.is_auto.as_deref() {
            None => {}
            Some(wanted) => {
                let (yes, no) = (wanted.contains(&true), wanted.contains(&false));
                match (yes, no) {
                    (true, true) => {}
                    (true, false) => ids &= &*self.managed,
                    (false, true) => ids -= &*self.managed,
                    (false, false) => ids.clear(),
                }
            }
        }
        if let Some(clouds) = &filter.clouds {
            ids &= union(each_once(clouds).filter_map(|cloud| self.by_cloud.get(cloud)));
        }
        if let Some(ips) = &filter.ips {
            let machines = each_once(ips).filter_map(|ip| self.by_ip.get(ip)).flatten();
            let processes = machines.filter_map(|id| self.machines.get(id));
            ids &= union(processes.map(|machine| &machine.processes));
        }
        if !filter.searches.is_empty() && !ids.is_empty() {
            self.search(&mut ids, &filter.searches);
        }
        for word in each_once(&filter.words) {
            ids = self.with_word(filter.business, &ids, word);
        }
        ids
    }

    /// The processes that a scope or an expression selects.
    pub fn selected(&self, business: BusinessId, selection: &Selection) -> RoaringBitmap {
        match selection {
            Selection::Scope(scope) => self.in_scope(business, scope),
            Selection::Expression { env, expression } => {
                self.by_expression(business, *env, expression, None)
            }
        }
    }

    /// The same, with how many processes are left after each part.
    pub fn narrowed(
        &self,
        business: BusinessId,
        env: Option<SetEnv>,
        expression: &Expression,
    ) -> (RoaringBitmap, Vec<Narrowed>) {
        let mut steps = Vec::with_capacity(ExpressionPart::ALL.len());
        let ids = self.by_expression(business, env, expression, Some(&mut steps));
        (ids, steps)
    }

    fn in_scope(&self, business: BusinessId, scope: &Scope) -> RoaringBitmap {
        let Some(place) = self.businesses.get(&business) else {
            return RoaringBitmap::new();
        };
        let in_env =
            |set: &&Arc<super::places::Set>| scope.env.is_none_or(|env| set.row.env == env);
        let mut ids = match &scope.sets {
            None => {
                let sets = place.sets.iter().filter_map(|id| self.sets.get(id));
                union(sets.filter(in_env).map(|set| &set.processes))
            }
            Some(wanted) => {
                let sets = each_once(wanted).filter_map(|id| self.sets.get(id));
                let ours = sets.filter(|set| set.row.business == business);
                union(ours.filter(in_env).map(|set| &set.processes))
            }
        };
        if let Some(modules) = &scope.modules {
            let modules = each_once(modules).filter_map(|id| self.modules.get(id));
            ids &= union(modules.map(|module| &module.processes));
        }
        if let Some(services) = &scope.services {
            let processes = each_once(services).flat_map(|id| self.processes_of_service(*id));
            ids &= processes.map(|id| id.0).collect::<RoaringBitmap>();
        }
        if let Some(names) = &scope.names {
            let aliases = self.aliases.get(&business);
            let names = each_once(names);
            let named = names.filter_map(|name| aliases?.get(name.as_str()));
            ids &= union(named);
        }
        if let Some(processes) = &scope.processes {
            ids &= processes.iter().map(|id| id.0).collect::<RoaringBitmap>();
        }
        ids
    }

    fn by_expression(
        &self,
        business: BusinessId,
        env: Option<SetEnv>,
        expression: &Expression,
        steps: Option<&mut Vec<Narrowed>>,
    ) -> RoaringBitmap {
        let is_told = steps.is_some();
        let mut steps = steps;
        let mut tell = |part, count| {
            if let Some(steps) = steps.as_deref_mut() {
                steps.push(Narrowed { part, count });
            }
        };
        let Some(place) = self.businesses.get(&business) else {
            for part in ExpressionPart::ALL {
                tell(part, 0);
            }
            return RoaringBitmap::new();
        };
        let mut names = expression.set.matcher();
        let sets: Vec<_> = place
            .sets
            .iter()
            .filter_map(|id| self.sets.get(id))
            .filter(|set| env.is_none_or(|env| set.row.env == env))
            .filter(|set| names.matches(&set.row.name))
            .collect();
        let mut ids = union(sets.iter().map(|set| &set.processes));
        tell(ExpressionPart::Set, ids.len());
        if !expression.module.is_any() {
            let mut names = expression.module.matcher();
            let modules = sets.iter().flat_map(|set| &set.modules);
            let modules = modules.filter_map(|id| self.modules.get(id));
            ids &= union(
                modules
                    .filter(|module| names.matches(&module.row.name))
                    .map(|module| &module.processes),
            );
        }
        tell(ExpressionPart::Module, ids.len());
        // Aliases are few and services many, so aliases go first, unless the caller wants the counts of each part.
        let named = self.named(business, &expression.process);
        if let (Some(named), false) = (&named, is_told) {
            ids &= named;
        }
        if !expression.service.is_any() {
            ids = self.of_services(&ids, &expression.service);
        }
        tell(ExpressionPart::Service, ids.len());
        if let Some(named) = &named {
            ids &= named;
        }
        tell(ExpressionPart::Process, ids.len());
        self.by_id(&mut ids, &expression.id);
        tell(ExpressionPart::Id, ids.len());
        ids
    }

    /// The processes of these aliases; None for every alias.
    fn named(&self, business: BusinessId, pattern: &Pattern) -> Option<RoaringBitmap> {
        if pattern.is_any() {
            return None;
        }
        let mut names = pattern.matcher();
        let aliases = self
            .aliases
            .get(&business)
            .into_iter()
            .flat_map(CowMap::iter);
        Some(union(
            aliases
                .filter(|(alias, _)| names.matches(alias))
                .map(|(_, processes)| processes),
        ))
    }

    fn of_services(&self, candidates: &RoaringBitmap, pattern: &Pattern) -> RoaringBitmap {
        self.by_service(candidates, || {
            let mut names = pattern.matcher();
            move |service: &Service| names.matches(&service.name)
        })
    }

    fn by_id(&self, ids: &mut RoaringBitmap, part: &IdPart) {
        match part {
            IdPart::Pattern(pattern) if pattern.is_any() => {}
            IdPart::Pattern(pattern) => match pattern.exact_names(MAX_LOOKED_UP) {
                Some(names) => {
                    // `007` is a name, but no process is called so.
                    let numbers = names.iter().filter_map(|name| {
                        name.parse::<u32>().ok().filter(|n| n.to_string() == *name)
                    });
                    *ids &= numbers.collect::<RoaringBitmap>();
                }
                None => {
                    *ids = scan::filtered(ids, || {
                        let mut names = pattern.matcher();
                        let mut text = itoa::Buffer::new();
                        move |id| names.matches(text.format(id))
                    });
                }
            },
            IdPart::Slice(slice) => {
                let bounds = slice.bounds(ids.len() as usize);
                *ids = ids.iter().skip(bounds.start).take(bounds.len()).collect();
            }
        }
    }

    fn with_status(&self, ids: &RoaringBitmap, statuses: &[ProcessStatus]) -> RoaringBitmap {
        let mut wanted = RoaringBitmap::new();
        for status in each_once(statuses) {
            match status {
                ProcessStatus::Running => wanted |= self.running.among(ids),
                ProcessStatus::Unregistered => wanted |= self.unregistered.among(ids),
                ProcessStatus::Terminated => {
                    wanted |= ids - self.running.among(ids) - self.unregistered.among(ids);
                }
            }
        }
        wanted
    }

    /// Keeps processes whose machine contains every term in an address or the name of its cloud area.
    fn search(&self, ids: &mut RoaringBitmap, terms: &[String]) {
        let machines = each_once(terms).map(|term| {
            let named = self.clouds.iter();
            let named = named.filter(|(_, name)| name.contains(term.as_str()));
            let clouds = named.map(|(id, _)| *id).collect();
            self.addresses().containing(term, &clouds)
        });
        let machines = machines.reduce(|all, one| all & one).unwrap_or_default();
        let on_them = |service: &Service| machines.contains(service.machine.0);
        *ids = self.by_service(ids, || on_them);
    }

    /// Keeps processes with this word in an address or a name of something that they belong to.
    fn with_word(&self, business: BusinessId, ids: &RoaringBitmap, word: &str) -> RoaringBitmap {
        let mut folded = FoldedText::new(word);
        let clouds = self.clouds.iter();
        let clouds = clouds.filter(|(_, name)| folded.is_in(&[name.as_ref()]));
        let clouds = clouds.map(|(id, _)| *id).collect();
        // Addresses are written in lower case.
        let machines = self.addresses().containing(folded.word(), &clouds);
        let aliases = self
            .aliases
            .get(&business)
            .into_iter()
            .flat_map(CowMap::iter);
        let aliases = aliases.filter(|(alias, _)| folded.is_in(&[alias.as_ref()]));
        let named = union(aliases.map(|(_, processes)| processes)) & ids;
        let places = self.businesses.get(&business).map(|place| &place.sets);
        let sets = places.into_iter().flatten();
        let sets = sets.filter_map(|id| self.sets.get(id));
        let mut of_modules = Vec::new();
        for set in sets {
            if folded.is_in(&[&set.row.name]) {
                of_modules.push(&set.processes);
                continue;
            }
            let below = set.modules.iter().filter_map(|id| self.modules.get(id));
            let below = below.filter(|module| folded.is_in(&[&module.row.name]));
            of_modules.extend(below.map(|module| &module.processes));
        }
        let named = named | (union(of_modules.into_iter()) & ids);
        let found = self.by_service(&(ids - &named), || {
            let mut folded = FoldedText::new(word);
            let machines = &machines;
            move |service: &Service| {
                machines.contains(service.machine.0) || folded.is_in(&[service.name.as_ref()])
            }
        });
        found | named
    }

    /// Keeps processes whose service passes. Processes of one service have neighbouring ids, so each service is tested once.
    pub(super) fn by_service<T>(
        &self,
        ids: &RoaringBitmap,
        make: impl Fn() -> T + Sync,
    ) -> RoaringBitmap
    where
        T: FnMut(&Service) -> bool,
    {
        scan::filtered(ids, || {
            let (mut passes, mut last) = (make(), None);
            let (mut processes, mut services) = (self.processes.cursor(), self.services.cursor());
            move |id| {
                let Some(cell) = processes.get(id) else {
                    return false;
                };
                match last {
                    Some((service, answer)) if service == cell.row.service => answer,
                    _ => {
                        let service = services.get(cell.row.service.0);
                        let answer = service.is_some_and(&mut passes);
                        last = Some((cell.row.service, answer));
                        answer
                    }
                }
            }
        })
    }
}

/// Callers may repeat values; each is tested once.
fn each_once<T: Ord>(list: &[T]) -> impl Iterator<Item = &T> {
    list.iter().collect::<BTreeSet<_>>().into_iter()
}

pub(super) fn union<'a, B: Borrow<RoaringBitmap> + 'a>(
    bitmaps: impl Iterator<Item = &'a B>,
) -> RoaringBitmap {
    let mut all = RoaringBitmap::new();
    for bitmap in bitmaps {
        all |= bitmap.borrow();
    }
    all
}
