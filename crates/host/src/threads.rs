//! CPU time of the threads of a process, the time for which they waited for a CPU, by what they do, and how often they
//! moved to another CPU.
//!
//! The kernel counts for each thread. A thread that ends takes its counters with it, so the sums are built from the
//! growth of each thread's counters: what a thread counts after the last reading before its end is lost.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::kernel_file::{Number, SeriesNumbers, SweepValues};
use crate::reading::Field;

static CPU: Field = Field::counter("", "process.thread_cpu").in_multiples("ms", 1e-6);
static WAIT: Field = Field::counter("", "process.run_queue_wait").in_multiples("ms", 1e-6);
static RUNS: Field = Field::counter("", "process.run_count");
static MIGRATIONS: Field = Field::counter("se.nr_migrations", "process.migrations");

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
    /// How often it had moved at the last reading of that; `None` if that has not been read.
    migrations: Option<u64>,
    /// Its file, which is kept open if there are few: opening it takes twice as long as reading it.
    schedstat: Option<File>,
}

/// Largest number of files of threads and of started processes that are kept open, of all together.
const MAX_OPEN_FILES: u64 = 512;

/// Returns how many files of threads and of started processes may be kept open. The connections of clients need most of the limit, which the
/// driver raises to the largest one before it opens them.
pub fn max_open_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let parts =
        [limit.current.map(|soft| soft / 4), limit.maximum.map(|hard| hard / 16), Some(MAX_OPEN_FILES)];
    let most = parts.into_iter().flatten().min().unwrap_or_default();
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// The threads of a process.
#[derive(Debug)]
pub struct ProcessThreads {
    /// The folder of its threads. Another process with the same number has another one.
    folder: File,
    /// How many files may be kept open.
    max_open_files: usize,
    /// The threads of the last reading by their number.
    known: HashMap<u32, KnownThread>,
    totals: [Counters; GROUPS.len()],
    /// Whether the threads have been read, so that new ones have started since.
    is_started: bool,
    series: SeriesNumbers,
    /// How often threads have moved, and whether that has been read before; `None` if the kernel does not count it.
    migrations: Option<(u64, bool)>,
    series_of_migrations: SeriesNumbers,
}

impl ProcessThreads {
    /// Creates the threads of a process; `folder` is its folder in `/proc`.
    ///
    /// # Errors
    ///
    /// An error if the kernel does not count the waits of threads.
    pub fn open(folder: &Path, labels: BTreeMap<String, String>, max_open_files: usize) -> io::Result<Self> {
        let text = std::fs::read_to_string(folder.join("schedstat"))?;
        if parse(&text).is_none_or(|[_, _, runs]| runs == 0) {
            return Err(io::Error::other("the kernel does not count the waits of threads"));
        }
        let sched = std::fs::read_to_string(folder.join("sched")).unwrap_or_default();
        Ok(Self {
            folder: File::open(folder.join("task"))?,
            max_open_files,
            known: HashMap::new(),
            totals: [[0; 3]; GROUPS.len()],
            is_started: false,
            series: SeriesNumbers::new(labels.clone()),
            migrations: parse_migrations(&sched).map(|_| (0, false)),
            series_of_migrations: SeriesNumbers::new(labels),
        })
    }

    /// Returns whether the kernel counts how often threads move.
    pub fn has_migrations(&self) -> bool {
        self.migrations.is_some()
    }

    /// Reads all threads and adds the sums to `values`; gaps if the process has ended.
    pub fn read(&mut self, number: Number<'_>, values: &mut SweepValues) {
        let Ok(ids) = self.ids() else {
            self.series.add_gaps(values);
            return;
        };
        let mut now = HashMap::with_capacity(ids.len());
        let mut open = 0;
        for id in ids {
            if let Some(mut thread) = self.read_thread(id) {
                thread.schedstat = thread.schedstat.filter(|_| open < self.max_open_files);
                open += usize::from(thread.schedstat.is_some());
                now.insert(id, thread);
            }
        }
        self.known = now;
        self.is_started = true;
        self.series.begin();
        for (name, counters) in GROUPS.iter().zip(self.totals) {
            for (field, count) in [&CPU, &WAIT, &RUNS].into_iter().zip(counters) {
                let reading = field.reading(Some(("threads", name)), count as f64);
                values.extend(self.series.value(&reading, number));
            }
        }
    }

    /// Reads how often the threads of the last reading have moved, and adds the sum to `values`; a gap if the process
    /// has ended.
    pub fn read_migrations(&mut self, number: Number<'_>, values: &mut SweepValues) {
        let Some((mut total, is_started)) = self.migrations else { return };
        if self.ids().is_err() {
            self.series_of_migrations.add_gaps(values);
            return;
        }
        for (id, thread) in &mut self.known {
            let Some(now) = open_in(&self.folder, *id, "sched").ok().and_then(|file| read_migrations(&file))
            else {
                continue;
            };
            let before = thread.migrations.unwrap_or(if is_started { 0 } else { now });
            total = total.saturating_add(now.saturating_sub(before));
            thread.migrations = Some(now);
        }
        self.migrations = Some((total, true));
        self.series_of_migrations.begin();
        values.extend(self.series_of_migrations.value(&MIGRATIONS.reading(None, total as f64), number));
    }

    /// Returns the numbers of all threads. A process that runs has at least one.
    ///
    /// # Errors
    ///
    /// An error if the process has ended.
    fn ids(&self) -> io::Result<Vec<u32>> {
        let mut found = Vec::with_capacity(self.known.len());
        for entry in Dir::read_from(&self.folder)? {
            let entry = entry?;
            found.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()));
        }
        if found.is_empty() { Err(ErrorKind::NotFound.into()) } else { Ok(found) }
    }

    /// Reads a thread, and adds to the totals by how much its counters have grown. Returns `None` if it has ended.
    fn read_thread(&mut self, id: u32) -> Option<KnownThread> {
        let mut known = self.known.remove(&id);
        if let Some(mut thread) = known.take_if(|thread| thread.schedstat.is_some())
            && let Some(counters) = thread.schedstat.as_ref().and_then(read_counters)
        {
            self.add(thread.group, counters, thread.counters);
            thread.counters = counters;
            return Some(thread);
        }
        let schedstat = match open_in(&self.folder, id, "schedstat") {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::SRCH) => return None,
            // There may be too many open files; what it counts is added later.
            Err(_) => return known,
        };
        let counters = read_counters(&schedstat)?;
        // Another thread may have got the number of one that has ended: it has counted less.
        let is_same =
            |thread: &KnownThread| thread.counters.iter().zip(counters).all(|(then, now)| *then <= now);
        if let Some(mut thread) = known.filter(is_same) {
            self.add(thread.group, counters, thread.counters);
            (thread.counters, thread.schedstat) = (counters, Some(schedstat));
            return Some(thread);
        }
        let group = group_of(&name_of(&self.folder, id)?);
        self.add(group, counters, if self.is_started { [0; 3] } else { counters });
        Some(KnownThread { counters, group, migrations: None, schedstat: Some(schedstat) })
    }

    fn add(&mut self, group: usize, now: Counters, then: Counters) {
        for ((total, now), then) in self.totals[group].iter_mut().zip(now).zip(then) {
            *total = total.saturating_add(now.saturating_sub(then));
        }
    }
}

/// Opens a file of a thread.
fn open_in(folder: &File, id: u32, name: &str) -> Result<File, Errno> {
    let path = format!("{id}/{name}");
    openat(folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map(File::from)
}

/// Returns the beginning of a file of a thread, or `None` if it has ended.
fn read_start(file: &File, text: &mut [u8]) -> Option<usize> {
    loop {
        match file.read_at(text, 0) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read.ok(),
        }
    }
}

/// Returns the counters in the file `schedstat` of a thread, or `None` if it has ended.
fn read_counters(schedstat: &File) -> Option<Counters> {
    let mut text = [0; 96];
    let length = read_start(schedstat, &mut text)?;
    parse(std::str::from_utf8(&text[..length]).ok()?)
}

/// Returns how often a thread has moved to another CPU, from its file `sched`, or `None` if it has ended.
fn read_migrations(sched: &File) -> Option<u64> {
    let mut text = [0; 1024];
    let length = read_start(sched, &mut text)?;
    parse_migrations(&String::from_utf8_lossy(&text[..length]))
}

/// Returns the name of a thread, or `None` if it has ended.
fn name_of(folder: &File, id: u32) -> Option<String> {
    let file = open_in(folder, id, "comm").ok()?;
    let mut text = [0; 64];
    let length = read_start(&file, &mut text)?;
    Some(String::from_utf8_lossy(&text[..length]).trim_end().to_owned())
}

/// Finds `se.nr_migrations : NUMBER` after the first line, which has the name of the thread.
fn parse_migrations(text: &str) -> Option<u64> {
    text.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim_end() == MIGRATIONS.key).then(|| value.trim().parse().ok())?
    })
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
    use std::fs;

    use pacenote_record::{SeriesNumber, TelemetrySeries};

    use super::*;

    /// Writes the files of a thread: milliseconds on a CPU, milliseconds of waiting, runs. It moves with each run.
    fn write_thread(process: &Path, id: u32, name: &str, [cpu, wait, runs]: Counters) {
        let folder = process.join("task").join(id.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
        fs::write(folder.join("schedstat"), format!("{} {} {runs}\n", cpu * 1_000_000, wait * 1_000_000))
            .unwrap();
        fs::write(folder.join("sched"), sched(runs)).unwrap();
    }

    fn sched(migrations: u64) -> String {
        format!(
            "se.nr_migrations : 99 (1, #threads: 2)\n------\nse.exec_start : 1.5\n\
             se.nr_migrations                             :   {migrations}\nnr_switches : 7\n"
        )
    }

    /// Numbers series, and finds the values of some.
    #[derive(Default)]
    struct Numbered(RefCell<Vec<String>>);

    impl Numbered {
        fn number(&self, one: &TelemetrySeries) -> SeriesNumber {
            let group = one.labels.get("threads").map_or("", String::as_str);
            self.0.borrow_mut().push(format!("{group} {}", one.name).trim_start().to_owned());
            SeriesNumber(u32::try_from(self.0.borrow().len() - 1).unwrap())
        }

        fn value(&self, values: &SweepValues, name: &str) -> Option<f64> {
            let position = self.0.borrow().iter().position(|one| one == name).unwrap();
            values.iter().find(|(number, _)| number.0 as usize == position).unwrap().1
        }

        /// Reads the threads: CPU time by group, and the waits of others.
        fn read(&self, threads: &mut ProcessThreads) -> [Option<f64>; 4] {
            let mut values = Vec::new();
            threads.read(&|one| self.number(one), &mut values);
            [
                "gc process.thread_cpu",
                "compiler process.thread_cpu",
                "other process.thread_cpu",
                "other process.run_queue_wait",
            ]
            .map(|name| self.value(&values, name))
        }
    }

    #[test]
    fn the_sums_are_by_what_the_threads_do_and_never_shrink() {
        // Whether all files are kept open, some, or none makes no difference.
        for max_open_files in [100, 1, 0] {
            let folder = tempfile::tempdir().unwrap();
            let process = folder.path();
            fs::write(process.join("schedstat"), "1 2 3\n").unwrap();
            write_thread(process, 1, "java", [1_000, 100, 9]);
            write_thread(process, 2, "GC Thread#0", [500, 50, 4]);
            write_thread(process, 3, "C2 CompilerThre", [70, 7, 1]);
            let mut threads = ProcessThreads::open(process, BTreeMap::new(), max_open_files).unwrap();
            assert!(!threads.has_migrations());
            let numbered = Numbered::default();
            assert_eq!(numbered.read(&mut threads), [Some(0.0); 4]);
            let open = threads.known.values().filter(|thread| thread.schedstat.is_some()).count();
            assert_eq!(open, max_open_files.min(3));
            write_thread(process, 1, "java", [1_200, 130, 12]);
            write_thread(process, 2, "GC Thread#0", [540, 50, 5]);
            // Started since the last reading.
            write_thread(process, 4, "elastic..[T#1]", [30, 3, 2]);
            assert_eq!(numbered.read(&mut threads), [Some(40.0), Some(0.0), Some(230.0), Some(33.0)]);
            // One has ended, and the number of another was given to a new one.
            fs::remove_dir_all(process.join("task/2")).unwrap();
            fs::write(process.join("task/4/schedstat"), "").unwrap();
            fs::remove_dir_all(process.join("task/4")).unwrap();
            write_thread(process, 4, "elastic..[T#9]", [5, 1, 1]);
            fs::write(process.join("task/1/schedstat"), "nonsense").unwrap();
            assert_eq!(numbered.read(&mut threads), [Some(40.0), Some(0.0), Some(235.0), Some(34.0)]);
            fs::remove_dir_all(process.join("task")).unwrap();
            assert_eq!(numbered.read(&mut threads), [None; 4]);
        }
    }

    #[test]
    fn migrations_are_those_since_the_first_reading() {
        let folder = tempfile::tempdir().unwrap();
        let process = folder.path();
        fs::write(process.join("schedstat"), "1 2 3\n").unwrap();
        fs::write(process.join("sched"), sched(0)).unwrap();
        write_thread(process, 1, "java", [10, 0, 100]);
        let mut threads = ProcessThreads::open(process, BTreeMap::new(), 9).unwrap();
        assert!(threads.has_migrations());
        let numbered = Numbered::default();
        let read = |threads: &mut ProcessThreads| {
            numbered.read(threads);
            let mut values = Vec::new();
            threads.read_migrations(&|one| numbered.number(one), &mut values);
            numbered.value(&values, "process.migrations")
        };
        assert_eq!(read(&mut threads), Some(0.0));
        write_thread(process, 1, "java", [11, 0, 107]);
        write_thread(process, 2, "java", [1, 0, 5]);
        assert_eq!(read(&mut threads), Some(12.0));
        fs::remove_dir_all(process.join("task/1")).unwrap();
        assert_eq!(read(&mut threads), Some(12.0));
        fs::remove_dir_all(process.join("task")).unwrap();
        assert_eq!(read(&mut threads), None);
    }

    #[test]
    fn most_open_files_are_left_to_the_clients() {
        let (most, limit) = (max_open_files() as u64, getrlimit(Resource::Nofile));
        assert!(most <= MAX_OPEN_FILES && limit.maximum.is_none_or(|hard| most <= hard / 16), "{most}");
    }

    #[test]
    fn a_kernel_that_does_not_count_is_not_available() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["0 0 0\n", "", "1 2\n"] {
            fs::write(folder.path().join("schedstat"), text).unwrap();
            assert!(ProcessThreads::open(folder.path(), BTreeMap::new(), 9).is_err(), "{text}");
        }
        assert!(ProcessThreads::open(&folder.path().join("none"), BTreeMap::new(), 9).is_err());
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
