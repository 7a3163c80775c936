"""Adapts knobs to what is raced: the machine, the track, an existing cluster, and options that are given;
pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.lab.experiment.options import REPEATED
from pacenote.lab.tune.knob_file import heap_bytes
from pacenote.model.experiment import Options
from pacenote.model.tune import Knob

_TRACK = "track-params."
_HEAP = "car-params.heap_size"


class Surroundings(Struct, frozen=True):
    """What knobs are adapted to."""

    race: Options
    """The options of all races."""

    parameters: Mapping[str, object]
    """The parameters of the track with their defaults."""

    memory_bytes: int | None
    """The memory of the machine; None if it is not known."""

    has_engine: bool
    """Whether each race starts an engine."""

    changes_durability: bool
    """Whether knobs may be used that change the durability."""

    needs_new_engine: Callable[[str, object], bool]
    """Returns whether an option has no effect on an engine that runs already."""

    selects_collector: Callable[[str], bool]
    """Returns whether an option of the JVM selects a garbage collector."""

    is_read: Callable[[Knob], bool] = lambda _knob: True
    """Returns whether the chosen challenge reads what a knob sets."""


class FittedKnobs(Struct, frozen=True):
    """Knobs that can be used."""

    knobs: tuple[Knob, ...]
    """The knobs, with the values that can be used."""

    left_out: tuple[str, ...]
    """What is left out, each with its reason."""


def fitted(knobs: Sequence[Knob], around: Surroundings) -> FittedKnobs:
    """Returns the knobs that can be used here, and what is left out."""
    fittings: list[Knob] = []
    left_out: list[str] = []
    for knob in knobs:
        if reason := _reason(knob, around):
            left_out.append(f"{knob.name}: {reason}")
            continue
        kept = _values_that_fit(knob, around)
        if len(kept) < len(knob.values):
            gone = ", ".join(str(value) for value in knob.values if value not in kept)
            left_out.append(f"{knob.name} {gone}: more than half of the memory of this machine")
        fitting = _with_default(replace(knob, values=kept), around)
        if None not in (knob.default, fitting.default) and fitting.default != knob.default:
            left_out.append(f"{knob.name} default {knob.default}: these races have {fitting.default}")
        if len(fitting.levels) > 1:
            fittings.append(fitting)
    return FittedKnobs(tuple(fittings), tuple(left_out))


def _reason(knob: Knob, around: Surroundings) -> str:
    """Returns why a knob cannot be used; empty if it can."""
    if knob.durability and not around.changes_durability:
        return "it changes the durability (--change-durability)"
    name = knob.option.removeprefix(_TRACK)
    if knob.option.startswith(_TRACK) and name not in around.parameters:
        return f"the track has no parameter {name}"
    table, dot, _ = knob.option.partition(".")
    if dot and ":" not in table and not isinstance(around.race.get(table, {}), Mapping):
        return f"--{table} is given as text, which a table would replace"
    if _selects_collector(knob.values, around) and _selects_collector(around.race.get("jvm", ()), around):
        return "a collector is given (--jvm)"
    option, _, key = knob.option.partition(":")
    value = [f"{key}=x"] if key else knob.values[0]
    if not around.has_engine and around.needs_new_engine(option.partition(".")[0], value):
        return "the cluster runs already"
    return "" if around.is_read(knob) else "the challenge does not read it"


def _selects_collector(value: object, around: Surroundings) -> bool:
    """Returns whether one of these options of the JVM, or the only one, selects a garbage collector."""
    options = value if isinstance(value, list | tuple) else [value]
    return any(around.selects_collector(str(option)) for option in options)


def _values_that_fit(knob: Knob, around: Surroundings) -> tuple[object, ...]:
    if knob.option != _HEAP or around.memory_bytes is None:
        return knob.values
    return tuple(value for value in knob.values if (heap_bytes(value) or 0) <= around.memory_bytes / 2)


def _with_default(knob: Knob, around: Surroundings) -> Knob:
    """Returns a knob with the default that it has in these races."""
    if knob.option in around.race and knob.option not in REPEATED:
        return _defaulting_to(knob, around.race[knob.option])
    option, _, key = knob.option.partition(".")
    options = around.race.get(option)
    if isinstance(options, Mapping) and key in options:
        return _defaulting_to(knob, options[key])
    if option == _TRACK.rstrip("."):
        return _defaulting_to(knob, around.parameters.get(key))
    # A car, or an option of the same kind, may set the same.
    sets_engine = option in ("car-params", "jvm") or ":" in knob.option
    is_set = any(name in around.race for name in ("car", "team-repository", "team-path", "target-hosts"))
    # Of the options of the JVM, those of a collector that are given leave its knob out.
    is_given = knob.option.partition(":")[0] in around.race and not _selects_collector(knob.values, around)
    if sets_engine and (is_set or is_given):
        return replace(knob, default=None)
    return knob if knob.default in knob.values else replace(knob, default=None)


def _defaulting_to(knob: Knob, default: object) -> Knob:
    """Returns a knob with a default, which becomes one more value if it is a number among numbers."""
    if default is None or isinstance(default, list | Mapping):
        return replace(knob, default=None)
    for value in knob.values:
        if str(value).lower() == str(default).lower():
            return replace(knob, default=value)
    numbers = [value for value in (*knob.values, default) if isinstance(value, int | float)]
    if len(numbers) == len(knob.values) + 1 and knob.is_ordered:
        return replace(knob, values=tuple(sorted(numbers)), default=default)
    return replace(knob, values=(*knob.values, default), default=default, is_ordered=False)
