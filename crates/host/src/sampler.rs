//! The thread that reads the counters of the machine once a second.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pacenote_record::TelemetryFile;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::clock::TelemetryClock;
use crate::file_system::DataPath;
use crate::host_files::{HostFiles, KernelFolders, ObservedProcess};
use crate::sweep::Sweep;

/// What is sampled, and how.
#[derive(Debug, Clone)]
pub struct SamplerSettings {
    /// The processes of the engine and of the driver on this machine.
    pub processes: Vec<ObservedProcess>,
    /// The data paths of the engine on this machine.
    pub data_paths: Vec<DataPath>,
    /// The CPUs that the thread may use; if empty, those of the thread that starts it.
    pub cpus: Vec<usize>,
    /// Time between two sweeps.
    pub interval: Duration,
    /// Folder with the files of the kernel: `/proc`, except in tests.
    pub proc: PathBuf,
    /// Folder with the devices of the kernel: `/sys`, except in tests.
    pub sys: PathBuf,
}

impl Default for SamplerSettings {
    fn default() -> Self {
        let (proc, sys) = (Path::new("/proc").to_owned(), Path::new("/sys").to_owned());
        let interval = Duration::from_secs(1);
        Self { processes: Vec::new(), data_paths: Vec::new(), cpus: Vec::new(), interval, proc, sys }
    }
}

/// How the machine was sampled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SamplerReport {
    /// Number of times at which all files were read.
    pub sweeps: u64,
    /// Number of times at which they were not, because the thread had no CPU.
    pub missed: u64,
    /// CPU time of the thread, in seconds.
    pub cpu_s: f64,
    /// Time from the first sweep to the last one, in seconds.
    pub wall_s: f64,
    /// Why files of the kernel were not read, by their name.
    pub not_available: BTreeMap<String, String>,
}

/// The running thread; it stops when it is dropped.
#[derive(Debug)]
pub struct HostSampler {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<SamplerReport>>,
}

impl HostSampler {
    /// Opens the files and starts the thread, which writes to `file` from now on.
    ///
    /// # Errors
    ///
    /// An error if the thread cannot be started.
    pub fn start(
        settings: SamplerSettings,
        file: Arc<TelemetryFile>,
        clock: TelemetryClock,
    ) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let thread = thread::Builder::new()
            .name("pacenote-host".into())
            .spawn(move || run(&settings, &file, clock, &stopped))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// Reads the counters once more and ends the thread. Returns `None` if the thread has panicked.
    #[must_use]
    pub fn stop(mut self) -> Option<SamplerReport> {
        self.join()
    }

    fn join(&mut self) -> Option<SamplerReport> {
        self.stop = None;
        self.thread.take()?.join().ok()
    }
}

impl Drop for HostSampler {
    fn drop(&mut self) {
        self.join();
    }
}

fn run(
    settings: &SamplerSettings,
    file: &TelemetryFile,
    clock: TelemetryClock,
    stopped: &Receiver<()>,
) -> SamplerReport {
    let roots = KernelFolders { proc: &settings.proc, sys: &settings.sys };
    let files = HostFiles::open(roots, &settings.processes, &settings.data_paths);
    let mut sweep = Sweep::new(files);
    let (started, mut missed) = (Instant::now(), 0);
    let mut schedule = SweepSchedule { interval: settings.interval, due: started };
    loop {
        // `--driver-cpus` binds all threads of the process when the first task begins.
        bind(&settings.cpus);
        sweep.run(file, clock, false, cpu_s() * 1e3);
        let now = Instant::now();
        missed += schedule.advance(now);
        if stopped.recv_timeout(schedule.due.saturating_duration_since(now)) != Err(RecvTimeoutError::Timeout)
        {
            break;
        }
    }
    sweep.run(file, clock, true, cpu_s() * 1e3);
    let wall_s = started.elapsed().as_secs_f64();
    SamplerReport { sweeps: sweep.count(), missed, cpu_s: cpu_s(), wall_s, not_available: sweep.problems() }
}

/// When the next sweep is due: at multiples of the interval after the first one.
#[derive(Debug)]
struct SweepSchedule {
    interval: Duration,
    due: Instant,
}

impl SweepSchedule {
    /// Sets when the next sweep is due, and returns how many are left out because they were due before `now`.
    fn advance(&mut self, now: Instant) -> u64 {
        let mut missed = 0;
        self.due += self.interval;
        let interval_ns = self.interval.as_nanos().max(1);
        let late = now.saturating_duration_since(self.due);
        if late >= self.interval {
            missed = u32::try_from(late.as_nanos() / interval_ns).unwrap_or(u32::MAX);
            self.due += self.interval.saturating_mul(missed);
        }
        u64::from(missed)
    }
}

/// Binds the calling thread to these CPUs, unless there are none or the kernel does not allow it.
fn bind(cpus: &[usize]) {
    if cpus.is_empty() {
        return;
    }
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    // On CPUs that are not allowed any more, the thread stays where it is.
    let _ = sched_setaffinity(None, &set);
}

/// Returns the CPU time of the calling thread, in seconds.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use pacenote_record::{SeriesPoints, telemetry_points};

    use super::*;

    fn points_of(folder: &Path, name: &str) -> Vec<SeriesPoints> {
        telemetry_points(&folder.join("telemetry.parquet"), |series| series.name == name, 1_000_000).unwrap()
    }

    #[test]
    fn this_machine_is_sampled_until_the_thread_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let file = Arc::new(TelemetryFile::create(folder.path()).unwrap());
        let process = ObservedProcess { name: "driver".into(), id: std::process::id() };
        let settings = SamplerSettings {
            processes: vec![process],
            interval: Duration::from_millis(1),
            ..SamplerSettings::default()
        };
        let clock = TelemetryClock::start();
        let sampler = HostSampler::start(settings, Arc::clone(&file), clock).unwrap();
        let report = sampler.stop().unwrap();
        assert!(report.sweeps >= 2 && report.cpu_s > 0.0 && report.wall_s > 0.0, "{report:?}");
        assert!(file.close().unwrap() > 100);
        for name in ["cpu.user", "memory.available", "network.received_bytes", "process.user"] {
            let found = points_of(folder.path(), name);
            assert!(!found.is_empty(), "{name}: {:?}", report.not_available);
            for series in found {
                assert_eq!(series.points.len() as u64, report.sweeps, "{name}");
                assert!(
                    series.points.iter().all(|point| point.time_ns > 0 && point.value.is_some()),
                    "{name}"
                );
            }
        }
        assert_eq!(points_of(folder.path(), "sampler.cpu_time").len(), 1);
    }

    #[test]
    fn a_machine_without_these_files_has_the_reasons() {
        let folder = tempfile::tempdir().unwrap();
        let file = Arc::new(TelemetryFile::create(folder.path()).unwrap());
        let process = ObservedProcess { name: "node-0".into(), id: 1 };
        let settings = SamplerSettings {
            processes: vec![process],
            proc: folder.path().join("none"),
            sys: folder.path().join("none"),
            ..SamplerSettings::default()
        };
        let sampler = HostSampler::start(settings, Arc::clone(&file), TelemetryClock::start()).unwrap();
        let report = sampler.stop().unwrap();
        for name in
            ["stat", "diskstats", "cpufreq", "pressure/io", "node-0: io", "node-0: control group, cpu"]
        {
            assert!(report.not_available.contains_key(name), "{name}: {:?}", report.not_available);
        }
        // Only the CPU time of the thread itself.
        assert_eq!(file.close().unwrap(), report.sweeps);
    }

    #[test]
    fn sweeps_that_are_late_are_left_out_not_caught_up() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut schedule = SweepSchedule { interval: second, due: start };
        // Milliseconds at which a sweep ended, how many were left out, when the next one is due.
        for (ended_ms, missed, due_s) in
            [(5, 0, 1), (1_010, 0, 2), (2_900, 0, 3), (7_200, 3, 7), (9_000, 1, 9), (9_001, 0, 10)]
        {
            let count = schedule.advance(start + Duration::from_millis(ended_ms));
            assert_eq!((count, schedule.due - start), (missed, second * due_s), "{ended_ms}");
        }
    }
}
