//! Time for which the process could not run because its control group had used up its CPU quota, as in a container with
//! a limit. The kernel stops all threads of such a group until the next period, which steal time does not include.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Folder in which the control groups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// How long CPU quotas have stopped the threads of a control group during the race.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Throttling {
    /// Time for which the group was stopped, added over the cores on which it had runnable threads, in seconds.
    pub throttled_s: f64,
    /// Number of periods of the quota in which it was stopped.
    pub periods: u64,
    /// `throttled_s` / time since the driver started. It may be above 1, as it is added over cores.
    pub share: f64,
}

/// The counters of the process's control group, and of the groups that contain it, at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaCounters(Vec<GroupCounters>);

/// The counters of one control group.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GroupCounters {
    folder: PathBuf,
    periods: u64,
    throttled_ns: u64,
}

impl QuotaCounters {
    /// Reads the counters. Returns `None` where the system does not report them.
    pub fn read() -> Option<Self> {
        Self::read_in(Path::new(MOUNT), &fs::read_to_string("/proc/self/cgroup").ok()?)
    }

    /// Reads the counters of the groups in `text`, the content of `/proc/self/cgroup`.
    fn read_in(mount: &Path, text: &str) -> Option<Self> {
        let folders: Vec<PathBuf> =
            group_folders(mount, text).into_iter().filter(|folder| folder.is_dir()).collect();
        // A group without a quota, such as that of the system, may not have these counters.
        let counters = folders.iter().filter_map(|folder| GroupCounters::read(folder));
        (!folders.is_empty()).then(|| Self(counters.collect()))
    }

    /// Returns the throttling since an earlier reading `wall_s` seconds ago, of the group that was stopped longest.
    /// A group that the earlier reading lacks does not count: when it was stopped is not known.
    pub fn since(&self, earlier: &Self, wall_s: f64) -> Throttling {
        let of_group = |now: &GroupCounters| {
            let then = earlier.0.iter().find(|then| then.folder == now.folder)?;
            let stopped_ns = now.throttled_ns.saturating_sub(then.throttled_ns);
            Some((stopped_ns, now.periods.saturating_sub(then.periods)))
        };
        let (stopped_ns, periods) = self.0.iter().filter_map(of_group).max().unwrap_or_default();
        let throttled_s = stopped_ns as f64 / 1e9;
        Throttling { throttled_s, periods, share: throttled_s / wall_s.max(1e-9) }
    }
}

impl GroupCounters {
    fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join("cpu.stat")).ok()?;
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
            line.trim().parse::<u64>().ok()
        };
        // Version 1 of control groups counts nanoseconds.
        let microseconds = value("throttled_usec").map(|us| us.saturating_mul(1_000));
        let throttled_ns = microseconds.or_else(|| value("throttled_time"))?;
        Some(Self { folder: folder.to_owned(), periods: value("nr_throttled")?, throttled_ns })
    }
}

/// Returns the folders of the control group that limits the CPU time of the process, and of the groups that contain it.
/// A container may see its group as the outermost one, whatever the path in `text`.
fn group_folders(mount: &Path, text: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        // Version 2 has one hierarchy without controllers in its name; version 1 one for each set of controllers.
        let root = if controllers.is_empty() {
            mount.to_owned()
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            mount.join("cpu")
        } else {
            continue;
        };
        let relative = Path::new(group.trim_start_matches('/'));
        folders.extend(relative.ancestors().map(|group| root.join(group)));
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, text: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("cpu.stat"), text).unwrap();
    }

    #[test]
    fn the_throttling_is_that_of_the_group_that_was_stopped_longest() {
        let mount = tempfile::tempdir().unwrap();
        let stat = |periods: u64, us: u64| {
            format!(
                "usage_usec 7\nnr_periods 900\nnr_throttled {periods}\nthrottled_usec {us}\nnr_bursts 0\n"
            )
        };
        let text = "0::/pod/box\n";
        write(mount.path(), "usage_usec 7\n");
        write(&mount.path().join("pod"), &stat(10, 1_000_000));
        write(&mount.path().join("pod/box"), &stat(1, 5_000));
        let then = QuotaCounters::read_in(mount.path(), text).unwrap();
        assert_eq!(then.since(&then, 20.0), Throttling::default());
        write(&mount.path().join("pod"), &stat(50, 3_000_000));
        write(&mount.path().join("pod/box"), &stat(3, 15_000));
        let now = QuotaCounters::read_in(mount.path(), text).unwrap();
        assert_eq!(now.since(&then, 20.0), Throttling { throttled_s: 2.0, periods: 40, share: 0.1 });
        // A group whose counters cannot be read any more does not count.
        write(&mount.path().join("pod"), "throttled_usec many");
        let now = QuotaCounters::read_in(mount.path(), text).unwrap();
        assert_eq!(now.since(&then, 20.0), Throttling { throttled_s: 0.01, periods: 2, share: 0.0005 });
    }

    #[test]
    fn groups_of_version_1_are_read_too() {
        let mount = tempfile::tempdir().unwrap();
        let text = "4:memory:/docker/7\n3:cpu,cpuacct:/docker/7\n2:cpuset:/docker/7\n";
        // In a container, its group is the outermost one.
        write(&mount.path().join("cpu"), "nr_periods 9\nnr_throttled 2\nthrottled_time 4000000000\n");
        let then = QuotaCounters::read_in(mount.path(), text).unwrap();
        write(&mount.path().join("cpu"), "nr_periods 30\nnr_throttled 7\nthrottled_time 5000000000\n");
        let now = QuotaCounters::read_in(mount.path(), text).unwrap();
        assert_eq!(now.since(&then, 10.0), Throttling { throttled_s: 1.0, periods: 5, share: 0.1 });
        // Without an earlier reading, the counters may be older than the race.
        assert_eq!(now.since(&QuotaCounters(Vec::new()), 10.0), Throttling::default());
    }

    #[test]
    fn a_system_without_control_groups_reports_nothing() {
        let mount = tempfile::tempdir().unwrap();
        for text in ["", "0::/pod", "3:cpu:/pod", "malformed\n:::"] {
            let nowhere = mount.path().join("none");
            assert_eq!(QuotaCounters::read_in(&nowhere, text), None, "{text}");
        }
        // A group without a quota has no counters.
        assert_eq!(QuotaCounters::read_in(mount.path(), "0::/"), Some(QuotaCounters(Vec::new())));
    }
}
