"""An archive is unpacked below its folder only, whatever is in it."""

from __future__ import annotations

import gzip
import io
import os
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.archives.archive_cache import sha512_of
from pacenote.provision.archives.extraction import extract_archive
from pacenote.provision.archives.hashed_file import unchanged_file
from support.official_archive import official_files, pack


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", text: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.size = kind, link, len(text)
    entry.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    return entry


def archive_of(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for entry in members:
            archive.addfile(entry, io.BytesIO(b"x" * entry.size))
    return path


def extract(archive: Path, target: Path, progress: ProgressCallback = no_progress) -> Path:
    return extract_archive(archive, sha512_of(archive), target, progress)


FOLDER = member("e", tarfile.DIRTYPE)


def test_files_folders_and_links_are_unpacked_once(tmp_path: Path) -> None:
    archive = archive_of(
        tmp_path / "a.tar.gz",
        member("./e", tarfile.DIRTYPE),
        member("./e/lib/a.jar", text="jar"),
        member("e/lib/b.jar", tarfile.LNKTYPE, "e/lib/a.jar"),
        member("e/jdk/lib/deep/link", tarfile.SYMTYPE, "../../../lib/a.jar"),
        member("e/logs", tarfile.DIRTYPE),
    )
    seen: list[tuple[str, int, int]] = []
    old = os.umask(0o077)
    try:
        target = extract(archive, tmp_path / "out" / "e", lambda *step: seen.append(step))
    finally:
        os.umask(old)
    assert (target / "lib" / "b.jar").samefile(target / "lib" / "a.jar")
    assert (target / "jdk" / "lib" / "deep" / "link").read_bytes() == b"xxx"
    assert (target / "logs").is_dir()
    # The node may run as another user.
    assert all(path.stat().st_mode & 0o005 == 0o005 for path in target.rglob("*") if path.is_dir())
    assert (target / "lib" / "a.jar").stat().st_mode & 0o777 == 0o644
    assert seen[-1][0] == "unpacking a.tar.gz"
    sha512 = sha512_of(archive)
    archive.unlink()
    assert extract_archive(archive, sha512, target) == target
    assert [path.name for path in target.parent.iterdir()] == ["e"]


def test_programs_stay_programs(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(pack(official_files()))
    target = extract(archive, tmp_path / "e")
    assert (target / "bin" / "elasticsearch").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ([member("../outside", text="x")], "../outside would be written outside"),
        ([FOLDER, member("e/../../outside", text="x")], "would be written outside"),
        ([member("/outside", text="x")], "/outside would be written outside"),
        ([FOLDER, member("other/file", text="x")], "other/file is not in the folder e"),
        ([member("file", text="x")], "file is not in a folder"),
        ([member("e/out", tarfile.SYMTYPE, "../outside")], "is a link to ../outside, outside"),
        ([member("e/out", tarfile.SYMTYPE, "/etc")], "is a link to /etc, outside"),
        ([member("e/a/b/out", tarfile.SYMTYPE, "../../../outside")], "outside of its folder"),
        # Seen as text, the second link stays inside; in fact, the first one has moved its beginning.
        (
            [
                member("e/a/b/up", tarfile.SYMTYPE, "../.."),
                member("e/out", tarfile.SYMTYPE, "a/b/up/../../x"),
            ],
            "is a link to a/b/up/../../x, outside",
        ),
        (
            [member("e/up", tarfile.SYMTYPE, "lib"), member("e/up/file", text="x")],
            "e/up/file is below a link",
        ),
        ([member("e/a", text="x"), member("e/a", tarfile.SYMTYPE, "b"), FOLDER], "contains e/a twice"),
        ([member("e/hard", tarfile.LNKTYPE, "../outside")], "is a link to ../outside, outside"),
        ([member("e/hard", tarfile.LNKTYPE, "e/none")], "which is not a file before it"),
        ([member("e/null", tarfile.CHRTYPE)], "e/null is neither a file, nor a folder, nor a link"),
        ([member("e/pipe", tarfile.FIFOTYPE)], "is neither a file"),
        ([member("e/a", text="x"), member("e/a", text="y")], "contains e/a twice"),
        ([member("e/a", text="x"), member("e/a/b", text="y")], "a is both a file and a folder"),
        ([], "it is empty"),
    ],
)
def test_what_leads_out_of_the_folder_is_refused(
    tmp_path: Path, members: list[tarfile.TarInfo], problem: str
) -> None:
    (tmp_path / "outside").write_text("untouched")
    archive = archive_of(tmp_path / "a.tar.gz", *members)
    with pytest.raises(EngineError, match=r"a\.tar\.gz is not unpacked: ") as caught:
        extract(archive, tmp_path / "installs" / "e")
    assert problem in caught.value.message
    assert "\n" not in caught.value.message
    assert list((tmp_path / "installs").iterdir()) == []
    assert (tmp_path / "outside").read_text() == "untouched"


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_headers_that_are_read_into_memory_are_bounded(tmp_path: Path, kind: bytes) -> None:
    huge = member("e/header", kind)
    huge.size = 2 << 20
    archive = archive_of(tmp_path / "a.tar.gz", FOLDER, huge, member("e/a", text="a"))
    with pytest.raises(EngineError, match=r"is not unpacked: it has a header of 2,097,152 bytes"):
        extract(archive, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [archive]


def packed(path: Path, *parts: bytes) -> Path:
    """Writes an archive of these headers and contents, after its folder."""
    path.write_bytes(gzip.compress(b"".join((FOLDER.tobuf(), *parts, bytes(1024)))))
    return path


def extended(records: dict[str, str], kind: bytes = tarfile.XHDTYPE) -> bytes:
    """Returns an extended header with these records."""
    data = b""
    for key, value in records.items():
        rest = f" {key}={value}\n".encode()
        length = len(rest)
        while len(f"{length}") + len(rest) != length:
            length = len(f"{length}") + len(rest)
        data += f"{length}".encode() + rest
    header = member("x", kind)
    header.size = len(data)
    return header.tobuf() + data + bytes(-len(data) % 512)


FILE = member("e/a").tobuf()
LARGE = "x" * 900_000


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        # tarfile calls itself for each header.
        ([extended({"comment": "a"})] * 3000 + [FILE], "more than 8 headers before a file"),
        ([extended({"comment": LARGE}), FILE] * 20, "headers of more than 16,777,216 bytes"),
        (
            [
                part
                for number in range(20)
                for part in (extended({f"k{number}": LARGE}, tarfile.XGLTYPE), FILE)
            ],
            "headers of more than 16,777,216 bytes",
        ),
        ([extended({"path": "e/" + "d/" * 1500}), FILE], "e has more than 64 folders within each other"),
        ([extended({"size": "-600"}), FILE], "e/a has a size below zero"),
    ],
    ids=["chain", "comments", "global", "deep", "negative"],
)
def test_what_makes_the_reader_recurse_or_grow_is_refused(
    tmp_path: Path, parts: list[bytes], reason: str
) -> None:
    # Each file has a name of its own, so that it is not refused as a second one.
    named = iter(range(len(parts)))
    parts = [member(f"e/a{next(named) or ''}").tobuf() if part == FILE else part for part in parts]
    with pytest.raises(EngineError, match=reason):
        extract(packed(tmp_path / "a.tar.gz", *parts), tmp_path / "out")


def test_members_are_not_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    real = tarfile.TarFile.next

    def counting(archive: tarfile.TarFile) -> tarfile.TarInfo | None:
        kept.append(len(archive.members))
        return real(archive)

    monkeypatch.setattr(tarfile.TarFile, "next", counting)
    files = [member(f"e/f{number}").tobuf() for number in range(50)]
    folder = extract(packed(tmp_path / "a.tar.gz", *files), tmp_path / "out")
    assert len(list(folder.glob("f*"))) == 50
    assert max(kept) <= 1


def test_sparse_files_whose_map_is_read_into_memory_are_refused(tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "a.tar.gz", FOLDER, member("e/a", tarfile.GNUTYPE_SPARSE))
    with pytest.raises(EngineError, match="is not unpacked: e/a is a sparse file"):
        extract(archive, tmp_path / "out")


def test_sparse_files_with_a_map_before_their_data_are_refused(tmp_path: Path) -> None:
    """Format 1.0 of GNU tar: the map is read before any size is known."""
    sparse = member("e/a", text="x" * 512)
    sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    archive = archive_of(tmp_path / "a.tar.gz", FOLDER, sparse)
    with pytest.raises(EngineError, match="is not unpacked: e/a is a sparse file"):
        extract(archive, tmp_path / "out")


def test_an_archive_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacenote.provision.archives.extraction._MIN_LIMIT_BYTES", 1000)
    archive = archive_of(tmp_path / "a.tar.gz", *(member(f"e/{n}", text="x" * 100_000) for n in range(10)))
    with pytest.raises(EngineError, match=r"it contains more than .* bytes"):
        extract(archive, tmp_path / "e")


def test_what_follows_the_end_of_an_archive_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacenote.provision.archives.extraction._MIN_LIMIT_BYTES", 1000)
    archive = archive_of(tmp_path / "a.tar.gz", FOLDER, member("e/a", text="a"))
    archive.write_bytes(gzip.compress(gzip.decompress(archive.read_bytes()) + bytes(10 << 20)))
    with pytest.raises(EngineError, match=r"it contains more than .* bytes"):
        extract(archive, tmp_path / "out" / "e")


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE])
def test_an_archive_with_too_many_members_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: bytes
) -> None:
    """Members without content are not limited by their size."""
    monkeypatch.setattr("pacenote.provision.archives.extraction.MAX_MEMBERS", 100)
    archive = archive_of(tmp_path / "a.tar.gz", *(member(f"e/{n}", kind, "x") for n in range(101)))
    with pytest.raises(EngineError, match="it contains more than 100 files and folders"):
        extract(archive, tmp_path / "out" / "e")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("keep", [0, 5, 0.4, 0.99, -4])
def test_a_truncated_archive_is_damaged(tmp_path: Path, keep: float) -> None:
    content = pack({f"lib/{n}.jar": os.urandom(200).hex() for n in range(200)})
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(content[: int(keep * len(content)) if 0 < keep < 1 else int(keep)])
    with pytest.raises(EngineError, match=r"damaged or not a tar\.gz archive"):
        extract(archive, tmp_path / "e")
    assert not (tmp_path / "e").exists()


def test_another_file_is_not_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(b"<html>not found</html>" * 100)
    with pytest.raises(EngineError, match=r"damaged or not a tar\.gz archive"):
        extract(archive, tmp_path / "e")


def rewrite(path: Path, content: bytes) -> None:
    """Writes to a file in place: whoever has it open reads the new content."""
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, content)
    os.ftruncate(descriptor, len(content))
    os.close(descriptor)


def swap(path: Path, content: bytes) -> None:
    """Renames another file over a file."""
    other = path.with_name("other")
    other.write_bytes(content)
    other.replace(path)


def program(text: str, rest: bytes = b"") -> bytes:
    return pack({"bin/elasticsearch": text, "lib/rest": rest}, "e")


@pytest.mark.parametrize("change", [rewrite, swap])
def test_what_is_not_the_file_that_was_checked_is_not_unpacked(
    tmp_path: Path, change: Callable[[Path, bytes], None]
) -> None:
    archive, target = tmp_path / "a.tar.gz", tmp_path / "out" / "e"
    archive.write_bytes(program("genuine"))
    sha512 = sha512_of(archive)
    change(archive, program("evil"))
    with pytest.raises(EngineError, match=r"a\.tar\.gz is not used: it was changed or replaced"):
        extract_archive(archive, sha512, target)
    assert list(target.parent.iterdir()) == []
    change(archive, program("genuine"))
    assert (extract(archive, target) / "bin" / "elasticsearch").read_text() == "genuine"


def test_an_archive_that_is_written_while_it_is_unpacked_is_not_used(tmp_path: Path) -> None:
    archive, target = tmp_path / "a.tar.gz", tmp_path / "out" / "e"
    rest = random.Random(7).randbytes(4 << 20)
    genuine, evil = program("genuine", rest), program("genuine", rest[:-4] + b"evil")
    archive.write_bytes(genuine)
    sha512 = sha512_of(archive)
    seen = []

    def write(*step: object) -> None:
        seen.append(step)
        if len(seen) == 1:
            # The result is a whole archive, too, of which the beginning has been read.
            rewrite(archive, genuine[: 1 << 20] + evil[1 << 20 :])

    with pytest.raises(EngineError) as caught:
        extract_archive(archive, sha512, target, write)
    assert "it was changed or replaced" in caught.value.message
    assert list(target.parent.iterdir()) == []


def test_a_file_that_grows_without_end_is_read_up_to_its_size(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(program("genuine"))
    sha512 = sha512_of(archive)
    with unchanged_file(archive, sha512) as file, archive.open("ab") as end:
        while file.read(1):
            end.write(b"more")
            end.flush()
    assert file.position == file.size


def test_a_pipe_in_the_place_of_the_archive_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.tar.gz")
    with pytest.raises(EngineError, match="cannot be read: it is not a regular file"):
        extract_archive(tmp_path / "a.tar.gz", "", tmp_path / "out" / "e")
