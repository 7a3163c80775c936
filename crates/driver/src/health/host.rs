//! Load of the host during the race.

use std::fs;

use serde::Serialize;

/// Usage of the host's cores during the race.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HostUsage {
    /// Fraction of time in which the cores were not idle, from 0 to 1. Includes the driver, an engine on the same host,
    /// and other processes.
    pub busy_share: f64,
    /// Fraction of time in which the hypervisor ran other virtual machines instead, from 0 to 1.
    pub stolen_share: f64,
}

/// The host's CPU counters at one instant, in ticks, summed over all cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTicks {
    idle: u64,
    stolen: u64,
    total: u64,
}

impl CpuTicks {
    /// Reads the counters. Returns `None` where the system does not report them.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Parses the first line, `cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL GUEST ...`, in which `USER` includes
    /// `GUEST`.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.lines().next()?.split_ascii_whitespace();
        if fields.next() != Some("cpu") {
            return None;
        }
        let ticks: Vec<u64> = fields.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let [_, _, _, idle, waiting, _, _, stolen] = ticks[..] else { return None };
        let total = ticks.iter().try_fold(0_u64, |total, ticks| total.checked_add(*ticks))?;
        Some(Self { idle: idle + waiting, stolen, total })
    }

    /// Returns the usage since an earlier reading, or `None` if no tick has passed.
    pub fn since(self, earlier: Self) -> Option<HostUsage> {
        let total = self.total.checked_sub(earlier.total).filter(|total| *total > 0)? as f64;
        // The kernel may correct the counter of idle time downwards.
        let share = |now: u64, earlier: u64| now.saturating_sub(earlier) as f64 / total;
        let stolen_share = share(self.stolen, earlier.stolen);
        let busy_share = (1.0 - share(self.idle, earlier.idle) - stolen_share).max(0.0);
        Some(HostUsage { busy_share, stolen_share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(line: &str) -> CpuTicks {
        CpuTicks::parse(&format!("{line}\ncpu0 1 2\n")).unwrap()
    }

    #[test]
    fn two_readings_give_the_shares_of_busy_and_stolen_time() {
        let then = ticks("cpu  1000 0 500 8000 100 0 0 50 0 0");
        let now = ticks("cpu  1050 0 520 8015 110 0 0 55 7 0");
        let used = now.since(then).unwrap();
        assert!((used.stolen_share - 0.05).abs() < 1e-9 && (used.busy_share - 0.7).abs() < 1e-9, "{used:?}");
        assert_eq!(now.since(now), None);
        assert_eq!(then.since(now), None);
    }

    #[test]
    fn text_in_a_different_format_is_ignored() {
        for text in [
            "",
            "cpu 1 2 3",
            "cpu a b c d e f g h",
            "intr 1 2 3 4 5 6 7 8",
            "cpu 1 1 1 18446744073709551615 1 1 1 1",
        ] {
            assert_eq!(CpuTicks::parse(text), None, "{text}");
        }
    }
}
