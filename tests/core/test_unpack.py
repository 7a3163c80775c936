"""Unpacking of archives by the Rust core: archives from Python's own tools, damaged and hostile ones."""

from __future__ import annotations

import io
import stat
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest

from pacenote import _core

DATA = b"".join(b'{"n": %d, "v": %d}\n' % (n, n * 2654435761 % 2**32) for n in range(3000))


def unpack(archive: Path, limit: int | None = None) -> bytes:
    """Returns the unpacked data, and checks that no other file was written."""
    folder = archive.parent / "out"
    folder.mkdir(exist_ok=True)
    unpacked = _core.unpack(str(archive), str(folder), limit, lambda done, total: None)
    assert sorted(each.name for each in folder.iterdir()) == ["data.json", "data.json.offset"]
    assert unpacked.path == folder / "data.json"
    assert unpacked.path.stat().st_size == unpacked.bytes
    return unpacked.path.read_bytes()


def refused(archive: Path, limit: int | None = None) -> str:
    """Returns the reason why an archive is rejected, and checks that no file was written."""
    folder = archive.parent / "out"
    folder.mkdir(exist_ok=True)
    with pytest.raises(_core.CoreError) as raised:
        _core.unpack(str(archive), str(folder), limit, lambda done, total: None)
    assert sorted(archive.parent.rglob("*")) == sorted([archive, folder])
    (message,) = str(raised.value).splitlines()
    assert message.startswith(str(archive))
    return message.removeprefix(f"{archive}").lstrip(": ")


def tar(path: Path, *members: tuple[str, bytes], mode: str = "w", form: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, mode, format=form) as archive:  # type: ignore[call-overload]
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize(
    ("ending", "mode"), [("tar", "w"), ("tar.gz", "w:gz"), ("tgz", "w:gz"), ("tar.bz2", "w:bz2")]
)
def test_tar_in_every_format_and_packing(tmp_path: Path, form: int, ending: str, mode: str) -> None:
    archive = tmp_path / f"data.json.{ending}"
    tar(archive, ("data.json", DATA), mode=mode, form=form)
    assert unpack(archive) == DATA
    # With other members, in a folder whose name is too long for the plain header.
    folder = "/".join(["a" * 60] * 3)
    members = [("README", b"read me\n"), (f"{folder}/data.json", DATA), (f"{folder}/empty", b"")]
    tar(archive, *members, mode=mode, form=form)
    assert unpack(archive, len(DATA)) == DATA


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_names_that_need_an_extended_header(tmp_path: Path, form: int) -> None:
    other = "é" * 200 + ".json"
    archive = tar(tmp_path / "data.json.tar", (other, b"{}\n"), form=form)
    assert unpack(archive) == b"{}\n"


def test_tar_sizes_that_need_an_extended_header(tmp_path: Path) -> None:
    """The header of a 16 GiB member is read; the error is that the data is missing."""
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        info = tarfile.TarInfo("data.json")
        info.size = 16 << 30
        archive = tmp_path / "data.json.tar"
        archive.write_bytes(info.tobuf(form) + DATA)
        assert "is truncated or corrupt (the tar archive is truncated)" in refused(archive)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_zip_in_every_method(tmp_path: Path, method: int) -> None:
    archive = tmp_path / "data.json.zip"
    with zipfile.ZipFile(archive, "w", method) as out:
        out.writestr("notes/", b"")
        out.writestr("notes/README", b"read me")
        with out.open("notes/data.json", "w", force_zip64=True) as member:
            member.write(DATA)
        out.writestr("__MACOSX/._data.json", b"what macOS adds")
        out.comment = b"PK\x05 a comment"
    assert unpack(archive, len(DATA)) == DATA


def test_a_zip_that_was_written_as_a_stream(tmp_path: Path) -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.written = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.written += bytes(data)  # type: ignore[call-overload]
            return len(bytes(data))  # type: ignore[call-overload]

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as out:  # type: ignore[arg-type]
        out.writestr("any-name.ndjson", DATA)
    archive = tmp_path / "data.json.zip"
    archive.write_bytes(pipe.written)
    assert unpack(archive) == DATA


def test_a_zip_with_zip64_records(tmp_path: Path) -> None:
    """The offsets are in zip64 records, as in an archive of more than 4 GiB."""
    archive = tmp_path / "data.json.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("data.json", DATA)
    whole = archive.read_bytes()
    end = whole.rindex(b"PK\x05\x06")
    size, start = struct.unpack_from("<II", whole, end + 12)
    large = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, start)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
    last = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    archive.write_bytes(whole[:end] + large + locator + last)
    assert unpack(archive) == DATA


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "zip"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../data.json", "points outside the folder"),
        ("a/../../data.json", "points outside the folder"),
        ("/tmp/data.json", "has an absolute path"),
    ],
)
def test_members_outside_the_folder_are_rejected(tmp_path: Path, ending: str, name: str, reason: str) -> None:
    archive = tmp_path / f"data.json.{ending}"
    if ending == "zip":
        with zipfile.ZipFile(archive, "w") as out:
            out.writestr("data.json", DATA)
            out.writestr(name, b"{}")
    else:
        tar(archive, ("data.json", DATA), (name, b"{}"), mode="w:gz" if ending == "tar.gz" else "w")
    assert refused(archive) == f'is rejected: its member "{name}" {reason}; do not trust the archive'


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (tarfile.SYMTYPE, "is a link"),
        (tarfile.LNKTYPE, "is a link"),
        (tarfile.CHRTYPE, "is a device or a pipe"),
        (tarfile.FIFOTYPE, "is a device or a pipe"),
        (tarfile.GNUTYPE_SPARSE, "is of a kind that Pacenote does not unpack"),
    ],
)
def test_links_and_devices_in_a_tar_are_rejected(tmp_path: Path, kind: bytes, reason: str) -> None:
    info = tarfile.TarInfo("data.json")
    info.type, info.linkname = kind, "/etc/passwd"
    archive = tmp_path / "data.json.tar"
    archive.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    assert reason in refused(archive)


def test_links_in_a_zip_are_rejected(tmp_path: Path) -> None:
    archive = tmp_path / "data.json.zip"
    info = zipfile.ZipInfo("data.json")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr(info, "/etc/passwd")
    assert "is a link" in refused(archive)


def test_an_archive_without_the_data_file_is_described(tmp_path: Path) -> None:
    nothing = tar(tmp_path / "data.json.tar")
    assert refused(nothing).startswith("cannot be unpacked: it contains no file;")
    nothing.unlink()
    several = tar(tmp_path / "data.json.tar.gz", ("a", DATA), ("b", DATA), mode="w:gz")
    assert "it contains 2 files, none of them named data.json" in refused(several)
    several.unlink()
    archive = tmp_path / "data.json.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("a/data.json", DATA)
        out.writestr("b/data.json", DATA)
    assert "it contains 2 files named data.json" in refused(archive)


def test_archive_bombs_are_stopped_and_their_member_is_named(tmp_path: Path) -> None:
    bomb = bytes(3 << 20)
    for ending in ("tar.gz", "zip"):
        archive = tmp_path / f"data.json.{ending}"
        if ending == "zip":
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
                out.writestr("in/data.json", bomb)
        else:
            tar(archive, ("in/data.json", bomb), mode="w:gz")
        message = refused(archive, 1 << 20)
        assert message.startswith("in/data.json unpacks to more than the allowed 1048576 bytes;")
        assert archive.stat().st_size < 10_000
        archive.unlink()


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "zip"])
def test_a_truncated_archive_is_detected_wherever_it_ends(tmp_path: Path, ending: str) -> None:
    archive = tmp_path / f"data.json.{ending}"
    if ending == "zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
            out.writestr("data.json", DATA)
    else:
        tar(archive, ("data.json", DATA), mode="w:gz" if ending == "tar.gz" else "w")
    whole = archive.read_bytes()
    # After the data, a tar archive has only padding.
    size = 512 + len(DATA) if ending == "tar" else len(whole)
    for end in (1, 30, 511, 513, size // 2, size - 20, size - 1):
        archive.write_bytes(whole[:end])
        assert "is truncated or corrupt" in refused(archive), end


def test_damage_inside_an_archive_is_detected(tmp_path: Path) -> None:
    archive = tmp_path / "data.json.zip"
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(archive, "w", method) as out:
            out.writestr("data.json", DATA)
        damaged = bytearray(archive.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        archive.write_bytes(damaged)
        assert "is truncated or corrupt" in refused(archive)
    archive.unlink()
    header = tar(tmp_path / "data.json.tar", ("data.json", DATA))
    damaged = bytearray(header.read_bytes())
    damaged[3] ^= 1
    header.write_bytes(damaged)
    assert "the checksum of a tar header is wrong" in refused(header)


def test_huge_headers_are_rejected(tmp_path: Path) -> None:
    """A name of several gigabytes would otherwise be held in memory."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 8 << 30
    archive = tmp_path / "data.json.tar"
    archive.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
    assert "a tar header is too long" in refused(archive)


def test_encrypted_and_unknown_zip_methods_are_rejected(tmp_path: Path) -> None:
    archive = tmp_path / "data.json.zip"
    for at, value, reason in [
        (8, 1, "it is encrypted"),
        (10, 9, "its compression method 9 is not supported"),
    ]:
        with zipfile.ZipFile(archive, "w") as out:
            out.writestr("data.json", DATA)
        changed = bytearray(archive.read_bytes())
        struct.pack_into("<H", changed, changed.rindex(b"PK\x01\x02") + at, value)
        archive.write_bytes(changed)
        assert reason in refused(archive)
