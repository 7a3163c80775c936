//! Load of the host during the race.

use std::collections::VecDeque;
use std::fs;
use std::time::Duration;

use serde::Serialize;

/// Interval at which the counters are to be read.
const INTERVAL: Duration = Duration::from_secs(1);

/// Length of the part of a race in which stolen time is judged beside the whole race.
const WINDOW: Duration = Duration::from_secs(10);

/// Usage of the host's cores during the race.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HostUsage {
    /// Fraction of time in which the cores were not idle, from 0 to 1. Includes the driver, an engine on the same host,
    /// and other processes.
    pub busy_share: f64,
    /// Fraction of time in which the hypervisor ran other virtual machines instead, from 0 to 1.
    pub stolen_share: f64,
    /// The ten seconds in which this fraction was highest, or `None` if the race was shorter.
    pub most_stolen: Option<StolenTime>,
}

/// Stolen time in a part of the race.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StolenTime {
    /// Fraction of time in which the hypervisor ran other virtual machines instead, from 0 to 1.
    pub share: f64,
    /// When the part began, in seconds since the driver started.
    pub from_s: f64,
}

/// Reads the host's CPU counters once a second.
#[derive(Debug)]
pub struct HostMonitor {
    /// The first reading, or `None` if the system does not report the counters.
    first: Option<CpuTicks>,
    /// Readings of the last ten seconds, and one that is older, if there is one.
    recent: VecDeque<TimedTicks>,
    most_stolen: Option<StolenTime>,
    /// When the next reading is due, since the first one.
    due: Duration,
}

/// The counters, and when they were read, since the first reading.
#[derive(Debug, Clone, Copy)]
struct TimedTicks {
    at: Duration,
    ticks: CpuTicks,
}

/// The host's CPU counters at one instant, in ticks, summed over all cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTicks {
    idle: u64,
    stolen: u64,
    total: u64,
}

/// How the host's cores spent the time between two readings, as fractions of it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CpuShares {
    busy: f64,
    stolen: f64,
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

    /// Returns the shares since an earlier reading, or `None` if no tick has passed.
    fn since(self, earlier: Self) -> Option<CpuShares> {
        let total = self.total.checked_sub(earlier.total).filter(|total| *total > 0)? as f64;
        // The kernel may correct the counter of idle time downwards.
        let share = |now: u64, earlier: u64| now.saturating_sub(earlier) as f64 / total;
        let stolen = share(self.stolen, earlier.stolen);
        let busy = (1.0 - share(self.idle, earlier.idle) - stolen).max(0.0);
        Some(CpuShares { busy, stolen })
    }
}

impl HostMonitor {
    /// Reads the counters for the first time.
    pub fn start() -> Self {
        Self::from(CpuTicks::read())
    }

    fn from(first: Option<CpuTicks>) -> Self {
        let recent = first.map(|ticks| TimedTicks { at: Duration::ZERO, ticks }).into_iter().collect();
        Self { first, recent, most_stolen: None, due: INTERVAL }
    }

    /// Reads the counters if a second has passed. `at` is the time since the first reading.
    pub fn read_when_due(&mut self, at: Duration) {
        if at >= self.due {
            self.due = at + INTERVAL;
            self.record(at, CpuTicks::read());
        }
    }

    fn record(&mut self, at: Duration, ticks: Option<CpuTicks>) {
        let Some(ticks) = ticks else { return };
        let begins_window = |candidate: &TimedTicks| at.saturating_sub(candidate.at) >= WINDOW;
        while self.recent.get(1).is_some_and(begins_window) {
            self.recent.pop_front();
        }
        if let Some(first) = self.recent.front().filter(|first| begins_window(first))
            && let Some(CpuShares { stolen: share, .. }) = ticks.since(first.ticks)
            && self.most_stolen.is_none_or(|known| known.share < share)
        {
            self.most_stolen = Some(StolenTime { share, from_s: first.at.as_secs_f64() });
        }
        self.recent.push_back(TimedTicks { at, ticks });
    }

    /// Reads the counters for the last time, and returns the usage since the first one. Returns `None` if the system
    /// does not report the counters.
    pub fn end(self, at: Duration) -> Option<HostUsage> {
        self.ended_with(at, CpuTicks::read())
    }

    fn ended_with(mut self, at: Duration, last: Option<CpuTicks>) -> Option<HostUsage> {
        self.record(at, last);
        let CpuShares { busy, stolen } = last?.since(self.first?)?;
        Some(HostUsage { busy_share: busy, stolen_share: stolen, most_stolen: self.most_stolen })
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
        assert!((used.stolen - 0.05).abs() < 1e-9 && (used.busy - 0.7).abs() < 1e-9, "{used:?}");
        assert_eq!(now.since(now), None);
        assert_eq!(then.since(now), None);
    }

    /// Returns the usage of a race with this number of stolen ticks in each second; a second has 100 ticks.
    fn usage(stolen_per_second: impl Iterator<Item = u64>) -> HostUsage {
        let mut now = CpuTicks { idle: 7, stolen: 3, total: 1_000 };
        let (mut monitor, mut at) = (HostMonitor::from(Some(now)), Duration::ZERO);
        for stolen in stolen_per_second {
            now = CpuTicks { idle: now.idle, stolen: now.stolen + stolen, total: now.total + 100 };
            at += Duration::from_secs(1);
            monitor.record(at, Some(now));
        }
        monitor
            .ended_with(at + Duration::from_millis(10), Some(CpuTicks { total: now.total + 1, ..now }))
            .unwrap()
    }

    #[test]
    fn the_ten_seconds_with_the_most_stolen_time_are_found_in_an_hour() {
        let disturbed = usage((0..3_600).map(|second| if (1_800..1_830).contains(&second) { 40 } else { 0 }));
        assert!(disturbed.stolen_share < 0.004, "{disturbed:?}");
        let most = disturbed.most_stolen.unwrap();
        assert!((most.share - 0.4).abs() < 1e-9 && (most.from_s - 1_800.0).abs() < 1e-9, "{most:?}");
        // A shorter disturbance counts as a part of ten seconds.
        let short = usage((0..60).map(|second| if second == 33 { 50 } else { 1 })).most_stolen.unwrap();
        assert!((short.share - 0.059).abs() < 1e-9 && (short.from_s - 24.0).abs() < 1e-9, "{short:?}");
    }

    #[test]
    fn stolen_time_of_less_than_ten_seconds_is_that_of_the_race_only() {
        let short = usage((0..9).map(|_| 50));
        assert!(short.stolen_share > 0.49 && short.most_stolen.is_none(), "{short:?}");
    }

    #[test]
    fn the_usage_of_this_machine_is_read_about_once_a_second() {
        let mut monitor = HostMonitor::start();
        for ms in [200, 999, 1_000, 1_200, 1_999, 2_000, 2_300] {
            monitor.read_when_due(Duration::from_millis(ms));
        }
        assert_eq!(monitor.recent.len(), 3);
        assert_eq!(HostMonitor::from(None).ended_with(WINDOW, None), None);
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
