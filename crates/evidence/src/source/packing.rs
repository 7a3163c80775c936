//! Which packing of a file is not read.

/// Bytes of the beginning of a file by which its packing is known: a header of tar.
pub(super) const HEAD: usize = 512;

/// The magic of a header of tar (POSIX, pax: ustar interchange format), which GNU tar writes, too, and its place.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// The first bytes of compressed data that is not read, its format, and the command that unpacks it.
const OTHERS: [(&[u8], &str, &str); 3] = [
    (b"BZh", "bzip2", "bunzip2"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -d"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -d"),
];

/// Returns why a file, or what a compressed file contains, is not read, and what to do, or `None` if it is read.
pub(super) fn reason_against(head: &[u8]) -> Option<String> {
    if head.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1)) {
        return Some("it is an archive of tar; unpack it with `tar -xf`, and name its files".to_owned());
    }
    let (_, format, command) = OTHERS.iter().find(|(magic, ..)| head.starts_with(magic))?;
    Some(format!(
        "it is compressed with {format}, which is not read; unpack it with `{command}`, and name the result"
    ))
}
