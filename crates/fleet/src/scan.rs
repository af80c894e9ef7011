//! Tests very many ids with several threads, each on its own range.

use roaring::RoaringBitmap;

/// Fewer are tested by one thread: starting another takes longer.
const MIN_PER_THREAD: usize = 32 * 1024;
const MAX_THREADS: usize = 4;

/// The ids that match. `make` makes a test for each thread, which may cache earlier results.
pub(crate) fn filtered<T>(ids: &RoaringBitmap, make: impl Fn() -> T + Sync) -> RoaringBitmap
where
    T: FnMut(u32) -> bool,
{
    let found = on_threads(ids, |run| {
        let mut matches = make();
        let mut found = RoaringBitmap::new();
        let run = run.filter(|id| matches(*id));
        // In order, as a bitmap is.
        let _ = found.append(run);
        found
    });
    found
        .into_iter()
        .reduce(|all, one| all | one)
        .unwrap_or_default()
}

/// The results of `work` for each range of ids, in order.
pub(crate) fn mapped<R: Send>(
    ids: &RoaringBitmap,
    work: impl Fn(&[u32]) -> Vec<R> + Sync,
) -> Vec<Vec<R>> {
    on_threads(ids, |run| work(&run.collect::<Vec<u32>>()))
}

/// Cuts the ids into ranges of the same length, one for each thread.
fn on_threads<R: Send>(
    ids: &RoaringBitmap,
    work: impl Fn(roaring::bitmap::Iter<'_>) -> R + Sync,
) -> Vec<R> {
    let n_threads = n_threads(ids.len() as usize);
    if n_threads == 1 {
        return vec![work(ids.iter())];
    }
    let size = ids.len().div_ceil(n_threads as u64) as u32;
    let starts = (0..n_threads as u32).filter_map(|n| ids.select(n * size));
    let starts: Vec<u32> = starts.collect();
    let ends = starts.iter().skip(1).map(|start| start - 1);
    let ranges: Vec<(u32, u32)> = (starts.iter().copied())
        .zip(ends.chain([u32::MAX]))
        .collect();
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = ranges
            .into_iter()
            .map(|(first, last)| scope.spawn(move || work(ids.range(first..=last))))
            .collect();
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    })
}

fn n_threads(n_ids: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.min(MAX_THREADS).min(n_ids / MIN_PER_THREAD).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_threads_find_the_same_in_the_same_order() {
        let ids: RoaringBitmap = (0..200_000).map(|n| n * 3).collect();
        let odd = filtered(&ids, || |id| id % 2 == 1);
        assert_eq!(odd.len(), 100_000);
        let runs = mapped(&ids, <[u32]>::to_vec);
        assert!(runs.into_iter().flatten().eq(ids.iter()));
    }
}
