"""The options of a stored race, which may be that of someone else: which of them are checked before they are
used again.

These are the options that name code, programs, addresses or paths, as in a `pacenote.toml` that is not
trusted, unless their values can name none, or a race that this home ran had them.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pacenote.cli.options.folder_trust import needs_no_trust
from pacenote.errors import StoreError
from pacenote.model.printable import shortened, single_line
from pacenote.model.redaction import redact_given_options
from pacenote.model.secrets import REDACTED, redact_urls
from pacenote.store.home import default_home
from pacenote.store.raced_options import RacedOptions

_NAMES = frozenset({
    *("car", "distribution", "distribution-version", "driver-cpus", "driver-scheduling", "master-nodes"),
    *("node-cpu-limit", "node-cpus", "node-memory", "nodes", "telemetry", "track"),
})
"""Options with the name of something that Pacenote, or a repository which the home configures, has, or with a
number. Without `track-repository` and `team-repository`, they lead to no code of someone else.
"""

_TABLES = frozenset({"car-params", "plugin-params", "set", "track-params"})
"""Options with settings, of which numbers and sizes name nothing."""

_VALUES = {"pipeline": ("from-distribution",), "data": ("fresh",), "caches": ("warm", "cold")}
"""Options of which only these values do nothing that a race without them does not do."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")
_QUANTITY = re.compile(r"(?:\d{1,18}(?:\.\d{1,9})?\s?(?:[kmgt]?b?|%|ms|s|min|h|d)|true|false)", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9_-]{1,60}")
_JVM = re.compile(r"-X(?:m[sxn]|ss)\d{1,9}[kmg]?|-XX:[+-]\w{1,80}|-XX:\w{1,80}=\d{1,18}[kmg]?", re.IGNORECASE)
_ADDRESS = re.compile(r"host|port|network|bind|publish|seed|path|address|remote|ip\b", re.IGNORECASE)
"""Names of settings of which a number or a word is an address or a path."""

_SHOWN, _SHOWN_TOGETHER = 100, 2_000
"""Characters of a value, and of all values, that are shown in a line."""


def unchecked_options(options: Mapping[str, object], home: Path | None = None) -> dict[str, object]:
    """Returns the options of a stored race that name code, programs, addresses or paths which no race of this
    home had.
    """
    named = options_to_check(options)
    return RacedOptions(home or default_home()).others(named)


def options_to_check(options: Mapping[str, object]) -> dict[str, object]:
    """Returns the options of a race that may name code, programs, addresses or paths."""
    return {name: value for name, value in options.items() if not _names_nothing(name, value)}


def remember_options(folder: Path, home: Path) -> None:
    """Remembers the options of a race that this home has run, as its folder has them. Where the home cannot
    be written, they are to be checked as if the race were that of someone else.
    """
    from pacenote.store.race_folder import RaceFolder  # Slow to import.

    with contextlib.suppress(StoreError):
        RacedOptions(home).add(options_to_check(RaceFolder(folder).read().given_options or {}))


def unchecked_plan(options: Iterable[Mapping[str, object]], home: Path) -> dict[str, object]:
    """Returns the options of the races of an experiment or a search, which this home has not begun, that name
    code, programs, addresses or paths: of an option with several values, all of them.
    """
    raced = RacedOptions(home)
    named = [item for each in options for item in options_to_check(each).items()]
    values: dict[str, list[object]] = {}
    for name, value in raced.unknown(named):
        values.setdefault(name, []).append(redact_given_options({name: value})[name])
    return {name: own[0] if len(own) == 1 else own for name, own in values.items()}


def unchecked_text(what: str, unchecked: Mapping[str, object]) -> str:
    """Returns a line that names the options of `what`, such as a race, which are to be checked; empty if
    there are none.
    """
    if not unchecked:
        return ""
    values = ", ".join(f"{name}={shortened(_text(value), _SHOWN)}" for name, value in unchecked.items())
    return single_line(
        f"{what}, which this home is not known to have run, names code, programs, addresses or paths: "
        f"{shortened(redact_urls(values), _SHOWN_TOGETHER)}"
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _names_nothing(name: str, value: object) -> bool:
    if needs_no_trust("race", name, value) or value in _VALUES.get(name, ()):
        return True
    if name in _TABLES:
        return _are_quantities(name, value)
    if name == "jvm":
        return all(isinstance(item, str) and _JVM.fullmatch(item) for item in _items(value))
    return name in _NAMES and all(map(_is_name, _items(value)))


def _items(value: object) -> list[object]:
    return [*value] if isinstance(value, list | tuple) else [*str(value).split(",")]


def _is_name(item: object) -> bool:
    text = str(item).strip()
    return _NAME.fullmatch(text) is not None and not text.endswith(".json")


def _are_quantities(name: str, value: object) -> bool:
    """Returns whether a table, or its items as texts, consists of settings that name nothing."""
    pairs = value.items() if isinstance(value, Mapping) else _pairs(name, value)
    return all(not _ADDRESS.search(str(key)) and _is_quantity(name, item) for key, item in pairs)


def _pairs(name: str, value: object) -> list[tuple[str, str]]:
    """Returns the settings of `set`, or of a table that was given as `k:v,k2:v2`."""
    sign = "=" if name == "set" else ":"
    items = [value] if name == "set" and isinstance(value, str) else _items(value)
    return [(key.strip(), item.strip()) for key, _, item in (str(each).partition(sign) for each in items)]


def _is_quantity(name: str, item: object) -> bool:
    if item is None or item == REDACTED or isinstance(item, bool | int | float):
        return True
    known = _WORD if name == "set" else _QUANTITY
    return isinstance(item, str) and (_QUANTITY.fullmatch(item) or known.fullmatch(item)) is not None
