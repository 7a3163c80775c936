//! CPU time of the processes that observed processes have started, and of those that these have started, and so on.
//!
//! An engine may have programs of its own, as that for machine learning of Elasticsearch. The kernel adds what a
//! process used to the times of the process that waits for its end, and drops it if none does. The sum is therefore
//! that of all known processes, of what they have waited for, and of those that ended without being waited for. Lost is
//! only what a process uses after the last reading before such an end, or all of it if it is never seen.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};

use crate::kernel_file::{Number, SeriesNumbers, SweepValues};
use crate::reading::{Field, KernelUnits};

static CPU: Field = Field::counter("", "process.children_cpu").with_unit("ms");

/// Largest number of processes that belong to one observed process at a time: each takes 13 µs per reading.
pub const MAX_CHILDREN: usize = 256;

/// Largest number of processes of the machine: to list one takes 2 µs, and to read a new one 13 µs.
const MAX_LISTED: usize = 10_000;

const TOO_MANY_CHILDREN: &str = "too many of them ran at a time";
const TOO_MANY_LISTED: &str = "the machine has too many processes";

/// Length of the beginning of `/proc/PID/stat` that is read: the name takes at most 64 bytes, each number 20.
const STAT_BYTES: usize = 1024;

/// What `/proc/PID/stat` says about a process; times are in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    /// Number of the process that has started it, or of the one that has taken over since that ended.
    parent: u32,
    /// CPU time of its own.
    own: u64,
    /// CPU time of the processes that it has started and waited for, with those that they have waited for.
    waited: u64,
}

impl Stat {
    fn total(self) -> u64 {
        self.own.saturating_add(self.waited)
    }
}

/// A process whose file is kept open: another one with the same number has another file.
#[derive(Debug)]
struct Member {
    file: File,
    stat: Stat,
}

/// An observed process and those that belong to it.
#[derive(Debug)]
struct Family {
    name: String,
    root: u32,
    /// The processes that run, the observed one included, by number.
    members: HashMap<u32, Member>,
    /// Ticks of processes that have ended and were not waited for.
    ended: u64,
    series: SeriesNumbers,
    /// Why their time is not known any more.
    problem: Option<&'static str>,
}

/// The processes that belong to observed processes.
#[derive(Debug, Default)]
pub struct ChildProcesses {
    proc: PathBuf,
    families: Vec<Family>,
    /// Numbers of observed processes, which do not belong to others.
    observed: HashSet<u32>,
    /// Numbers of the processes that ran when they were last listed, and need not be read again.
    seen: HashSet<u32>,
    /// Largest number of processes that belong to an observed one.
    max_children: usize,
}

impl ChildProcesses {
    /// Creates those of some of the observed processes, by name and number, of which all are in `observed`.
    pub fn new(proc: &Path, of: &[(String, u32)], observed: HashSet<u32>, max_children: usize) -> Self {
        let families = of.iter().map(|(name, root)| Family::new(proc, name, *root)).collect();
        Self { proc: proc.to_owned(), families, observed, seen: HashSet::new(), max_children }
    }

    /// Looks for processes that were started since the last time.
    pub fn find(&mut self) {
        if self.families.iter().all(|family| family.problem.is_some()) {
            return;
        }
        let Ok(ids) = process_ids(&self.proc) else {
            self.families.iter_mut().for_each(|family| family.give_up(TOO_MANY_LISTED));
            return;
        };
        let mut children = HashMap::<u32, Vec<u32>>::new();
        let mut unopened = Vec::new();
        for id in ids.iter().filter(|id| !self.seen.contains(id) && !self.observed.contains(id)) {
            match Member::open(&self.proc, *id) {
                Ok(Some(member)) => children.entry(member.stat.parent).or_default().push(*id),
                Ok(None) => {}
                Err(_) => unopened.push(*id),
            }
        }
        for family in &mut self.families {
            unopened.extend(family.adopt(&self.proc, &mut children, self.max_children));
        }
        self.seen = ids.into_iter().collect();
        unopened.iter().for_each(|id| {
            self.seen.remove(id);
        });
    }

    /// Reads all that are known and adds the sums to `values`; gaps if the observed process has ended or has too many.
    pub fn read(&mut self, units: KernelUnits, number: Number<'_>, values: &mut SweepValues) {
        for family in &mut self.families {
            match family.read() {
                Some(ticks) => {
                    family.series.begin();
                    let reading = CPU.reading(None, ticks as f64 * units.tick_ms);
                    values.extend(family.series.value(&reading, number));
                }
                None => family.series.add_gaps(values),
            }
        }
    }

    /// Returns why the time of such processes is not known, by what is said of the observed one.
    pub fn problems(&self) -> impl Iterator<Item = (String, String)> {
        self.families.iter().filter_map(|family| {
            family.problem.map(|problem| (format!("{}: child processes", family.name), problem.to_owned()))
        })
    }
}

impl Family {
    fn new(proc: &Path, name: &str, root: u32) -> Self {
        let members = Member::open(proc, root).ok().flatten().map(|member| (root, member));
        Self {
            name: name.to_owned(),
            root,
            members: members.into_iter().collect(),
            ended: 0,
            series: SeriesNumbers::new(BTreeMap::from([("process".to_owned(), name.to_owned())])),
            problem: None,
        }
    }

    fn give_up(&mut self, problem: &'static str) {
        self.members.clear();
        self.problem = Some(problem);
    }

    /// Adds the processes that its members have started, and takes them out of `children`, which has the new ones by
    /// the number of the process that has started them. Returns those that could not be opened, and still run.
    fn adopt(&mut self, proc: &Path, children: &mut HashMap<u32, Vec<u32>>, most: usize) -> Vec<u32> {
        let mut unopened = Vec::new();
        let mut parents: Vec<u32> = self.members.keys().copied().collect();
        while let Some(parent) = parents.pop() {
            for id in children.remove(&parent).unwrap_or_default() {
                if self.members.len() > most {
                    self.give_up(TOO_MANY_CHILDREN);
                    return unopened;
                }
                match Member::open(proc, id) {
                    Ok(Some(member)) => {
                        // What it has used since it started is added as growth.
                        self.members.insert(id, member);
                        parents.push(id);
                    }
                    Ok(None) => {}
                    Err(_) => unopened.push(id),
                }
            }
        }
        unopened
    }

    /// Reads all members, and returns the ticks of those that belong to the observed process; `None` if it has ended or
    /// they are not known.
    fn read(&mut self) -> Option<u64> {
        let mut waited = HashMap::new();
        let mut ended = HashMap::new();
        for (id, member) in &mut self.members {
            if let Some(stat) = read_stat(&member.file) {
                waited.insert(*id, stat.waited.saturating_sub(member.stat.waited));
                member.stat = stat;
            } else {
                ended.insert(*id, member.stat);
            }
        }
        self.members.retain(|id, _| !ended.contains_key(id));
        self.ended = self.ended.saturating_add(not_waited_for(&ended, waited));
        let own = self.members.get(&self.root)?.stat.own;
        let total = self.members.values().map(|member| member.stat.total()).fold(0, u64::saturating_add);
        Some(total.saturating_sub(own).saturating_add(self.ended))
    }
}

/// Returns the ticks of processes that have ended which are in the times of no other. `waited` says by how much the
/// times of processes that still run have grown for those that they waited for.
fn not_waited_for(ended: &HashMap<u32, Stat>, mut waited: HashMap<u32, u64>) -> u64 {
    // The nearest process above each that still runs, and how many between them have ended.
    let mut by_depth: Vec<(usize, u32, u64)> = Vec::new();
    for stat in ended.values() {
        let (mut above, mut depth) = (stat.parent, 0);
        while let Some(stat) = ended.get(&above).filter(|_| depth < ended.len()) {
            (above, depth) = (stat.parent, depth + 1);
        }
        by_depth.push((depth, above, stat.total()));
    }
    by_depth.sort_unstable();
    let mut lost: u64 = 0;
    for (_, above, ticks) in by_depth {
        match waited.get_mut(&above).filter(|waited| **waited >= ticks) {
            Some(waited) => *waited -= ticks,
            None => lost = lost.saturating_add(ticks),
        }
    }
    lost
}

impl Member {
    /// Opens a process; `None` if it has ended.
    ///
    /// # Errors
    ///
    /// An error if it cannot be opened although it may run, as when too many files are open.
    fn open(proc: &Path, id: u32) -> io::Result<Option<Self>> {
        match File::open(proc.join(id.to_string()).join("stat")) {
            Ok(file) => Ok(read_stat(&file).map(|stat| Self { file, stat })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the numbers of all processes.
///
/// # Errors
///
/// An error if there are too many, or if they cannot be listed.
fn process_ids(proc: &Path) -> io::Result<Vec<u32>> {
    let folder = openat(CWD, proc, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut ids = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        ids.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()));
        if ids.len() > MAX_LISTED {
            return Err(io::Error::other(TOO_MANY_LISTED));
        }
    }
    Ok(ids)
}

/// Returns what a file says, or `None` if its process has ended.
fn read_stat(file: &File) -> Option<Stat> {
    let mut text = [0; STAT_BYTES];
    let length = loop {
        match file.read_at(&mut text, 0) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => break read.ok()?,
        }
    };
    parse(&String::from_utf8_lossy(&text[..length]))
}

/// Parses `ID (NAME) STATE PARENT ...`, in which `NAME` may contain spaces and parentheses.
fn parse(text: &str) -> Option<Stat> {
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // Positions after the name: the third field of proc_pid_stat(5) is at 0.
    let ticks = |position: usize| fields.get(position)?.parse::<u64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        own: ticks(11)?.saturating_add(ticks(12)?),
        waited: ticks(13)?.saturating_add(ticks(14)?),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pacenote_record::SeriesNumber;

    use super::*;

    const UNITS: KernelUnits = KernelUnits { tick_ms: 10.0, page_bytes: 1.0 };

    /// A folder as `/proc`, with a node that has the number 7.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            machine.write(7, 1, [500, 0]);
            machine
        }

        fn children(&self, most: usize) -> ChildProcesses {
            ChildProcesses::new(self.0.path(), &[("n".into(), 7)], HashSet::from([7, 8]), most)
        }

        /// Writes a process: the one that has started it, ticks of its own, and of those that it has waited for.
        fn write(&self, id: u32, parent: u32, [own, waited]: [u64; 2]) {
            let folder = self.0.path().join(id.to_string());
            fs::create_dir_all(&folder).unwrap();
            let text = format!("{id} (a) S b) S {parent} 0 0 0 -1 0 0 0 0 0 {own} 0 {waited} 0 20 0 1 0 9\n");
            fs::write(folder.join("stat"), text).unwrap();
        }

        fn end(&self, id: u32) {
            let folder = self.0.path().join(id.to_string());
            // An open file of the kernel cannot be read any more, but one of a disk can.
            fs::write(folder.join("stat"), "").unwrap();
            fs::remove_dir_all(folder).unwrap();
        }
    }

    fn read(children: &mut ChildProcesses) -> Option<f64> {
        let mut values = Vec::new();
        children.read(UNITS, &|_| SeriesNumber(0), &mut values);
        values.first().and_then(|(_, value)| *value)
    }

    fn found(children: &mut ChildProcesses) -> Option<f64> {
        children.find();
        read(children)
    }

    #[test]
    fn all_that_a_process_has_started_counts_once() {
        let machine = Machine::new();
        let mut children = machine.children(9);
        machine.write(7, 1, [900, 5]);
        machine.write(20, 7, [10, 0]);
        machine.write(3, 20, [4, 0]);
        // Of other programs, and of another observed process.
        machine.write(21, 1, [1_000, 0]);
        machine.write(8, 7, [1_000, 0]);
        machine.write(22, 8, [1_000, 0]);
        assert_eq!(found(&mut children), Some(190.0));
        machine.write(3, 20, [104, 0]);
        machine.write(23, 3, [1, 0]);
        // Those that have started since are looked for less often.
        assert_eq!(read(&mut children), Some(1_190.0));
        assert_eq!(found(&mut children), Some(1_200.0));
        // One has ended, was waited for, and has used more meanwhile; what it had started goes on.
        machine.end(3);
        machine.write(20, 7, [10, 107]);
        machine.write(23, 1, [2, 0]);
        assert_eq!(read(&mut children), Some(1_240.0));
        // Another process has got its number.
        machine.write(3, 1, [9_999, 0]);
        machine.end(23);
        assert_eq!(found(&mut children), Some(1_240.0));
        assert!(children.problems().next().is_none());
    }

    #[test]
    fn the_time_of_processes_that_end_is_neither_lost_nor_counted_twice() {
        // A child had 30 ticks at the last reading, and what it had started 40: for how many the node has waited, and
        // the sum. With 40, the child has used 10 more, and has not waited for the other one.
        for (node, expected) in [(0, 70.0), (70, 70.0), (30, 70.0), (40, 80.0), (75, 75.0)] {
            let machine = Machine::new();
            let mut children = machine.children(9);
            machine.write(20, 7, [30, 0]);
            machine.write(21, 20, [40, 0]);
            assert_eq!(found(&mut children), Some(700.0));
            machine.end(20);
            machine.end(21);
            machine.write(7, 1, [500, node]);
            assert_eq!(found(&mut children), Some(expected * 10.0), "{node}");
        }
    }

    #[test]
    fn a_process_that_was_never_seen_counts_if_it_was_waited_for() {
        let machine = Machine::new();
        let mut children = machine.children(9);
        assert_eq!(found(&mut children), Some(0.0));
        machine.write(7, 1, [500, 12]);
        assert_eq!(read(&mut children), Some(120.0));
        machine.end(7);
        assert_eq!(found(&mut children), None);
    }

    #[test]
    fn too_many_are_not_read_and_named() {
        let machine = Machine::new();
        let mut children = machine.children(2);
        machine.write(20, 7, [1, 0]);
        machine.write(21, 20, [1, 0]);
        assert_eq!(found(&mut children), Some(20.0));
        machine.write(22, 7, [1, 0]);
        assert_eq!(found(&mut children), None);
        let problem = ("n: child processes".to_owned(), TOO_MANY_CHILDREN.to_owned());
        assert_eq!(children.problems().collect::<Vec<_>>(), [problem]);
        machine.end(22);
        assert_eq!(found(&mut children), None);
        assert!(children.families[0].members.is_empty());
    }

    #[test]
    fn a_machine_with_too_many_processes_is_not_searched() {
        let machine = Machine::new();
        let mut children = machine.children(2);
        for id in 0..=MAX_LISTED {
            fs::create_dir(machine.0.path().join((100 + id).to_string())).unwrap();
        }
        assert_eq!(found(&mut children), None);
        assert_eq!(children.problems().count(), 1);
    }

    #[test]
    fn what_is_no_process_is_left_out() {
        for text in ["", "7", "7 (a", ") S x", "7 (a) S 1 0 0 0 -1 0 0 0 0 0 5 0 4 -1", "\0"] {
            assert_eq!(parse(text), None, "{text}");
        }
        let text = "7 (a) S 1 0 0 0 -1 0 0 0 0 0 5 1 4 2 20";
        assert_eq!(parse(text), Some(Stat { parent: 1, own: 6, waited: 6 }));
    }
}
