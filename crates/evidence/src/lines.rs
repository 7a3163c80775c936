//! The lines of a file, with bounded memory.

use std::ops::ControlFlow;

use crate::error::EvidenceError;
use crate::source::Source;

/// Size of the buffer in bytes. It is also the length at which a line is cut off.
const BUFFER: usize = 256 << 10;

/// What was read of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinesRead {
    /// Number of bytes.
    pub bytes: u64,
    /// Whether the last line has no end.
    pub is_cut: bool,
}

/// Calls `line` with each line of a source, without its end, and `proceed` between blocks of lines.
///
/// A line that is longer than 256 KiB is passed in pieces of this length: no line of a log is that long.
///
/// # Errors
///
/// [`EvidenceError::Read`], and [`EvidenceError::Interrupted`] if `proceed` returns `Break`.
pub fn read_lines(
    source: &mut Source,
    mut line: impl FnMut(&[u8]),
    proceed: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<LinesRead, EvidenceError> {
    let mut buffer = vec![0; BUFFER];
    let (mut kept, mut bytes) = (0, 0);
    loop {
        let read = source.fill(&mut buffer[kept..])?;
        bytes += read as u64;
        let filled = kept + read;
        let is_last = filled < buffer.len();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &buffer[..filled]) {
            line(without_return(&buffer[start..end]));
            start = end + 1;
        }
        let is_cut = start < filled;
        if is_last || start == 0 {
            if is_cut {
                line(without_return(&buffer[start..filled]));
            }
            start = filled;
        }
        if is_last {
            return Ok(LinesRead { bytes, is_cut });
        }
        if proceed().is_break() {
            return Err(EvidenceError::Interrupted { path: source.path().to_path_buf() });
        }
        buffer.copy_within(start..filled, 0);
        kept = filled - start;
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines(text: &[u8]) -> (Vec<Vec<u8>>, u64) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        let mut found = Vec::new();
        let mut source = Source::open(file.path()).unwrap();
        let mut go_on = || ControlFlow::Continue(());
        let read = read_lines(&mut source, |line| found.push(line.to_vec()), &mut go_on).unwrap();
        assert_eq!(read.is_cut, text.last().is_some_and(|last| *last != b'\n'));
        (found, read.bytes)
    }

    #[test]
    fn lines_are_those_of_the_text_wherever_blocks_end() {
        for length in [1, 7, 100, 4095, 70_000] {
            let line = vec![b'x'; length];
            let count = (3 * BUFFER) / (length + 1) + 1;
            let text = [line.as_slice(), b"\n"].concat().repeat(count);
            let (found, total) = lines(&text);
            assert_eq!((found.len(), total), (count, text.len() as u64));
            assert!(found.iter().all(|each| *each == line));
            let (found, _) = lines(&text[..text.len() - 1]);
            assert_eq!(found.len(), count);
        }
        assert_eq!(lines(b"a\r\n\nb"), (vec![b"a".to_vec(), vec![], b"b".to_vec()], 5));
        assert_eq!(lines(b""), (vec![], 0));
    }

    #[test]
    fn a_line_without_end_is_passed_in_pieces() {
        let text = vec![b'x'; 3 * BUFFER + 5];
        let (found, total) = lines(&text);
        assert_eq!(total, text.len() as u64);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [BUFFER, BUFFER, BUFFER, 5]);
    }

    #[test]
    fn reading_stops_when_the_caller_says_so() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![b'\n'; 2 * BUFFER]).unwrap();
        let mut source = Source::open(file.path()).unwrap();
        let result = read_lines(&mut source, |_| {}, &mut || ControlFlow::Break(()));
        assert!(matches!(result, Err(EvidenceError::Interrupted { .. })));
    }
}
