//! Tests unpacking, with valid and damaged archives of every kind.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use pacenote_corpus::{CorpusError, LineFile, UnpackProgress, Unpacked, unpack};

/// Returns about 50 kB of data that compresses poorly.
fn text() -> Vec<u8> {
    let line = |n: u64| format!("{{\"n\":{n},\"v\":{}}}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (0..1_500).flat_map(|n| line(n).into_bytes()).collect()
}

/// Compresses `data` as two members, streams or frames.
fn packed(kind: &str, data: &[u8]) -> Vec<u8> {
    let (head, tail) = data.split_at(data.len() / 3);
    [head, tail].into_iter().flat_map(|part| packed_once(kind, part)).collect()
}

fn packed_once(kind: &str, data: &[u8]) -> Vec<u8> {
    match kind {
        "gz" => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            writer.write_all(data).unwrap();
            writer.finish().unwrap()
        }
        "bz2" => {
            let mut writer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            writer.write_all(data).unwrap();
            writer.finish().unwrap()
        }
        "zst" => {
            let mut writer = zstd::Encoder::new(Vec::new(), 1).unwrap();
            writer.include_checksum(true).unwrap();
            writer.write_all(data).unwrap();
            writer.finish().unwrap()
        }
        other => panic!("{other}"),
    }
}

const KINDS: [&str; 3] = ["gz", "bz2", "zst"];

fn archive(folder: &Path, kind: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(format!("documents.json.{kind}"));
    fs::write(&path, bytes).unwrap();
    path
}

fn quietly(archive: &Path, folder: &Path) -> Result<Unpacked, CorpusError> {
    unpack(archive, folder, None, &mut |_| ControlFlow::Continue(()))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn all_members_are_unpacked_and_the_offset_table_is_written() {
    let text = text();
    for kind in KINDS {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let archive = archive(from.path(), kind, &packed(kind, &text));
        let mut seen = Vec::new();
        let unpacked = unpack(&archive, to.path(), None, &mut |progress| {
            seen.push(progress);
            ControlFlow::Continue(())
        })
        .unwrap();
        let path = to.path().join("documents.json");
        let bytes = text.len() as u64;
        assert_eq!(unpacked, Unpacked { path: path.clone(), bytes, lines: Some(1_500) }, "{kind}");
        assert!(fs::read(&path).unwrap() == text, "{kind}");
        let size = fs::metadata(&archive).unwrap().len();
        assert_eq!(
            seen.last(),
            Some(&UnpackProgress { bytes_in: size, bytes_in_total: size, bytes_out: bytes }),
            "{kind}"
        );
        assert_eq!(names(to.path()), ["documents.json", "documents.json.offset"], "{kind}");
        assert_eq!(
            fs::read_to_string(to.path().join("documents.json.offset")).unwrap(),
            format!("1500;{bytes}\n")
        );
        assert_eq!(LineFile::open(&path).unwrap().line_count(), 1_500);
        assert_eq!(
            names(from.path()),
            [format!("documents.json.{kind}")],
            "the archive's folder has changed"
        );
    }
}

#[test]
fn the_error_names_a_damaged_archive_and_no_file_is_left() {
    let whole_text = text();
    for kind in KINDS {
        let whole = packed(kind, &whole_text);
        let mut flipped = whole.clone();
        let middle = flipped.len() / 2;
        flipped[middle..middle + 8].iter_mut().for_each(|byte| *byte ^= 0x55);
        let once = packed_once(kind, &whole_text);
        let cases = [
            ("truncated in the last member", whole[..whole.len() - 9].to_vec()),
            ("truncated by one byte", once[..once.len() - 1].to_vec()),
            ("truncated in the middle", once[..once.len() / 2].to_vec()),
            ("only a header", once[..4].to_vec()),
            ("flipped bits", flipped),
            ("not an archive", b"<html>503 Service Unavailable</html>".to_vec()),
            ("empty", Vec::new()),
        ];
        for (case, bytes) in cases {
            let folder = tempfile::tempdir().unwrap();
            let archive = archive(folder.path(), kind, &bytes);
            let error = quietly(&archive, folder.path()).expect_err(&format!("{kind}, {case}"));
            assert!(matches!(error, CorpusError::Corrupt { .. }), "{kind}, {case}: {error}");
            let message = error.to_string();
            assert!(message.contains(&format!("documents.json.{kind} is truncated or corrupt")), "{message}");
            assert!(!message.contains('\n'), "{message}");
            assert_eq!(names(folder.path()).len(), 1, "{kind}, {case}: {:?}", names(folder.path()));
        }
    }
}

#[test]
fn an_archive_bomb_is_stopped_at_the_limit() {
    let zeros = vec![0; 3 << 19];
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let archive = archive(folder.path(), kind, &packed_once(kind, &zeros));
        let error =
            unpack(&archive, folder.path(), Some(1 << 20), &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error, CorpusError::TooLarge { limit: 1_048_576, .. }), "{error}");
        assert!(
            error.to_string().contains(&format!("documents.json.{kind}: documents.json unpacks to more"))
        );
        assert_eq!(names(folder.path()).len(), 1, "{kind}");
        let size = zeros.len() as u64;
        unpack(&archive, folder.path(), Some(size), &mut |_| ControlFlow::Continue(())).unwrap();
    }
}

/// Returns a frame of zstd with no content but `text`, which declares a window of a power of two.
fn frame_with_window(log: u8, text: &[u8]) -> Vec<u8> {
    // Magic number, descriptor without flags, window, and one raw block, which is the last one.
    let block = u32::try_from(text.len()).unwrap() << 3 | 1;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3];
    frame.extend_from_slice(&block.to_le_bytes()[..3]);
    frame.extend_from_slice(text);
    frame
}

#[test]
fn an_archive_that_declares_a_huge_window_is_not_given_the_memory() {
    for (log, accepted) in [(20, true), (27, true), (28, false), (31, false), (41, false)] {
        for kind in ["zst", "tar.zst"] {
            let folder = tempfile::tempdir().unwrap();
            let text = b"{}\n".as_slice();
            let content = if kind == "zst" { text.to_vec() } else { tar_of("documents.json", text) };
            let archive = archive(folder.path(), kind, &frame_with_window(log, &content));
            let result = quietly(&archive, folder.path());
            if accepted {
                assert_eq!(result.unwrap().bytes, 3, "{kind}, {log}");
                continue;
            }
            let error = result.expect_err("a frame with a huge window was accepted");
            assert!(matches!(error, CorpusError::Unsupported { .. }), "{kind}, {log}: {error}");
            let reason = "cannot be unpacked: it was compressed with a window (zstd --long) of more than 128 MiB; \
                          unpack it yourself";
            assert!(error.to_string().contains(reason), "{error}");
            assert_eq!(names(folder.path()), [format!("documents.json.{kind}")]);
        }
    }
}

#[test]
fn break_interrupts_unpacking_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(folder.path(), "zst", &packed_once("zst", &vec![b'x'; 18 << 20]));
    let mut reports = 0;
    let error = unpack(&archive, folder.path(), None, &mut |progress| {
        reports += 1;
        if progress.bytes_out > 10 << 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap_err();
    assert!(matches!(error, CorpusError::Interrupted { .. }), "{error}");
    assert!((2..5).contains(&reports), "{reports}");
    assert_eq!(names(folder.path()), ["documents.json.zst"]);
}

#[test]
fn an_existing_file_is_kept_if_unpacking_fails() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("documents.json");
    fs::write(&target, "{}\n").unwrap();
    let archive = archive(folder.path(), "gz", b"nonsense");
    quietly(&archive, folder.path()).unwrap_err();
    assert_eq!(fs::read(&target).unwrap(), b"{}\n");
    fs::write(&archive, packed("gz", b"{\"a\":1}\n{\"a\":2}\n")).unwrap();
    quietly(&archive, folder.path()).unwrap();
    assert_eq!(
        fs::read(&target).unwrap(),
        b"{\"a\":1}\n{\"a\":2}\n",
        "a valid archive did not replace the file"
    );
}

#[test]
fn a_file_that_is_not_an_archive_is_returned_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("documents.ndjson");
    fs::write(&plain, "{}\n").unwrap();
    let expected = Unpacked { path: plain.clone(), bytes: 3, lines: None };
    assert_eq!(quietly(&plain, Path::new("elsewhere")).unwrap(), expected);
    let missing = quietly(&folder.path().join("none.json.gz"), folder.path()).unwrap_err();
    assert!(matches!(missing, CorpusError::Read { .. }), "{missing}");
    let archive = archive(folder.path(), "gz", &packed("gz", b"{}\n"));
    let nowhere = quietly(&archive, &folder.path().join("no-such-folder")).unwrap_err();
    assert!(matches!(nowhere, CorpusError::Write { .. }), "{nowhere}");
}

/// Unpacks an archive that `change` changes meanwhile, and returns the error.
fn changed_meanwhile(kind: &str, bytes: &[u8], change: impl Fn(&fs::File)) -> CorpusError {
    let (folder, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let archive = archive(folder.path(), kind, bytes);
    let file = fs::OpenOptions::new().write(true).open(&archive).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let mut reports = 0;
    let unpacked = unpack(&archive, to.path(), None, &mut |_| {
        reports += 1;
        if reports == 1 {
            change(&file);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(names(to.path()), [""; 0], "{kind}");
    unpacked.expect_err(kind)
}

#[test]
fn an_archive_that_changes_while_it_is_unpacked_is_an_error() {
    use std::os::unix::fs::FileExt;

    let blank = vec![b'\n'; 2 << 20];
    for kind in ["gz", "bz2", "zst", "tar", "zip"] {
        let packed = |size| match kind {
            "tar" => tar_of("documents.json", &blank[..size]),
            "zip" => zip_of("documents.json", &blank[..size]),
            _ => packed_once(kind, &noise()[..size.min(32 << 10)]),
        };
        let large = packed(2_000_000);
        let large = large.repeat((2 << 20) / large.len());
        let shorter = changed_meanwhile(kind, &large, |file| file.set_len(5 << 18).unwrap());
        let small = packed(1000);
        let rewritten = changed_meanwhile(kind, &small, |file| file.write_all_at(&small[..1], 0).unwrap());
        for error in [shorter, rewritten] {
            let expected = format!("{kind} is truncated or corrupt (it was changed while it was read)");
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }
}

/// Returns 32 KiB that cannot be compressed.
fn noise() -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(&mut next).take(32 << 10).collect()
}

/// Returns a tar archive of one file.
fn tar_of(name: &str, data: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
    header[148..156].fill(b' ');
    header[156] = b'0';
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut archive = [&header[..], data].concat();
    archive.resize(archive.len().next_multiple_of(512) + 1024, 0);
    archive
}

/// Returns a zip archive of one file that is not compressed.
fn zip_of(name: &str, data: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(data);
    let size = u32::try_from(data.len()).unwrap().to_le_bytes();
    let sums = [&crc.sum().to_le_bytes()[..], &size, &size, &[u8::try_from(name.len()).unwrap(), 0]].concat();
    let start = [&b"PK\x03\x04"[..], &[0; 10], &sums, &[0; 2], name.as_bytes(), data].concat();
    let entry = [&b"PK\x01\x02"[..], &[0; 12], &sums, &[0; 16], name.as_bytes()].concat();
    let (at, length) = (u32::try_from(start.len()).unwrap(), u32::try_from(entry.len()).unwrap());
    let end = [&b"PK\x05\x06"[..], &[0; 4], &[1, 0, 1, 0], &length.to_le_bytes(), &at.to_le_bytes(), &[0; 2]];
    [start, entry, end.concat()].concat()
}
