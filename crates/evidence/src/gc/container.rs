//! What containers, their tools and the journal of systemd write before each line of a program's output.
//!
//! | writer | line |
//! | --- | --- |
//! | Docker's driver json-file | `{"log":"[0.1s][info][gc] Using G1\n","stream":"stdout","time":"…"}` |
//! | CRI (containerd, CRI-O), podman | `2026-11-28T15:00:02.123456789Z stdout F [0.1s][info][gc] Using G1` |
//! | `docker compose logs` | `es01  \| [0.1s][info][gc] Using G1` |
//! | `docker logs --timestamps`, `kubectl logs --timestamps` | `2026-11-28T15:00:02.123456789Z [0.1s][info][gc] Using G1` |
//! | `journalctl` | `Nov 28 15:00:02 host elasticsearch[123]: [0.1s][info][gc] Using G1` |
//! | `kubectl logs --prefix` | `[pod/es-0/elasticsearch] [0.1s][info][gc] Using G1` |

/// Longest name of a container, in bytes: that of a pod has up to 253, and kubectl adds the container's.
const MOST_NAME: usize = 330;

/// Prefixes of one line, such as a name and a time.
const MOST_PREFIXES: usize = 3;

/// The beginning of a line of Docker's driver json-file.
const JSON: &[u8] = b"{\"log\":\"";

/// A line without what its container added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContainerLine<'a> {
    /// The name of the container; empty if the line does not state it.
    pub(crate) container: &'a [u8],
    /// What the program wrote.
    pub(crate) text: &'a [u8],
}

/// Takes lines out of what containers add to them.
#[derive(Debug, Default)]
pub(crate) struct ContainerReader {
    /// A line that was written as JSON.
    text: Vec<u8>,
}

impl ContainerReader {
    /// Returns what a program wrote; a line without a prefix is returned as it is.
    pub(crate) fn read<'a>(&'a mut self, line: &'a [u8]) -> ContainerLine<'a> {
        if let Some(escaped) = line.strip_prefix(JSON) {
            unescape(escaped, &mut self.text);
            let text = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
            return ContainerLine { container: b"", text: text.strip_suffix(b"\r").unwrap_or(text) };
        }
        let mut found = ContainerLine { container: b"", text: line };
        for _ in 0..MOST_PREFIXES {
            let text = found.text;
            let shorter = match text.first() {
                Some(b'[') => after_pod(text),
                Some(b'0'..=b'9') => {
                    after_time(text).map(|text| ContainerLine { text, ..found }).or_else(|| after_name(text))
                }
                Some(b'a'..=b'z' | b'A'..=b'Z' | b'\x1b') => after_name(text)
                    .or_else(|| after_journal(text).map(|text| ContainerLine { text, ..found })),
                _ => None,
            };
            match shorter {
                Some(shorter) => found = shorter,
                None => break,
            }
        }
        found
    }
}

/// Reads `[pod/es-0/elasticsearch] text`.
fn after_pod(text: &[u8]) -> Option<ContainerLine<'_>> {
    let name = text.strip_prefix(b"[")?;
    if !name.starts_with(b"pod/") {
        return None;
    }
    let end = memchr::memchr(b']', &name[..name.len().min(MOST_NAME)])?;
    let text = name[end + 1..].strip_prefix(b" ")?;
    Some(ContainerLine { container: &name[..end], text })
}

/// Reads `es01  | text`, whose name may be coloured.
fn after_name(text: &[u8]) -> Option<ContainerLine<'_>> {
    let name = after_colour(text);
    let length = name
        .iter()
        .take(MOST_NAME)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.@-".contains(*byte))
        .count();
    let rest = name[length..].trim_ascii_start();
    let has_space = rest.len() < name.len() - length;
    let text = after_colour(rest.strip_prefix(b"|")?);
    let text = text.strip_prefix(b" ").or_else(|| text.is_empty().then_some(text))?;
    (length > 0 && has_space).then_some(ContainerLine { container: &name[..length], text })
}

/// Reads `Nov 28 15:00:02 host program[123]: text`, the default of `journalctl` and of syslog (RFC 3164).
fn after_journal(text: &[u8]) -> Option<&[u8]> {
    let (time, rest) = text.split_at_checked(16)?;
    let is_time = time[..3].iter().all(u8::is_ascii_alphabetic)
        && [(3, b' '), (6, b' '), (9, b':'), (12, b':'), (15, b' ')]
            .iter()
            .all(|(at, byte)| time[*at] == *byte);
    let host = memchr::memchr(b' ', &rest[..rest.len().min(MOST_NAME)])?;
    let program = &rest[host + 1..];
    let end = memchr::memchr(b':', &program[..program.len().min(MOST_NAME)])?;
    let text = program[end + 1..].strip_prefix(b" ")?;
    (is_time && host > 0 && program[..end].ends_with(b"]") && !program[..end].contains(&b' ')).then_some(text)
}

/// Skips the escape sequence of a colour, such as `ESC [36m`.
fn after_colour(text: &[u8]) -> &[u8] {
    let Some(parameters) = text.strip_prefix(b"\x1b[") else { return text };
    let length =
        parameters.iter().take(16).take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    parameters[length..].strip_prefix(b"m").unwrap_or(text)
}

/// Reads `2026-11-28T15:00:02.123456789Z text`, or with `stdout F ` before the text.
fn after_time(text: &[u8]) -> Option<&[u8]> {
    let end = memchr::memchr(b' ', &text[..text.len().min(40)])?;
    let time = &text[..end];
    let is_time = end >= 20
        && [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')]
            .iter()
            .all(|(at, byte)| time[*at] == *byte)
        && (time.ends_with(b"Z") || matches!(time[end - 6], b'+' | b'-'));
    if !is_time {
        return None;
    }
    let rest = &text[end + 1..];
    let after_stream = [b"stdout F ", b"stderr F ", b"stdout P ", b"stderr P "]
        .iter()
        .find_map(|stream| rest.strip_prefix(stream.as_slice()));
    Some(after_stream.unwrap_or(rest))
}

/// Replaces a text by a string of JSON whose quotation mark was read, up to its end.
fn unescape(escaped: &[u8], text: &mut Vec<u8>) {
    text.clear();
    let mut rest = escaped;
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        text.extend_from_slice(&rest[..at]);
        let [b'\\', code, after @ ..] = &rest[at..] else { return };
        rest = after;
        match code {
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'u' => {
                let digits = rest.get(..4).and_then(|digits| std::str::from_utf8(digits).ok());
                let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                // Lines of a GC log have no character that needs two of them.
                let character = unit.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                rest = rest.get(4..).unwrap_or_default();
            }
            other => text.push(*other),
        }
    }
    text.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_out_of_the_prefixes_of_containers() {
        let gc = "[0.1s][info][gc] GC(0) Pause Remark 6M->6M(256M) 0.500ms";
        for (prefix, container) in [
            ("", ""),
            ("es01  | ", "es01"),
            ("es-01_1.x@node-2 | ", "es-01_1.x@node-2"),
            ("\x1b[36mes01  |\x1b[0m ", "es01"),
            ("2026-11-28T15:00:02.123456789Z stdout F ", ""),
            ("2026-11-28T15:00:02.123456789+01:00 stderr P ", ""),
            ("2026-11-28T15:00:02Z ", ""),
            ("es01  | 2026-11-28T15:00:02.1Z ", "es01"),
            ("[pod/es-0/elasticsearch] ", "pod/es-0/elasticsearch"),
            ("[pod/es-0/elasticsearch] 2026-11-28T15:00:02.1Z ", "pod/es-0/elasticsearch"),
            ("1es  | ", "1es"),
            ("Nov 28 15:00:02 host elasticsearch[123]: ", ""),
            ("Nov  8 15:00:02 host elasticsearch[123]: ", ""),
        ] {
            let line = format!("{prefix}{gc}");
            let found = ContainerReader::default().read(line.as_bytes()).text.to_vec();
            assert_eq!(String::from_utf8(found).unwrap(), gc, "{prefix}");
            let mut reader = ContainerReader::default();
            assert_eq!(reader.read(line.as_bytes()).container, container.as_bytes(), "{prefix}");
        }
    }

    #[test]
    fn lines_without_a_prefix_stay_as_they_are() {
        for line in [
            "",
            "[0.1s][info][gc] a | b",
            "GC(0) Pause | x",
            "<verbosegc>",
            "a| b",
            "| b",
            "2026 | ",
            "a b | c",
            "Nov 28 15:00:02 host text: x",
            "Nov 28 15:00:02 host a b[1]: x",
        ] {
            let mut reader = ContainerReader::default();
            let found = reader.read(line.as_bytes());
            let expected = if line == "2026 | " { "" } else { line };
            assert_eq!(found.text, expected.as_bytes(), "{line}");
        }
        for end in 0.."2026-11-28T15:00:02.1Z stdout F ".len() {
            ContainerReader::default().read(&b"2026-11-28T15:00:02.1Z stdout F "[..end]);
        }
    }

    #[test]
    fn json_is_unescaped() {
        let line = br#"{"log":"[0.1s] 24M-\u003e4M \"\\\t\ud83d\n","stream":"stdout","time":"2026-11-28T15:00:02Z"}"#;
        let expected = "[0.1s] 24M->4M \"\\\t\u{fffd}";
        assert_eq!(ContainerReader::default().read(line).text, expected.as_bytes());
        for end in 0..line.len() {
            assert!(ContainerReader::default().read(&line[..end]).text.len() <= line.len());
        }
    }
}
