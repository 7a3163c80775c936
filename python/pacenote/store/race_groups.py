"""Finds the races of a group: by id, prefix, `latest`, tag or folder."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from pacenote.errors import StoreError
from pacenote.model.comparison import ComparedRace, RaceKey
from pacenote.model.damaged_race import DamagedRace
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_state import RaceState, race_state
from pacenote.model.snapshot import RaceSnapshot
from pacenote.store.damaged_races import damaged_race
from pacenote.store.json_file import read_json
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore, is_race_id
from pacenote.system.paths import exists, is_dir, real_path
from pacenote.system.regular_files import read_stored_file

TAG = "tag:"
"""Prefix of a reference to all races with a tag: `tag:KEY=VALUE`."""

_TAGS = '"user-tags"'
"""Key of the tags in `race.json`."""

_ALL = 1 << 31
_MAX_NAMED = 3
"""Maximum number of races that are left out and named."""


class FoundGroup(Struct, frozen=True):
    """The races of one side of a comparison."""

    races: tuple[ComparedRace, ...]
    """The races, each once."""

    folders: Mapping[RaceKey, Path]
    """Their folders."""

    left_out: tuple[str, ...] = ()
    """Which races were found but are not compared, and why, one sentence each."""

    damaged: tuple[DamagedRace, ...] = ()
    """Those of them whose record cannot be read."""

    renamed: tuple[str, ...] = ()
    """Which races of the home say that they are others, one sentence each. They have the names of their
    folders.
    """


def find_group(store: RaceStore, references: Sequence[str]) -> FoundGroup:
    """Returns the races that the references name, in their order.

    A reference is what `RaceStore.folder` accepts, `tag:KEY=VALUE`, the folder of a race, or a folder that
    contains folders of races. Of those that name several races, copies, saturations and races that cannot be
    read are left out. Raises StoreError for a reference that names no race, and for a single race that cannot
    be compared.
    """
    races: dict[RaceKey, ComparedRace] = {}
    folders: dict[RaceKey, Path] = {}
    left_out: list[str] = []
    damaged: list[DamagedRace | None] = []
    renamed: list[str] = []
    seen: set[RaceKey] = set()
    for folder, is_one in _each_folder(store, references):
        try:
            race = read_compared_race(folder)
        except StoreError as error:
            if is_one:
                raise
            left_out.append(f"not compared: {error.message}")
            damaged.append(damaged_race(folder))
            continue
        stated = folder.stated_id or race.record.race_id
        if race.key in races or (stated, race.began) in seen:
            left_out.append(f"not compared: {folder.path} is a copy of race {stated}")
            continue
        seen.add((stated, race.began))
        races[race.key] = race
        folders[race.key] = real_path(folder.path)
        renamed += [folder.other_name] if folder.other_name else []
    left_out += [f"not compared: {text}" for text in _of_unknown_tags(store, references)]
    if not races:
        raise StoreError(f"no race of {', '.join(references)} can be compared", hint=left_out[0])
    named = _named(left_out, "are not compared")
    others = _named(renamed, "say that they are others")
    return FoundGroup(tuple(races.values()), folders, named, tuple(filter(None, damaged)), others)


def _named(sentences: Sequence[str], rest: str) -> tuple[str, ...]:
    more = len(sentences) - _MAX_NAMED
    return (*sentences[:_MAX_NAMED], *([f"{more} more races {rest}"] if more > 0 else []))


class ReferencedRace(Struct, frozen=True):
    """A stored race that a reference names."""

    folder: RaceFolder
    """Its folder."""

    record: RaceRecord
    """What is stored of it; of a race that is running, what it has measured so far."""

    state: RaceState
    """How far it is, or how it ended."""


def each_race(
    store: RaceStore,
    references: Sequence[str],
    leave_out: Callable[[str], None],
    check: Callable[[RaceRecord], None] | None = None,
) -> Iterator[ReferencedRace]:
    """Yields the races that the references name, one after the other, as `find_group` finds them, each once.

    `check` raises StoreError for a race that cannot be used; without it, each one can. Calls `leave_out` with
    the reason for each race of several that is a copy, or cannot be read or used. Raises StoreError for a
    reference that names no race, and for a single race that cannot be read or used.
    """
    seen: set[tuple[str, datetime]] = set()
    for folder, is_one in _each_folder(store, references):
        try:
            record = folder.read()
            _check_copy(folder, record)
            if check is not None:
                check(record)
        except StoreError as error:
            if is_one:
                raise
            leave_out(error.message)
            continue
        stated = folder.stated_id or record.race_id
        if (stated, record.timestamp) in seen:
            leave_out(f"{folder.path} is a copy of race {stated}")
            continue
        seen.add((stated, record.timestamp))
        yield ReferencedRace(folder, record, current_state(folder, record))
    for text in _of_unknown_tags(store, references):
        leave_out(text)


def _each_folder(store: RaceStore, references: Sequence[str]) -> Iterator[tuple[RaceFolder, bool]]:
    """Yields each folder that the references name once, and whether its reference names one race."""
    seen: set[Path] = set()
    for reference in references:
        folders, is_one = _find(store, reference)
        for folder in folders:
            path = real_path(folder.path)
            if path not in seen:
                seen.add(path)
                yield folder, is_one


def _find(store: RaceStore, reference: str) -> tuple[list[RaceFolder], bool]:
    """Returns the folders that a reference names, and whether it names one race."""
    if reference.startswith(TAG):
        return _tagged(store, reference.removeprefix(TAG)), False
    if "/" in reference or reference in (".", "..", "~"):
        path = os.path.expanduser(reference)  # noqa: PTH111  # Path.expanduser raises for unknown users
        return _in_folder(store, Path(path))
    try:
        return [store.folder(reference)], True
    except StoreError as error:
        # A folder of the working folder must not take the place of a race, as one that is called `latest`.
        if is_dir(Path(reference)):
            raise StoreError(error.message, hint=f"./{reference} names the folder that is here") from error
        raise


def _tagged(store: RaceStore, tag: str) -> list[RaceFolder]:
    key, equals, value = tag.partition("=")
    if not (key and equals):
        raise StoreError(f"'{TAG}{tag}' must have the form {TAG}KEY=VALUE")
    races = store.list(RaceFilter(limit=_ALL, user_tags={key: value}))
    if not races:
        raise StoreError(
            f"no race in {store.races} has the tag {key}={value}",
            hint="`pacenote list races` shows the tags, `pacenote race --user-tags=KEY:VALUE` sets them",
        )
    return [RaceFolder(store.races / race.race_id) for race in races]


def _of_unknown_tags(store: RaceStore, references: Sequence[str]) -> Iterator[str]:
    """Yields which damaged races may have a tag of the references: those whose file names it, or of which
    nothing is left.
    """
    patterns = [_tag_pattern(text.removeprefix(TAG)) for text in references if text.startswith(TAG)]
    damaged = store.list(RaceFilter(limit=_ALL)) if patterns else ()
    for race in damaged:
        if race.state == "unreadable":
            path = store.races / race.race_id / "race.json"
            try:
                text = read_stored_file(path).decode("utf-8", "replace")
            except OSError:
                text = ""
            if _TAGS not in text or any(pattern.search(text) for pattern in patterns):
                yield f"{path} cannot be read, so that its tags are not known"


def _tag_pattern(tag: str) -> re.Pattern[str]:
    """Returns what finds a tag in `race.json`."""
    key, value = (re.escape(json.dumps(part, ensure_ascii=False)[1:-1]) for part in tag.partition("=")[::2])
    return re.compile(rf'"{key}"\s*:\s*"?{value}["\s,}}]')


def _in_folder(store: RaceStore, path: Path) -> tuple[list[RaceFolder], bool]:
    if not is_dir(path):
        raise StoreError(
            f"there is no folder {path}", hint="give the folder of a race, or one that contains such"
        )
    of_home = real_path(store.races)
    own = _folder_at(of_home, path)
    if exists(own.race_json):
        return [own], True
    try:
        folders = [_folder_at(of_home, folder) for folder in sorted(path.iterdir())]
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    races = [folder for folder in folders if exists(folder.race_json)]
    if not races:
        raise StoreError(f"no race.json in {path}, nor in a folder in it")
    return races, False


def _folder_at(of_home: Path, path: Path) -> RaceFolder:
    """Returns the folder at a path. It is that of a race of the home if it, or what a link there leads to, is
    below the folder of these races, whose path is given without links.
    """
    if path.name not in ("", "..") and real_path(path.absolute().parent).is_relative_to(of_home):
        return RaceFolder(path)
    place = real_path(path)
    if place.parent.is_relative_to(of_home):
        return RaceFolder(place)
    return RaceFolder(path, is_outside=True)


def read_compared_race(folder: RaceFolder) -> ComparedRace:
    """Returns a race with its state and the configuration of its engine and machine.

    Raises StoreError if its record is damaged, or if it is a saturation.
    """
    record = folder.read()
    _check_copy(folder, record)
    if record.saturation is not None:
        raise StoreError(
            f"race {record.race_id} is a search of `pacenote saturate`, which has no results to compare",
            hint="its answer is an interval: `pacenote report` shows it",
        )
    return ComparedRace(record, _snapshot(folder), current_state(folder, record), _plan(folder))


def read_race_of_id(races: RaceStore, race_id: str) -> ComparedRace:
    """Returns a race as `read_compared_race` does, by its whole id. Raises StoreError, also for another text,
    which may be a path to another folder.
    """
    if not is_race_id(race_id):
        raise StoreError(f"'{single_line(race_id)}' is not the id of a race")
    return read_compared_race(RaceFolder(races.races / race_id))


def _check_copy(folder: RaceFolder, record: RaceRecord) -> None:
    """Raises StoreError if a race says that it is another one beside its folder, and has its time: a copy,
    which would count twice in comparisons.
    """
    if not is_race_id(folder.stated_id):
        return
    try:
        other = RaceFolder(folder.path.absolute().parent / folder.stated_id).read()
    except StoreError:
        return
    if other.timestamp == record.timestamp:
        raise StoreError(
            f"{folder.path} is a copy of race {folder.stated_id}, or says so",
            hint="name the race itself, and delete or move the copy",
        )


def current_state(folder: RaceFolder, record: RaceRecord) -> RaceState:
    """Returns the state of a race, and of one that has not ended whether it is running."""
    state = race_state(record)
    if state != "unfinished":
        return state
    return "running" if folder.is_in_use() else "killed"


def _snapshot(folder: RaceFolder) -> RaceSnapshot | None:
    """Returns the configuration, or None if it is missing or damaged: results count without it."""
    try:
        return folder.read_snapshot()
    except StoreError:
        return None


def _plan(folder: RaceFolder) -> dict[str, dict[str, Any]]:
    """Returns what each task sends, when, and from how many clients. Folders of data files do not count.
    Returns nothing if the race has no plan that can be read.
    """
    try:
        tasks = read_json(folder.plan_json)["tasks"]
        return {str(task["name"]): _without_folders(task) for task in tasks}
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return {}


def _without_folders(task: dict[str, Any]) -> dict[str, Any]:
    work = task.get("work")
    if not (isinstance(work, dict) and isinstance(work.get("files"), list)):
        return task
    files = [{**file, "path": Path(file["path"]).name} for file in work["files"]]
    return {**task, "work": {**work, "files": files}}
