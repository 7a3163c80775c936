//! Load of the host during the race: of all its CPUs, and of those that the driver may use. Others may be stolen or busy
//! without delaying it.

use std::collections::VecDeque;
use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::thread::{CpuSet, sched_getaffinity};
use serde::Serialize;

use crate::health::pauses::StolenTime;

/// Interval at which the counters are to be read.
const INTERVAL: Duration = Duration::from_secs(1);

/// Length of the part of a race in which stolen time is judged beside the whole race.
const WINDOW: Duration = Duration::from_secs(10);

/// Usage of the host's CPUs during the race.
#[derive(Debug, Clone, PartialEq)]
pub struct HostUsage {
    /// That of all CPUs; `None` if the system does not report it.
    pub machine: Option<CoreUsage>,
    /// That of the CPUs that the driver may use; `None` if the system does not report it of one of them.
    pub driver: Option<DriverCoreUsage>,
}

/// Usage of the CPUs that the driver may use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriverCoreUsage {
    /// Their numbers; `null` if they are all that are online.
    pub numbers: Option<Vec<usize>>,
    /// How many they are.
    pub count: usize,
    /// Their usage.
    #[serde(flatten)]
    pub usage: CoreUsage,
}

/// Usage of some of the host's CPUs during the race.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CoreUsage {
    /// Fraction of time in which they were not idle, from 0 to 1. Includes the driver, an engine on the same host, and
    /// other processes.
    pub busy_share: f64,
    /// Fraction of time in which the hypervisor ran other virtual machines instead, from 0 to 1.
    pub stolen_share: f64,
    /// The ten seconds in which this fraction was highest, or `None` if the race was shorter.
    pub most_stolen: Option<StolenShare>,
}

/// Stolen time in a part of the race.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StolenShare {
    /// Fraction of time in which the hypervisor ran other virtual machines instead, from 0 to 1.
    pub share: f64,
    /// When the part began, in seconds since the driver started.
    pub from_s: f64,
}

/// Reads the host's CPU counters once a second.
#[derive(Debug)]
pub struct HostMonitor {
    /// The CPUs that the driver may use; `None` for all that are online.
    driver_cpus: Option<Vec<usize>>,
    /// How many CPUs the driver may use.
    driver_cpu_count: usize,
    machine: CoreMonitor,
    driver: CoreMonitor,
    /// When the next reading is due, since the first one.
    due: Duration,
}

/// The counters of some of the CPUs since the first reading.
#[derive(Debug)]
struct CoreMonitor {
    /// The first reading, or `None` if the system does not report the counters.
    first: Option<CpuTicks>,
    /// Readings of the last ten seconds, and one that is older, if there is one.
    recent: VecDeque<TimedTicks>,
    most_stolen: Option<StolenShare>,
}

/// The counters, and when they were read, since the first reading.
#[derive(Debug, Clone, Copy)]
struct TimedTicks {
    at: Duration,
    ticks: CpuTicks,
}

/// The counters of CPUs at one instant, in ticks, summed over them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CpuTicks {
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
    /// Returns the counters of all CPUs from the text of `/proc/stat`.
    fn of_machine(text: &str) -> Option<Self> {
        Self::parse(text.lines().next()?, "cpu")
    }

    /// Returns the counters of these CPUs, or `None` if one of them has none.
    fn of_cpus(text: &str, cpus: &[usize]) -> Option<Self> {
        let of_cpu = |cpu: &usize| {
            let name = format!("cpu{cpu}");
            text.lines().find_map(|line| Self::parse(line, &name))
        };
        cpus.iter().try_fold(Self::default(), |sum, cpu| sum.checked_add(of_cpu(cpu)?))
    }

    /// Parses a line `NAME USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL GUEST ...`, in which `USER` includes `GUEST`.
    fn parse(line: &str, name: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        if fields.next() != Some(name) {
            return None;
        }
        let ticks: Vec<u64> = fields.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let [_, _, _, idle, waiting, _, _, stolen] = ticks[..] else { return None };
        let total = ticks.iter().try_fold(0_u64, |total, ticks| total.checked_add(*ticks))?;
        Some(Self { idle: idle + waiting, stolen, total })
    }

    fn checked_add(self, other: Self) -> Option<Self> {
        // Idle and stolen ticks are part of the total.
        let total = self.total.checked_add(other.total)?;
        Some(Self { idle: self.idle + other.idle, stolen: self.stolen + other.stolen, total })
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
    /// Reads the counters for the first time. The driver may use the CPUs of the calling thread.
    pub fn start() -> Self {
        let text = read_stat();
        let driver_cpus = cpus_of_current_thread().filter(|cpus| cpus.len() < online_count(&text));
        Self::from(&text, driver_cpus)
    }

    fn from(text: &str, driver_cpus: Option<Vec<usize>>) -> Self {
        let (machine, driver) = Self::ticks(text, driver_cpus.as_deref());
        let (machine, driver) = (CoreMonitor::from(machine), CoreMonitor::from(driver));
        let driver_cpu_count = driver_cpus.as_ref().map_or_else(|| online_count(text), Vec::len);
        Self { driver_cpus, driver_cpu_count, machine, driver, due: INTERVAL }
    }

    /// Returns the counters of all CPUs, and of those of the driver.
    fn ticks(text: &str, driver_cpus: Option<&[usize]>) -> (Option<CpuTicks>, Option<CpuTicks>) {
        let machine = CpuTicks::of_machine(text);
        (machine, driver_cpus.map_or(machine, |cpus| CpuTicks::of_cpus(text, cpus)))
    }

    /// Reads the counters if a second has passed, and returns whether it has. `at` is the time since the first reading.
    pub fn read_when_due(&mut self, at: Duration) -> bool {
        let is_due = at >= self.due;
        if is_due {
            self.read(at);
        }
        is_due
    }

    /// Reads the counters. `at` is the time since the first reading.
    pub fn read(&mut self, at: Duration) {
        self.due = at + INTERVAL;
        self.record(at, &read_stat());
    }

    /// Returns the time that the hypervisor took from the CPUs that the driver may use, from the first reading to the
    /// last one; `None` if the system does not report it.
    pub fn stolen(&self) -> Option<StolenTime> {
        let stolen = self.driver.recent.back()?.ticks.stolen.saturating_sub(self.driver.first?.stolen);
        let total_s = stolen as f64 / clock_ticks_per_second().max(1) as f64;
        Some(StolenTime { total_s, cpus: self.driver_cpu_count })
    }

    fn record(&mut self, at: Duration, text: &str) {
        let (machine, driver) = Self::ticks(text, self.driver_cpus.as_deref());
        self.machine.record(at, machine);
        self.driver.record(at, driver);
    }

    /// Reads the counters for the last time, and returns the usage since the first one.
    pub fn end(self, at: Duration) -> HostUsage {
        self.ended_with(at, &read_stat())
    }

    fn ended_with(self, at: Duration, text: &str) -> HostUsage {
        let (machine, driver) = Self::ticks(text, self.driver_cpus.as_deref());
        let (numbers, count) = (self.driver_cpus, self.driver_cpu_count);
        HostUsage {
            machine: self.machine.ended_with(at, machine),
            driver: self.driver.ended_with(at, driver).map(|usage| DriverCoreUsage { numbers, count, usage }),
        }
    }
}

impl CoreMonitor {
    fn from(first: Option<CpuTicks>) -> Self {
        let recent = first.map(|ticks| TimedTicks { at: Duration::ZERO, ticks }).into_iter().collect();
        Self { first, recent, most_stolen: None }
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
            self.most_stolen = Some(StolenShare { share, from_s: first.at.as_secs_f64() });
        }
        self.recent.push_back(TimedTicks { at, ticks });
    }

    /// Records the last reading, and returns the usage since the first one. Returns `None` if the system does not
    /// report the counters, or no tick has passed.
    fn ended_with(mut self, at: Duration, last: Option<CpuTicks>) -> Option<CoreUsage> {
        self.record(at, last);
        let CpuShares { busy, stolen } = last?.since(self.first?)?;
        Some(CoreUsage { busy_share: busy, stolen_share: stolen, most_stolen: self.most_stolen })
    }
}

/// Returns the text of `/proc/stat`; empty where the system does not have it.
fn read_stat() -> String {
    fs::read_to_string("/proc/stat").unwrap_or_default()
}

/// Returns the number of CPUs that have counters.
fn online_count(text: &str) -> usize {
    let is_cpu = |line: &&str| {
        line.strip_prefix("cpu")
            .is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    text.lines().filter(is_cpu).count()
}

/// Returns the number of cores of the machine; 0 if the operating system does not report it.
pub fn online_cores() -> usize {
    online_count(&read_stat())
}

/// Returns the CPUs that the calling thread may use, as its affinity and its control group allow.
fn cpus_of_current_thread() -> Option<Vec<usize>> {
    let set = sched_getaffinity(None).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(line: &str) -> CpuTicks {
        CpuTicks::of_machine(&format!("{line}\ncpu0 1 2\n")).unwrap()
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
    fn usage(stolen_per_second: impl Iterator<Item = u64>) -> CoreUsage {
        let mut now = CpuTicks { idle: 7, stolen: 3, total: 1_000 };
        let (mut monitor, mut at) = (CoreMonitor::from(Some(now)), Duration::ZERO);
        for stolen in stolen_per_second {
            now = CpuTicks { idle: now.idle, stolen: now.stolen + stolen, total: now.total + 100 };
            at += Duration::from_secs(1);
            monitor.record(at, Some(now));
        }
        monitor
            .ended_with(at + Duration::from_millis(10), Some(CpuTicks { total: now.total + 1, ..now }))
            .unwrap()
    }

    /// Returns `/proc/stat` of three CPUs with these busy, idle and stolen ticks.
    fn stat(cpus: [[u64; 3]; 3]) -> String {
        let line = |name: &str, [busy, idle, stolen]: [u64; 3]| {
            format!("{name} {busy} 0 0 {idle} 0 0 0 {stolen} 0 0\n")
        };
        let total = cpus.iter().fold([0; 3], |sum, cpu| [0, 1, 2].map(|state| sum[state] + cpu[state]));
        let each = cpus.iter().zip([0, 1, 10]).map(|(cpu, number)| line(&format!("cpu{number}"), *cpu));
        format!("{}{}intr 1\n", line("cpu", total), each.collect::<String>())
    }

    #[test]
    fn the_usage_of_the_driver_is_that_of_the_cpus_that_it_may_use() {
        let (first, last) = (stat([[0; 3]; 3]), stat([[10, 80, 10], [50, 0, 50], [90, 10, 0]]));
        assert_eq!(online_count(&first), 3);
        let shares = |driver_cpus: Option<Vec<usize>>| {
            let usage = HostMonitor::from(&first, driver_cpus).ended_with(Duration::from_secs(1), &last);
            let percent = |usage: CoreUsage| {
                [usage.busy_share, usage.stolen_share].map(|share| format!("{:.1} %", share * 100.0))
            };
            let driver = usage.driver.map(|driver| (driver.numbers, driver.count, percent(driver.usage)));
            (percent(usage.machine.unwrap()), driver)
        };
        let shown = |busy: &str, stolen: &str| [busy, stolen].map(|percent| format!("{percent} %"));
        let machine = || shown("50.0", "20.0");
        assert_eq!(shares(None), (machine(), Some((None, 3, machine()))));
        for (cpus, of_driver) in [(vec![0], shown("10.0", "10.0")), (vec![1, 10], shown("70.0", "25.0"))] {
            let count = cpus.len();
            assert_eq!(shares(Some(cpus.clone())), (machine(), Some((Some(cpus), count, of_driver))));
        }
        // Another name of a CPU, as in some containers: its usage is not that of all.
        assert_eq!(shares(Some(vec![0, 2])), (machine(), None));
    }

    #[test]
    fn the_cpus_of_the_driver_are_those_of_the_thread_that_starts_the_monitor() {
        let all = cpus_of_current_thread().unwrap();
        let numbers = std::thread::spawn(move || {
            let mut one = CpuSet::new();
            one.set(all[0]);
            rustix::thread::sched_setaffinity(None, &one).unwrap();
            (HostMonitor::start().driver_cpus, all)
        });
        let (numbers, all) = numbers.join().unwrap();
        let is_subset = online_count(&read_stat()) > 1;
        assert_eq!(numbers, is_subset.then(|| vec![all[0]]));
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
    fn stolen_time_is_that_of_the_cpus_of_the_driver() {
        let readings = [0, 3, 7].map(|stolen| stat([[0, 50, stolen], [0, 50, 2 * stolen], [9, 9, 0]]));
        let per_s = clock_ticks_per_second() as f64;
        for (cpus, ticks) in [(None, [0.0, 9.0, 21.0]), (Some(vec![0]), [0.0, 3.0, 7.0])] {
            let mut monitor = HostMonitor::from(&readings[0], cpus);
            let found = [0, 1, 2].map(|number: u32| {
                monitor.record(Duration::from_secs(number.into()), &readings[number as usize]);
                monitor.stolen().unwrap().total_s * per_s
            });
            assert!(found.iter().zip(ticks).all(|(found, ticks)| (found - ticks).abs() < 1e-6), "{found:?}");
        }
        assert_eq!(HostMonitor::from("", None).stolen(), None);
    }

    #[test]
    fn the_usage_of_this_machine_is_read_about_once_a_second() {
        let mut monitor = HostMonitor::start();
        for ms in [200, 999, 1_000, 1_200, 1_999, 2_000, 2_300] {
            monitor.read_when_due(Duration::from_millis(ms));
        }
        assert_eq!((monitor.machine.recent.len(), monitor.driver.recent.len()), (3, 3));
        let unknown = HostMonitor::from("", None).ended_with(WINDOW, "");
        assert_eq!(unknown, HostUsage { machine: None, driver: None });
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
            assert_eq!(CpuTicks::of_machine(text), None, "{text}");
        }
    }
}
