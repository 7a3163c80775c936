"""Options of an experiment that would replace each other where both are meant; pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from pacenote.lab.experiment.options import NAMED_ITEMS, REPEATED
from pacenote.model.experiment import Experiment, Factor, Options, Variant

COMPOSED = ("car", "elasticsearch-plugins", "telemetry")
"""Options with several values separated by commas, which a list continues and a text replaces."""

_SAME_FORM = "write both as tables, or both as lists, because one would replace the other"


def clashes(experiment: Experiment) -> Iterator[tuple[int, str]]:
    """Yields each loss of an option, with the line of the file where the later one is."""
    levels = [level for factor in experiment.factors for level in factor.levels]
    for variant in (*experiment.variants, *levels):
        for name in _in_other_form(experiment.race, variant.options):
            yield variant.line, f'"{variant.name}": {name} has another form in [race]: {_SAME_FORM}'
    for first, second in itertools.combinations(experiment.factors, 2):
        yield from _between_factors(first, second)
    if experiment.design == "ladder":
        for earlier, later in itertools.combinations(experiment.variants, 2):
            yield from _between_steps(earlier, later, is_start=earlier is experiment.variants[0])


def _between_factors(first: Factor, second: Factor) -> Iterator[tuple[int, str]]:
    set_by_first = {name for level in first.levels for name in _set_by(level.options)}
    set_by_both = dict.fromkeys(
        name for level in second.levels for name in _set_by(level.options) if name in set_by_first
    )
    named = f'"{first.name}" and "{second.name}"'
    for name in set_by_both:
        yield (
            second.line,
            f"factors {named} both give {name}, so that one would replace the other: make them one factor "
            "whose levels are the combinations",
        )
    pairs = itertools.product(first.levels, second.levels)
    other = (
        name
        for level_of_first, level_of_second in pairs
        for name in _in_other_form(level_of_first.options, level_of_second.options)
    )
    for name in dict.fromkeys(other):
        yield second.line, f"{name} has two forms in the factors {named}: {_SAME_FORM}"


def _between_steps(earlier: Variant, later: Variant, *, is_start: bool) -> Iterator[tuple[int, str]]:
    """A step may set anew what an earlier one has set, such as the heap, unless that is an addition."""
    named = f'"{earlier.name}" and "{later.name}"'
    for name in _in_other_form(earlier.options, later.options):
        yield later.line, f"{name} has two forms in the steps {named}: {_SAME_FORM}"
    for name in COMPOSED if not is_start else ():
        if all(isinstance(step.options.get(name), str) for step in (earlier, later)):
            yield (
                later.line,
                f"steps {named} both give {name}, so that one would replace the other: write lists such as "
                f'{name} = ["…"], which are continued',
            )


def _in_other_form(before: Options, after: Options) -> Iterator[str]:
    """Yields the options that are tables or lists on one side alone, so that they cannot be joined."""
    for name in after:
        if name in before and _form(name, before[name]) != _form(name, after[name]):
            yield name


def _form(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return "table"
    return "list" if name in REPEATED or isinstance(value, list | tuple) else "value"


def _set_by(options: Options) -> Iterator[str]:
    """Yields what options set: their names, the keys of tables, and the names of repeated settings."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from (f"{name}.{key}" for key in value)
        elif name in NAMED_ITEMS:
            items: Sequence[object] = value if isinstance(value, list | tuple) else [value]
            yield from (f"{name}.{str(item).partition('=')[0].strip()}" for item in items)
        elif _form(name, value) == "value":
            yield name
