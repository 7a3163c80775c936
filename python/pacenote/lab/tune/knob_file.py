"""Reads the TOML file with the knobs of a search, and reports all its mistakes at once, each with its line.

[knobs.index-buffer]
option = "set:engine.indices.memory.index_buffer_size"
values = ["5%", "10%", "25%", "40%"]
ordered = true
default = "10%"
source = "..."

[knobs.bulk-size]
option = "track-params.bulk_size"
low = 500
high = 20000
log = true
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pacenote.errors import UsageError
from pacenote.lab.experiment.options import RESERVED, OptionCheck, joined
from pacenote.lab.experiment.toml_lines import KeyNames, key_lines, line_of
from pacenote.lab.tune.candidates import knob_options
from pacenote.model.decoding import parse_toml
from pacenote.model.experiment import Options
from pacenote.model.messages import did_you_mean
from pacenote.model.problems import TooManyProblems, check_count, count_text, describe_value
from pacenote.model.tune import Knob

BUNDLED = Path(__file__).with_name("knobs.toml")
"""The knobs of searches that give no file."""

MAX_KNOBS, MAX_VALUES, MAX_STEPS = 30, 20, 20
"""Largest number of knobs, of values of one, and of steps between two numbers."""

_STEPS = 5
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_KEYS = (
    *("option", "values", "ordered", "low", "high", "steps", "log", "unit", "default", "source"),
    "durability",
)
_RANGE_KEYS = ("low", "high", "steps", "log", "unit")
_DURABILITY = ("set:index.translog.durability", "set:index.translog.sync_interval")
_MEMORY = re.compile(r"(\d{1,12})([kmgt])b?", re.IGNORECASE)
_FACTORS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class KnobFileError(UsageError):
    """The file with the knobs has mistakes. `problems` lists all of them, each with its line."""

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


def read_knobs(text: str, file: str, race: Options, check: OptionCheck) -> tuple[Knob, ...]:
    """Returns the knobs that a file describes. `race` are the options of all races.

    Raises KnobFileError with all mistakes.
    """
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise KnobFileError(f"{file} is not valid TOML: {error}") from error
    reader = _Reader(key_lines(text), race, check)
    try:
        knobs = reader.read(document)
    except TooManyProblems:
        knobs = ()
    mistakes = [f"line {line}: {problem}" if line else problem for line, problem in sorted(reader.problems)]
    if len(mistakes) == 1:
        raise KnobFileError(f"{file}: {mistakes[0]}")
    if mistakes:
        raise KnobFileError(f"{file} has {count_text(mistakes)}", problems=tuple(mistakes))
    return knobs


def heap_bytes(value: object) -> int | None:
    """Returns the bytes of a size of the heap such as `512m`, or None for anything else."""
    match = _MEMORY.fullmatch(str(value).strip())
    return int(match[1]) * _FACTORS[match[2].lower()] if match else None


class _Reader:
    """Reads one document and collects its problems."""

    def __init__(self, lines: Mapping[KeyNames, int], race: Options, check: OptionCheck) -> None:
        self._lines = lines
        self._race = race
        self._check = check
        self.problems: list[tuple[int, str]] = []

    def read(self, document: Mapping[str, Any]) -> tuple[Knob, ...]:
        """Returns the knobs; check `problems` before using them."""
        for key in document.keys() - {"knobs"}:
            self._add((key,), f'"{key}" is not a key of a knob file: it has only [knobs.NAME]')
        tables = document.get("knobs", {})
        if not isinstance(tables, dict) or not tables:
            self._add(("knobs",), "the file has no knobs: give at least one [knobs.NAME]")
            return ()
        if len(tables) > MAX_KNOBS:
            self._add(("knobs",), f"{len(tables)} knobs are too many: at most {MAX_KNOBS}")
        knobs = tuple(self._knob(name, table) for name, table in tables.items())
        seen: dict[str, str] = {}
        for knob in knobs if not self.problems else ():
            if knob.option in seen and knob.option != "jvm":
                self._add(("knobs", knob.name), f'"{knob.name}" sets the same as "{seen[knob.option]}"')
            seen.setdefault(knob.option, knob.name)
        return knobs

    def _add(self, names: KeyNames, text: str) -> None:
        check_count(self.problems)
        self.problems.append((line_of(self._lines, names), text))

    def _knob(self, name: str, table: object) -> Knob:
        names = ("knobs", name)
        if not _NAME.fullmatch(name):
            self._add(names, f'"{name}" cannot be a name: use at most 40 letters, digits, ".", "_" and "-"')
        if not isinstance(table, dict):
            self._add(names, f"knobs.{name} must be a table, not {describe_value(table)}")
            return Knob(name, "", ())
        for key in table.keys() - set(_KEYS):
            self._add((*names, key), f'"{key}" is not a key of a knob{did_you_mean(key, _KEYS)}')
        option = self._typed(names, table, "option", str, "")
        is_range = "low" in table or "high" in table
        values = self._range(names, table) if is_range else self._values(names, table)
        default = table.get("default")
        if default is not None and values and default not in values:
            self._add((*names, "default"), f"default must be one of {_listed(values)}, not {default}")
        knob = Knob(
            name=name,
            option=option,
            values=values,
            default=default,
            is_ordered=is_range or self._typed(names, table, "ordered", bool, False),
            source=self._typed(names, table, "source", str, ""),
            durability=self._typed(names, table, "durability", bool, False) or option in _DURABILITY,
            line=line_of(self._lines, names),
        )
        if not option:
            self._add(names, f'knob "{name}" has no option, such as option = "car-params.heap_size"')
        elif values:
            self._check_option(names, knob)
        return knob

    def _typed(self, names: KeyNames, table: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
        value = table.get(key, default)
        if isinstance(value, kind):
            return value
        expected = {str: "text", bool: "true or false"}[kind]
        self._add((*names, key), f"{key} must be {expected}, not {describe_value(value)}")
        return default

    def _values(self, names: KeyNames, table: Mapping[str, Any]) -> tuple[object, ...]:
        for key in _RANGE_KEYS:
            if key in table:
                self._add((*names, key), f"{key} needs low and high")
        values = table.get("values")
        if not isinstance(values, list) or not values:
            self._add((*names, "values"), f'knob "{names[-1]}" needs a list of values, or low and high')
            return ()
        if not all(isinstance(value, str | int | float) for value in values):
            self._add((*names, "values"), "values must be texts, numbers, true or false")
            return ()
        if not all(math.isfinite(value) for value in values if isinstance(value, float)):
            self._add((*names, "values"), "values must be finite numbers, not nan or inf")
            return ()
        if len(set(map(str, values))) < len(values) or len(values) > MAX_VALUES:
            self._add((*names, "values"), f"values must be at most {MAX_VALUES}, each of them once")
        if len(values) == 1 and "default" in table:
            self._add((*names, "values"), "values has only the default: there is nothing to vary")
        return tuple(values)

    def _range(self, names: KeyNames, table: Mapping[str, Any]) -> tuple[object, ...]:
        low: Any = table.get("low")
        high: Any = table.get("high")
        steps, log, unit = table.get("steps", _STEPS), table.get("log", False), table.get("unit", "")
        problem = ""
        if "values" in table:
            problem = "give values, or low and high, not both"
        elif not (_is_number(low) and _is_number(high) and low < high):
            problem = "low and high must be two numbers, the lower one first"
        elif log is True and low <= 0:
            problem = "low must be above 0 if log = true"
        elif not isinstance(log, bool) or not isinstance(unit, str):
            problem = "log must be true or false, and unit text"
        elif not isinstance(steps, int) or isinstance(steps, bool) or not 2 <= steps <= MAX_STEPS:
            problem = f"steps must be a whole number from 2 to {MAX_STEPS}"
        if problem:
            self._add((*names, "low" if "low" in table else "high"), problem)
            return ()
        numbers = _spread(low, high, steps, log=log)
        default: Any = table.get("default")
        if _is_number(default) and not unit and low <= default <= high and default not in numbers:
            numbers = sorted([*numbers, default])
        return tuple(f"{number}{unit}" for number in numbers) if unit else tuple(numbers)

    def _check_option(self, names: KeyNames, knob: Knob) -> None:
        """Adds the first problem of a value as an option of a race."""
        for value in knob.values:
            options = knob_options(knob, value)
            (option, option_value), *_ = options.items()
            problem: str | None
            if option in RESERVED:
                problem = f"{option} cannot be a knob: {RESERVED[option]}"
            else:
                problem = self._check.problem(option, option_value) or self._check.conflict(
                    joined(self._race, options)
                )
            if problem:
                self._add((*names, "option"), f'knob "{knob.name}", value {value}: {problem}')
                return


def _is_number(value: object) -> bool:
    is_kind = isinstance(value, int | float) and not isinstance(value, bool)
    return is_kind and math.isfinite(value)  # type: ignore[arg-type]


def _spread(low: float, high: float, steps: int, *, log: bool) -> list[float]:
    """Returns numbers from low to high at the same distance, or with the same ratio."""
    shares = [step / (steps - 1) for step in range(steps)]
    numbers = [low * (high / low) ** share if log else low + (high - low) * share for share in shares]
    if isinstance(low, int) and isinstance(high, int):
        return sorted({round(number) for number in numbers})
    return [float(f"{number:.6g}") for number in numbers]


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))
