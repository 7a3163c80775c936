"""The options for the state in which a race starts: its data, the page cache, and the wait before it."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, cast

from pacenote.errors import UsageError
from pacenote.model.data_options import (
    DEFAULT_DATA_SET,
    CacheChoice,
    DataMode,
    DataOptions,
    StartConditions,
)
from pacenote.units import LONGEST_S

if TYPE_CHECKING:
    from pacenote.cli.parser import Parser

DATA_OPTIONS = ("data", "caches")
"""Options that have no effect on an existing cluster."""

_DURATION = re.compile(r"(\d{1,9}(?:\.\d+)?)\s*(s|m|h)?")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def add_data_options(parser: Parser) -> None:
    """Adds the options for the state in which a race starts."""
    with parser.group("cluster"):
        parser.add_argument(
            "--data",
            type=data,
            metavar="MODE",
            help="data of the engine: fresh, keep:NAME (a data set that the race stores), or restore:NAME (a "
            "copy of it) (default: fresh)",
        )
        parser.add_argument(
            "--caches",
            choices=("cold", "warm"),
            help="page cache of the data before the first task: cold or warm (default: as it is)",
        )
        parser.add_argument(
            "--cooldown",
            type=duration,
            default=0.0,
            metavar="TIME",
            help="wait before the first task, and between the probes of `saturate`, such as 30s or 2m "
            "(default: none)",
            harmless=True,
        )


def start_conditions(options: argparse.Namespace) -> StartConditions:
    """Returns the page cache and the wait that the options describe."""
    return StartConditions(cast("CacheChoice | None", options.caches), options.cooldown)


def data(text: str) -> DataOptions:
    """Parses `--data`. Raises UsageError."""
    # Imported here because --help does not need it.
    from pacenote.provision.data_sets import check_data_set_name

    mode, colon, name = text.partition(":")
    if mode == "fresh" and not colon:
        return DataOptions()
    if mode not in ("keep", "restore"):
        raise UsageError(
            f"--data must be fresh, keep:NAME or restore:NAME, not '{text}'",
            hint="NAME is the name of a data set; `pacenote list data` shows those that exist",
        )
    name = name if colon else DEFAULT_DATA_SET
    check_data_set_name(name)
    return DataOptions(cast(DataMode, mode), name)


def duration(text: str) -> float:
    """Parses a time of at most `LONGEST_S`: seconds, or a number with `s`, `m` or `h`.

    Raises ArgumentTypeError.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"must be a time such as 30s, 2m or 1h, not '{text}'")
    seconds = float(match[1]) * _SECONDS[match[2] or "s"]
    if seconds > LONGEST_S:
        raise argparse.ArgumentTypeError(f"must be at most {LONGEST_S:,} s, not '{text}'")
    return seconds
