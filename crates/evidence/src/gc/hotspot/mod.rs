//! Reads the unified logs of `HotSpot`: G1, Parallel, Serial, ZGC, Shenandoah, and CMS as far as it has the same lines.
//!
//! Lines are recognized by their message, so that the log may have any decorators. Lines of other programs are skipped.
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

use crate::gc::log::{GcLog, RecordLimit};
use run::Run;

/// Runs that are distinguished in one group of files; lines of more belong to several JVMs without process ids.
const MOST_RUNS: usize = 64;

/// Reads the lines of a group of files, in their order.
#[derive(Debug, Default)]
pub struct HotSpotReader {
    /// Room for further records of any of the runs.
    room: RecordLimit,
    /// The runs, in the order of their first lines.
    runs: Vec<Run>,
    /// Index of the run to which the last line belongs.
    current: usize,
    /// Lines that are not attributed because there are too many runs.
    pub(super) unattributed: u64,
}

impl HotSpotReader {
    /// Reads one line, without its end.
    pub fn line(&mut self, line: &[u8]) {
        let (decorations, message) = decorations::split(line);
        let starts = messages::starts_run(message);
        if let Some(index) = self.select(decorations.number, starts) {
            let times = decorations.times();
            if self.runs[index].is_before(times) && !self.begin(decorations.number) {
                return;
            }
            let run = &mut self.runs[self.current];
            let at_ns = run.advance(times);
            run.log.room = self.room;
            messages::read(run, at_ns, message);
            self.room = run.log.room;
        } else {
            self.unattributed += 1;
        }
    }

    /// Returns the logs of all runs that contain anything.
    #[must_use]
    pub fn finish(self) -> Vec<GcLog> {
        self.runs.into_iter().map(Run::finish).filter(|log| !log.is_empty()).collect()
    }

    /// Selects the run of a line. A plain number is a process id if a run has begun with it, otherwise a thread id.
    fn select(&mut self, number: &[u8], starts: bool) -> Option<usize> {
        if let Some(known) = self.runs.iter().rposition(|run| !number.is_empty() && run.number == number) {
            self.current = known;
        }
        let is_new = match self.runs.get(self.current) {
            None => true,
            Some(run) => starts && (run.has_header || run.is_other_process(number)),
        };
        if is_new && !self.begin(number) {
            return None;
        }
        let run = &mut self.runs[self.current];
        if run.number.is_empty() && run.log.is_empty() {
            // Only lines of other programs precede this one.
            run.number = number.to_vec();
        }
        Some(self.current)
    }

    /// Begins a run; returns whether it was possible.
    fn begin(&mut self, number: &[u8]) -> bool {
        if self.runs.len() >= MOST_RUNS {
            self.unattributed += 1;
            return false;
        }
        self.current = self.runs.len();
        self.runs.push(Run::new(number));
        true
    }
}

/// Returns the wall-clock time and the uptime of a line in nanoseconds, 0 for one that it does not have; `None` if it has
/// neither.
pub(super) fn line_time(line: &[u8]) -> Option<(i64, u64)> {
    let times = decorations::split(line).0.times();
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
