//! `/proc/meminfo` and `/proc/vmstat`: memory, the page cache, faults and swapping.

use crate::reading::{Field, KernelUnits, Receive, number, parse_keys};

const fn size(key: &'static str, name: &'static str) -> Field {
    Field::gauge(key, name).in_multiples("B", 1024.0)
}

static SIZES: [Field; 14] = [
    size("MemTotal", "memory.total"),
    size("MemFree", "memory.free"),
    size("MemAvailable", "memory.available"),
    size("Buffers", "memory.buffers"),
    size("Cached", "memory.page_cache"),
    size("Dirty", "memory.dirty"),
    size("Writeback", "memory.writeback"),
    size("AnonPages", "memory.anonymous"),
    size("AnonHugePages", "memory.huge_pages"),
    size("Mapped", "memory.mapped"),
    size("Shmem", "memory.shared"),
    size("Slab", "memory.slab"),
    size("SwapTotal", "memory.swap_total"),
    size("SwapFree", "memory.swap_free"),
];

/// Parses `/proc/meminfo`.
pub fn meminfo(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    parse_keys(text, &SIZES, receive);
}

/// Paging is counted in kilobytes.
const fn paged(key: &'static str, name: &'static str) -> Field {
    Field::counter(key, name).in_multiples("B", 1024.0)
}

static EVENTS: [Field; 20] = [
    Field::counter("pgfault", "memory.faults"),
    Field::counter("pgmajfault", "memory.major_faults"),
    paged("pgpgin", "memory.paged_in"),
    paged("pgpgout", "memory.paged_out"),
    Field::counter("workingset_refault_file", "memory.file_refaults"),
    // Its name before Linux 5.9.
    Field::counter("workingset_refault", "memory.file_refaults"),
    Field::counter("workingset_refault_anon", "memory.anonymous_refaults"),
    Field::counter("pgscan_direct", "memory.direct_scans"),
    Field::counter("pgscan_kswapd", "memory.background_scans"),
    Field::counter("pswpin", "memory.swapped_in"),
    Field::counter("pswpout", "memory.swapped_out"),
    Field::counter("oom_kill", "memory.oom_kills"),
    Field::counter("thp_fault_alloc", "memory.huge_page_faults"),
    Field::counter("compact_stall", "memory.compaction_stalls"),
    Field::counter("numa_hit", "numa.hits"),
    Field::counter("numa_miss", "numa.misses"),
    Field::counter("numa_foreign", "numa.foreign"),
    Field::counter("numa_local", "numa.local"),
    Field::counter("numa_other", "numa.other"),
    Field::counter("numa_pages_migrated", "numa.migrated_pages"),
];

static STALLS: Field = Field::counter("allocstall_", "memory.allocation_stalls");

/// Parses `/proc/vmstat`. Swapping is counted in pages, paging in bytes. The stalls are the sum over all zones of memory.
pub fn vmstat(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    parse_keys(text, &EVENTS, receive);
    let mut stalls = None;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(' ') else { continue };
        let Some(value) = number(value) else { continue };
        if key.starts_with(STALLS.key) || key == "allocstall" {
            stalls = Some(stalls.unwrap_or(0.0) + value);
        }
    }
    if let Some(stalls) = stalls {
        receive(STALLS.reading(None, stalls));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{parsed, survives};

    #[test]
    fn memory_is_in_bytes() {
        let text = "MemTotal:       24684096 kB\nMemAvailable: 2 kB\nCached:\t3 kB\nSwapCached: 9 kB\nHugePages_Total: 4\n";
        let expected = ["memory.total 25276514304", "memory.available 2048", "memory.page_cache 3072"];
        assert_eq!(parsed(meminfo, text), expected);
        survives(meminfo, text);
    }

    #[test]
    fn paging_is_in_bytes_and_stalls_are_summed() {
        let text = "nr_free_pages 1\npgpgin 2\npswpin 3\npswpout 0\nallocstall_dma 1\nallocstall_normal 4\n\
                    allocstall_movable 5\npgmajfault 7\nworkingset_refault_file 8\n";
        let expected = [
            "memory.paged_in 2048",
            "memory.swapped_in 3",
            "memory.swapped_out 0",
            "memory.major_faults 7",
            "memory.file_refaults 8",
            "memory.allocation_stalls 10",
        ];
        assert_eq!(parsed(vmstat, text), expected);
        survives(vmstat, text);
        let older = ["memory.file_refaults 6", "memory.allocation_stalls 2"];
        assert_eq!(parsed(vmstat, "workingset_refault 6\nallocstall 2\n"), older);
    }
}
