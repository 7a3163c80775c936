//! Which files of the kernel are read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use crate::child_processes::ChildProcesses;
use crate::control_groups::{ControlGroups, Controller, GroupFolder};
use crate::cpu_frequency::frequency_files;
use crate::file_system::{DataPath, PathSpace};
use crate::kernel_file::Pace::{EachSweep, EveryFifth};
use crate::kernel_file::{KernelFile, Pace, reason};
use crate::parse::{control_group, cpu, disks, memory, network, pressure, process};
use crate::reading::{KernelUnits, Parser};
use crate::threads::{ProcessThreads, max_open_files};

/// A process whose use of the machine is sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedProcess {
    /// Its name in the label `process`: that of a node, or `driver`.
    pub name: String,
    /// Its number.
    pub id: u32,
}

/// The files that are read, and why others are not.
#[derive(Debug, Default)]
pub struct HostFiles {
    /// Files that are read in each sweep.
    pub sources: Vec<KernelFile>,
    /// Threads of processes, which are read less often.
    pub threads: Vec<ProcessThreads>,
    /// What belongs to the processes of nodes.
    pub children: ChildProcesses,
    /// Data paths, which are read as often as files that rarely change.
    pub paths: Vec<PathSpace>,
    /// Why a file is not read, by its name.
    pub not_available: BTreeMap<String, String>,
    /// The process whose control groups are read, by the text of its file `cgroup`.
    groups: BTreeMap<String, String>,
}

/// The folders below which the kernel has its files.
#[derive(Debug, Clone, Copy)]
pub struct KernelFolders<'a> {
    /// `/proc`, except in tests.
    pub proc: &'a Path,
    /// `/sys`, except in tests.
    pub sys: &'a Path,
}

/// A name, the parser of the file, and how often it is read.
type FileOfKernel = (&'static str, Parser, Pace);

/// Files of the whole machine, relative to `/proc`.
const HOST: [FileOfKernel; 9] = [
    ("stat", cpu::stat, EachSweep),
    ("meminfo", memory::meminfo, EachSweep),
    ("diskstats", disks::diskstats, EachSweep),
    ("net/dev", network::dev, EachSweep),
    ("vmstat", memory::vmstat, EveryFifth),
    ("net/snmp", network::protocols, EveryFifth),
    ("net/netstat", network::protocols, EveryFifth),
    ("net/softnet_stat", network::softnet, EveryFifth),
    ("softirqs", network::softirqs, EveryFifth),
];

/// The name of the driver's process, in contrast to those of nodes.
const DRIVER: &str = "driver";

/// Largest number of CPUs of a range: more than any kernel supports.
const MAX_LISTED_CPUS: u32 = 1 << 16;

/// Files of a process, relative to its folder in `/proc`.
const PROCESS: [FileOfKernel; 2] = [("stat", process::stat, EachSweep), ("io", process::io, EveryFifth)];

/// Files of control groups by controller: those of version 2, then those of version 1. Files of groups with a CPU quota
/// are read in each sweep instead, because throttled time may be short.
const CPU: [&[FileOfKernel]; 2] = [
    &[("cpu.stat", control_group::cpu_stat, EveryFifth), ("cpu.max", control_group::cpu_max, EveryFifth)],
    &[
        ("cpu.stat", control_group::cpu_stat, EveryFifth),
        ("cpu.cfs_quota_us", control_group::cpu_quota, EveryFifth),
        ("cpu.cfs_period_us", control_group::cpu_period, EveryFifth),
    ],
];
const MEMORY: [&[FileOfKernel]; 2] = [
    &[
        ("memory.current", control_group::memory_current, EveryFifth),
        ("memory.max", control_group::memory_max, EveryFifth),
        ("memory.stat", control_group::memory_stat, EveryFifth),
        ("memory.events", control_group::memory_events, EveryFifth),
    ],
    &[
        ("memory.usage_in_bytes", control_group::memory_current, EveryFifth),
        ("memory.limit_in_bytes", control_group::memory_max, EveryFifth),
        ("memory.stat", control_group::memory_stat, EveryFifth),
        ("memory.oom_control", control_group::memory_events, EveryFifth),
        ("memory.failcnt", control_group::memory_failures, EveryFifth),
    ],
];
const IO: [&[FileOfKernel]; 2] = [
    &[("io.stat", control_group::io_stat, EveryFifth)],
    &[("blkio.throttle.io_service_bytes_recursive", control_group::io_service_bytes, EveryFifth)],
];

impl HostFiles {
    /// Opens the files of the machine and of processes.
    pub fn open(folders: KernelFolders<'_>, processes: &[ObservedProcess], data: &[DataPath]) -> Self {
        let (mut files, proc) = (Self::default(), folders.proc);
        for (name, parse, pace) in HOST {
            files.add(name, KernelFile::open(proc.join(name), (parse, pace), BTreeMap::new()));
        }
        for (name, parse) in pressure::HOST {
            let path = proc.join("pressure").join(name);
            let opened = KernelFile::open(path, (parse, EachSweep), BTreeMap::new());
            files.add(&format!("pressure/{name}"), opened);
        }
        match frequency_files(folders.sys, &cpus_of_nodes(proc, processes)) {
            Ok(sources) => files.sources.extend(sources.into_iter().map(|source| source.named("cpufreq"))),
            Err(reason) => {
                files.not_available.insert("cpufreq".to_owned(), reason);
            }
        }
        let mounts = read_lossy(&proc.join("self/mountinfo"));
        let (of_children, of_threads) = shares_of_files(max_open_files());
        for process in processes {
            files.add_process(proc, process, &mounts, of_threads / processes.len());
        }
        files.children = children_of_nodes(proc, processes, of_children);
        for path in data {
            match PathSpace::open(path) {
                Ok(space) => files.paths.push(space),
                Err(error) => {
                    let name = format!("{}: {}", path.node, path.path.display());
                    files.not_available.insert(name, reason(&error.into()));
                }
            }
        }
        files
    }

    /// Returns why files or parts of them were not read until now, by their name.
    pub fn problems(&self) -> BTreeMap<String, String> {
        let mut found = self.not_available.clone();
        found.extend(self.children.problems());
        for source in self.sources.iter().filter(|source| source.has_too_many_values()) {
            found.insert(
                source.name().to_owned(),
                "only its first values are stored: it has too many".to_owned(),
            );
        }
        found
    }

    fn add(&mut self, name: &str, opened: io::Result<KernelFile>) {
        match opened {
            Ok(source) => self.sources.push(source.named(name)),
            Err(error) => {
                self.not_available.insert(name.to_owned(), reason(&error));
            }
        }
    }

    fn add_process(&mut self, proc: &Path, process: &ObservedProcess, mounts: &str, open_files: usize) {
        let (name, folder) = (&process.name, proc.join(process.id.to_string()));
        let labels = BTreeMap::from([("process".to_owned(), name.clone())]);
        for (file, parse, pace) in PROCESS {
            let opened = KernelFile::open(folder.join(file), (parse, pace), labels.clone());
            self.add(&format!("{name}: {file}"), opened.map(KernelFile::of_process));
        }
        match ProcessThreads::open(&folder, labels.clone(), open_files) {
            Ok(threads) => self.add_threads(name, threads),
            Err(error) => {
                self.not_available.insert(format!("{name}: schedstat"), reason(&error));
            }
        }
        let cgroup = read_lossy(&folder.join("cgroup"));
        if let Some(other) = self.groups.get(&cgroup).filter(|_| !cgroup.is_empty()) {
            let same = format!("it is that of {other}");
            self.not_available.insert(format!("{name}: control group"), same);
            return;
        }
        self.add_groups(name, &ControlGroups::parse(mounts, &cgroup), &labels);
        self.groups.insert(cgroup, name.clone());
    }

    fn add_threads(&mut self, process: &str, threads: ProcessThreads) {
        if !threads.has_migrations() {
            let text = "the kernel does not count how often threads move".to_owned();
            self.not_available.insert(format!("{process}: sched"), text);
        }
        self.threads.push(threads);
    }

    fn add_groups(&mut self, process: &str, groups: &ControlGroups, labels: &BTreeMap<String, String>) {
        for (controller, files) in
            [(Controller::Cpu, CPU), (Controller::Memory, MEMORY), (Controller::Io, IO)]
        {
            let Some(group) = groups.folder(controller) else {
                let key = format!("{process}: control group, {controller:?}").to_lowercase();
                self.not_available.insert(key, "it is not mounted, or not visible here".to_owned());
                continue;
            };
            self.add_group(process, &group, files, labels);
            // A limit of a group applies to those within it too; its counters are only there.
            for parent in group.parents().into_iter().filter(|group| has_limit(group, controller)) {
                let mut labels = labels.clone();
                labels.insert("group".to_owned(), parent.name());
                self.add_group(&format!("{process}: {}", parent.name()), &parent, files, &labels);
            }
        }
        let Some(unified) = groups.unified() else { return };
        for (file, parse) in pressure::CONTROL_GROUP {
            let path = unified.path.join(file);
            let opened = KernelFile::open(path, (parse, EveryFifth), labels.clone());
            self.add(&format!("{process}: {file}"), opened);
        }
    }

    /// Adds the files of a group. The outermost group of a machine has few of them.
    fn add_group(
        &mut self,
        name: &str,
        group: &GroupFolder,
        files: [&[FileOfKernel]; 2],
        labels: &BTreeMap<String, String>,
    ) {
        let is_limited = has_limit(group, Controller::Cpu);
        for (file, parse, pace) in files[usize::from(group.is_version_1)] {
            let pace = if *file == "cpu.stat" && is_limited { EachSweep } else { *pace };
            let opened = KernelFile::open(group.path.join(file), (*parse, pace), labels.clone());
            self.add(&format!("{name}: {file}"), opened);
        }
    }
}

/// Returns whether a group has a limit of its own.
fn has_limit(group: &GroupFolder, controller: Controller) -> bool {
    let (file, parse): (&str, Parser) = match (controller, group.is_version_1) {
        (Controller::Cpu, false) => ("cpu.max", control_group::cpu_max),
        (Controller::Cpu, true) => ("cpu.cfs_quota_us", control_group::cpu_quota),
        (Controller::Memory, false) => ("memory.max", control_group::memory_max),
        (Controller::Memory, true) => ("memory.limit_in_bytes", control_group::memory_max),
        (Controller::Io, _) => return false,
    };
    let mut is_limited = false;
    parse(&read_lossy(&group.path.join(file)), KernelUnits::ONE, &mut |reading| {
        is_limited |= matches!(reading.field.name, "cgroup.cpu_quota" | "cgroup.memory_limit");
    });
    is_limited
}

/// Divides the files that may be kept open: returns how many are for processes that nodes have started, and how many for
/// threads, of which there are more.
fn shares_of_files(most: usize) -> (usize, usize) {
    let of_children = most / 4;
    (of_children, most - of_children)
}

/// Returns the processes that those of nodes have started. The driver has none that count as it.
fn children_of_nodes(proc: &Path, processes: &[ObservedProcess], open_files: usize) -> ChildProcesses {
    let nodes: Vec<(String, u32)> = processes
        .iter()
        .filter(|process| process.name != DRIVER)
        .map(|node| (node.name.clone(), node.id))
        .collect();
    let observed = processes.iter().map(|process| process.id).collect();
    ChildProcesses::new(proc, &nodes, observed, open_files / nodes.len().max(1))
}

/// Returns the CPUs that any of the nodes may use; none if that is not known of any.
fn cpus_of_nodes(proc: &Path, processes: &[ObservedProcess]) -> BTreeSet<u32> {
    let nodes = processes.iter().filter(|process| process.name != DRIVER);
    nodes.flat_map(|node| allowed_cpus(&read_lossy(&proc.join(node.id.to_string()).join("status")))).collect()
}

/// Returns the CPUs that `/proc/PID/status` says a process may use, of a line such as `Cpus_allowed_list: 0-3,8`.
fn allowed_cpus(status: &str) -> BTreeSet<u32> {
    let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let ranges = cpus.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.parse::<u32>().ok()?, last.parse::<u32>().ok()?))
    });
    ranges.flat_map(|(first, last)| first..=last.min(first.saturating_add(MAX_LISTED_CPUS))).collect()
}

/// Returns the text of a file, or an empty one if it cannot be read. The names of mounts and groups may be in any
/// encoding.
fn read_lossy(file: &Path) -> String {
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes files, whose folders are created.
    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn files_that_may_be_kept_open_are_not_given_away_twice() {
        for most in [0, 3, 64, 512] {
            let (of_children, of_threads) = shares_of_files(most);
            assert_eq!(of_children + of_threads, most);
            assert!(most < 4 || of_children > 0, "{most}");
        }
    }

    #[test]
    fn frequencies_are_those_of_cpus_that_nodes_may_use() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for cpu in 0..40 {
            write(
                root,
                &[(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"), "800000\n")],
            );
        }
        write(
            root,
            &[
                ("proc/7/status", "Name:\tjava\nCpus_allowed:\tff\nCpus_allowed_list:\t30-31,35\n"),
                ("proc/8/status", "Cpus_allowed_list:\t33\n"),
                ("proc/9/status", "Cpus_allowed_list:\t0-39\n"),
            ],
        );
        let process = |name: &str, id| ObservedProcess { name: name.into(), id };
        let sampled = |processes: &[ObservedProcess]| {
            let (proc, sys) = (root.join("proc"), root.join("sys"));
            let files = HostFiles::open(KernelFolders { proc: &proc, sys: &sys }, processes, &[]);
            files.sources.iter().filter(|file| file.name() == "cpufreq").count()
        };
        assert_eq!(sampled(&[process("a", 7), process("b", 8), process("driver", 9)]), 4);
        // Of a node elsewhere, and of one that has ended, nothing is known: one of three is read.
        assert_eq!((sampled(&[process("driver", 9)]), sampled(&[process("a", 10)])), (14, 14));
        assert_eq!(allowed_cpus("Cpus_allowed_list:\t3-1,x,5-,7\n"), BTreeSet::from([7]));
        assert_eq!(allowed_cpus("Cpus_allowed_list:\t0-4294967295\n").len(), MAX_LISTED_CPUS as usize + 1);
    }

    /// Returns the names of the files of control groups that are read, with whether they are read in each sweep.
    fn group_files(proc: &Path) -> Vec<String> {
        let process = ObservedProcess { name: "n".into(), id: 7 };
        let files = HostFiles::open(KernelFolders { proc, sys: proc }, &[process], &[]);
        let each = |file: &KernelFile| match file.pace {
            EachSweep => format!("{} (each)", file.name()),
            EveryFifth => file.name().to_owned(),
        };
        files.sources.iter().map(each).collect()
    }

    #[test]
    fn groups_with_a_limit_around_that_of_a_process_are_read_too() {
        let folder = tempfile::tempdir().unwrap();
        let (root, mount) = (folder.path(), folder.path().join("fs").display().to_string());
        let version_2 = format!("1 1 0:1 / {mount} rw - cgroup2 cgroup2 rw\n");
        write(
            root,
            &[
                ("proc/self/mountinfo", &version_2),
                ("proc/7/cgroup", "0::/pods/pod/box\n"),
                ("fs/cpu.stat", "usage_usec 1\n"),
                ("fs/pods/cpu.max", "max 100000\n"),
                ("fs/pods/cpu.stat", "nr_periods 0\n"),
                ("fs/pods/memory.max", "max\n"),
                ("fs/pods/pod/cpu.max", "50000 100000\n"),
                ("fs/pods/pod/cpu.stat", "nr_periods 5\nnr_throttled 4\n"),
                ("fs/pods/pod/memory.max", "1000\n"),
                ("fs/pods/pod/memory.current", "900\n"),
                ("fs/pods/pod/box/cpu.max", "max 100000\n"),
                ("fs/pods/pod/box/cpu.stat", "nr_periods 0\n"),
            ],
        );
        let expected = [
            "n: cpu.stat",
            "n: cpu.max",
            "n: /pods/pod: cpu.stat (each)",
            "n: /pods/pod: cpu.max",
            "n: /pods/pod: memory.current",
            "n: /pods/pod: memory.max",
        ];
        assert_eq!(group_files(&root.join("proc")), expected);
        // The same in version 1, in which a group without a quota has a negative one.
        let version_1 = format!("1 1 0:1 / {mount} rw - cgroup cgroup rw,cpu,cpuacct\n");
        write(
            root,
            &[
                ("proc/self/mountinfo", &version_1),
                ("proc/7/cgroup", "1:cpu,cpuacct:/old/box\n"),
                ("fs/old/cpu.cfs_quota_us", "50000\n"),
                ("fs/old/cpu.cfs_period_us", "100000\n"),
                ("fs/old/cpu.stat", "nr_periods 5\n"),
                ("fs/old/box/cpu.cfs_quota_us", "-1\n"),
                ("fs/old/box/cpu.stat", "nr_periods 0\n"),
            ],
        );
        let expected = [
            "n: cpu.stat",
            "n: cpu.cfs_quota_us",
            "n: /old: cpu.stat (each)",
            "n: /old: cpu.cfs_quota_us",
            "n: /old: cpu.cfs_period_us",
        ];
        assert_eq!(group_files(&root.join("proc")), expected);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataPath { node: "n".into(), path: folder.path().join("data") };
        let process = ObservedProcess { name: "n".into(), id: 7 };
        let folders = KernelFolders { proc: folder.path(), sys: folder.path() };
        let files = HostFiles::open(folders, &[process], &[data]);
        assert!(files.sources.is_empty() && files.threads.is_empty() && files.paths.is_empty());
        let problems = files.problems();
        for name in
            ["stat", "cpufreq", "n: io", "n: schedstat", "n: control group, cpu", "n: control group, io"]
        {
            assert!(problems.contains_key(name), "{name}: {problems:?}");
        }
        assert!(problems.keys().any(|name| name.ends_with("/data")), "{problems:?}");
    }
}
