"""The options of races: how those of an experiment, a variant and a level are joined, and their form on the
command line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Protocol

from pacenote.model.experiment import Options

RESERVED = {
    "race-id": "each race has its own",
    "seed": "give the seed of the experiment: each block has its own",
    "dry-run": "`pacenote experiment run --dry-run` shows the plan",
    "quiet": "the experiment shows the progress of its races",
    "debug": "run the race by hand to debug it",
    "configuration-name": "the races read rally.ini",
    "report": "`pacenote report RACE` prints the report of one race",
    "report-format": "`pacenote report RACE` prints the report of one race",
    "report-file": "`pacenote report RACE` prints the report of one race",
    "report-numbers-align": "`pacenote report RACE` prints the report of one race",
    "show-in-report": "`pacenote report RACE` prints the report of one race",
    "threshold": "`pacenote experiment --require` judges the experiment",
    "show-processing-time": "`pacenote report RACE` prints the report of one race",
}
"""Options of a race that an experiment sets itself, or that change only output, with what to do instead."""

REPEATED = ("jvm", "set", "env")
"""Options that are given several times instead of with a list of values."""

NAMED_ITEMS = ("set", "env")
"""Those whose items are `NAME=VALUE`, of which a later one replaces an earlier one of the same name."""


class OptionCheck(Protocol):
    """Checks options of a race as `pacenote race` would; the command line supplies it."""

    def problem(self, name: str, value: object) -> str | None:
        """Returns what is wrong with one option, or None."""

    def conflict(self, options: Options) -> str | None:
        """Returns why these options cannot be given together, or None."""

    def needs_new_engine(self, name: str, value: object) -> bool:
        """Returns whether an option has no effect on an engine that runs already."""


class GivenOptionCheck(OptionCheck, Protocol):
    """Checks options that the command line gives, and reads them."""

    def table(self, name: str, text: str) -> Mapping[str, object] | None:
        """Returns the parameters that the text of an option names, or None if it does not name any. Raises
        UsageError.
        """


def joined(*layers: Options) -> dict[str, object]:
    """Joins options: later ones replace earlier ones, but tables are merged and lists are continued."""
    options: dict[str, object] = {}
    for layer in layers:
        for name, setting in layer.items():
            before = options.get(name)
            value = [setting] if name in REPEATED and isinstance(setting, str) else setting
            if isinstance(before, Mapping) and isinstance(value, Mapping):
                options[name] = {**before, **value}
            elif isinstance(before, list | tuple) and isinstance(value, list | tuple):
                options[name] = [*before, *value]
            else:
                options[name] = value
    return options


def arguments(options: Options) -> list[str]:
    """Returns the options as arguments of `pacenote race`."""
    return [text for name, value in options.items() for text in arguments_of(name, value)]


def arguments_of(name: str, value: object) -> Iterator[str]:
    """Yields the arguments for one option: several if it is repeated."""
    if isinstance(value, bool):
        yield f"--{name}" if value else f"--no-{name}"
    elif isinstance(value, list | tuple) and name in REPEATED:
        yield from (f"--{name}={item}" for item in value)
    elif isinstance(value, list | tuple):
        yield f"--{name}={','.join(map(str, value))}"
    elif isinstance(value, Mapping):
        yield f"--{name}={json.dumps(dict(value), ensure_ascii=False)}"
    else:
        yield f"--{name}={value}"
