//! What the server itself uses, from `/proc/self`: the `process_*` metrics that every Prometheus client has.

use std::io;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

use super::families;
use super::page::Page;

#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessUsage {
    cpu_seconds: f64,
    resident_bytes: u64,
    virtual_bytes: u64,
    open_fds: u64,
    /// None: unlimited.
    max_fds: Option<u64>,
    start_time_seconds: f64,
    threads: u64,
}

impl ProcessUsage {
    pub(super) fn read() -> io::Result<Self> {
        let stat = std::fs::read_to_string("/proc/self/stat")?;
        let boot = std::fs::read_to_string("/proc/stat")?;
        // One is the descriptor that lists them.
        let open_fds = std::fs::read_dir("/proc/self/fd")?
            .count()
            .saturating_sub(1);
        let (stat, boot_time) = parse_stat(&stat)
            .zip(parse_boot_time(&boot))
            .ok_or_else(|| io::Error::other("/proc/self/stat is not as expected"))?;
        let ticks = clock_ticks_per_second() as f64;
        Ok(Self {
            cpu_seconds: stat.cpu_ticks as f64 / ticks,
            resident_bytes: stat.resident_pages * page_size() as u64,
            virtual_bytes: stat.virtual_bytes,
            open_fds: open_fds as u64,
            max_fds: getrlimit(Resource::Nofile).current,
            start_time_seconds: boot_time as f64 + stat.start_ticks as f64 / ticks,
            threads: stat.threads,
        })
    }

    pub(super) fn write(&self, page: &mut Page) {
        page.single(&families::PROCESS_CPU, self.cpu_seconds);
        page.single(&families::PROCESS_RESIDENT, self.resident_bytes);
        page.single(&families::PROCESS_VIRTUAL, self.virtual_bytes);
        page.single(&families::PROCESS_OPEN_FDS, self.open_fds);
        let max_fds = self.max_fds.map_or("+Inf".to_owned(), |n| n.to_string());
        page.single(&families::PROCESS_MAX_FDS, max_fds);
        page.single(&families::PROCESS_START_TIME, self.start_time_seconds);
        page.single(&families::PROCESS_THREADS, self.threads);
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Stat {
    cpu_ticks: u64,
    threads: u64,
    start_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

/// The name of the program is in parentheses and may contain any of them, so fields count from the last one.
fn parse_stat(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    // proc(5) numbers the fields from 1; the state, the first after the name, is 3.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Stat {
        cpu_ticks: field(14)? + field(15)?,
        threads: field(20)?,
        start_ticks: field(22)?,
        virtual_bytes: field(23)?,
        resident_pages: field(24)?,
    })
}

fn parse_boot_time(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_proc_are_found_whatever_the_program_is_called() {
        let text = "4711 (a) b (c) S 1 4711 4711 0 -1 4194560 100 0 0 0 250 150 0 0 20 0 7 0 12345 104857600 2560 18446744073709551615 1 1";
        let expected = Stat {
            cpu_ticks: 400,
            threads: 7,
            start_ticks: 12345,
            virtual_bytes: 104_857_600,
            resident_pages: 2560,
        };
        assert_eq!(parse_stat(text), Some(expected));
        assert_eq!(parse_stat("4711 (short) S 1"), None);
        assert_eq!(
            parse_boot_time("cpu 1 2\nbtime 1700000000\nprocesses 3"),
            Some(1_700_000_000)
        );
    }

    #[test]
    fn this_process_is_measured() {
        let usage = ProcessUsage::read().unwrap();
        assert!(usage.resident_bytes > 1024 * 1024 && usage.virtual_bytes > usage.resident_bytes);
        assert!(usage.open_fds >= 3 && usage.max_fds.is_none_or(|max| max >= usage.open_fds));
        let now = std::time::SystemTime::now();
        let now = now
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        assert!(usage.start_time_seconds > 1e9 && usage.start_time_seconds < now + 2.0);
        assert!(usage.threads >= 1 && usage.cpu_seconds >= 0.0);
    }
}
