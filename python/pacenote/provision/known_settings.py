"""Finds misspelt settings before an engine starts, with the names of settings in the engine's own jars.

A class that defines a setting contains its name as a constant, or the first part of the names of a group of
settings, such as `node.attr.`. An engine refuses to start with an unknown setting. This check only refuses
names that resemble a known one: other names may belong to settings that are composed at run time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from pacenote.errors import EngineError, UsageError
from pacenote.model.printable import single_line
from pacenote.provision.zip_files import DamagedZip, opened_zip, read_member

_MAX_CLASS_BYTES = 16 << 20
"""Size of the largest class that is read; those of engines have less than 1 MiB."""

_CLASSES = ("org/elasticsearch/", "org/opensearch/")
_CONSTANT = re.compile(rb"\x01\x00([\x03-\xff])([a-z]\w*\.[\w.*-]*)")
"""A text in the constant pool of a class: its kind, its length in two bytes, and its characters."""

_JARS = ("lib/*.jar", "modules/*/*.jar", "plugins/*/*.jar")
_SIMILARITY = 0.85
_OPEN_GROUPS = ("logger.", "thread_pool.")
"""Groups whose settings are not constants: loggers have any name, and thread pools are named at run time."""
_SECURITY = "xpack.security.enabled"
_GROUPS_OF_SECURITY = tuple(f"xpack.security.{layer}.ssl." for layer in ("http", "transport"))
"""Groups of an engine with security: their names are composed at run time."""
_ABSENT_GROUP = "xpack."
_WITHOUT_EFFECT = ("false", "basic", "trial")
"""Values with which a setting of an absent module changes nothing."""


@dataclass(frozen=True, slots=True)
class SettingNames:
    """The names in the jars of one engine that may be settings."""

    names: frozenset[str] = frozenset()
    """Full names."""
    groups: tuple[str, ...] = field(default=())
    """First parts of names, which end with a dot."""

    def knows(self, name: str) -> bool:
        """Returns whether a setting of this name may exist."""
        return name in self.names or name.startswith(self.groups)

    def similar(self, name: str) -> list[str]:
        """Returns names that an unknown name probably means."""
        top = name.partition(".")[0][:1]
        candidates = [known for known in self.names if known.startswith(top)]
        return get_close_matches(name, candidates, n=2, cutoff=_SIMILARITY)


def read_setting_names(home: Path) -> SettingNames:
    """Returns the names in the jars of an engine. Raises EngineError for a jar that cannot be read."""
    return read_names_in_jars(jar for pattern in _JARS for jar in sorted(home.glob(pattern)))


def read_names_in_jars(jars: Iterable[Path]) -> SettingNames:
    """Returns the names in jars. Raises EngineError for a jar that cannot be read."""
    names = set[str]()
    for jar in jars:
        try:
            status = jar.stat()
            names |= _names(_Jar(status.st_dev, status.st_ino, status.st_mtime_ns, jar))
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


@cache
def _names(jar: _Jar) -> frozenset[str]:
    return frozenset(_constants(jar.path))


def _constants(jar: Path) -> Iterator[str]:
    with opened_zip(jar) as archive:
        for name in archive.namelist():
            if name.endswith(".class") and name.startswith(_CLASSES):
                for length, text in _CONSTANT.findall(read_member(archive, name, _MAX_CLASS_BYTES)):
                    # A length that fits better to what precedes it is not one.
                    if length[0] <= len(text):
                        yield text[: length[0]].decode("ascii", "replace")
