//! The addresses of all machines, in order and as one text: made when a query first needs it after a machine has changed.

use std::net::IpAddr;
use std::sync::Arc;

use memchr::memmem;
use model::host::write_ip;
use model::topology::{BkHostId, MachineRow};
use roaring::RoaringBitmap;

use super::View;
use super::places::addresses;

/// Between the addresses of a machine.
const NEXT_ADDRESS: char = '\n';
/// After the last address of a machine. No address has it.
const NEXT_MACHINE: char = '\0';

#[derive(Debug)]
pub(super) struct Addresses {
    /// By inner address.
    machines: Box<[MachineAddress]>,
    /// Of the machines in that order.
    text: Box<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MachineAddress {
    pub(super) ip: IpAddr,
    pub(super) id: BkHostId,
    cloud: u32,
    /// Where its addresses end in the text.
    end: u32,
}

impl Addresses {
    fn of<'a>(machines: impl Iterator<Item = &'a MachineRow>) -> Self {
        let mut rows: Vec<&MachineRow> = machines.collect();
        rows.sort_unstable_by_key(|row| (row.host.ip, row.id));
        let mut text = String::new();
        let machines = rows.into_iter().map(|row| {
            for (n, address) in addresses(row).enumerate() {
                if n > 0 {
                    text.push(NEXT_ADDRESS);
                }
                write_ip(address, &mut text);
            }
            text.push(NEXT_MACHINE);
            MachineAddress {
                ip: row.host.ip,
                id: row.id,
                cloud: row.host.cloud,
                end: text.len() as u32,
            }
        });
        let machines = machines.collect();
        Self {
            machines,
            text: text.into(),
        }
    }

    pub(super) fn in_order(&self) -> &[MachineAddress] {
        &self.machines
    }

    /// The machines with this text in an address, or in a cloud area of these.
    pub(super) fn containing(&self, part: &str, clouds: &RoaringBitmap) -> RoaringBitmap {
        let mut found = Vec::new();
        if !part.contains(NEXT_MACHINE) {
            let finder = memmem::Finder::new(part);
            let (mut at, mut from) = (0, 0);
            while let Some(hit) = finder.find(&self.text.as_bytes()[from..]) {
                let hit = (from + hit) as u32;
                let later = &self.machines[at..];
                let is_before = |machine: &MachineAddress| machine.end <= hit;
                at += match later.first().is_some_and(is_before) {
                    true => later.partition_point(is_before),
                    false => 0,
                };
                let Some(machine) = self.machines.get(at) else {
                    break;
                };
                found.push(machine.id.0);
                from = machine.end as usize;
                at += 1;
            }
        }
        if !clouds.is_empty() {
            let named = self.machines.iter();
            let named = named.filter(|machine| clouds.contains(machine.cloud));
            found.extend(named.map(|machine| machine.id.0));
        }
        found.sort_unstable();
        RoaringBitmap::from_iter(found)
    }
}

impl View {
    pub(super) fn addresses(&self) -> &Addresses {
        let rows = || self.machines.values().map(|machine| &*machine.row);
        self.addresses.get_or_init(|| Addresses::of(rows()))
    }

    /// A machine has changed. A snapshot from before may still fill the cell that it shares with this one.
    pub(super) fn forget_addresses_in_order(&mut self) {
        match Arc::get_mut(&mut self.addresses) {
            Some(cell) => drop(cell.take()),
            None => self.addresses = Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Host;

    use super::*;

    fn machine(id: u32, cloud: u32, ip: &str, others: &[&str]) -> MachineRow {
        MachineRow {
            id: BkHostId(id),
            host: Host::new(cloud, ip.parse().unwrap()),
            ip_v6: None,
            other_innerips: others.iter().map(|ip| ip.parse().unwrap()).collect(),
            agent_id: None,
            attributes: Default::default(),
        }
    }

    #[test]
    fn a_part_is_found_in_every_address_and_never_across_two_machines() {
        let rows = [
            machine(7, 0, "10.0.0.2", &[]),
            machine(3, 0, "10.0.0.10", &["fd00::1", "192.168.0.7"]),
            machine(5, 9, "10.0.1.10", &[]),
        ];
        let all = Addresses::of(rows.iter());
        let order: Vec<u32> = all.in_order().iter().map(|one| one.id.0).collect();
        assert_eq!(order, [7, 3, 5]);
        let found = |part: &str| -> Vec<u32> {
            let ids = all.containing(part, &RoaringBitmap::new());
            ids.iter().collect()
        };
        assert_eq!(found("10.0.0"), [3, 7]);
        assert_eq!(found("0"), [3, 5, 7]);
        assert_eq!(found(""), [3, 5, 7]);
        assert_eq!(found("1.10"), [5]);
        assert_eq!(found("d00::"), [3]);
        assert_eq!(found("192"), [3]);
        assert!(found("2\0").is_empty() && found("210").is_empty() && found("x").is_empty());
        let clouds = RoaringBitmap::from([9]);
        assert_eq!(all.containing("0.2", &clouds), RoaringBitmap::from([5, 7]));
    }

    #[test]
    fn a_view_never_shows_the_addresses_of_a_snapshot_before_it() {
        let mut view = View::default();
        view.put_machine(&machine(1, 0, "10.0.0.1", &[]));
        let before = view.clone();
        view.put_machine(&machine(2, 0, "10.0.0.2", &[]));
        assert_eq!(before.addresses().in_order().len(), 1);
        assert_eq!(view.addresses().in_order().len(), 2);
        view.put_machine(&machine(3, 0, "10.0.0.3", &[]));
        assert_eq!(view.addresses().in_order().len(), 3);
    }
}
