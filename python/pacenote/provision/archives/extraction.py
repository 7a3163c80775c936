"""Unpacks the archive of an engine, which is not trusted, into a folder that later races reuse.

An archive has one folder with everything in it, whose name is dropped. Members that would be written outside
of it, links that lead out of it, and devices are refused.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Self

from msgspec import Struct, field

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.model.printable import single_line
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.archives.hashed_file import unchanged_file
from pacenote.provision.install import MARKER, publish_folder
from pacenote.provision.public_files import make_public_dir, write_public
from pacenote.provision.zip_files import MAX_MEMBERS
from pacenote.system.folder_trees import discard_tree
from pacenote.system.paths import exists, is_dir, is_file

_MAX_RATIO = 100
_MIN_LIMIT_BYTES = 1 << 30
_COPY_BYTES = 1 << 20
_MAX_HEADER_BYTES = 1 << 20
"""Size of the extended header of a member, which is read into memory."""
_MAX_ALL_HEADER_BYTES = 16 << 20
"""Size of all extended headers of an archive: those that apply to all members stay in memory."""
_MAX_HEADERS = 8
"""Extended headers of a member, for each of which the reader calls itself."""
_MAX_DEPTH = 64
"""Number of folders within each other."""
_REPORT_EVERY = 100
"""Number of members between two reports of progress."""

_EXTENDED_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class _Refused(Exception):
    """A member that is not unpacked."""


class _Member(tarfile.TarInfo):
    """A member whose headers fit into memory. Each archive has a subclass, which counts them."""

    header_bytes = 0
    """Size of the extended headers so far."""

    headers = 0
    """Number of extended headers since the last member."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Reads a header. Raises _Refused for one with which the reader would need much memory."""
        member = super().frombuf(buf, encoding, errors)
        cls._count(member)
        if member.type == tarfile.GNUTYPE_SPARSE:
            raise _Refused(f"{member.name} is a sparse file")
        return member

    @classmethod
    def _count(cls, member: tarfile.TarInfo) -> None:
        if member.type not in _EXTENDED_HEADERS:
            cls.headers = 0
            return
        cls.headers += 1
        cls.header_bytes += member.size
        if member.size > _MAX_HEADER_BYTES:
            raise _Refused(f"it has a header of {member.size:,} bytes")
        if cls.headers > _MAX_HEADERS:
            raise _Refused(f"it has more than {_MAX_HEADERS} headers before a file")
        if cls.header_bytes > _MAX_ALL_HEADER_BYTES:
            raise _Refused(f"it has headers of more than {_MAX_ALL_HEADER_BYTES:,} bytes")

    def _proc_gnusparse_10(self, member: tarfile.TarInfo, *_: object) -> None:
        """Refuses a sparse file whose map stands before its data; `tarfile` would keep one of any length."""
        raise _Refused(f"{member.name} is a sparse file")


def extract_archive(
    archive: Path, sha512: str, target: Path, progress: ProgressCallback = no_progress
) -> Path:
    """Returns the folder `target` with the content of an archive, which is unpacked if it does not exist.

    The folder is written under a temporary name, and renamed if the bytes that were unpacked have the
    checksum. Raises EngineError if they do not, for an archive that is damaged or refused, and DiskError.
    """
    if exists(target / MARKER):
        return target
    try:
        make_public_dir(target.parent)
        build = Path(tempfile.mkdtemp(prefix=".build-", dir=target.parent))
        try:
            build.chmod(0o755)
            with _readable(archive):
                _extract(archive, sha512, build, progress)
            write_public(build / MARKER, f"{archive.name}\n")
            publish_folder(build, target)
        finally:
            discard_tree(build)
    except OSError as failure:
        raise disk_error(failure, target) from failure
    return target


def _extract(archive: Path, sha512: str, folder: Path, progress: ProgressCallback) -> None:
    label = f"unpacking {archive.name}"
    with unchanged_file(archive, sha512) as raw, gzip.GzipFile(fileobj=raw, mode="rb") as stream:
        size = raw.size
        writer = _MemberWriter(folder, max(_MIN_LIMIT_BYTES, size * _MAX_RATIO))
        counted = type("_CountedMember", (_Member,), {})
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=counted) as members:
            for count, member in enumerate(members):
                if count == MAX_MEMBERS:
                    raise _Refused(f"it contains more than {MAX_MEMBERS:,} files and folders")
                if count % _REPORT_EVERY == 0:
                    progress(label, raw.position, size)
                writer.write(members, member)
                # They would be kept in memory with their headers.
                members.members.clear()  # type: ignore[attr-defined]  # not in the stubs of its type
        # The checksum is at the end of the stream, after the end of the tar archive.
        while part := stream.read(_COPY_BYTES):
            writer.count(len(part))
    progress(label, size, size)
    if not writer.top:
        raise _Refused("it is empty")


class _MemberWriter(Struct):
    """Writes the members of one archive."""

    folder: Path
    max_bytes: int
    top: str = ""
    """The folder in the archive that contains everything."""
    links: set[PurePosixPath] = field(default_factory=set)
    written: int = 0

    def write(self, members: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Writes one member. Raises _Refused and OSError."""
        name = self._name(member)
        if name is None:
            return
        if self.links & {name, *name.parents}:
            raise _Refused(f"{member.name} is below a link")
        target = self.folder / name
        if member.isdir():
            _make_folders(target, self.folder)
            return
        _make_folders(target.parent, self.folder)
        try:
            self._create(members, member, name)
        except FileExistsError:
            raise _Refused(f"it contains {member.name} twice") from None

    def count(self, size: int) -> None:
        """Counts bytes of the archive. Raises _Refused if they are too many."""
        self.written += size
        if self.written > self.max_bytes:
            raise _Refused(f"it contains more than {self.max_bytes:,} bytes")

    def _create(self, members: tarfile.TarFile, member: tarfile.TarInfo, name: PurePosixPath) -> None:
        target = self.folder / name
        if member.issym():
            _check_link(name, member)
            target.symlink_to(member.linkname)
            self.links.add(name)
        elif member.islnk():
            self._link(member, target)
        elif member.isfile():
            self._write_file(members, member, target)
        else:
            raise _Refused(f"{member.name} is neither a file, nor a folder, nor a link")

    def _name(self, member: tarfile.TarInfo) -> PurePosixPath | None:
        """Returns the path of a member below the folder of the archive, or None for that folder."""
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or "\0" in member.name:
            raise _Refused(f"{member.name} would be written outside of its folder")
        if not path.parts:
            return None
        if len(path.parts) > _MAX_DEPTH:
            raise _Refused(f"{path.parts[0]} has more than {_MAX_DEPTH} folders within each other")
        self.top = self.top or path.parts[0]
        if path.parts[0] != self.top:
            raise _Refused(f"{member.name} is not in the folder {self.top} like the rest")
        if len(path.parts) == 1:
            if not member.isdir():
                raise _Refused(f"{member.name} is not in a folder")
            return None
        return PurePosixPath(*path.parts[1:])

    def _link(self, member: tarfile.TarInfo, target: Path) -> None:
        path = PurePosixPath(member.linkname)
        if path.is_absolute() or ".." in path.parts or path.parts[:1] != (self.top,):
            raise _Refused(f"{member.name} is a link to {member.linkname}, outside of its folder")
        name = PurePosixPath(*path.parts[1:])
        if self.links & {name, *name.parents} or not is_file(self.folder / name):
            raise _Refused(f"{member.name} is a link to {member.linkname}, which is not a file before it")
        os.link(self.folder / name, target)

    def _write_file(self, members: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
        # An extended header may state another size.
        if member.size < 0:
            raise _Refused(f"{member.name} has a size below zero")
        self.count(member.size)
        source = members.extractfile(member)
        if source is None:
            raise _Refused(f"{member.name} has no content")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(target, flags, 0o600), "wb") as out:
            shutil.copyfileobj(source, out, _COPY_BYTES)
            # Every user may run a program, whatever the umask.
            os.fchmod(out.fileno(), 0o755 if member.mode & 0o111 else 0o644)


def _check_link(name: PurePosixPath, member: tarfile.TarInfo) -> None:
    """Raises _Refused for a link that leads out of the folder.

    `..` may only be at the beginning of its target: after the name of another link, it would not lead to the
    folder that the text shows. The parents of the link itself are not links.
    """
    target = PurePosixPath(member.linkname)
    above = 0
    while above < len(target.parts) and target.parts[above] == "..":
        above += 1
    outside = target.is_absolute() or ".." in target.parts[above:] or above > len(name.parts) - 1
    if outside or not target.parts:
        raise _Refused(f"{member.name} is a link to {member.linkname}, outside of its folder")


def _make_folders(path: Path, root: Path) -> None:
    if path == root or is_dir(path):
        return
    _make_folders(path.parent, root)
    try:
        path.mkdir()
    except FileExistsError:
        raise _Refused(f"{path.relative_to(root)} is both a file and a folder") from None
    path.chmod(0o755)


@contextmanager
def _readable(archive: Path) -> Iterator[None]:
    """Raises EngineError for an archive that turns out to be damaged or that is refused in the block."""
    try:
        yield
    except _Refused as refused:
        raise EngineError(
            f"{archive} is not unpacked: {single_line(str(refused))}",
            hint="use the archive of the vendor",
        ) from None
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ValueError) as failure:
        raise EngineError(
            f"{archive} is damaged or not a tar.gz archive: {single_line(str(failure))}",
            hint="copy it again; a download is removed, and repeated by the next command",
        ) from None
