//! CPU time of the threads of a process, and the time for which they waited for a CPU, by what they do.
//!
//! The kernel counts for each thread. A thread that ends takes its counters with it, so the sums are built from the
//! growth of each thread's counters: what a thread counts after the last reading before its end is lost.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::kernel_file::{Number, SeriesNumbers, SweepValues};
use crate::reading::Field;

static CPU: Field = Field::counter("", "process.thread_cpu").in_multiples("ms", 1e-6);
static WAIT: Field = Field::counter("", "process.run_queue_wait").in_multiples("ms", 1e-6);
static RUNS: Field = Field::counter("", "process.run_count");

/// Names of the groups of threads, as values of the label `threads`.
const GROUPS: [&str; 3] = ["gc", "compiler", "other"];

/// Beginnings of the names of threads of virtual machines that collect garbage.
const GC: [&str; 10] = [
    "GC ",
    "G1 ",
    "GC Thread",
    "XWorker",
    "ZWorker",
    "ZDriver",
    "ZDirector",
    "Shenandoah",
    "ParallelGC",
    "Concurrent Mark",
];

/// Beginnings of the names of threads that compile.
const COMPILER: [&str; 4] = ["C1 Compiler", "C2 Compiler", "JVMCI", "JIT Compilation"];

/// The counters of a thread, or of a group of threads: nanoseconds on a CPU, nanoseconds of waiting, number of runs.
type Counters = [u64; 3];

/// A thread.
#[derive(Debug)]
struct KnownThread {
    /// Its counters at the last reading.
    counters: Counters,
    /// Position of its group in [`GROUPS`].
    group: usize,
    /// Its file, which is kept open: opening it takes twice as long as reading it.
    schedstat: File,
}

/// Largest number of threads of a process that are read: each takes a descriptor.
const MAX_THREADS: usize = 1_000;

/// The threads of a process.
#[derive(Debug)]
pub struct ProcessThreads {
    folder: PathBuf,
    /// The threads of the last reading by their number.
    known: HashMap<u32, KnownThread>,
    totals: [Counters; GROUPS.len()],
    /// Whether the threads have been read, so that new ones have started since.
    is_started: bool,
    series: SeriesNumbers,
}

impl ProcessThreads {
    /// Creates the threads of a process; `folder` is its folder in `/proc`.
    ///
    /// # Errors
    ///
    /// An error if the kernel does not count the waits of threads.
    pub fn open(folder: &Path, labels: BTreeMap<String, String>) -> io::Result<Self> {
        let text = fs::read_to_string(folder.join("schedstat"))?;
        if parse(&text).is_none_or(|[_, _, runs]| runs == 0) {
            return Err(io::Error::other("the kernel does not count the waits of threads"));
        }
        Ok(Self {
            folder: folder.join("task"),
            known: HashMap::new(),
            totals: [[0; 3]; GROUPS.len()],
            is_started: false,
            series: SeriesNumbers::new(labels),
        })
    }

    /// Reads all threads and adds the sums to `values`; gaps if the process has ended.
    pub fn read(&mut self, number: Number<'_>, values: &mut SweepValues) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            self.series.add_gaps(values);
            return;
        };
        let mut now = HashMap::with_capacity(self.known.len());
        for entry in entries.flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if let Some(thread) = self.read_thread(id).filter(|_| now.len() < MAX_THREADS) {
                now.insert(id, thread);
            }
        }
        self.known = now;
        self.is_started = true;
        self.series.begin();
        for (name, counters) in GROUPS.iter().zip(self.totals) {
            for (field, count) in [&CPU, &WAIT, &RUNS].into_iter().zip(counters) {
                let reading = field.reading(Some(("threads", name)), count as f64);
                values.push(self.series.value(&reading, number));
            }
        }
    }

    /// Reads a thread, and adds to the totals by how much its counters have grown.
    fn read_thread(&mut self, id: u32) -> Option<KnownThread> {
        if let Some(mut known) = self.known.remove(&id)
            && let Some(counters) = read_counters(&known.schedstat)
        {
            self.add(known.group, counters, known.counters);
            known.counters = counters;
            return Some(known);
        }
        // Another thread may have got the number of one that has ended.
        let folder = self.folder.join(id.to_string());
        let schedstat = File::open(folder.join("schedstat")).ok()?;
        let counters = read_counters(&schedstat)?;
        let group = group_of(fs::read_to_string(folder.join("comm")).ok()?.trim_end());
        self.add(group, counters, if self.is_started { [0; 3] } else { counters });
        Some(KnownThread { counters, group, schedstat })
    }

    fn add(&mut self, group: usize, now: Counters, then: Counters) {
        for ((total, now), then) in self.totals[group].iter_mut().zip(now).zip(then) {
            *total = total.saturating_add(now.saturating_sub(then));
        }
    }
}

/// Returns the counters in the file of a thread, or `None` if it has ended.
fn read_counters(schedstat: &File) -> Option<Counters> {
    let mut text = [0; 96];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    parse(std::str::from_utf8(&text[..length]).ok()?)
}

/// Parses `CPU-TIME WAIT RUNS`.
fn parse(text: &str) -> Option<Counters> {
    let mut words = text.split_ascii_whitespace().map(str::parse);
    Some([words.next()?.ok()?, words.next()?.ok()?, words.next()?.ok()?])
}

/// Returns the group of a thread with this name, of which the kernel keeps 15 characters.
fn group_of(name: &str) -> usize {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if begins(&GC) {
        0
    } else if begins(&COMPILER) {
        1
    } else {
        2
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use pacenote_record::{SeriesNumber, TelemetrySeries};

    use super::*;

    /// Writes the files of a thread: milliseconds on a CPU, milliseconds of waiting, runs.
    fn write_thread(process: &Path, id: u32, name: &str, [cpu, wait, runs]: Counters) {
        let folder = process.join("task").join(id.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
        fs::write(folder.join("schedstat"), format!("{} {} {runs}\n", cpu * 1_000_000, wait * 1_000_000))
            .unwrap();
    }

    #[test]
    fn the_sums_are_by_what_the_threads_do_and_never_shrink() {
        let folder = tempfile::tempdir().unwrap();
        let process = folder.path();
        fs::write(process.join("schedstat"), "1 2 3\n").unwrap();
        write_thread(process, 1, "java", [1_000, 100, 9]);
        write_thread(process, 2, "GC Thread#0", [500, 50, 4]);
        write_thread(process, 3, "C2 CompilerThre", [70, 7, 1]);
        let mut threads = ProcessThreads::open(process, BTreeMap::new()).unwrap();
        let series = RefCell::new(Vec::new());
        let number = |one: &TelemetrySeries| {
            series.borrow_mut().push(format!("{} {}", one.labels["threads"], one.name));
            SeriesNumber(u32::try_from(series.borrow().len() - 1).unwrap())
        };
        let read = |threads: &mut ProcessThreads| {
            let mut values = Vec::new();
            threads.read(&number, &mut values);
            let value = |name: &str| {
                let position = series.borrow().iter().position(|one| one == name).unwrap();
                values.iter().find(|(number, _)| number.0 as usize == position).unwrap().1
            };
            [
                value("gc process.thread_cpu"),
                value("compiler process.thread_cpu"),
                value("other process.thread_cpu"),
                value("other process.run_queue_wait"),
            ]
        };
        assert_eq!(read(&mut threads), [Some(0.0); 4]);
        write_thread(process, 1, "java", [1_200, 130, 12]);
        write_thread(process, 2, "GC Thread#0", [540, 50, 5]);
        // Started since the last reading.
        write_thread(process, 4, "elastic..[T#1]", [30, 3, 2]);
        assert_eq!(read(&mut threads), [Some(40.0), Some(0.0), Some(230.0), Some(33.0)]);
        // One has ended, and its number was given to another.
        fs::remove_dir_all(process.join("task/2")).unwrap();
        fs::write(process.join("task/4/schedstat"), "").unwrap();
        fs::remove_dir_all(process.join("task/4")).unwrap();
        write_thread(process, 4, "elastic..[T#9]", [5, 1, 1]);
        fs::write(process.join("task/1/schedstat"), "nonsense").unwrap();
        assert_eq!(read(&mut threads), [Some(40.0), Some(0.0), Some(235.0), Some(34.0)]);
        fs::remove_dir_all(process.join("task")).unwrap();
        assert_eq!(read(&mut threads), [None; 4]);
    }

    #[test]
    fn a_kernel_that_does_not_count_is_not_available() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["0 0 0\n", "", "1 2\n"] {
            fs::write(folder.path().join("schedstat"), text).unwrap();
            assert!(ProcessThreads::open(folder.path(), BTreeMap::new()).is_err(), "{text}");
        }
        assert!(ProcessThreads::open(&folder.path().join("none"), BTreeMap::new()).is_err());
    }

    #[test]
    fn names_of_threads_tell_what_they_do() {
        for (name, group) in [
            ("G1 Conc#0", 0),
            ("GC Thread#1", 0),
            ("ZWorkerYoung#0", 0),
            ("Shenandoah GC T", 0),
            ("C1 CompilerThre", 1),
            ("java", 2),
            ("elastic..[T#1]", 2),
            ("", 2),
        ] {
            assert_eq!(group_of(name), group, "{name}");
        }
    }
}
