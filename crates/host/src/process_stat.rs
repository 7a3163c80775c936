//! Processes of the machine, and what the kernel says about the times of one.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};

/// Length of the beginning of `/proc/PID/stat` that is read: the name takes at most 64 bytes, each number 20.
const STAT_BYTES: usize = 1024;

/// What `/proc/PID/stat` says about a process; times are in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Number of the process that has started it, or of the one that has taken over since that ended.
    pub parent: u32,
    /// CPU time of its own.
    pub own: u64,
    /// CPU time of the processes that it has started and waited for, with those that they have waited for.
    pub waited: u64,
    /// Whether the kernel is about to remove it: its time may already be in that of another process, or be zero.
    pub is_ending: bool,
}

impl Stat {
    /// Returns the ticks of both.
    pub fn total(self) -> u64 {
        self.own.saturating_add(self.waited)
    }
}

/// Returns the numbers of all processes.
///
/// # Errors
///
/// An error if they cannot be listed, as when too many files are open.
pub fn process_ids(proc: &Path) -> io::Result<Vec<u32>> {
    let folder = openat(CWD, proc, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut ids = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        ids.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(ids)
}

/// Returns what a file says, or `None` if its process has ended.
pub fn read_stat(file: &File) -> Option<Stat> {
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
pub fn parse(text: &str) -> Option<Stat> {
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // Positions after the name: the third field of proc_pid_stat(5) is at 0.
    let ticks = |position: usize| fields.get(position)?.parse::<u64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        own: ticks(11)?.saturating_add(ticks(12)?),
        waited: ticks(13)?.saturating_add(ticks(14)?),
        is_ending: matches!(*fields.first()?, "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_process_is_left_out() {
        for text in ["", "7", "7 (a", ") S x", "7 (a) S 1 0 0 0 -1 0 0 0 0 0 5 0 4 -1", "\0"] {
            assert_eq!(parse(text), None, "{text}");
        }
        let text = "7 (a) S 1 0 0 0 -1 0 0 0 0 0 5 1 4 2 20";
        assert_eq!(parse(text), Some(Stat { parent: 1, own: 6, waited: 6, is_ending: false }));
        assert!(parse(&text.replace('S', "X")).is_some_and(|stat| stat.is_ending));
    }
}
