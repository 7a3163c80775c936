//! Recognizes the GC logs of JDK 8 and older, which had no unified logging. They are not read.

use memchr::memmem::find;

/// Beginnings of lines that only JDK 8 and older write: its options, and the heap around a collection.
const BEGINNINGS: [&[u8]; 2] = [b"CommandLine flags: -", b"{Heap before GC invocations="];

/// The text after the time of a line about a stop, with `-XX:+PrintGCApplicationStoppedTime`.
const STOPPED: &[u8] = b": Total time for which application threads were stopped: ";

/// Returns whether a line is one that JDK 5 to 8 write with `-verbose:gc`, `-XX:+PrintGCDetails` and similar options:
/// `2026-11-28T15:00:02.123+0000: 1.234: [GC (Allocation Failure) [PSYoungGen: 65536K->…, 0.0123456 secs]`.
///
/// The sizes of generations or statistics of the free space may follow `[GC` at once.
pub(super) fn is_line(line: &[u8]) -> bool {
    let beginning = &line[..line.len().min(160)];
    if BEGINNINGS.iter().any(|text| beginning.starts_with(text)) || find(beginning, STOPPED).is_some() {
        return true;
    }
    [&b"[GC"[..], b"[Full GC"].iter().any(|mark| {
        find(beginning, mark).is_some_and(|at| {
            let next = beginning.get(at + mark.len());
            if at == 0 {
                matches!(next, Some(b' ' | b'-' | b'('))
            } else {
                beginning[..at].ends_with(b": ")
                    && next.is_some_and(|byte| !matches!(byte, b']' | b'0'..=b'9'))
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_old_jdks_are_recognized() {
        for line in [
            "2014-05-13T10:09:34.442+0200: 1,234: [GC pause (G1 Evacuation Pause) (young), 0.0103 secs]",
            "0.321: [GC (Allocation Failure) [PSYoungGen: 65536K->10720K(76288K)] 65536K->10736K(251392K), 0.0143 secs]",
            "[GC 325407K->83000K(776768K), 0.2300771 secs]",
            "1.234: [Full GC (System.gc()) 1K->1K(2K), 0.01 secs]",
            "5.6: [GC-- [PSYoungGen: 1K->2K(3K)] 1K->2K(3K), 0.1 secs]",
            "0.162: [GCAdaptiveSizePolicy::compute_survivor_space_size_and_thresh:  survived: 901552",
            "2014-10-20T21:03:07.419+0200: 0.356: [GCBefore GC:",
            "0.356: [GC[ParNew: 4878K->492K(4928K), 0.0028687 secs]",
            "CommandLine flags: -XX:InitialHeapSize=261544064 -XX:+PrintGC",
            "{Heap before GC invocations=1470 (full 99):",
            "2014-03-12T21:18:20.385-0500: 13289.993: Total time for which application threads were stopped: 0.005 seconds",
        ] {
            assert!(is_line(line.as_bytes()), "{line}");
        }
        for line in
            ["[0.1s][info][gc] GC(0) Pause Full", "[GC", "", "a [GC b", "[1.0s][gc] x: [gc b", "1: [GC1 x"]
        {
            assert!(!is_line(line.as_bytes()), "{line}");
        }
    }
}
