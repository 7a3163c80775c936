"""Candidates as options of races, and how their settings are called; pure."""

from __future__ import annotations

from collections.abc import Sequence

from pacenote.lab.experiment.options import joined
from pacenote.model.experiment import Options
from pacenote.model.tune import Knob


def knob_options(knob: Knob, value: object) -> Options:
    """Returns the options of a race that set a knob to a value."""
    text = str(value).lower() if isinstance(value, bool) else value
    kind, colon, name = knob.option.partition(":")
    if colon:
        return {kind: [f"{name}={text}"]}
    if knob.option == "jvm":
        return {"jvm": [str(value)]}
    option, dot, key = knob.option.partition(".")
    return {option: {key: value} if dot else value}


def settings(knobs: Sequence[Knob], levels: Sequence[int]) -> dict[str, object]:
    """Returns the values of the knobs that a candidate changes, by name."""
    values = {knob.name: knob.levels[level] for knob, level in zip(knobs, levels, strict=True)}
    return {name: value for name, value in values.items() if value is not None}


def candidate_options(knobs: Sequence[Knob], levels: Sequence[int]) -> Options:
    """Returns the options of a race that a candidate adds to those of all races."""
    changed = settings(knobs, levels)
    return joined(*(knob_options(knob, changed[knob.name]) for knob in knobs if knob.name in changed))


def default_levels(knobs: Sequence[Knob]) -> tuple[int, ...]:
    """Returns the levels of the candidate that changes nothing."""
    return tuple(knob.levels.index(None) for knob in knobs)


def combinations(knobs: Sequence[Knob]) -> int:
    """Returns the number of different candidates."""
    count = 1
    for knob in knobs:
        count *= len(knob.levels)
    return count
