//! Time for which the process could not run because its control group had used up its CPU quota, as in a container with
//! a limit. The kernel stops the threads of such a group until the next period, except those with real-time priority;
//! steal time does not include this.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Folder in which the control groups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// How long CPU quotas have stopped the threads of a control group during the race.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Throttling {
    /// The group, by its path below the folder in which groups are mounted; `null` if none was stopped.
    pub group: Option<String>,
    /// Time for which the group was stopped, added over the cores on which it had runnable threads, in seconds.
    pub throttled_s: f64,
    /// Number of periods of the quota in which it was stopped.
    pub periods: u64,
    /// `throttled_s` / time since the driver started. It may be above 1, as it is added over cores.
    pub share: f64,
    /// Number of cores over which it is added at most: those of the machine, all of which threads of the group may use.
    pub cores: usize,
}

/// The counters of the process's control group, and of the groups that contain it, at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaCounters {
    mount: PathBuf,
    groups: Vec<GroupCounters>,
}

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
        (!folders.is_empty()).then(|| Self { mount: mount.to_owned(), groups: counters.collect() })
    }

    /// Returns the throttling since an earlier reading `wall_s` seconds ago, of the group that was stopped longest, on a
    /// machine with this number of cores. A group that the earlier reading lacks does not count: when it was stopped is
    /// not known.
    pub fn since(&self, earlier: &Self, wall_s: f64, cores: usize) -> Throttling {
        let of_group = |now: &GroupCounters| {
            let then = earlier.groups.iter().find(|then| then.folder == now.folder)?;
            let stopped_ns = now.throttled_ns.saturating_sub(then.throttled_ns);
            Some((stopped_ns, now.periods.saturating_sub(then.periods), self.name_of(&now.folder)))
        };
        let longest = self.groups.iter().filter_map(of_group).max_by_key(|(stopped_ns, ..)| *stopped_ns);
        let (stopped_ns, periods, name) = longest.unwrap_or_default();
        let throttled_s = stopped_ns as f64 / 1e9;
        let group = (stopped_ns > 0).then_some(name);
        Throttling { group, throttled_s, periods, share: throttled_s / wall_s.max(1e-9), cores }
    }

    fn name_of(&self, folder: &Path) -> String {
        format!("/{}", folder.strip_prefix(&self.mount).unwrap_or(folder).display())
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
        let since = |now: &QuotaCounters, wall_s| now.since(&then, wall_s, 4);
        assert_eq!(since(&then, 20.0), Throttling { cores: 4, ..Throttling::default() });
        write(&mount.path().join("pod"), &stat(50, 3_000_000));
        write(&mount.path().join("pod/box"), &stat(3, 15_000));
        let now = QuotaCounters::read_in(mount.path(), text).unwrap();
        let of = |group: &str, throttled_s, periods, share| {
            let group = Some(group.to_owned());
            Throttling { group, throttled_s, periods, share, cores: 4 }
        };
        assert_eq!(since(&now, 20.0), of("/pod", 2.0, 40, 0.1));
        // A group whose counters cannot be read any more does not count.
        write(&mount.path().join("pod"), "throttled_usec many");
        let now = QuotaCounters::read_in(mount.path(), text).unwrap();
        assert_eq!(since(&now, 20.0), of("/pod/box", 0.01, 2, 0.0005));
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
        let group = Some("/cpu".to_owned());
        let expected = Throttling { group, throttled_s: 1.0, periods: 5, share: 0.1, cores: 2 };
        assert_eq!(now.since(&then, 10.0, 2), expected);
        // Without an earlier reading, the counters may be older than the race.
        let none = QuotaCounters { groups: Vec::new(), ..then };
        assert_eq!(now.since(&none, 10.0, 2), Throttling { cores: 2, ..Throttling::default() });
    }

    #[test]
    fn a_system_without_control_groups_reports_nothing() {
        let mount = tempfile::tempdir().unwrap();
        for text in ["", "0::/pod", "3:cpu:/pod", "malformed\n:::"] {
            let nowhere = mount.path().join("none");
            assert_eq!(QuotaCounters::read_in(&nowhere, text), None, "{text}");
        }
        // A group without a quota has no counters.
        let none = QuotaCounters { mount: mount.path().to_owned(), groups: Vec::new() };
        assert_eq!(QuotaCounters::read_in(mount.path(), "0::/"), Some(none));
    }
}
