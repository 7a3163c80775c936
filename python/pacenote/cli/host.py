"""`pacenote host`: prints and checks this machine, and changes nothing."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.model.output_text import json_text
from pacenote.model.printable import printable
from pacenote.store.home import default_home

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.host.checks import HostCheck
    from pacenote.model.race_record import Environment
    from pacenote.model.snapshot import Snapshot

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

_WATCH_S = 1.0
"""Seconds for which stolen CPU time is watched."""

_MARKS = {"good": "ok", "note": "note", "hurts": "HURTS", "unread": "?"}
_ORDER = ("good", "unread", "note", "hurts")


def add_options(parser: Parser) -> None:
    """Adds the paths and the format."""
    parser.add_argument(
        "--data-paths",
        type=values.paths,
        default=(),
        metavar="PATH,…",
        help="folders whose disks are checked, such as those of an engine (default: PACENOTE_HOME)",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="format of the output (default: text)",
        harmless=True,
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the machine and the result of every check, and returns 0 whatever they are."""
    from pacenote.host.checks import check_machine
    from pacenote.host.machine import MachineRequest, read_machine
    from pacenote.race.environment import read_environment

    for path in options.data_paths:
        _check_exists(path)
    paths = {f"data.{number}": path for number, path in enumerate(options.data_paths)}
    snapshot = read_machine(MachineRequest(paths or {"home": default_home()}, watch_s=_WATCH_S))
    checks, environment = check_machine(snapshot), read_environment()
    if options.format == "json":
        console.result(json_text(_document(environment, snapshot, checks)))
    else:
        console.result_lines(_text(environment, snapshot, checks))
    return 0


def _check_exists(path: Path) -> None:
    """Raises UsageError for a path that does not exist: the facts would be those of another disk."""
    with contextlib.suppress(PermissionError):
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise UsageError(
                f"--data-paths: {path} does not exist", hint="create it, or mount its disk"
            ) from None


def _document(
    environment: Environment, snapshot: Snapshot, checks: tuple[HostCheck, ...]
) -> dict[str, object]:
    from pacenote.model.codec import encode

    documents = [{**encode(check.advice), "state": check.state, "value": check.value} for check in checks]
    return {"environment": encode(environment), "checks": documents, **encode(snapshot)}


def _text(environment: Environment, snapshot: Snapshot, checks: tuple[HostCheck, ...]) -> str:
    lines = [f"{name:<12}{value}" for name, value in _summary(environment, snapshot.facts) if value]
    lines.append("")
    # What matters is printed last, where a terminal shows it.
    for check in sorted(checks, key=lambda each: _ORDER.index(each.state)):
        lines += _described(check)
    hurts = [check.advice.name for check in checks if check.state == "hurts"]
    notes = [check.advice.name for check in checks if check.state == "note"]
    lines += [
        f"{label}: {', '.join(names)}" for label, names in (("hurt", hurts), ("may hurt", notes)) if names
    ]
    hurt = "hurts" if len(hurts) == 1 else "hurt"
    lines.append(
        f"{len(checks)} checks: {len(hurts)} {hurt} an engine, {len(notes)} may; nothing was changed"
    )
    # Every user may give a mount point any name.
    return "".join(f"{printable(line)}\n" for line in lines)


def _summary(environment: Environment, facts: Mapping[str, str]) -> list[tuple[str, str]]:
    from pacenote.units import format_bytes

    machine = " ".join(facts.get(f"machine.{name}", "") for name in ("sys_vendor", "product_name")).strip()
    memory = "" if environment.memory_bytes is None else format_bytes(environment.memory_bytes)
    usable = f"{environment.cpu_usable_cores} of {environment.cpu_logical_cores} usable"
    cpus = f"{environment.cpu_model or 'unknown'}, {usable}"
    return [
        ("machine", ", ".join(part for part in (environment.host_name or "", machine) if part)),
        (
            "system",
            f"{facts.get('software.linux', '')}, Linux {environment.kernel} {environment.architecture}",
        ),
        ("CPU", cpus),
        ("memory", memory),
        *(("disk", disk) for disk in _disks(facts)),
        ("load", facts.get("reading.load", "")),
    ]


def _disks(facts: Mapping[str, str]) -> Iterator[str]:
    """Yields a line for each file system whose facts were read."""
    for key, kind in facts.items():
        disk, is_kind, _ = key.partition(".file_system")
        if is_kind and key.endswith(".file_system"):
            device = facts.get(f"{disk}.device", "no device")
            yield f"{device}, {kind}, {facts[f'{disk}.mount_options']} at {facts[f'{disk}.mount_point']}"


def _described(check: HostCheck) -> list[str]:
    advice = check.advice
    lines = [f"{_MARKS[check.state]:<6}{advice.name}: {check.value}", f"      {advice.meaning}"]
    lines += [f"      change: {advice.change}", f"      source: {advice.source}"]
    if advice.report:
        lines.append(f"      field report {advice.report}")
    return [*lines, ""]
