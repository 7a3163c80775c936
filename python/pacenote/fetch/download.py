"""Downloading one file from the first address that has it, whole and verified."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacenote.errors import CorpusError
from pacenote.fetch.address import Address, NoCredentials, signed
from pacenote.fetch.partial import Partial
from pacenote.fetch.server import Again, Refused, Server, Version
from pacenote.fetch.space import check_space
from pacenote.fetch.transfer import Meter, Transfer, Tuning, WrongSize
from pacenote.model.progress import ProgressCallback

_CHUNK = 1 << 20
_DENIED = (401, 403)


class NotAvailable(CorpusError):
    """No address has the file, or none answers."""


class WrongContent(Exception):
    """What came is not what the server says the file is."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to download to `target`: the addresses to try in order, and its bytes (None: not known).

    `crc32c` computes that checksum of a file; without it such a checksum is not looked at.
    """

    target: Path
    addresses: tuple[Address, ...]
    size: int | None = None
    crc32c: Callable[[Path], int] | None = None


def download(wanted: Wanted, progress: ProgressCallback, tuning: Tuning = Tuning()) -> Address:
    """Downloads a file and returns the address it came from.

    What an earlier download left is continued if it still is the same version. The file gets its name when it
    has the wanted size and the checksum that the server declares, if it declares one, and is on the disk.
    Raises NotAvailable with what every address answered, CorpusError when the disk is full.
    """
    failures: list[str] = []
    for address in wanted.addresses:
        try:
            _from(address, wanted, progress, tuning)
        except (Again, Refused, WrongSize, WrongContent, NoCredentials) as failure:
            failures.append(f"{address.shown}: {failure}")
        except OSError as failure:
            raise _not_written(wanted.target, failure) from failure
        else:
            return address
    raise NotAvailable(
        f"{wanted.target.name} cannot be downloaded: {'; '.join(failures) or 'no address is known'}",
        hint=_hint(wanted.addresses, failures),
    )


def _from(address: Address, wanted: Wanted, progress: ProgressCallback, tuning: Tuning) -> None:
    try:
        _transferred(address, wanted, progress, tuning)
    except Refused as failure:
        # What is public needs no credentials, not even where some are configured.
        if failure.status not in _DENIED or not address.bucket:
            raise
        _transferred(signed(address), wanted, progress, tuning)


def _transferred(address: Address, wanted: Wanted, progress: ProgressCallback, tuning: Tuning) -> None:
    target = wanted.target
    target.parent.mkdir(parents=True, exist_ok=True)
    label = f"downloading {target.name}"
    partial = Partial(target, address.shown)
    server = Server(address, tuning.connections)
    try:
        transfer = Transfer(server, partial, Meter(lambda done, total: progress(label, done, total)), tuning)
        version = transfer.run(wanted.size, lambda more: check_space(target.parent, more, target.name))
        try:
            _verify(partial.file, wanted, version, lambda at: progress(f"verifying {target.name}", *at))
        except WrongContent:
            partial.discard()
            raise
        partial.finish(target)
        progress(label, target.stat().st_size, target.stat().st_size)
    finally:
        partial.close()
        server.close()


def _verify(file: Path, wanted: Wanted, version: Version, tell: Callable[[tuple[int, int]], None]) -> None:
    found = file.stat().st_size
    if wanted.size is not None and found != wanted.size:
        raise WrongContent(f"{found:,} bytes came, the track declares {wanted.size:,}")
    name, declared = version.digest
    if not name or (name == "crc32c" and wanted.crc32c is None):
        return
    if name == "crc32c" and wanted.crc32c is not None:
        digest = wanted.crc32c(file).to_bytes(4, "big")
    else:
        digest = _hash(file, name, lambda read: tell((read, found)))
    if digest != declared:
        raise WrongContent(f"wrong checksum: {name} {digest.hex()} instead of {declared.hex()}")


def _hash(file: Path, name: str, tell: Callable[[int], None]) -> bytes:
    digest, read = hashlib.new(name, usedforsecurity=False), 0
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            read += len(chunk)
            if read % (_CHUNK << 6) == 0:
                tell(read)
    return digest.digest()


def _not_written(target: Path, failure: OSError) -> CorpusError:
    if failure.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = "no space left on the disk"
    else:
        reason = failure.strerror or str(failure)
    return CorpusError(
        f"cannot write {target}: {reason}",
        hint="free some space, or set PACENOTE_HOME to a folder that can be written; what is here is kept",
    )


def _hint(addresses: Sequence[Address], failures: Sequence[str]) -> str:
    if any(": needs credentials" in failure for failure in failures):
        return "pip install boto3, and set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    denied = any(f"HTTP status {status}" in failure for status in _DENIED for failure in failures)
    if denied and any(address.shown.startswith("gs://") for address in addresses):
        return "set GOOGLE_AUTH_TOKEN to the token of an account that may read it"
    return "check the network, or name a mirror with --corpus-mirror"
