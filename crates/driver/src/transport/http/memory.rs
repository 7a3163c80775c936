//! The limit on the memory that responses occupy, over all connections of a race.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::error::ExchangeError;

/// The limit if the size of the machine's memory is unknown, in bytes.
const DEFAULT_LIMIT: usize = 512 << 20;
/// Responses may occupy one part in this many of the memory that the process may use.
const SHARE: usize = 4;
/// Length up to which a response is not counted, in bytes, so that short responses share no state with other threads.
const UNCOUNTED: usize = 64 << 10;
/// Memory is reserved in multiples of this number of bytes.
const STEP: usize = 64 << 10;

/// The memory that responses may occupy, and how much of it they do. Connections share it.
#[derive(Debug)]
pub struct ResponseMemory {
    limit: usize,
    reserved: AtomicUsize,
}

impl Default for ResponseMemory {
    /// Sets no limit.
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl ResponseMemory {
    /// Creates a limit in bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, reserved: AtomicUsize::new(0) }
    }

    /// Creates the limit for this process: a quarter of the machine's memory or, if that is less, of the process's
    /// control group.
    #[must_use]
    pub fn of_process() -> Self {
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let machine = total_memory(&text(Path::new("/proc/meminfo")));
        let groups = control_groups(&text(Path::new("/proc/self/cgroup")));
        let limits = groups.iter().filter_map(|group| text(Path::new(group)).trim().parse().ok());
        let memory = limits.chain(machine).min();
        Self::new(memory.map_or(DEFAULT_LIMIT, |memory: usize| memory / SHARE))
    }

    /// Returns the number of bytes that are reserved.
    fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }

    /// Returns whether most of the memory is reserved, so that buffers should be freed soon.
    fn is_scarce(&self) -> bool {
        self.reserved() > self.limit / 2
    }
}

/// Returns the size of the machine's memory in bytes, by the text of `/proc/meminfo`.
fn total_memory(text: &str) -> Option<usize> {
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: usize = kilobytes.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Returns the files with the limits of a process's control group and of all groups that contain it, by the text of
/// `/proc/self/cgroup`.
fn control_groups(text: &str) -> Vec<String> {
    let group = text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let ancestors = Path::new(group).ancestors();
    ancestors.map(|group| format!("/sys/fs/cgroup{}/memory.max", group.display())).collect()
}

/// The memory that the responses of one connection have reserved.
#[derive(Debug)]
pub struct ReservedMemory {
    memory: Arc<ResponseMemory>,
    /// Number of bytes reserved, without the first [`UNCOUNTED`] ones.
    bytes: usize,
}

impl ReservedMemory {
    /// Creates the reservation of a connection, which is empty.
    pub fn new(memory: Arc<ResponseMemory>) -> Self {
        Self { memory, bytes: 0 }
    }

    /// Returns whether this length exceeds what is reserved.
    pub fn is_exceeded_by(&self, length: usize) -> bool {
        length > self.bytes + UNCOUNTED
    }

    /// Reserves memory for this number of bytes, unless it is reserved already.
    ///
    /// # Errors
    ///
    /// [`ExchangeError::Memory`] if too little of it is left.
    pub fn reserve(&mut self, length: usize) -> Result<(), ExchangeError> {
        if !self.is_exceeded_by(length) {
            return Ok(());
        }
        let more = (length - UNCOUNTED).next_multiple_of(STEP) - self.bytes;
        let before = self.memory.reserved.fetch_add(more, Ordering::Relaxed);
        if before + more > self.memory.limit {
            self.memory.reserved.fetch_sub(more, Ordering::Relaxed);
            return Err(ExchangeError::Memory { limit: self.memory.limit });
        }
        self.bytes += more;
        Ok(())
    }

    /// Returns whether this connection has reserved memory while most of it is reserved, so that its buffers should be
    /// freed soon. Reads shared state only if it has.
    pub fn should_be_freed(&self) -> bool {
        self.bytes > 0 && self.memory.is_scarce()
    }

    /// Gives all memory back.
    pub fn release(&mut self) {
        self.memory.reserved.fetch_sub(std::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl Drop for ReservedMemory {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_the_limit_and_give_memory_back() {
        let memory = Arc::new(ResponseMemory::new(4 << 20));
        let mut one = ReservedMemory::new(Arc::clone(&memory));
        let mut other = ReservedMemory::new(Arc::clone(&memory));
        one.reserve(UNCOUNTED).unwrap();
        assert_eq!(memory.reserved(), 0, "short responses are not counted");
        one.reserve(UNCOUNTED + (3 << 20)).unwrap();
        assert!(one.should_be_freed() && !other.should_be_freed());
        let error = other.reserve(UNCOUNTED + (1 << 20) + 1).unwrap_err();
        assert!(error.to_string().contains("4 MiB"), "{error}");
        other.reserve(UNCOUNTED + (1 << 20)).unwrap();
        drop(one);
        other.reserve(UNCOUNTED + (4 << 20)).unwrap();
        other.release();
        assert_eq!(memory.reserved(), 0);
    }

    #[test]
    fn many_responses_that_are_slightly_counted_do_not_reserve_more_than_they_occupy() {
        let memory = Arc::new(ResponseMemory::new(4 << 20));
        let mut connections: Vec<_> = (0..64).map(|_| ReservedMemory::new(Arc::clone(&memory))).collect();
        for connection in &mut connections {
            connection.reserve(UNCOUNTED + 1).unwrap();
            connection.reserve(UNCOUNTED + STEP).unwrap();
        }
        assert!(connections[0].reserve(UNCOUNTED + STEP + 1).is_err());
        connections.pop();
        connections[0].reserve(UNCOUNTED + STEP + 1).unwrap();
    }

    #[test]
    fn the_limit_is_read_from_the_machine_and_the_control_groups() {
        assert_eq!(total_memory("MemTotal:        8000 kB\nMemFree: 1 kB\n"), Some(8_192_000));
        assert_eq!(total_memory(""), None);
        let files = control_groups("1:name=x:/y\n0::/a/b\n");
        assert_eq!(files, ["/a/b", "/a", "/"].map(|group| format!("/sys/fs/cgroup{group}/memory.max")));
        assert!(ResponseMemory::of_process().limit > 1 << 20);
    }
}
