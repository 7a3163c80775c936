"""Finds misspelt settings before an engine starts, with the names of settings in the engine's own jars.

A class that defines a setting contains its name as a constant, or the first part of the names of a group of
settings, such as `node.attr.`. An engine refuses to start with an unknown setting. This check only refuses
names that resemble a known one: other names may belong to settings that are composed at run time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from pacenote.errors import EngineError, UsageError
from pacenote.model.printable import single_line
from pacenote.provision.zip_files import DamagedZip, opened_zip, read_member
from pacenote.system.paths import paths_in
from pacenote.units import format_bytes

_MAX_CLASS_BYTES = 1 << 20
"""Size of the largest class that is read; generated ones without settings, such as parsers, may have more."""

_MAX_BYTES = 512 << 20
"""Bytes of all classes of an engine that are read, with what the next three numbers add: OpenSearch has
50 MB.
"""
_JAR_BYTES = 64 << 10
"""Bytes that take as long to read as to open a jar."""
_MEMBER_BYTES = 256
"""Bytes that take as long to read as the name of a member."""
_CONSTANT_BYTES = 1 << 10
"""Bytes that take as long to read as to keep a name."""

_MAX_NAMES = 100_000
"""Names that the jars of an engine may have: OpenSearch has 1,200."""

_MAX_CANDIDATES = 1000
"""Names that are compared with an unknown one, each of which may take a millisecond."""
_MAX_COMPARED = 120
"""Length of the longest names that are compared: settings have less than 100 characters."""

_CLASSES = ("org/elasticsearch/", "org/opensearch/")
_CONSTANT = re.compile(rb"\x01\x00([\x03-\xff])([a-z]\w{0,254}\.[\w.*-]{0,254})")
"""A text in the constant pool of a class: its kind, its length in two bytes, and its characters."""

_SIMILARITY = 0.85
_OPEN_GROUPS = ("logger.", "thread_pool.")
"""Groups whose settings are not constants: loggers have any name, and thread pools are named at run time."""
_SECURITY = "xpack.security.enabled"
_GROUPS_OF_SECURITY = tuple(f"xpack.security.{layer}.ssl." for layer in ("http", "transport"))
"""Groups of an engine with security: their names are composed at run time."""
_ABSENT_GROUP = "xpack."
_WITHOUT_EFFECT = ("false", "basic", "trial")
"""Values with which a setting of an absent module changes nothing."""


class SettingNames(Struct, frozen=True):
    """The names in the jars of one engine that may be settings."""

    names: frozenset[str] = frozenset()
    """Full names."""
    groups: tuple[str, ...] = msgspec.field(default=())
    """First parts of names, which end with a dot."""

    def knows(self, name: str) -> bool:
        """Returns whether a setting of this name may exist."""
        return name in self.names or name.startswith(self.groups)

    def similar(self, name: str) -> list[str]:
        """Returns names that an unknown name probably means."""
        top = name.partition(".")[0][:1]
        if len(name) > _MAX_COMPARED:
            return []
        candidates = [known for known in self.names if known.startswith(top) and len(known) <= _MAX_COMPARED]
        nearest = sorted(candidates, key=lambda known: (abs(len(known) - len(name)), known))
        return get_close_matches(name, nearest[:_MAX_CANDIDATES], n=2, cutoff=_SIMILARITY)


def read_setting_names(home: Path) -> SettingNames:
    """Returns the names in the jars of an engine. Raises EngineError for a jar that cannot be read, and for
    jars that contain too much.
    """
    folders = [home / "lib", *paths_in(home / "modules"), *paths_in(home / "plugins")]
    return read_names_in_jars(
        file for folder in folders for file in paths_in(folder) if file.name.endswith(".jar")
    )


def read_names_in_jars(jars: Iterable[Path]) -> SettingNames:
    """Returns the names in jars. Raises EngineError for a jar that cannot be read, and for jars that contain
    too much.
    """
    names = set[str]()
    size = 0
    for jar in jars:
        try:
            status = jar.stat()
            constants = _constants(_Jar(status.st_dev, status.st_ino, status.st_mtime_ns, jar))
            names |= constants.names
            size += constants.size
            _check(len(names), size)
        except (OSError, DamagedZip) as error:
            raise EngineError(f"{jar} cannot be read: {single_line(str(error))}") from error
    # A single word, such as `cluster.`, would match nearly everything.
    groups = {*_OPEN_GROUPS, *(name for name in names if name.endswith(".") and name.count(".") > 1)}
    if _SECURITY in names:
        groups.update(_GROUPS_OF_SECURITY)
    return SettingNames(frozenset(name for name in names if not name.endswith(".")), tuple(sorted(groups)))


def check_setting_names(settings: Iterable[str], known: SettingNames, engine: str) -> None:
    """Raises UsageError for a setting that is probably misspelt."""
    for name in settings:
        if not known.knows(name) and (meant := known.similar(name)):
            raise UsageError(f"{engine} has no setting {name}", hint=f"did you mean {' or '.join(meant)}?")


def without_absent_modules(
    settings: Mapping[str, object], known: SettingNames, engine: str
) -> dict[str, object]:
    """Returns the settings of a car without those of modules that the engine lacks, with which it would not
    start.

    Raises EngineError if one of them would change something.
    """
    kept = {}
    for name, value in settings.items():
        if not name.startswith(_ABSENT_GROUP) or known.knows(name):
            kept[name] = value
        elif str(value).lower() not in _WITHOUT_EFFECT:
            raise EngineError(
                f"{engine} has no setting {name}, which the car sets to {value}: it lacks that module",
                hint="leave out that car, or use an official archive of Elasticsearch",
            )
    return kept


@dataclass(frozen=True, slots=True)
class _Jar:
    """A jar, which is equal to other links to the same file."""

    device: int
    inode: int
    modified_ns: int
    path: Path = field(compare=False)


class _Constants(Struct, frozen=True):
    """The constants in a jar."""

    names: frozenset[str]
    size: int
    """Bytes that were read, with those that stand for other work."""


@cache
def _constants(jar: _Jar) -> _Constants:
    """Returns the constants of a jar. Raises DamagedZip, also for a jar that contains too much, and
    OSError.
    """
    names = set[str]()
    with opened_zip(jar.path) as archive:
        members = archive.namelist()
        size = _JAR_BYTES + len(members) * _MEMBER_BYTES
        for member in members:
            is_read = member.endswith(".class") and member.startswith(_CLASSES)
            if is_read and archive.getinfo(member).file_size <= _MAX_CLASS_BYTES:
                content = read_member(archive, member, _MAX_CLASS_BYTES)
                size += len(content)
                for match in _CONSTANT.finditer(content):
                    size += _CONSTANT_BYTES
                    length, text = match.groups()
                    # A length that fits better to what precedes it is not one.
                    if length[0] <= len(text):
                        names.add(text[: length[0]].decode("ascii", "replace"))
                _check(len(names), size)
    return _Constants(frozenset(names), size)


def _check(names: int, size: int) -> None:
    """Raises DamagedZip if what was read is too much: a jar may be that of an archive without a checksum."""
    if names > _MAX_NAMES:
        raise DamagedZip(f"the classes of the engine contain more than {_MAX_NAMES:,} names of settings")
    if size > _MAX_BYTES:
        raise DamagedZip(f"the jars of the engine contain more than {format_bytes(_MAX_BYTES)} of classes")
