//! Reads the unified logs of `HotSpot`: G1, Parallel, Serial, ZGC, Shenandoah, and CMS as far as it has the same lines.
//!
//! Lines are recognized by their tags, or else by their message, so that the log may have any decorators. Lines of other
//! programs are skipped: they neither move a clock nor begin a run.
//! A file may contain several runs of a JVM, one after the other or, if lines have the process id, interleaved.
//!
//! | file | contains |
//! | --- | --- |
//! | `decorations`, `numbers` | times, process ids, numbers and sizes |
//! | `run`, `pending` | [`run::Run`]: the state of one run, with its clock and the collections that are not complete |
//! | `message`, `messages` | a message, and the selection of its reader |
//! | `header`, `pauses`, `generations`, `zgc`, `safepoints` | readers of messages |

mod decorations;
mod generations;
mod header;
mod message;
mod messages;
mod numbers;
mod pauses;
mod pending;
mod run;
mod safepoints;
mod zgc;

use crate::gc::container::ContainerReader;
use crate::gc::legacy;
use crate::gc::log::{GcLog, RecordLimit, Span};
use decorations::{Decorations, Origin};
use messages::MessageKind;
use run::Run;

/// Runs that are distinguished in one group of files; lines of more belong to several JVMs without process ids.
const MOST_RUNS: usize = 64;

/// Starts of runs that are only seen by their times, from which on they rather show that several JVMs wrote to the log.
const MOST_RETURNS: u64 = 3;

/// Reads the lines of a group of files, in their order.
#[derive(Debug, Default)]
pub struct HotSpotReader {
    containers: ContainerReader,
    /// Room for further records of any of the runs.
    room: RecordLimit,
    /// The runs, in the order of their first lines.
    runs: Vec<Run>,
    /// Index of the run to which the last line belongs.
    current: usize,
    /// Whether a line has tags of the JVM, so that all of its lines have.
    has_tags: bool,
    /// Whether a line of the JVM has a time, so that all of its lines have one.
    has_times: bool,
    /// What was not read.
    pub(super) skipped: SkippedLines,
}

/// Numbers of lines that were not read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct SkippedLines {
    /// Lines that are not attributed because there are too many runs.
    pub(super) unattributed: u64,
    /// Lines with the level of another program.
    others: u64,
    /// Lines without a level or tags, and of which no message is known.
    unknown: u64,
    /// Lines of collections of JDK 8 or older.
    pub(super) legacy: u64,
    /// Times at which the clock went back without the start of a JVM.
    returns: u64,
}

/// Where a line belongs.
#[derive(Debug, Clone, Copy)]
struct LineSource<'a> {
    /// The container that wrote it, or empty.
    container: &'a [u8],
    /// Its process id, or empty.
    number: &'a [u8],
}

impl HotSpotReader {
    /// Reads one line, without its end.
    pub fn line(&mut self, line: &[u8]) {
        let mut containers = std::mem::take(&mut self.containers);
        let found = containers.read(line);
        self.read(found.container, found.text);
        self.containers = containers;
    }

    fn read(&mut self, container: &[u8], line: &[u8]) {
        let (decorations, message) = decorations::split(line);
        let kind = messages::kind(message);
        if !self.is_of_jvm(&decorations, kind) {
            self.skip(&decorations, line);
            return;
        }
        self.has_tags |= decorations.origin == Origin::Jvm;
        let source = LineSource { container, number: decorations.number };
        if !self.select(source, kind == MessageKind::Start) {
            self.skipped.unattributed += 1;
            return;
        }
        let times = decorations.times();
        if self.runs[self.current].is_before(times) {
            // A start begins with settings, some of them before the name of the collector.
            self.skipped.returns += u64::from(kind == MessageKind::Event);
            if !self.begin(source) {
                self.skipped.unattributed += 1;
                return;
            }
        }
        let run = &mut self.runs[self.current];
        let before_ns = run.log.span.map_or(0, |span| span.end_ns);
        // Settings without decorations that show the JVM can be words of any program.
        let is_event = decorations.origin == Origin::Jvm || kind != MessageKind::Setting;
        if !is_event && !run.log.pauses.is_empty() {
            self.skipped.unknown += 1;
            return;
        }
        let at_ns = if is_event { run.advance(times) } else { None };
        self.has_times |= at_ns.is_some();
        run.log.room = self.room;
        let at = at_ns.unwrap_or(0);
        run.between = Span { start_ns: before_ns.min(at), end_ns: at };
        messages::read(run, at, message);
        self.room = run.log.room;
    }

    /// Returns whether a line is the JVM's own: its decorations show it, or else its message.
    fn is_of_jvm(&self, decorations: &Decorations<'_>, kind: MessageKind) -> bool {
        match decorations.origin {
            Origin::Jvm => true,
            Origin::Other => false,
            Origin::Unknown => kind != MessageKind::Other && (decorations.has_time() || !self.has_times),
        }
    }

    fn skip(&mut self, decorations: &Decorations<'_>, line: &[u8]) {
        if decorations.origin == Origin::Other {
            self.skipped.others += 1;
        } else if legacy::is_line(line) {
            self.skipped.legacy += 1;
        } else if !line.is_empty() {
            self.skipped.unknown += 1;
        }
    }

    /// Returns the number of lines of other programs. Without tags, lines of the JVM may be among those that are unknown.
    pub(super) fn lines_of_others(&self) -> u64 {
        self.skipped.others + if self.has_tags { self.skipped.unknown } else { 0 }
    }

    /// Returns whether lines of several JVMs were mixed that cannot be told apart.
    pub(super) fn is_mixed(&self) -> bool {
        self.skipped.unattributed > 0 || self.skipped.returns >= MOST_RETURNS
    }

    /// Returns the logs of all runs that contain anything.
    #[must_use]
    pub fn finish(self) -> Vec<GcLog> {
        self.runs.into_iter().map(Run::finish).filter(|log| !log.is_empty()).collect()
    }

    /// Selects the run of a line; returns whether there is one. A plain number is a process id if a run has begun with it,
    /// otherwise a thread id.
    fn select(&mut self, source: LineSource<'_>, starts: bool) -> bool {
        let LineSource { container, number } = source;
        let is_here = |run: &Run| run.container == container;
        let known =
            self.runs.iter().rposition(|run| !number.is_empty() && run.number == number && is_here(run));
        let is_current = self.runs.get(self.current).is_some_and(is_here);
        if let Some(known) = known {
            self.current = known;
        } else if !is_current {
            match self.runs.iter().rposition(is_here) {
                Some(last) => self.current = last,
                None => return self.begin(source),
            }
        }
        let is_new = match self.runs.get(self.current) {
            None => true,
            Some(run) => starts && (run.has_header || run.is_other_process(number)),
        };
        if is_new && !self.begin(source) {
            return false;
        }
        let run = &mut self.runs[self.current];
        if run.number.is_empty() && run.log.is_empty() {
            // Only settings precede this line.
            run.number = number.to_vec();
        }
        true
    }

    /// Begins a run; returns whether it was possible.
    fn begin(&mut self, source: LineSource<'_>) -> bool {
        if self.runs.len() >= MOST_RUNS {
            return false;
        }
        self.current = self.runs.len();
        self.runs.push(Run::new(source.container, source.number));
        true
    }
}

/// Returns the wall-clock time and the uptime of a line of a JVM in nanoseconds, 0 for one that it does not have; `None` if
/// it has neither, and for lines of other programs.
pub(super) fn line_time(line: &[u8]) -> Option<(i64, u64)> {
    let (decorations, message) = decorations::split(line);
    let is_event = matches!(messages::kind(message), MessageKind::Start | MessageKind::Event);
    if decorations.origin == Origin::Other || (decorations.origin == Origin::Unknown && !is_event) {
        return None;
    }
    let times = decorations.times();
    if times.wall_ns.is_none() && times.uptime_ns.is_none() {
        return None;
    }
    Some((times.wall_ns.unwrap_or(0), times.uptime_ns.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::log::Pause;

    #[test]
    fn all_runs_share_the_limit_of_records() {
        let room = RecordLimit(5 * size_of::<Pause>());
        let mut reader = HotSpotReader { room, ..HotSpotReader::default() };
        for pid in [1, 2, 3] {
            reader.line(format!("[0.1s][{pid}][gc] Using G1").as_bytes());
            reader.line(format!("[1.0s][{pid}][gc] GC(0) Pause Remark 0.5ms").as_bytes());
            reader.line(format!("[2.0s][{pid}][gc] GC(0) Pause Cleanup 0.5ms").as_bytes());
        }
        let logs = reader.finish();
        let found: Vec<_> = logs.iter().map(|log| (log.pauses.len(), log.is_limited)).collect();
        assert_eq!(found, [(2, false), (2, false), (1, true)]);
    }
}
