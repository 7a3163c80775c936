//! Which files of the kernel are read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::control_groups::{ControlGroups, Controller, GroupFolder};
use crate::kernel_file::Pace::{EachSweep, EveryFifth};
use crate::kernel_file::{KernelFile, Pace, reason};
use crate::parse::{control_group, cpu, disks, memory, network, pressure, process};
use crate::reading::Parser;
use crate::threads::ProcessThreads;

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
    /// Why a file is not read, by its name.
    pub not_available: BTreeMap<String, String>,
    /// The process whose control groups are read, by the text of its file `cgroup`.
    groups: BTreeMap<String, String>,
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

/// Files of a process, relative to its folder in `/proc`.
const PROCESS: [FileOfKernel; 2] = [("stat", process::stat, EachSweep), ("io", process::io, EachSweep)];

/// Files of control groups by controller: those of version 2, then those of version 1.
const CPU: [&[FileOfKernel]; 2] = [
    &[("cpu.stat", control_group::cpu_stat, EachSweep), ("cpu.max", control_group::cpu_max, EveryFifth)],
    &[
        ("cpu.stat", control_group::cpu_stat, EachSweep),
        ("cpu.cfs_quota_us", control_group::cpu_quota, EveryFifth),
        ("cpu.cfs_period_us", control_group::cpu_period, EveryFifth),
    ],
];
const MEMORY: [&[FileOfKernel]; 2] = [
    &[
        ("memory.current", control_group::memory_current, EachSweep),
        ("memory.max", control_group::memory_max, EveryFifth),
        ("memory.stat", control_group::memory_stat, EveryFifth),
        ("memory.events", control_group::memory_events, EveryFifth),
    ],
    &[
        ("memory.usage_in_bytes", control_group::memory_current, EachSweep),
        ("memory.limit_in_bytes", control_group::memory_max, EveryFifth),
        ("memory.stat", control_group::memory_stat, EveryFifth),
        ("memory.oom_control", control_group::memory_events, EveryFifth),
        ("memory.failcnt", control_group::memory_failures, EveryFifth),
    ],
];
const IO: [&[FileOfKernel]; 2] = [
    &[("io.stat", control_group::io_stat, EachSweep)],
    &[("blkio.throttle.io_service_bytes_recursive", control_group::io_service_bytes, EachSweep)],
];

impl HostFiles {
    /// Opens the files of the machine and of processes; `proc` is `/proc`, except in tests.
    pub fn open(proc: &Path, processes: &[ObservedProcess]) -> Self {
        let mut files = Self::default();
        for (name, parse, pace) in HOST {
            files.add(name, proc.join(name), (parse, pace), &BTreeMap::new());
        }
        for (name, parse) in pressure::HOST {
            let path = proc.join("pressure").join(name);
            files.add(&format!("pressure/{name}"), path, (parse, EachSweep), &BTreeMap::new());
        }
        let mounts = fs::read_to_string(proc.join("self/mountinfo")).unwrap_or_default();
        for process in processes {
            files.add_process(proc, process, &mounts);
        }
        files
    }

    fn add(&mut self, name: &str, path: PathBuf, how: (Parser, Pace), labels: &BTreeMap<String, String>) {
        match KernelFile::open(path, how, labels.clone()) {
            Ok(source) => self.sources.push(source),
            Err(error) => {
                self.not_available.insert(name.to_owned(), reason(&error));
            }
        }
    }

    fn add_process(&mut self, proc: &Path, process: &ObservedProcess, mounts: &str) {
        let (name, folder) = (&process.name, proc.join(process.id.to_string()));
        let labels = BTreeMap::from([("process".to_owned(), name.clone())]);
        for (file, parse, pace) in PROCESS {
            self.add(&format!("{name}: {file}"), folder.join(file), (parse, pace), &labels);
        }
        match ProcessThreads::open(&folder, labels.clone()) {
            Ok(threads) => self.threads.push(threads),
            Err(error) => {
                self.not_available.insert(format!("{name}: schedstat"), reason(&error));
            }
        }
        let cgroup = fs::read_to_string(folder.join("cgroup")).unwrap_or_default();
        if let Some(other) = self.groups.get(&cgroup).filter(|_| !cgroup.is_empty()) {
            let same = format!("it is that of {other}");
            self.not_available.insert(format!("{name}: control group"), same);
            return;
        }
        self.add_groups(name, &ControlGroups::parse(mounts, &cgroup), &labels);
        self.groups.insert(cgroup, name.clone());
    }

    fn add_groups(&mut self, process: &str, groups: &ControlGroups, labels: &BTreeMap<String, String>) {
        for (controller, files) in
            [(Controller::Cpu, CPU), (Controller::Memory, MEMORY), (Controller::Io, IO)]
        {
            if let Some(group) = groups.folder(controller) {
                self.add_group(process, &group, files, labels);
            } else {
                let key = format!("{process}: control group, {controller:?}").to_lowercase();
                self.not_available.insert(key, "it is not mounted".to_owned());
            }
        }
        let Some(unified) = groups.unified() else { return };
        for (file, parse) in pressure::CONTROL_GROUP {
            self.add(&format!("{process}: {file}"), unified.join(file), (parse, EachSweep), labels);
        }
    }

    /// Adds the files of a group. The outermost group of a machine has few of them.
    fn add_group(
        &mut self,
        process: &str,
        group: &GroupFolder,
        files: [&[FileOfKernel]; 2],
        labels: &BTreeMap<String, String>,
    ) {
        for (file, parse, pace) in files[usize::from(group.is_version_1)] {
            self.add(&format!("{process}: {file}"), group.path.join(file), (*parse, *pace), labels);
        }
    }
}
