//! The kernel's counters of the waits of a thread for a core.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// The kernel's counters of a thread's wait for a core, since the thread started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunQueueStats {
    /// Time in which the thread was ready to run but had no core, in nanoseconds.
    pub wait_ns: u64,
    /// Number of times that the thread ran.
    pub runs: u64,
}

impl RunQueueStats {
    /// Returns the counters of the calling thread, or `None` if the operating system does not provide them.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
    }

    /// Returns the counters in the file of a thread, or `None` if the operating system does not provide them or the
    /// thread has ended.
    pub fn read_from(schedstat: &File) -> Option<Self> {
        read_text(schedstat, Self::parse)
    }

    /// Parses `CPU-TIME WAIT RUNS`. On a kernel without these counters, the file is empty or contains zeros.
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace().skip(1).map(str::parse);
        let (wait_ns, runs) = (fields.next()?.ok()?, fields.next()?.ok()?);
        (runs > 0).then_some(Self { wait_ns, runs })
    }

    /// Returns the values since `earlier`, or `None` if a counter has decreased.
    pub fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            wait_ns: self.wait_ns.checked_sub(earlier.wait_ns)?,
            runs: self.runs.checked_sub(earlier.runs)?,
        })
    }
}

/// Returns the CPU time in the file of a thread in nanoseconds, or `None` if the operating system does not provide it or
/// the thread has ended.
pub fn read_cpu_ns(schedstat: &File) -> Option<u64> {
    read_text(schedstat, parse_cpu_ns)
}

/// Without the counters, all are zero; a thread that has them has run at least once, although its CPU time may be zero.
fn parse_cpu_ns(text: &str) -> Option<u64> {
    RunQueueStats::parse(text)?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

fn read_text<T>(schedstat: &File, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let mut text = [0; 96];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    parse(std::str::from_utf8(&text[..length]).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_is_parsed_and_missing_counters_are_none() {
        assert_eq!(RunQueueStats::parse("123 456 7\n"), Some(RunQueueStats { wait_ns: 456, runs: 7 }));
        assert_eq!(
            (RunQueueStats::parse("0 0 0\n"), RunQueueStats::parse(""), RunQueueStats::parse("1 x 2")),
            (None, None, None)
        );
        assert_eq!(
            ["123 456 7\n", "0 9 1", "0 0 0\n", "", "x 1 2"].map(parse_cpu_ns),
            [Some(123), Some(0), None, None, None]
        );
        let (then, now) = (RunQueueStats { wait_ns: 400, runs: 5 }, RunQueueStats { wait_ns: 456, runs: 7 });
        assert_eq!(now.since(then), Some(RunQueueStats { wait_ns: 56, runs: 2 }));
        assert_eq!(then.since(now), None);
    }
}
