"""Variants that the command line gives in place of those of a file: `--baseline="car=1gheap"`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pacenote.errors import UsageError
from pacenote.lab.experiment.given_options import file_document
from pacenote.lab.experiment.options import REPEATED, RESERVED, GivenOptionCheck, OptionCheck
from pacenote.lab.experiment.toml_lines import without_tables
from pacenote.lab.experiment.toml_values import toml_table
from pacenote.model.experiment import PAIRED, Options

_LONGEST_NAME = 40


def with_given_variants(
    text: str, file: str, baseline: str, contenders: Sequence[str], check: GivenOptionCheck
) -> str:
    """Returns the file of a pair, with its variants and its question replaced.

    A side is one or several options of a race, such as `car=1gheap jvm=-Xss2m`, separated as in a shell.
    Raises UsageError if the file is not that of a pair, if a side has no options or a wrong one, or if sides
    are equal.
    """
    document = file_document(text, file)
    design = str(document.get("design", "pair"))
    if design not in PAIRED:
        raise UsageError(
            f"--baseline and --contender need an experiment of the design 'pair', but {file} is a '{design}'",
            hint="`pacenote experiment list recipes` shows the design of each recipe",
        )
    sides = [(option, side, _options(option, side)) for option, side in _sides(baseline, contenders)]
    for at, (option, side, options) in enumerate(sides):
        _check(option, options, check)
        if options in (others := [earlier for _, _, earlier in sides[:at]]):
            raise UsageError(
                f"{sides[others.index(options)][0]} and {option} are both {side}",
                hint="`pacenote experiment run a-a` races equal variants",
            )
    names = _names([side for _, side, _ in sides])
    question = " or ".join(side for _, side, _ in sides[1:]) + f" better than {baseline}?"
    tables = [
        line
        for name, (_, _, options) in zip(names, sides, strict=True)
        for line in toml_table(f"variants.{json.dumps(name)}", _as_tables(options, document, check))
    ]
    return "\n".join([
        f"# {file}, with the variants of the command line",
        f"question = {json.dumps(f'Is {question}', ensure_ascii=False)}",
        without_tables(text, ("variants", "question")).strip("\n"),
        *tables,
        "",
    ])


def _sides(baseline: str, contenders: Sequence[str]) -> list[tuple[str, str]]:
    if not baseline or not contenders:
        missing = "--contender" if baseline else "--baseline"
        raise UsageError(
            f"{missing} is missing: an experiment has a baseline and at least one contender",
            hint='for example --baseline="car=1gheap" --contender="car=2gheap"',
        )
    return [("--baseline", baseline), *(("--contender", contender) for contender in contenders)]


def _options(option: str, side: str) -> dict[str, str | list[str]]:
    """Returns the options of one side; those that can be repeated become lists."""
    hint = f'for example {option}="car=1gheap" or {option}="car-params=heap_size:1g set=engine.node.name=a"'
    try:
        words = shlex.split(side)
    except ValueError as error:
        raise UsageError(f"{option}: {error} in {side}", hint=hint) from error
    options: dict[str, str | list[str]] = {}
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if not name or not equals:
            raise UsageError(f"{option}: '{word}' is not an option of a race with a value", hint=hint)
        if name in options and name not in REPEATED:
            raise UsageError(f"{option}: {name} is given twice", hint=hint)
        options[name] = [*options.get(name, []), value] if name in REPEATED else value
    return options


def _check(option: str, options: Options, check: OptionCheck) -> None:
    """Raises UsageError for an option that a race does not have, or whose value is wrong."""
    for name, value in options.items():
        if name in RESERVED:
            raise UsageError(f"{option}: {name} cannot be given here: {RESERVED[name]}")
        if problem := check.problem(name, value):
            raise UsageError(f"{option}: {problem}")


def _names(sides: Sequence[str]) -> list[str]:
    """Returns the names of the variants: their values, if these differ."""
    values = [" ".join(word.partition("=")[2] for word in shlex.split(side)) for side in sides]
    names = [re.sub(r"[^A-Za-z0-9._-]+", "-", value).strip("._-")[:_LONGEST_NAME] for value in values]
    if all(names) and len({name.lower() for name in names}) == len(names):
        return names
    return [
        "baseline",
        *(f"contender-{number}" if len(sides) > 2 else "contender" for number in range(1, len(sides))),
    ]


def _as_tables(options: Options, document: Mapping[str, Any], check: GivenOptionCheck) -> Options:
    """Returns options as tables where `pacenote race` takes several parameters, unless the file has a text
    for all races, which they replace.
    """
    race = document.get("race")
    common = race if isinstance(race, dict) else {}
    tables = dict(options)
    for name, value in options.items():
        if isinstance(value, str) and not isinstance(common.get(name), str):
            table = check.table(name, value)
            tables[name] = value if table is None else table
    return tables
