"""Reads the TOML file of an experiment, and reports all its mistakes at once, each with its line.

question = "Is 1 GB of heap faster than 256 MB?"
design = "pair"
blocks = 10

[race]                                  # options of all races, without their dashes
track = "http_logs"

[variants.small]                        # the first is the baseline
car-params = {heap_size = "256m"}

[variants.large]
car-params = {heap_size = "1g"}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from pacenote.errors import UsageError
from pacenote.lab.experiment.clashes import clashes
from pacenote.lab.experiment.design import all_variants
from pacenote.lab.experiment.duet import duet_problems
from pacenote.lab.experiment.given_options import check_document
from pacenote.lab.experiment.options import RESERVED, OptionCheck, joined
from pacenote.lab.experiment.toml_lines import KeyNames, key_lines, line_of
from pacenote.model.custom_metrics import QualityDirection
from pacenote.model.decoding import parse_toml
from pacenote.model.experiment import BEST, PAIRED, DesignKind, EngineUse, Experiment, Factor, Variant
from pacenote.model.messages import did_you_mean
from pacenote.model.problems import TooManyProblems, check_count, count_text, preview
from pacenote.stats.screening import MOST_FACTORS, screening_design
from pacenote.units import LONGEST_S

MAX_RACES = 10_000
"""Largest number of races of an experiment."""

DEFAULT_BLOCKS = {"pair": 10, "ladder": 10, "matrix": 3, "sweep": 5, "screening": 3, "noise": 10, "duet": 10}
"""Number of blocks by design."""

MOST_DETECT_BLOCKS = 40
"""Number of blocks that `detect` plans at most, unless the file says another."""

FEWEST_BLOCKS = {"pair": 3, "ladder": 3, "matrix": 2, "sweep": 2, "screening": 1, "noise": 3, "duet": 3}
"""Number of blocks below which a design has no verdict."""

FEWEST_PRECISE_BLOCKS = 5
"""Number of blocks from which on an experiment ends at its precision."""

DEFAULT_LOOKS = (5, 10, 15)
"""Blocks after which an experiment with `looks = true` may end."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)")
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")

_VARYING = {"matrix": "factors", "sweep": "factors", "screening": "factors"}
"""The table with what a design varies; `variants` for the others."""

_VARYING_COUNTS = {
    "pair": (2, 100),
    "ladder": (2, 100),
    "noise": (0, 1),
    "sweep": (1, 1),
    "matrix": (1, 10),
    "duet": (2, 2),
}
"""How many of these a design has, at least and at most."""

_KEYS = (
    *("question", "design", "blocks", "looks", "precision", "detect", "smallest-effect", "primary"),
    *("quality", "seed", "budget", "cool-down", "warm-up", "engine", "race", "variants", "factors"),
)


def parse_duration(text: str) -> float | None:
    """Returns the seconds of a time such as `30s`, `10 min` or `2h` of at most `LONGEST_S`, or None for any
    other text.
    """
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else None
    return None if seconds is None or seconds > LONGEST_S else seconds


class ExperimentFileError(UsageError):
    """The file of an experiment has mistakes. `problems` lists all of them, each with its line."""

    def __init__(self, message: str, *, problems: tuple[str, ...], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


def read_experiment(
    text: str, name: str, file: str, check: OptionCheck, lines: Mapping[KeyNames, int] | None = None
) -> Experiment:
    """Returns the experiment that a file describes. `name` is that of the experiment, `lines` are those in
    messages if the command line has changed the text.

    Raises ExperimentFileError with all mistakes.
    """
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise ExperimentFileError(f"{file} is not valid TOML: {error}", problems=()) from error
    check_document(document, file)
    reader = _Reader(document, key_lines(text) if lines is None else lines, check)
    try:
        experiment = reader.read(name)
    except TooManyProblems:
        raise mistakes(file, reader.problems) from None
    if reader.problems:
        raise mistakes(file, reader.problems)
    return experiment


def mistakes(file: str, problems: Sequence[tuple[int, str]]) -> ExperimentFileError:
    """Returns the error with all mistakes of a file, of which each has a line, or 0 for the whole file."""
    lines = [f"line {line}: {problem}" if line else problem for line, problem in sorted(problems)]
    if len(lines) == 1:
        return ExperimentFileError(f"{file}: {lines[0]}", problems=())
    return ExperimentFileError(f"{file} has {count_text(lines)}", problems=tuple(lines))


class _Reader:
    """Reads one document and collects its problems."""

    def __init__(
        self, document: Mapping[str, Any], lines: Mapping[KeyNames, int], check: OptionCheck
    ) -> None:
        self._document = document
        self._lines = lines
        self._check = check
        self.problems: list[tuple[int, str]] = []

    def read(self, name: str) -> Experiment:
        """Returns the experiment. If problems were found, it must not be used."""
        for key in self._document.keys() - set(_KEYS):
            self._add((key,), f'"{key}" is not a key of an experiment{did_you_mean(key, _KEYS)}')
        design = self._choice("design", get_args(DesignKind), "pair")
        most = MOST_DETECT_BLOCKS if "detect" in self._document else DEFAULT_BLOCKS[design]
        blocks = self._whole("blocks", FEWEST_BLOCKS[design], 1000, most)
        experiment = Experiment(
            name=name,
            question=self._text("question"),
            design=cast(DesignKind, design),
            blocks=blocks,
            looks=self._looks(blocks),
            precision=self._percent("precision"),
            detect=self._percent("detect"),
            smallest_effect=self._percent("smallest-effect"),
            primary=self._texts("primary"),
            quality=self._quality(),
            seed=self._whole("seed", 0, 2**63 - 1, 0) if "seed" in self._document else None,
            budget_s=self._duration("budget"),
            cool_down_s=self._duration("cool-down") or 0.0,
            warm_up=self._whole("warm-up", 0, 20, 0),
            engine=cast(EngineUse, self._choice("engine", get_args(EngineUse), "restart")),
            race=self._options(("race",), self._table(("race",), self._document.get("race", {}))),
            variants=self._variants(),
            factors=self._factors(),
        )
        self._check_design(experiment)
        if not self.problems:
            self._check_races(experiment)
        return experiment

    def _add(self, names: KeyNames, text: str) -> None:
        check_count(self.problems)
        self.problems.append((line_of(self._lines, names), text))

    def _value(self, key: str, kinds: type | tuple[type, ...], expected: str) -> Any:
        value = self._document.get(key)
        is_wrong = not isinstance(value, kinds) or (isinstance(value, bool) and bool not in _tuple(kinds))
        if value is not None and is_wrong:
            self._add((key,), f"{key} must be {expected}, not {preview(value)}")
            return None
        return value

    def _text(self, key: str) -> str:
        return self._value(key, str, "text") or ""

    def _texts(self, key: str) -> tuple[str, ...]:
        texts = self._value(key, list, "a list of texts") or ()
        if not all(isinstance(item, str) for item in texts):
            self._add((key,), f"{key} must be a list of texts")
            return ()
        return tuple(texts)

    def _quality(self) -> tuple[QualityDirection, ...]:
        directions = []
        for text in self._texts("quality"):
            direction = QualityDirection.parse(text)
            if direction is None:
                known = '"recall=higher" or "distance:knn=lower"'
                self._add(("quality",), f'quality must be like {known}, not "{text}"')
            else:
                directions.append(direction)
        return tuple(directions)

    def _choice(self, key: str, known: tuple[str, ...], default: str) -> str:
        value = self._value(key, str, f"one of {', '.join(known)}")
        if value is None or value in known:
            return value or default
        meant = did_you_mean(value, known) or f": it must be one of {', '.join(known)}"
        self._add((key,), f'{key} cannot be "{value}"{meant}')
        return default

    def _whole(self, key: str, lowest: int, highest: int, default: int) -> int:
        expected = f"a whole number from {lowest} to {highest}"
        value = self._value(key, int, expected)
        if value is None or lowest <= value <= highest:
            return default if value is None else int(value)
        self._add((key,), f"{key} must be {expected}, not {value}")
        return default

    def _duration(self, key: str) -> float | None:
        value = self._value(key, str, 'a time such as "30s" or "2h"')
        if value is None:
            return None
        seconds = parse_duration(value)
        if seconds is None:
            self._add((key,), f'{key} must be a time such as "30s" or "2h", not "{value}"')
        return seconds

    def _percent(self, key: str) -> float | None:
        value = self._value(key, str, 'a percentage such as "2 %"')
        if value is None:
            return None
        match = _PERCENT.fullmatch(value.strip())
        if match is None or not 0.0 < float(match[1]) <= 100.0:
            self._add((key,), f'{key} must be a percentage such as "2 %", not "{value}"')
            return None
        return float(match[1]) / 100.0

    def _looks(self, blocks: int) -> tuple[int, ...]:
        value = self._value("looks", (list, bool), "true, or a list of numbers of blocks")
        if value is None or isinstance(value, bool):
            return (*tuple(look for look in DEFAULT_LOOKS if look < blocks), blocks) if value else ()
        whole = all(isinstance(look, int) and not isinstance(look, bool) for look in value)
        if not whole or list(value) != sorted(set(value)) or not value or not 3 <= value[0] <= blocks:
            self._add(("looks",), "looks must be numbers of blocks in ascending order, from 3 on")
            return ()
        if value[-1] != blocks:
            self._add(("looks",), f"the last of the looks must be blocks, {blocks}, not {value[-1]}")
        return tuple(value)

    def _table(self, names: KeyNames, value: object) -> Mapping[str, Any]:
        if isinstance(value, dict):
            return value
        self._add(names, f"{'.'.join(names)} must be a table, not {preview(value)}")
        return {}

    def _options(self, names: KeyNames, table: Mapping[str, Any]) -> Mapping[str, object]:
        for name, value in table.items():
            if name in RESERVED:
                self._add((*names, name), f"{name} cannot be given here: {RESERVED[name]}")
            elif name == "user-tags" and not isinstance(value, dict):
                self._add((*names, name), f"user-tags must be a table, not {preview(value)}")
            elif not _is_json(value):
                self._add(
                    (*names, name), f"{name} must consist of texts, numbers, true and false, not of dates"
                )
            elif problem := self._check.problem(name, value):
                self._add((*names, name), problem)
        return table

    def _variants(self) -> tuple[Variant, ...]:
        tables = self._table(("variants",), self._document.get("variants", {}))
        return tuple(self._variant(("variants", name), value) for name, value in tables.items())

    def _factors(self) -> tuple[Factor, ...]:
        tables = self._table(("factors",), self._document.get("factors", {}))
        factors = []
        for name, value in tables.items():
            names = ("factors", name)
            levels = self._table(names, value)
            variants = tuple(self._variant((*names, level), table) for level, table in levels.items())
            factors.append(Factor(name, variants, line_of(self._lines, names)))
        return tuple(factors)

    def _variant(self, names: KeyNames, value: object) -> Variant:
        if not _NAME.fullmatch(names[-1]) or names[-1] == BEST:
            self._add(
                names,
                f'"{names[-1]}" cannot be a name: use at most 40 letters, digits, ".", "_" and "-" '
                f'("{BEST}" is reserved)',
            )
        options = self._options(names, self._table(names, value))
        return Variant(names[-1], options, line_of(self._lines, names))

    def _check_design(self, experiment: Experiment) -> None:
        design = experiment.design
        varying = _VARYING.get(design, "variants")
        other = "variants" if varying == "factors" else "factors"
        if other in self._document:
            self._add((other,), f'a design "{design}" has {varying}, not {other}')
        fewest, most = _VARYING_COUNTS.get(design, (2, MOST_FACTORS))
        count = len(experiment.factors if varying == "factors" else experiment.variants)
        if not fewest <= count <= most:
            wanted = f"{fewest}" if fewest == most else f"{fewest} to {most}"
            self._add((varying,), f'a design "{design}" needs {wanted} {varying}, not {count}')
        for factor in experiment.factors:
            if len(factor.levels) < 2 or (design == "screening" and len(factor.levels) != 2):
                wanted = "exactly two levels" if design == "screening" else "at least two levels"
                self.problems.append((factor.line, f'factor "{factor.name}" needs {wanted}'))
        races = experiment.blocks * _races_per_block(experiment)
        if races > MAX_RACES:
            self._add(("blocks",), f"{races:,} races are too many: at most {MAX_RACES:,}")
        if experiment.looks and design not in PAIRED:
            self._add(("looks",), f'only a design "pair" or "duet" has looks, not "{design}"')
        if experiment.precision is not None and design not in PAIRED:
            self._add(("precision",), f'only a design "pair" or "duet" has a precision, not "{design}"')
        elif experiment.precision is not None and experiment.blocks < FEWEST_PRECISE_BLOCKS:
            self._add(("precision",), f"a precision needs at least {FEWEST_PRECISE_BLOCKS} blocks")
        if experiment.detect is not None and (design != "pair" or experiment.looks or experiment.precision):
            self._add(("detect",), 'detect plans the blocks of a design "pair" without looks and precision')
        if experiment.quality and design == "noise":
            self._add(("quality",), 'a design "noise" compares nothing, so that it has no quality')
        if design == "duet":
            self.problems += duet_problems(experiment)
        elif experiment.engine == "keep":
            self._check_kept_engine(experiment)

    def _check_kept_engine(self, experiment: Experiment) -> None:
        """Adds problems for options that an engine which runs already cannot take."""
        levels = [
            (("factors", factor.name), level) for factor in experiment.factors for level in factor.levels
        ]
        for names, variant in [(("variants",), variant) for variant in experiment.variants] + levels:
            for option, value in variant.options.items():
                if self._check.needs_new_engine(option, value):
                    self._add(
                        (*names, variant.name, option),
                        f'{option} needs an engine of its own, but engine = "keep" has one for all races',
                    )

    def _check_races(self, experiment: Experiment) -> None:
        """Adds problems of the options of each variant together."""
        self.problems += clashes(experiment)
        if "track" not in experiment.race and "track-path" not in experiment.race:
            option_names = [{*variant.options} for variant in all_variants(experiment)]
            if not all(names & {"track", "track-path"} for names in option_names):
                self._add(("race",), "the races have no track: give track or track-path in [race]")
                return
        seen: set[str] = set()
        for variant in all_variants(experiment):
            problem = self._check.conflict(joined(experiment.race, variant.options))
            if problem is not None and problem not in seen:
                seen.add(problem)
                self.problems.append((variant.line, f'"{variant.name}": {problem}'))


def _races_per_block(experiment: Experiment) -> int:
    if experiment.design == "screening":
        names = [factor.name for factor in experiment.factors[:MOST_FACTORS]]
        return len(screening_design(names).runs) if names else 0
    if experiment.design == "ladder":
        return 2 * len(experiment.variants)
    count = 1
    for factor in experiment.factors:
        count *= len(factor.levels)
    return count if experiment.factors else len(experiment.variants)


def _is_json(value: object) -> bool:
    """Returns whether a value of TOML has no dates and times, which JSON, and so the command line, lacks."""
    if isinstance(value, dict | list):
        return all(map(_is_json, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str | int | float)


def _tuple(kinds: type | tuple[type, ...]) -> tuple[type, ...]:
    return kinds if isinstance(kinds, tuple) else (kinds,)
