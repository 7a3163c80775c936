//! CPU time of the processes that observed processes have started, and of those that these have started, and so on.
//!
//! An engine may have programs of its own, as that for machine learning of Elasticsearch. The kernel adds what a
//! process used to the times of the process that waits for its end, and drops it if none does. The sum is therefore
//! that of all known processes, of what they have waited for, and of those that ended without being waited for: these
//! are the ones of which the process above has not grown by as much. Lost is only what a process uses after the last
//! reading before such an end, or all of it if it is never seen.
//!
//! Processes are read one after the other, and one may end in between: its time would be read twice, or not at all.
//! They are therefore read again until nothing has ended or been waited for between two readings.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::kernel_file::{Number, SeriesNumbers, SweepValues, reason};
use crate::process_stat::{Stat, process_ids, read_stat};
use crate::reading::{Field, KernelUnits};

static CPU: Field = Field::counter("", "process.children_cpu").with_unit("ms");

/// Number of processes of the machine up to which each search lists them: to list one takes 2 µs. Of more, so many
/// searches are left out that it takes no larger part of the time.
const OFTEN_LISTED: usize = if cfg!(test) { 100 } else { 10_000 };

/// Largest number of times that processes are read in a row, of which each takes 13 µs per process.
const MAX_READINGS: usize = 8;

const TOO_MANY_CHILDREN: &str = "too many of them ran at a time";
const TOO_FAST: &str = "they ended faster than they could be read";

/// What processes say, by their numbers.
type Stats = BTreeMap<u32, Stat>;

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
    /// Whether the observed process was opened, or had ended before.
    is_opened: bool,
    /// The processes that run, the observed one included, by number.
    members: HashMap<u32, Member>,
    /// Ticks of processes that have ended and were not waited for.
    ended: u64,
    series: SeriesNumbers,
    /// Whether they are not read any more.
    is_given_up: bool,
    /// Why their time was not known at the first reading without it.
    problem: Option<String>,
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
    /// Number of searches that are left out from now on.
    left_out: usize,
    /// Why the last search has not found all.
    incomplete: Option<String>,
}

impl ChildProcesses {
    /// Creates those of `nodes`, by name and number. All processes that are observed are in `observed`.
    pub fn new(proc: &Path, nodes: &[(String, u32)], observed: HashSet<u32>, max_children: usize) -> Self {
        let families = nodes.iter().map(|(name, root)| Family::new(name, *root)).collect();
        Self { proc: proc.to_owned(), families, observed, max_children, ..Self::default() }
    }

    /// Looks for processes that were started since the last time.
    pub fn find(&mut self) {
        if self.left_out > 0 {
            self.left_out -= 1;
        } else if self.families.iter().any(|family| !family.is_given_up) {
            self.incomplete = self.search().err().map(|error| reason(&error));
        }
    }

    /// Returns whether the last search has not found all, so that the time of such processes is not known until the
    /// next one.
    pub fn is_incomplete(&self) -> bool {
        self.incomplete.is_some()
    }

    /// # Errors
    ///
    /// An error if a process cannot be listed or opened, as when too many files are open; the next search finds it.
    fn search(&mut self) -> io::Result<()> {
        for family in &mut self.families {
            family.open_root(&self.proc)?;
        }
        let ids = process_ids(&self.proc)?;
        self.left_out = ids.len().saturating_sub(1) / OFTEN_LISTED;
        let mut children = HashMap::<u32, Vec<u32>>::new();
        let mut unopened = Vec::new();
        for id in ids.iter().filter(|id| !self.seen.contains(id) && !self.observed.contains(id)) {
            match Member::open(&self.proc, *id) {
                Ok(Some(member)) => children.entry(member.stat.parent).or_default().push(*id),
                Ok(None) => {}
                Err(error) => unopened.push((*id, error)),
            }
        }
        for family in &mut self.families {
            unopened.extend(family.adopt(&self.proc, &mut children, self.max_children));
        }
        self.seen = ids.into_iter().collect();
        // A process that was started after its number had been passed may already have started others.
        children.retain(|parent, _| *parent > 0 && !self.seen.contains(parent));
        for id in children.values().flatten().chain(unopened.iter().map(|(id, _)| id)) {
            self.seen.remove(id);
        }
        unopened.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Reads all that are known and adds the sums to `values`; gaps if the observed process has ended, or if the sum is
    /// not known. The next one has what was used meanwhile.
    pub fn read(&mut self, units: KernelUnits, number: Number<'_>, values: &mut SweepValues) {
        for family in &mut self.families {
            let ticks = family.read(|_, file| read_stat(file));
            if let Some(reason) = &self.incomplete {
                family.problem.get_or_insert_with(|| reason.clone());
            }
            match ticks.filter(|_| self.incomplete.is_none()) {
                Some(ticks) => {
                    family.series.begin();
                    let reading = CPU.reading(None, ticks as f64 * units.tick_ms);
                    values.extend(family.series.value(&reading, number));
                }
                None => family.series.add_gaps(values),
            }
        }
    }

    /// Returns why the time of such processes was not known at times, by what is said of the observed one.
    pub fn problems(&self) -> impl Iterator<Item = (String, String)> {
        self.families.iter().filter_map(|family| {
            family
                .problem
                .as_ref()
                .map(|problem| (format!("{}: child processes", family.name), problem.clone()))
        })
    }
}

impl Family {
    fn new(name: &str, root: u32) -> Self {
        Self {
            name: name.to_owned(),
            root,
            is_opened: false,
            members: HashMap::new(),
            ended: 0,
            series: SeriesNumbers::new(BTreeMap::from([("process".to_owned(), name.to_owned())])),
            is_given_up: false,
            problem: None,
        }
    }

    /// Opens the observed process, once: another one may get its number later.
    fn open_root(&mut self, proc: &Path) -> io::Result<()> {
        if !self.is_opened {
            self.members.extend(Member::open(proc, self.root)?.map(|member| (self.root, member)));
            self.is_opened = true;
        }
        Ok(())
    }

    fn give_up(&mut self, problem: &str) {
        self.members.clear();
        self.is_given_up = true;
        self.problem = Some(problem.to_owned());
    }

    /// Adds the processes that its members have started, and takes them out of `children`, which has the new ones by
    /// the number of the process that has started them. Returns those that could not be opened, and still run.
    fn adopt(
        &mut self,
        proc: &Path,
        children: &mut HashMap<u32, Vec<u32>>,
        most: usize,
    ) -> Vec<(u32, io::Error)> {
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
                    Err(error) => unopened.push((id, error)),
                }
            }
        }
        unopened
    }

    /// Reads all members with `read`, and returns the ticks of those that belong to the observed process; `None` if it
    /// has ended or they are not known.
    fn read(&mut self, mut read: impl FnMut(u32, &File) -> Option<Stat>) -> Option<u64> {
        let known: Stats = self.members.iter().map(|(id, member)| (*id, member.stat)).collect();
        let Some(now) = settled(&known, |id| read(id, &self.members.get(&id)?.file)) else {
            self.problem.get_or_insert_with(|| TOO_FAST.to_owned());
            return None;
        };
        let ended: HashMap<u32, Stat> =
            known.iter().filter(|(id, _)| !now.contains_key(id)).map(|(id, stat)| (*id, *stat)).collect();
        let growth = |(id, stat): (&u32, &Stat)| {
            (*id, stat.waited.saturating_sub(known.get(id).map_or(0, |before| before.waited)))
        };
        self.ended = self.ended.saturating_add(not_waited_for(&ended, now.iter().map(growth).collect()));
        self.members.retain(|id, member| now.get(id).map(|stat| member.stat = *stat).is_some());
        let own = now.get(&self.root)?.own;
        let total = now.values().map(|stat| stat.total()).fold(0, u64::saturating_add);
        Some(total.saturating_sub(own).saturating_add(self.ended))
    }
}

/// Reads processes until none of them has ended, or has waited for another one, since the reading before; the first
/// one is `known`. At the moment between such readings, what one says is true of all. Returns those that run, or `None`
/// if they do not come to rest.
fn settled(known: &Stats, mut read: impl FnMut(u32) -> Option<Stat>) -> Option<Stats> {
    let mut before = known.clone();
    for _ in 0..MAX_READINGS {
        let now: Stats = known.keys().filter_map(|id| Some((*id, read(*id)?))).collect();
        let is_same = |(id, stat): (&u32, &Stat)| {
            !stat.is_ending && before.get(id).is_some_and(|before| before.waited == stat.waited)
        };
        if now.len() == before.len() && now.iter().all(is_same) {
            return Some(now);
        }
        before = now;
    }
    None
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
    /// Opens a process; `None` if it has ended, or may not be seen.
    ///
    /// # Errors
    ///
    /// An error if it cannot be opened although it may run, as when too many files are open.
    fn open(proc: &Path, id: u32) -> io::Result<Option<Self>> {
        match File::open(proc.join(id.to_string()).join("stat")) {
            Ok(file) => Ok(read_stat(&file).filter(|stat| !stat.is_ending).map(|stat| Self { file, stat })),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use pacenote_record::SeriesNumber;

    use super::*;
    use crate::process_stat::parse;

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

    fn stat(parent: u32, own: u64, waited: u64) -> Stat {
        Stat { parent, own, waited, is_ending: false }
    }

    /// Reads the node and a child with this number, both of which have 100 ticks, while the latter ends: `steps` has what
    /// node and child say one after the other, from the reading `first` on. Returns the ticks of several sweeps.
    fn sweeps_while_it_ends(child: u32, first: usize, steps: &[[Option<Stat>; 2]]) -> Vec<Option<u64>> {
        let machine = Machine::new();
        machine.write(7, 1, [100, 0]);
        machine.write(child, 7, [100, 0]);
        let mut children = machine.children(9);
        assert_eq!(found(&mut children), Some(1_000.0));
        let mut count = 0;
        let mut sweep = || {
            children.families[0].read(|id, _| {
                let step = (count + 1_usize).saturating_sub(first).min(steps.len());
                count += 1;
                let now =
                    if step == 0 { [Some(stat(1, 100, 0)), Some(stat(7, 100, 0))] } else { steps[step - 1] };
                now[usize::from(id != 7)]
            })
        };
        (0..6).map(|_| sweep()).collect()
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
    fn a_process_that_ends_between_two_readings_counts_once_in_either_order() {
        let removed = Some(Stat { parent: 0, own: 0, waited: 0, is_ending: true });
        let waited_for = [[Some(stat(1, 100, 100)), None]];
        let slowly = [
            [Some(stat(1, 100, 0)), removed],
            [Some(stat(1, 100, 100)), removed],
            [Some(stat(1, 100, 100)), None],
        ];
        let dropped = [[Some(stat(1, 100, 0)), removed], [Some(stat(1, 100, 0)), None]];
        // Processes are read in the order of their numbers.
        for child in [3, 20] {
            for first in 0..9 {
                for steps in [&waited_for[..], &slowly, &dropped] {
                    let sweeps = sweeps_while_it_ends(child, first, steps);
                    assert_eq!(sweeps, [Some(100); 6], "{child} {first} {steps:?}");
                }
            }
        }
    }

    #[test]
    fn processes_that_do_not_come_to_rest_have_a_gap() {
        let machine = Machine::new();
        let mut children = machine.children(9);
        assert_eq!(found(&mut children), Some(0.0));
        let mut waited = 0;
        let family = &mut children.families[0];
        let mut restless = |_: u32, _: &File| {
            waited += 1;
            Some(stat(1, 500, waited))
        };
        assert_eq!(family.read(&mut restless), None);
        assert_eq!(family.read(|_, _| Some(stat(1, 500, 70))), Some(70));
        assert_eq!(children.problems().count(), 1);
    }

    #[test]
    fn the_time_of_processes_of_this_machine_that_end_is_in_that_of_the_first_one() {
        let script = "for i in 1 2 3 4 5 6 7 8; do \
            sh -c 'sh -c \"i=0; while [ \\$i -lt 30000 ]; do i=\\$((i+1)); done\"; i=0; while [ $i -lt 30000 ]; do \
            i=$((i+1)); done'; done; echo; read line";
        let mut first = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = first.stdout.take().unwrap();
        let has_waited = Arc::new(AtomicBool::new(false));
        let waits = thread::spawn({
            let has_waited = Arc::clone(&has_waited);
            move || {
                output.read_exact(&mut [0]).unwrap();
                has_waited.store(true, Ordering::SeqCst);
            }
        });
        let nodes = [("n".to_owned(), first.id())];
        let mut children = ChildProcesses::new(Path::new("/proc"), &nodes, HashSet::from([first.id()]), 99);
        let mut values = Vec::new();
        while !has_waited.load(Ordering::SeqCst) {
            children.find();
            values.extend((0..20).filter_map(|_| read(&mut children)));
        }
        values.extend(found(&mut children));
        waits.join().unwrap();
        let folder = Path::new("/proc").join(first.id().to_string());
        let waited = parse(&fs::read_to_string(folder.join("stat")).unwrap()).unwrap().waited;
        drop(first.stdin.take());
        first.wait().unwrap();
        assert!(waited > 0 && values.len() > 1);
        let most = values.iter().copied().fold(0.0, f64::max);
        let tick_ms = UNITS.tick_ms;
        assert_eq!(values.last().copied(), Some(waited as f64 * tick_ms));
        // Each of two times of each process is rounded down to ticks.
        assert!(most <= (waited + 4) as f64 * tick_ms, "{most} {waited}");
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
    fn a_machine_with_many_processes_is_searched_less_often() {
        let machine = Machine::new();
        let mut children = machine.children(2);
        for id in 0..OFTEN_LISTED {
            fs::create_dir(machine.0.path().join((100 + id).to_string())).unwrap();
        }
        assert_eq!(found(&mut children), Some(0.0));
        machine.write(20, 7, [1, 0]);
        assert_eq!((found(&mut children), found(&mut children)), (Some(0.0), Some(10.0)));
        assert_eq!(children.problems().count(), 0);
    }

    #[test]
    fn a_search_that_fails_is_repeated() {
        let machine = Machine::new();
        let mut children = machine.children(9);
        machine.write(20, 7, [30, 0]);
        // As if too many files were open: the file of the node cannot be opened, then those of all, then one.
        let folder = machine.0.path().to_owned();
        let block = |name: &str| {
            fs::rename(folder.join(name), folder.join("free")).unwrap();
            symlink(name, folder.join(name)).unwrap();
        };
        let free = |name: &str| {
            fs::remove_file(folder.join(name)).unwrap();
            fs::rename(folder.join("free"), folder.join(name)).unwrap();
        };
        for name in ["7", "20"] {
            block(name);
            assert_eq!(found(&mut children), None, "{name}");
            assert!(children.is_incomplete(), "{name}");
            free(name);
        }
        assert_eq!(found(&mut children), Some(300.0));
        // What it has used before the first value is the base of what it uses later.
        machine.write(20, 7, [45, 0]);
        machine.write(21, 7, [5, 0]);
        block("21");
        assert_eq!(found(&mut children), None);
        free("21");
        assert_eq!(found(&mut children), Some(500.0));
        assert_eq!(children.problems().count(), 1);
        assert!(!children.is_incomplete());
    }
}
