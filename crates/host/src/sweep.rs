//! One reading of all files.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pacenote_record::{SeriesKind, TelemetryFile, TelemetrySeries};

use crate::clock::TelemetryClock;
use crate::host_files::HostFiles;
use crate::kernel_file::{Pace, SweepValues};
use crate::reading::KernelUnits;

/// Number of sweeps after which the threads of processes are read again: a process of a few hundred threads takes
/// longer than all other files together.
const THREADS_EVERY: u64 = 10;

/// Number of sweeps after which it is read again how often threads have moved: the kernel formats a page of text for
/// each. A multiple of the other number.
const MIGRATIONS_EVERY: u64 = 30;

/// How far apart two readings may be that have the same time, as when the thread had to wait for a CPU between them.
const SAME_TIME: Duration = Duration::from_millis(1);

/// Reads all files of the machine, and writes their values.
#[derive(Debug)]
pub struct Sweep {
    files: HostFiles,
    units: KernelUnits,
    buffer: Vec<u8>,
    /// Number of sweeps so far.
    count: u64,
    own_cpu: TelemetrySeries,
}

impl Sweep {
    /// Creates the sweeps of these files.
    pub fn new(files: HostFiles) -> Self {
        let units = KernelUnits {
            tick_ms: 1_000.0 / rustix::param::clock_ticks_per_second().max(1) as f64,
            page_bytes: rustix::param::page_size() as f64,
        };
        let own_cpu = TelemetrySeries {
            source: crate::kernel_file::HOST.to_owned(),
            name: "sampler.cpu_time".to_owned(),
            unit: "ms".to_owned(),
            kind: SeriesKind::Counter,
            labels: BTreeMap::new(),
        };
        Self { files, units, buffer: Vec::new(), count: 0, own_cpu }
    }

    /// Returns the number of sweeps so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns why files of the kernel were not read until now, by their name.
    pub fn problems(&self) -> BTreeMap<String, String> {
        self.files.problems()
    }

    /// Reads all files. The threads of processes are read in the first sweep, in every tenth one and in the last one.
    /// `cpu_ms` is the CPU time of the calling thread so far.
    pub fn run(&mut self, file: &TelemetryFile, clock: TelemetryClock, is_last: bool, cpu_ms: f64) {
        let number = |series: &TelemetrySeries| file.number(series);
        let mut batch = Batch { file, clock, began: Instant::now(), values: Vec::new() };
        batch.values.push((number(&self.own_cpu), Some(cpu_ms)));
        let sweep = self.count;
        for source in self.files.sources.iter_mut().filter(|file| is_last || file.pace.is_due(sweep)) {
            batch.split_if_late();
            source.read(&mut self.buffer, self.units, &number, &mut batch.values);
        }
        batch.split_if_late();
        if is_last || Pace::EveryFifth.is_due(sweep) || self.files.children.is_incomplete() {
            self.files.children.find();
        }
        self.files.children.read(self.units, &number, &mut batch.values);
        if is_last || Pace::EveryFifth.is_due(sweep) {
            for path in &mut self.files.paths {
                batch.split_if_late();
                path.read(&number, &mut batch.values);
            }
        }
        if is_last || sweep.is_multiple_of(THREADS_EVERY) {
            for threads in &mut self.files.threads {
                batch.split_if_late();
                threads.read(&number, &mut batch.values);
                if is_last || sweep.is_multiple_of(MIGRATIONS_EVERY) {
                    batch.split_if_late();
                    threads.read_migrations(&number, &mut batch.values);
                }
            }
        }
        batch.write();
        self.count += 1;
    }
}

/// Values with the same time.
struct Batch<'a> {
    file: &'a TelemetryFile,
    clock: TelemetryClock,
    began: Instant,
    values: SweepValues,
}

impl Batch<'_> {
    /// Begins a new time unless the last one has just begun.
    fn split_if_late(&mut self) {
        if self.began.elapsed() > SAME_TIME {
            self.write();
            self.began = Instant::now();
        }
    }

    fn write(&mut self) {
        if !self.values.is_empty() {
            self.file.write(self.clock.unix_ns(self.began), std::mem::take(&mut self.values));
        }
    }
}
