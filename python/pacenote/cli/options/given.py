"""The options of a race as they were given, from which a race can be repeated."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pacenote.lab.experiment.options import REPEATED
from pacenote.system.paths import exists

_PATHS_IN_TEXT = ("distribution-archive", "source-path")
"""Options whose text may be a path or an address."""

_PLUGINS = "elasticsearch-plugins"

_LISTS = (_PLUGINS, "car", "include-tasks", "exclude-tasks", "telemetry")
"""Options whose text is a list, or the name of a file with one."""


def given_options(options: argparse.Namespace) -> dict[str, object]:
    """Returns the options of a command line and of configuration files in the form in which experiments have
    them: tables and lists as such, true or false for flags, otherwise text. Paths are absolute, and what a
    file contains replaces its name. They may contain secrets. Raises UsageError for a file that cannot be
    read.
    """
    return {
        given.name: _value(given.name, getattr(options, given.dest), given.texts)
        for given in options.given.values()
    }


def _value(name: str, value: Any, texts: Sequence[str]) -> object:
    if isinstance(value, bool) and not texts:
        return value
    if name in REPEATED:
        return [f"{key}={item}" for key, item in value.items()] if isinstance(value, Mapping) else list(value)
    if name == "client-options":
        # The parsed options may be those of the environment, too, or have been read from files.
        from pacenote.cli.options.clients import as_given

        return as_given(texts[-1])
    if isinstance(value, Path):
        return str(value.absolute())
    if isinstance(value, Mapping):
        return {key: list(item) if isinstance(item, tuple) else item for key, item in value.items()}
    if name == "data-paths":
        return ";".join(",".join(str(path.absolute()) for path in paths) for paths in value)
    if name in _PATHS_IN_TEXT and "://" not in texts[-1] and exists(Path(texts[-1])):
        return str(Path(texts[-1]).absolute())
    if name == _PLUGINS or (name in _LISTS and texts[-1].strip().endswith(".json")):
        return _list(name, texts[-1])
    return str(value) if name == "runtime-jdk" else texts[-1]


def _list(name: str, text: str) -> list[str]:
    from pacenote.track.params import parse_list

    items = [str(item) for item in parse_list(text, f"--{name}")]
    return list(map(_plugin, items)) if name == _PLUGINS else items


def _plugin(name: str) -> str:
    """Returns the name of a plugin, or the absolute path of its archive."""
    from pacenote.provision.archives.addresses import archive_location

    is_path = "://" not in name and ("/" in name or name.endswith(".zip"))
    return archive_location(name) if is_path else name
