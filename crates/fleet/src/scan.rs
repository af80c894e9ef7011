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
    if n_threads(ids.len() as usize) == 1 {
        let mut matches = make();
        return ids.iter().filter(|id| matches(*id)).collect();
    }
    let found = mapped(ids, |ids| {
        let mut matches = make();
        ids.iter().copied().filter(|id| matches(*id)).collect()
    });
    found.into_iter().flatten().collect()
}

/// The results of `work` for each range of ids, in order.
pub(crate) fn mapped<R: Send>(
    ids: &RoaringBitmap,
    work: impl Fn(&[u32]) -> Vec<R> + Sync,
) -> Vec<Vec<R>> {
    let all: Vec<u32> = ids.iter().collect();
    let n_threads = n_threads(all.len());
    if n_threads == 1 {
        return vec![work(&all)];
    }
    let (work, size) = (&work, all.len().div_ceil(n_threads));
    std::thread::scope(|scope| {
        let threads: Vec<_> = all
            .chunks(size)
            .map(|run| scope.spawn(move || work(run)))
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
