//! The state of one run of a JVM while its lines are read.

use std::collections::VecDeque;

use crate::gc::hotspot::decorations::Times;
use crate::gc::hotspot::pending::Pending;
use crate::gc::log::{GcLog, Span};
use crate::gc::losses::CollectionNumbers;
use crate::gc::names::NameId;

/// Lines from which the wall-clock time of the JVM's start is computed.
const EPOCH_LINES: u32 = 256;
/// How far the uptime goes back within one run: threads write their lines out of order.
const MOST_BACKWARDS_NS: u64 = 1_000_000_000;
/// The same for the wall clock, which an administrator or a time server may set back by seconds.
const MOST_WALL_BACKWARDS_NS: i64 = 60_000_000_000;
/// Collections that are in progress at the same time; a JVM has up to three.
const MOST_PENDING: usize = 16;

/// Completed collections whose numbers are kept. A JVM completes collections that contain each other in any order.
const MOST_COMPLETED: usize = 8;

/// One run of a JVM.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) log: GcLog,
    /// The container of its lines, or empty.
    pub(super) container: Vec<u8>,
    /// From the line before the current one to the current one.
    pub(super) between: Span,
    numbers: CollectionNumbers,
    /// Numbers of the collections that were completed last, in a pause.
    completed: VecDeque<u64>,
    /// The process id of its lines, or empty.
    pub(super) number: Vec<u8>,
    /// Whether the line with the name of the collector was read.
    pub(super) has_header: bool,
    /// Operation of the safepoint that was entered last (JDK 11).
    pub(super) entered: Vec<u8>,
    /// Why the next cycle of Shenandoah begins.
    pub(super) trigger: Option<NameId>,
    /// Collections that are not complete, oldest first.
    pending: Vec<Pending>,
    last_uptime_ns: u64,
    /// Wall-clock time of the last line, if lines have no uptime.
    last_wall_ns: Option<i64>,
    /// Number of pauses when the last safepoint ended.
    pauses_at_stop: usize,
    /// Wall-clock time of the first line, if lines have no uptime.
    first_wall_ns: Option<i64>,
    epoch_lines: u32,
}

impl Run {
    pub(super) fn new(container: &[u8], number: &[u8]) -> Self {
        let name = String::from_utf8_lossy(container);
        let log = GcLog { container: (!name.is_empty()).then(|| name.into_owned()), ..GcLog::default() };
        Self { log, container: container.to_vec(), number: number.to_vec(), ..Self::default() }
    }

    /// Returns whether the line is from another process than the lines of this run.
    pub(super) fn is_other_process(&self, number: &[u8]) -> bool {
        !self.number.is_empty() && self.number != number
    }

    /// Returns whether the line is from a later run: its time is before that of the last line.
    pub(super) fn is_before(&self, times: Times) -> bool {
        match (times.uptime_ns, times.wall_ns, self.last_wall_ns) {
            (Some(uptime), _, _) => uptime.saturating_add(MOST_BACKWARDS_NS) < self.last_uptime_ns,
            (None, Some(wall), Some(last)) => wall.saturating_add(MOST_WALL_BACKWARDS_NS) < last,
            _ => false,
        }
    }

    /// Returns the time of a line on the clock of the log, or `None` if the line has no time.
    pub(super) fn advance(&mut self, times: Times) -> Option<u64> {
        let at_ns = match (times.uptime_ns, times.wall_ns) {
            (Some(uptime), wall) => {
                self.last_uptime_ns = self.last_uptime_ns.max(uptime);
                self.log.has_uptime = true;
                if let Some(wall) = wall {
                    self.observe_epoch(wall, uptime);
                }
                uptime
            }
            (None, Some(wall)) => {
                let first = *self.first_wall_ns.get_or_insert(wall);
                self.log.epoch_ns = Some(first);
                self.last_wall_ns = Some(self.last_wall_ns.map_or(wall, |last| last.max(wall)));
                u64::try_from(wall.saturating_sub(first)).unwrap_or(0)
            }
            (None, None) => return None,
        };
        self.log.extend_to(at_ns);
        Some(at_ns)
    }

    /// The wall-clock time is rounded down to milliseconds, so the largest difference is the most exact.
    fn observe_epoch(&mut self, wall_ns: i64, uptime_ns: u64) {
        if self.epoch_lines >= EPOCH_LINES {
            return;
        }
        self.epoch_lines += 1;
        let epoch = wall_ns.saturating_sub(i64::try_from(uptime_ns).unwrap_or(i64::MAX));
        self.log.epoch_ns = Some(self.log.epoch_ns.map_or(epoch, |known| known.max(epoch)));
    }

    /// Returns the state of a collection, which begins now if it is not known.
    pub(super) fn pending(&mut self, id: u64) -> &mut Pending {
        let index = self.pending.iter().position(|pending| pending.id == id).unwrap_or_else(|| {
            if self.pending.len() >= MOST_PENDING {
                self.pending.remove(0);
            }
            self.pending.push(Pending { id, ..Pending::default() });
            self.pending.len() - 1
        });
        &mut self.pending[index]
    }

    /// Removes and returns the state of a collection.
    pub(super) fn take_pending(&mut self, id: u64) -> Option<Pending> {
        let index = self.pending.iter().position(|pending| pending.id == id)?;
        Some(self.pending.remove(index))
    }

    /// Names the collector, if the log does not: its header is in an earlier file.
    pub(super) fn infer_collector(&mut self, name: &str) {
        if self.log.jvm.collector.is_none() {
            self.log.jvm.collector = Some(name.to_owned());
        }
    }

    pub(super) fn is_g1(&self) -> bool {
        self.log.jvm.collector.as_deref() == Some("G1")
    }

    /// Reads the number of the collection of a line.
    pub(super) fn read_number(&mut self, id: u64) {
        if self.numbers.is_empty() {
            if self.has_header {
                self.numbers.expect(0);
            } else if id > 0 {
                self.log.losses.begins_with = Some(id);
            }
        }
        self.numbers.read(&mut self.log.losses, id, self.between);
    }

    /// Reads that the JVM has dropped messages.
    pub(super) fn read_dropped(&mut self, count: u64) {
        if count > 0 {
            self.log.losses.dropped_messages = self.log.losses.dropped_messages.saturating_add(count);
            self.lose();
        }
    }

    /// Notes that something is missing since the line before the current one.
    pub(super) fn lose(&mut self) {
        self.log.losses.add(self.between.start_ns, self.between.end_ns);
    }

    /// Reads that a collection is complete, which happens once.
    pub(super) fn complete(&mut self, id: u64) {
        let largest = self.completed.iter().copied().max().unwrap_or(0);
        if self.completed.contains(&id) || id.saturating_add(MOST_COMPLETED as u64) < largest {
            self.log.losses.repeated_collections += 1;
            self.lose();
        }
        if self.completed.len() >= MOST_COMPLETED {
            self.completed.pop_front();
        }
        self.completed.push_back(id);
    }

    /// Returns whether a safepoint that ends now was one for a collection, according to the pauses since the last one.
    pub(super) fn has_paused(&mut self) -> bool {
        let before = std::mem::replace(&mut self.pauses_at_stop, self.log.pauses.len());
        self.log.pauses.len() > before
    }

    pub(super) fn finish(self) -> GcLog {
        GcLog { process: self.number, ..self.log }
    }
}
