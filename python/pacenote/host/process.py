"""Facts about one process: limits, control group, CPUs, environment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from pacenote.host.facts import MAX_FACT_BYTES, Facts, read_text
from pacenote.model.secrets import REDACTED, is_secret, redact, redact_urls
from pacenote.system.paths import exists
from pacenote.system.process_memory import read_process_memory

_LIMIT = re.compile(r"^Max (.+?)\s{2,}(\S+)\s+(\S+)", re.MULTILINE)

_STATUS = {
    "Cpus_allowed_list": "cpus_allowed",
    "Mems_allowed_list": "memory_nodes_allowed",
    "THP_enabled": "transparent_huge_pages",
    "NoNewPrivs": "no_new_privileges",
}
"""Lines of /proc/PID/status that are configuration, and the names of their facts."""

_STATUS_READINGS = {
    "VmSwap": "swapped_kb",
    "VmLck": "locked_kb",
    "VmRSS": "resident_kb",
    "Threads": "threads",
}

_V2_FILES = ("cpu.weight", "cpuset.cpus.effective", "cpuset.mems.effective", "io.max", "io.weight")
_V2_LIMITS = ("cpu.max", "memory.high", "memory.max", "memory.swap.max", "pids.max")
_V1_FILES = {
    "cpu": ("cpu.shares",),
    "cpuset": ("cpuset.cpus", "cpuset.mems"),
    "memory": ("memory.swappiness",),
    "blkio": ("blkio.weight",),
    "pids": (),
}
_V1_LIMITS = {"memory": ("memory.limit_in_bytes",), "pids": ("pids.max",)}
_UNLIMITED = re.compile(r"max\b.*|-1\b.*|9223372036854\d+")
"""A limit that is not set, in both versions of control groups."""


def read_process(facts: Facts, proc: Path, sys: Path, key: str, pid: int | None) -> None:
    """Adds the facts of a process under a key; None is this process."""
    folder = proc / ("self" if pid is None else str(pid))
    limits = facts.text(f"{key}.limit.*", folder / "limits")
    for name, soft, hard in _LIMIT.findall(limits or ""):
        # The driver raises its own limit of open files to the hard one.
        if pid is not None or name != "open files":
            facts.set(f"{key}.limit.{name.replace(' ', '_')}.soft", soft)
        facts.set(f"{key}.limit.{name.replace(' ', '_')}.hard", hard)
    _read_status(facts, folder, key)
    facts.file(f"{key}.oom_score_adj", folder / "oom_score_adj")
    try:
        facts.set(f"{key}.nice", os.getpriority(os.PRIO_PROCESS, pid or 0))
    except OSError as error:
        facts.unread(f"{key}.nice", str(error.strerror))
    _read_cgroup(facts, folder, sys / "fs/cgroup", f"{key}.cgroup")


def read_process_environment(facts: Facts, proc: Path, key: str, pid: int) -> None:
    """Adds the environment variables of a process, without secrets."""
    file = proc / str(pid) / "environ"
    try:
        text = read_process_memory(file, MAX_FACT_BYTES).decode("utf-8", "replace")
    except OSError as error:
        facts.unread(f"{key}.environment.*", f"{file}: {error.strerror or error}")
        return
    for entry in text.split("\0"):
        name, equals, value = entry.partition("=")
        if equals:
            public = REDACTED if is_secret(name) else redact_urls(redact(value, ()))
            facts.set(f"{key}.environment.{name}", public)


def _read_status(facts: Facts, folder: Path, key: str) -> None:
    text = facts.text(f"{key}.status.*", folder / "status")
    for line in (text or "").splitlines():
        name, _, value = line.partition(":")
        if name in _STATUS:
            facts.set(f"{key}.{_STATUS[name]}", value.strip())
        elif name in _STATUS_READINGS:
            facts.set(f"reading.{key}.{_STATUS_READINGS[name]}", value.removesuffix("kB").strip())


def _read_cgroup(facts: Facts, folder: Path, mounts: Path, key: str) -> None:
    text = facts.text(f"{key}.*", folder / "cgroup")
    for line in (text or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if not controllers:
            base = mounts / "unified" if exists(mounts / "unified") else mounts
            if exists(base / "cgroup.controllers"):
                facts.set(f"{key}.path", group)
                groups = _groups(base, group)
                _read_values(facts, key, groups[0], _V2_FILES)
                _read_limits(facts, key, groups, _V2_LIMITS)
            continue
        for controller in controllers.split(","):
            if controller in _V1_FILES:
                facts.set(f"{key}.{controller}.path", group)
                groups = _groups(mounts / controller, group)
                _read_values(facts, key, groups[0], _V1_FILES[controller])
                _read_limits(facts, key, groups, _V1_LIMITS.get(controller, ()))
                if controller == "cpu":
                    _set_least(facts, f"{key}.cpu.max", map(_v1_quota, groups))


def _groups(base: Path, group: str) -> list[Path]:
    """Returns the folders of a group and of those above it, whose limits apply as well."""
    folder = base / group.lstrip("/")
    # In a container, the path is that of the host, and the group itself is mounted.
    folder = folder if exists(folder) else base
    return [folder, *(parent for parent in folder.parents if parent.is_relative_to(base))]


def _read_values(facts: Facts, key: str, group: Path, files: tuple[str, ...]) -> None:
    for name in files:
        facts.optional(f"{key}.{name}", group / name)


def _read_limits(facts: Facts, key: str, groups: list[Path], files: tuple[str, ...]) -> None:
    for name in files:
        _set_least(facts, f"{key}.{name}", (_text(group / name) for group in groups))


def _set_least(facts: Facts, key: str, values: Iterable[str | None]) -> None:
    """Adds the lowest limit, `max` if none of the groups sets it, or nothing if none has it."""
    known = [value for value in values if value]
    limits = [value for value in known if not _UNLIMITED.fullmatch(value)]
    try:
        facts.set(key, min(limits, key=_amount) if limits else "max" if known else None)
    except (ValueError, ZeroDivisionError):
        facts.unread(key, "a limit has an unexpected form")


def _amount(limit: str) -> float:
    """Returns a limit as a number; a quota of CPU time has its period behind it. Raises ValueError."""
    amount, _, period = limit.partition(" ")
    return float(amount) / float(period or "1")


def _v1_quota(group: Path) -> str | None:
    """Returns the quota of CPU time and its period, as in `cpu.max` of version 2."""
    quota, period = _text(group / "cpu.cfs_quota_us"), _text(group / "cpu.cfs_period_us")
    return f"{quota} {period}" if quota and period else None


def _text(path: Path) -> str | None:
    try:
        return read_text(path)
    except OSError:
        return None
