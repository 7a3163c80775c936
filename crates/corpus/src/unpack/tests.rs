//! Tests of the limits of unpacking, and of decompressing on several threads.

use super::*;
use std::fs::File;
use std::io::Write;

const LIMITS: UnpackLimits = UnpackLimits {
    max_bytes: None,
    default_max_bytes: MAX_GROWTH_BYTES,
    max_tar_headers: MAX_TAR_HEADERS,
    free_space,
    thread_count: 1,
};

#[test]
fn unpacking_stops_before_the_disk_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("data.json.gz");
    let mut packed =
        flate2::write::GzEncoder::new(File::create(&archive).unwrap(), flate2::Compression::fast());
    packed.write_all(b"{}\n").unwrap();
    packed.finish().unwrap();
    let limits = UnpackLimits { free_space: |_| Ok(50 << 20), ..LIMITS };
    let error =
        unpack_within(&archive, folder.path(), limits, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, CorpusError::DiskFull { free: 52_428_800, .. }), "{error}");
    assert!(error.to_string().contains("data.json: the disk has 50 MiB left"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a file was left beside the archive");
}

#[test]
fn unpacking_stops_when_the_disk_fills_meanwhile() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let archive = from.path().join("data.json.zst");
    std::fs::write(&archive, zstd::encode_all(&vec![b'x'; 64 << 20][..], 1).unwrap()).unwrap();
    // There is enough room at the first check, but too little after some data has been written.
    let free_space: FreeSpace = |folder| {
        let size = |file: io::Result<std::fs::DirEntry>| file?.metadata().map(|file| file.len());
        let used: u64 = std::fs::read_dir(folder)?.map(size).sum::<io::Result<_>>()?;
        Ok((100_u64 << 20).saturating_sub(used))
    };
    let limits = UnpackLimits { free_space, ..LIMITS };
    let mut most = 0;
    let error = unpack_within(&archive, to.path(), limits, &mut |now| {
        most = now.bytes_out;
        ControlFlow::Continue(())
    })
    .unwrap_err();
    assert!(matches!(error, CorpusError::DiskFull { free: 70_000_000..84_000_000, .. }), "{error}");
    assert!(most < 48 << 20, "unpacking continued to {most} bytes");
    assert_eq!(std::fs::read_dir(to.path()).unwrap().count(), 0, "a file was left behind");
}

#[test]
fn names_determine_the_kind_and_the_data_file() {
    for (name, kind, data) in [
        ("a.json", ArchiveKind::Stream(Compression::None), "a.json"),
        ("a", ArchiveKind::Stream(Compression::None), "a"),
        ("a.json.gz", ArchiveKind::Stream(Compression::Gzip), "a.json"),
        ("a.json.BZ2", ArchiveKind::Stream(Compression::Bzip2), "a.json"),
        ("a.ndjson.zst", ArchiveKind::Stream(Compression::Zstd), "a.ndjson"),
        ("a.json.tar.gz", ArchiveKind::Tar(Compression::Gzip), "a.json"),
        ("a.json.tar.bz2", ArchiveKind::Tar(Compression::Bzip2), "a.json"),
        ("a.json.tar.zst", ArchiveKind::Tar(Compression::Zstd), "a.json"),
        ("a.json.tgz", ArchiveKind::Tar(Compression::Gzip), "a.json"),
        ("a.json.tar", ArchiveKind::Tar(Compression::None), "a.json"),
        ("a.json.Zip", ArchiveKind::Zip, "a.json"),
    ] {
        assert_eq!(ArchiveKind::split_name(Path::new(name)), (kind, data.to_owned()), "{name}");
    }
}

#[test]
fn without_a_limit_an_archive_may_expand_to_a_thousand_times_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("data.json.zst");
    let unpack_of = |data: &[u8]| {
        std::fs::write(&archive, zstd::encode_all(data, 3).unwrap()).unwrap();
        let limits = UnpackLimits { default_max_bytes: 1000, ..LIMITS };
        unpack_within(&archive, folder.path(), limits, &mut |_| ControlFlow::Continue(()))
    };
    let noise = noise(5000);
    assert_eq!(
        unpack_of(&noise).unwrap().bytes,
        5000,
        "the output is above the smallest limit, but not above what the archive allows"
    );
    assert_eq!(unpack_of(&noise[..900]).unwrap().bytes, 900);
    assert!(matches!(unpack_of(&vec![b'x'; 1 << 20]).unwrap_err(), CorpusError::TooLarge { .. }));
}

fn opened(archive: &Path) -> Arc<ArchiveFile> {
    Arc::new(ArchiveFile::open(archive).unwrap())
}

/// Returns data that compresses poorly, so that it fills several blocks of the smallest size.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(&mut next).take(bytes).collect()
}

#[test]
fn bzip2_gives_the_same_data_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("data.json.bz2");
    let pack = |data: &[u8]| {
        let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        packed.write_all(data).unwrap();
        packed.finish().unwrap()
    };
    // One stream of many blocks; runs of bytes, which expand the most; one stream per block; an empty stream
    // between others.
    let data = [noise(150_000), vec![b'x'; 400_000], noise(50_000)].concat();
    let streams: Vec<Vec<u8>> = data.chunks(90_000).map(pack).collect();
    let streams = [streams.concat(), pack(b""), pack(b"{}\n")].concat();
    let mut behind = data.clone();
    behind.extend_from_slice(b"{}\n");
    let mut all_equal = true;
    for (bytes, expected) in [(pack(&data), &data), (streams, &behind), (pack(b""), &Vec::new())] {
        std::fs::write(&archive, &bytes).unwrap();
        for thread_count in [1, 3] {
            let limits = UnpackLimits { thread_count, ..LIMITS };
            let unpacked = unpack_within(&archive, folder.path(), limits, &mut |_| ControlFlow::Continue(()));
            all_equal &= std::fs::read(unpacked.unwrap().path).unwrap() == *expected;
        }
        let archive_bytes_read = Cell::new(0);
        let blocks = BlockReader::new(&opened(&archive), 2, &archive_bytes_read).unwrap();
        let mut unpacked = Vec::new();
        io::BufReader::new(blocks).read_to_end(&mut unpacked).unwrap();
        all_equal &= unpacked == *expected;
    }
    assert!(all_equal, "the unpacked data differs");
}

#[test]
fn truncated_bzip2_is_detected_wherever_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("data.json.bz2");
    let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    packed.write_all(&noise(110_000)).unwrap();
    let whole = packed.finish().unwrap();
    let ends = (1..40).chain((40..whole.len()).step_by(19_919)).chain(whole.len() - 15..whole.len());
    for end in ends {
        std::fs::write(&archive, &whole[..end]).unwrap();
        let archive_bytes_read = Cell::new(0);
        let mut blocks = BlockReader::new(&opened(&archive), 2, &archive_bytes_read).unwrap();
        let error = io::copy(&mut blocks, &mut io::sink()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{end}: {error}");
    }
    for at in (0..whole.len()).step_by(19_973) {
        let mut wrong = whole.clone();
        wrong[at] ^= 0x10;
        std::fs::write(&archive, &wrong).unwrap();
        let archive_bytes_read = Cell::new(0);
        let mut blocks = BlockReader::new(&opened(&archive), 2, &archive_bytes_read).unwrap();
        io::copy(&mut blocks, &mut io::sink()).unwrap_err();
    }
}
