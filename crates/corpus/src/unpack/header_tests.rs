//! Archives of nothing but headers: what is not data also counts.

use std::io::Write;
use std::ops::ControlFlow;

use super::{UnpackLimits, UnpackProgress, Unpacked, free_space, unpack_within};
use crate::error::CorpusError;

const LIMITS: UnpackLimits = UnpackLimits {
    max_bytes: None,
    default_max_bytes: 1 << 30,
    max_tar_headers: u64::MAX,
    free_space,
    thread_count: 1,
};

const KINDS: [&str; 4] = ["tar", "tar.gz", "tar.bz2", "tar.zst"];

/// Flags of headers that have no data to write: those of all members, of the next one, and of a folder.
const FLAGS: [u8; 4] = [b'g', b'x', b'K', b'5'];

/// Returns a header followed by `size` zeros.
fn header(flag: u8, size: usize) -> Vec<u8> {
    let mut header = vec![0_u8; 512];
    header[..5].copy_from_slice(b"names");
    header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    header[148..156].fill(b' ');
    header[156] = flag;
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header.resize(512 + size.next_multiple_of(512), 0);
    header
}

fn packed(kind: &str, data: &[u8]) -> Vec<u8> {
    match kind {
        "tar.gz" => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            writer.write_all(data).unwrap();
            writer.finish().unwrap()
        }
        "tar.bz2" => {
            let mut writer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            writer.write_all(data).unwrap();
            writer.finish().unwrap()
        }
        "tar.zst" => zstd::encode_all(data, 1).unwrap(),
        _ => data.to_vec(),
    }
}

fn unpacked(
    kind: &str,
    data: &[u8],
    limits: UnpackLimits,
    progress: &mut dyn FnMut(UnpackProgress) -> ControlFlow<()>,
) -> Result<Unpacked, CorpusError> {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join(format!("data.json.{kind}"));
    std::fs::write(&archive, packed(kind, data)).unwrap();
    let result = unpack_within(&archive, folder.path(), limits, progress);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), if result.is_ok() { 3 } else { 1 });
    result
}

#[test]
fn the_number_of_headers_is_limited() {
    let limits = UnpackLimits { max_tar_headers: 100, ..LIMITS };
    for (kind, flag) in KINDS.into_iter().flat_map(|kind| FLAGS.map(|flag| (kind, flag))) {
        let archive = |count| [header(flag, 0).repeat(count), header(b'0', 512), vec![0; 1024]].concat();
        let unpack = |count| unpacked(kind, &archive(count), limits, &mut |_| ControlFlow::Continue(()));
        assert_eq!(unpack(99).unwrap().bytes, 512, "{kind}, {flag}");
        let error = unpack(100).unwrap_err();
        assert!(matches!(error, CorpusError::Unsupported { .. }), "{kind}, {flag}: {error}");
        assert!(error.to_string().contains("it has more than 100 tar headers"), "{error}");
    }
}

#[test]
fn the_bytes_of_headers_count_against_the_limit_of_the_archive() {
    let limits = UnpackLimits { default_max_bytes: 256 << 10, ..LIMITS };
    // The others do not compress to so little, or take long to do so; what they unpack is counted in the same place.
    for (flag, size) in [(b'g', 0), (b'5', 0), (b'g', 64 << 10), (b'K', 64 << 10)] {
        let one = header(flag, size);
        let archive = [one.repeat((2 << 20) / one.len()), header(b'0', 0), vec![0; 1024]].concat();
        let error = unpacked("tar.zst", &archive, limits, &mut |_| ControlFlow::Continue(()));
        let error = error.expect_err(&format!("{flag}, {size}"));
        assert!(matches!(error, CorpusError::TooLarge { .. }), "{flag}, {size}: {error}");
    }
}

#[test]
fn unpacking_stops_between_headers() {
    for (kind, flag, size) in [("tar", b'g', 8 << 10), ("tar.zst", b'g', 8 << 10), ("tar", b'5', 0)] {
        let one = header(flag, size);
        let archive = [one.repeat((10 << 20) / one.len()), header(b'0', 0)].concat();
        let mut stopped_at = None;
        let error = unpacked(kind, &archive, LIMITS, &mut |progress| {
            if progress.bytes_out < 1 << 20 {
                return ControlFlow::Continue(());
            }
            stopped_at.get_or_insert(progress.bytes_out);
            ControlFlow::Break(())
        })
        .unwrap_err();
        assert!(matches!(error, CorpusError::Interrupted { .. }), "{kind}, {flag}: {error}");
        assert!(stopped_at.unwrap() < 10 << 20, "{kind}, {flag}: {stopped_at:?}");
    }
}
