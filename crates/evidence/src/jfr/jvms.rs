//! Which JVMs wrote a recording.

use super::recording::RecordedJvm;

/// Largest number of JVMs that are told apart; further ones count as the last one.
const MAX_JVMS: usize = 64;

/// The JVM and a profiler state the start of the JVM up to this much apart, in ns.
const START_TOLERANCE_NS: u64 = 1_000_000_000;

/// The JVMs that wrote the chunks of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct JvmTable {
    jvms: Vec<RecordedJvm>,
    /// Indexes of those of the file that is being read.
    of_file: Vec<u32>,
}

impl JvmTable {
    /// Adds the JVM of a chunk, given what the chunk says of it.
    pub(super) fn add(&mut self, pid: Option<u64>, start_ns: Option<i64>) {
        let jvm = RecordedJvm { pid, start_ns };
        if pid.is_none() && start_ns.is_none() {
            return;
        }
        let index = self.jvms.iter().position(|known| is_same(*known, jvm)).unwrap_or_else(|| {
            if self.jvms.len() < MAX_JVMS {
                self.jvms.push(jvm);
            }
            self.jvms.len() - 1
        });
        let Ok(index) = u32::try_from(index) else { return };
        if !self.of_file.contains(&index) {
            self.of_file.push(index);
        }
    }

    /// Returns the JVMs of the file that has been read, and begins the next one.
    pub(super) fn take_file(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.of_file)
    }

    /// Returns all JVMs, in the order in which they occurred.
    pub(super) fn into_jvms(self) -> Vec<RecordedJvm> {
        self.jvms
    }
}

/// Returns whether two statements can be about one JVM. Process ids alone do not tell: each container has a process 1.
fn is_same(left: RecordedJvm, right: RecordedJvm) -> bool {
    let same_pid = left.pid.zip(right.pid).is_none_or(|(left, right)| left == right);
    let same_start = left
        .start_ns
        .zip(right.start_ns)
        .is_none_or(|(left, right)| left.abs_diff(right) <= START_TOLERANCE_NS);
    same_pid && same_start
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn jvms_differ_in_their_process_or_their_start() {
        let mut table = JvmTable::default();
        table.add(Some(1), Some(100 * SECOND));
        table.add(Some(1), Some(100 * SECOND + 5_000_000));
        table.add(None, None);
        assert_eq!(table.take_file(), [0]);
        table.add(Some(1), Some(300 * SECOND));
        table.add(Some(2), Some(100 * SECOND));
        table.add(None, Some(300 * SECOND));
        assert_eq!(table.take_file(), [1, 2]);
        assert!(table.take_file().is_empty());
        assert_eq!(
            table.into_jvms().iter().map(|jvm| jvm.pid).collect::<Vec<_>>(),
            [Some(1), Some(1), Some(2)]
        );
    }

    #[test]
    fn very_many_jvms_are_not_told_apart() {
        let mut table = JvmTable::default();
        for pid in 1..200 {
            table.add(Some(pid), None);
        }
        assert_eq!(table.take_file().len(), MAX_JVMS);
        assert_eq!(table.into_jvms().len(), MAX_JVMS);
    }
}
