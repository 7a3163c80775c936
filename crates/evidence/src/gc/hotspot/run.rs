//! The state of one run of a JVM while its lines are read.

use crate::gc::hotspot::decorations::Times;
use crate::gc::hotspot::pending::Pending;
use crate::gc::log::GcLog;
use crate::gc::names::NameId;

/// Lines from which the wall-clock time of the JVM's start is computed.
const EPOCH_LINES: u32 = 256;
/// How far the uptime goes back within one run: threads write their lines out of order.
const MOST_BACKWARDS_NS: u64 = 1_000_000_000;
/// Collections that are in progress at the same time; a JVM has up to three.
const MOST_PENDING: usize = 16;

/// One run of a JVM.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) log: GcLog,
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
    /// Wall-clock time of the first line, if lines have no uptime.
    first_wall_ns: Option<i64>,
    epoch_lines: u32,
}

impl Run {
    pub(super) fn new(number: &[u8]) -> Self {
        Self { number: number.to_vec(), ..Self::default() }
    }

    /// Returns whether the line is from another process than the lines of this run.
    pub(super) fn is_other_process(&self, number: &[u8]) -> bool {
        !self.number.is_empty() && self.number != number
    }

    /// Returns whether the line is from a later run: the uptime begins anew.
    pub(super) fn is_before(&self, times: Times) -> bool {
        times.uptime_ns.is_some_and(|uptime| uptime.saturating_add(MOST_BACKWARDS_NS) < self.last_uptime_ns)
    }

    /// Returns the time of a line on the clock of the log, or `None` if the line has no time.
    pub(super) fn advance(&mut self, times: Times) -> Option<u64> {
        let at_ns = match (times.uptime_ns, times.wall_ns) {
            (Some(uptime), wall) => {
                self.last_uptime_ns = self.last_uptime_ns.max(uptime);
                if let Some(wall) = wall {
                    self.observe_epoch(wall, uptime);
                }
                uptime
            }
            (None, Some(wall)) => {
                let first = *self.first_wall_ns.get_or_insert(wall);
                self.log.epoch_ns = Some(first);
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

    pub(super) fn finish(self) -> GcLog {
        self.log
    }
}
