//! Recognizes the GC logs of JDK 8 and older, which had no unified logging. They are not read.

use memchr::memmem::find;

/// Returns whether a line is one of a collection, as JDK 5 to 8 write it with `-verbose:gc` or `-XX:+PrintGCDetails`:
/// `2026-11-28T15:00:02.123+0000: 1.234: [GC (Allocation Failure) [PSYoungGen: 65536K->…, 0.0123456 secs]`.
pub(super) fn is_line(line: &[u8]) -> bool {
    let beginning = &line[..line.len().min(160)];
    [&b"[GC"[..], b"[Full GC"].iter().any(|mark| {
        find(beginning, mark).is_some_and(|at| {
            let is_first = at == 0 || beginning[..at].ends_with(b": ");
            is_first && matches!(beginning.get(at + mark.len()), Some(b' ' | b'-' | b'('))
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
        ] {
            assert!(is_line(line.as_bytes()), "{line}");
        }
        for line in ["[0.1s][info][gc] GC(0) Pause Full", "[GC", "", "a [GC b", "[1.0s][gc] x: [gc b"] {
            assert!(!is_line(line.as_bytes()), "{line}");
        }
    }
}
