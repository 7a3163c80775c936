//! The files of control groups of both versions.

use crate::reading::{Field, KernelUnits, Receive, number, parse_keys};

const fn microseconds(key: &'static str, name: &'static str) -> Field {
    Field::counter(key, name).in_multiples("ms", 1e-3)
}

const fn nanoseconds(key: &'static str, name: &'static str) -> Field {
    Field::counter(key, name).in_multiples("ms", 1e-6)
}

/// Version 2 counts microseconds, version 1 nanoseconds.
static CPU: [Field; 5] = [
    Field::counter("nr_periods", "cgroup.cpu_periods"),
    Field::counter("nr_throttled", "cgroup.throttled_periods"),
    microseconds("throttled_usec", "cgroup.throttled_time"),
    nanoseconds("throttled_time", "cgroup.throttled_time"),
    microseconds("usage_usec", "cgroup.cpu_time"),
];

/// Parses `cpu.stat`.
pub fn cpu_stat(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    parse_keys(text, &CPU, receive);
}

static CPU_QUOTA: Field = Field::gauge("", "cgroup.cpu_quota").in_multiples("ms", 1e-3);
static CPU_PERIOD: Field = Field::gauge("", "cgroup.cpu_period").in_multiples("ms", 1e-3);

/// Parses `cpu.max`, `QUOTA PERIOD` in microseconds. The quota of a group without a limit is `max`: it has no value.
pub fn cpu_max(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    let Some((quota, period)) = text.split_once(' ') else { return };
    if quota == "max" || number(quota).is_some() {
        single(quota, &CPU_QUOTA, receive);
        single(period, &CPU_PERIOD, receive);
    }
}

/// Parses `cpu.cfs_quota_us` of version 1, which is -1 without a limit.
pub fn cpu_quota(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    single(text, &CPU_QUOTA, receive);
}

/// Parses `cpu.cfs_period_us` of version 1.
pub fn cpu_period(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    single(text, &CPU_PERIOD, receive);
}

static MEMORY: Field = Field::gauge("", "cgroup.memory").with_unit("B");
static MEMORY_LIMIT: Field = Field::gauge("", "cgroup.memory_limit").with_unit("B");
static LIMIT_HITS: Field = Field::counter("", "cgroup.memory_limit_hits");

/// Parses `memory.current` or `memory.usage_in_bytes`.
pub fn memory_current(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    single(text, &MEMORY, receive);
}

/// Parses `memory.max` or `memory.limit_in_bytes`. A group without a limit has no value: version 2 says `max`, version
/// 1 a number near 2⁶³.
pub fn memory_max(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    const UNLIMITED: f64 = (1_u64 << 62) as f64;
    single(text, &MEMORY_LIMIT, &mut |reading| {
        if reading.value < UNLIMITED {
            receive(reading);
        }
    });
}

/// Parses `memory.failcnt` of version 1.
pub fn memory_failures(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    single(text, &LIMIT_HITS, receive);
}

fn single(text: &str, field: &'static Field, receive: &mut Receive<'_>) {
    if let Some(value) = number(text.trim()) {
        receive(field.reading(None, value));
    }
}

const fn size(key: &'static str, name: &'static str) -> Field {
    Field::gauge(key, name).with_unit("B")
}

/// Keys of both versions; those of version 1 with `total_` include groups below.
static MEMORY_STAT: [Field; 12] = [
    size("anon", "cgroup.anonymous"),
    size("file", "cgroup.page_cache"),
    size("file_dirty", "cgroup.dirty"),
    Field::counter("workingset_refault_file", "cgroup.file_refaults"),
    Field::counter("pgmajfault", "cgroup.major_faults"),
    Field::counter("pgscan_direct", "cgroup.direct_scans"),
    size("total_rss", "cgroup.anonymous"),
    size("total_cache", "cgroup.page_cache"),
    size("total_dirty", "cgroup.dirty"),
    Field::counter("total_workingset_refault_file", "cgroup.file_refaults"),
    Field::counter("total_pgmajfault", "cgroup.major_faults"),
    size("total_swap", "cgroup.swap"),
];

/// Parses `memory.stat`. In version 1, the values include the groups below.
pub fn memory_stat(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    let is_version_1 = text.lines().any(|line| line.starts_with("total_"));
    parse_keys(text, &MEMORY_STAT, &mut |reading| {
        if reading.field.key.starts_with("total_") == is_version_1 {
            receive(reading);
        }
    });
}

static EVENTS: [Field; 4] = [
    Field::counter("high", "cgroup.memory_high_hits"),
    Field::counter("max", "cgroup.memory_limit_hits"),
    Field::counter("oom", "cgroup.out_of_memory"),
    Field::counter("oom_kill", "cgroup.oom_kills"),
];

/// Parses `memory.events` of version 2, and `memory.oom_control` of version 1, which counts kills only.
pub fn memory_events(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    parse_keys(text, &EVENTS, receive);
}

static IO: [Field; 4] = [
    Field::counter("rbytes", "cgroup.read_bytes").with_unit("B"),
    Field::counter("wbytes", "cgroup.write_bytes").with_unit("B"),
    Field::counter("rios", "cgroup.reads"),
    Field::counter("wios", "cgroup.writes"),
];

/// Parses `io.stat`: lines of `MAJOR:MINOR rbytes=1 wbytes=2 rios=3 wios=4 ...`.
pub fn io_stat(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(device) = words.next().filter(|device| device.contains(':')) else { continue };
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            if let Some(field) = IO.iter().find(|field| field.key == key)
                && let Some(value) = number(value)
            {
                receive(field.reading(Some(("device", device)), value));
            }
        }
    }
}

/// Parses `blkio.throttle.io_service_bytes` of version 1: lines of `MAJOR:MINOR Read BYTES`.
pub fn io_service_bytes(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    let [read, written, ..] = &IO;
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [device, kind, value] = words[..] else { continue };
        let field = match kind {
            "Read" => read,
            "Write" => written,
            _ => continue,
        };
        if let Some(value) = number(value).filter(|_| device.contains(':')) {
            receive(field.reading(Some(("device", device)), value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Parser;
    use crate::reading::tests::{parsed, survives};

    /// A parser, a text, and what it finds in it.
    type Case = (Parser, &'static str, &'static [&'static str]);

    const CPU_CASES: [Case; 7] = [
        (
            cpu_stat,
            "usage_usec 7000\nuser_usec 1\nnr_periods 9\nnr_throttled 2\nthrottled_usec 4500\nnr_bursts 0\n",
            &[
                "cgroup.cpu_time 7",
                "cgroup.cpu_periods 9",
                "cgroup.throttled_periods 2",
                "cgroup.throttled_time 4.5",
            ],
        ),
        (
            cpu_stat,
            "nr_periods 9\nnr_throttled 2\nthrottled_time 4500000\nburst_time 0\n",
            &["cgroup.cpu_periods 9", "cgroup.throttled_periods 2", "cgroup.throttled_time 4.5"],
        ),
        (cpu_max, "150000 100000\n", &["cgroup.cpu_quota 150", "cgroup.cpu_period 100"]),
        (cpu_max, "max 100000\n", &["cgroup.cpu_period 100"]),
        (cpu_quota, "150000\n", &["cgroup.cpu_quota 150"]),
        (cpu_quota, "-1\n", &[]),
        (cpu_period, "100000\n", &["cgroup.cpu_period 100"]),
    ];

    const OTHER_CASES: [Case; 9] = [
        (memory_current, "4096\n", &["cgroup.memory 4096"]),
        (memory_max, "max\n", &[]),
        (memory_max, "9223372036854771712\n", &[]),
        (memory_max, "1073741824\n", &["cgroup.memory_limit 1073741824"]),
        (memory_failures, "3\n", &["cgroup.memory_limit_hits 3"]),
        (
            memory_events,
            "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 0\n",
            &[
                "cgroup.memory_high_hits 1",
                "cgroup.memory_limit_hits 2",
                "cgroup.out_of_memory 3",
                "cgroup.oom_kills 4",
            ],
        ),
        (
            io_stat,
            "254:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n8:16\n",
            &[
                "cgroup.read_bytes[device=254:0] 1",
                "cgroup.write_bytes[device=254:0] 2",
                "cgroup.reads[device=254:0] 3",
                "cgroup.writes[device=254:0] 4",
            ],
        ),
        (
            io_service_bytes,
            "254:0 Read 10\n254:0 Write 20\n254:0 Sync 30\n254:0 Total 30\nTotal 30\n",
            &["cgroup.read_bytes[device=254:0] 10", "cgroup.write_bytes[device=254:0] 20"],
        ),
        (
            memory_stat,
            "anon 10\nfile 20\nkernel 5\nworkingset_refault_file 3\npgmajfault 2\n",
            &[
                "cgroup.anonymous 10",
                "cgroup.page_cache 20",
                "cgroup.file_refaults 3",
                "cgroup.major_faults 2",
            ],
        ),
    ];

    #[test]
    fn files_of_both_versions_have_the_same_names() {
        for (parse, text, expected) in CPU_CASES.into_iter().chain(OTHER_CASES) {
            assert_eq!(parsed(parse, text), expected, "{text}");
            survives(parse, text);
        }
    }

    #[test]
    fn the_memory_of_version_1_includes_the_groups_below() {
        let text = "cache 1\nrss 2\npgmajfault 3\nworkingset_refault_file 4\ntotal_cache 10\ntotal_rss 20\n\
                    total_pgmajfault 30\ntotal_workingset_refault_file 40\n";
        let expected = [
            "cgroup.page_cache 10",
            "cgroup.anonymous 20",
            "cgroup.major_faults 30",
            "cgroup.file_refaults 40",
        ];
        assert_eq!(parsed(memory_stat, text), expected);
        survives(memory_stat, text);
    }
}
