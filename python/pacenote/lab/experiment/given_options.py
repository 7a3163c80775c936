"""What the command line changes in the file of an experiment: its number of blocks, directions of custom
metrics, and parameters of the track.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pacenote.errors import UsageError
from pacenote.lab.experiment.options import GivenOptionCheck
from pacenote.lab.experiment.toml_lines import KeyNames, key_lines, without_tables
from pacenote.lab.experiment.toml_values import toml_table, toml_value
from pacenote.model.decoding import parse_toml

MAX_VARIANTS = 1000
"""Largest number of variants and levels of a file. More are refused before their lines and options are read,
which takes milliseconds for each.
"""


UNCHECKED = "unchecked"
"""Key of a file that is not run, because of the options of someone else that its value lists."""


def file_document(text: str, file: str) -> dict[str, Any]:
    """Returns the contents of the file of an experiment. Raises UsageError."""
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise UsageError(f"{file} is not valid TOML: {error}") from error
    check_document(document, file)
    return document


def check_document(document: Mapping[str, Any], file: str) -> None:
    """Raises UsageError for the file of an experiment whose options are not read: those of a stored
    race that are to be checked, or too many.
    """
    if UNCHECKED in document:
        raise UsageError(
            f"{file}: the options of a stored race in it have not been checked: they name code, programs, "
            "addresses or paths",
            hint=f"if you trust them, delete its line `{UNCHECKED} = …`, which names them",
        )
    check_variant_count(document, file)


def check_variant_count(document: Mapping[str, Any], file: str) -> None:
    """Raises UsageError if the file of an experiment has too many variants and levels of factors, whatever
    else is wrong with it.
    """
    factors = document.get("factors")
    tables = [document.get("variants"), *(factors.values() if isinstance(factors, dict) else ())]
    count = sum(len(table) for table in tables if isinstance(table, dict))
    if count > MAX_VARIANTS:
        raise UsageError(f"{file}: {count:,} variants and levels are too many: at most {MAX_VARIANTS:,}")


def with_given_options(
    text: str, file: str, blocks: int | None, track_params: Mapping[str, object], check: GivenOptionCheck
) -> str:
    """Returns the file with this number of blocks, and with these parameters of the track for all races.

    Its looks are those before the last block, which is another one. Raises UsageError for a file that is not
    valid TOML.
    """
    document = file_document(text, file)
    head, removed, tables = [], [], []
    if blocks is not None:
        head.append(f"blocks = {blocks}")
        removed.append("blocks")
        looks = document.get("looks")
        if isinstance(looks, list) and all(isinstance(look, int) for look in looks):
            removed.append("looks")
            earlier = [look for look in looks if look < blocks]
            head += [f"looks = {toml_value([*earlier, blocks])}"] if earlier else []
    race = document.get("race", {})
    if track_params and isinstance(race, dict):
        params = race.get("track-params", {})
        table = check.table("track-params", params) or {} if isinstance(params, str) else params
        removed.append("race")
        tables = toml_table("race", {**race, "track-params": {**table, **track_params}})
    return "\n".join([*head, without_tables(text, removed), *tables, ""]) if removed else text


def with_given_quality(text: str, directions: Sequence[str], *, is_default: bool) -> str:
    """Returns a valid file with these directions of custom metrics. Those of the file have precedence over a
    default, and a noise experiment has none.
    """
    document = parse_toml(text)
    if is_default and ("quality" in document or document.get("design") == "noise"):
        return text
    return "\n".join([f"quality = {toml_value(directions)}", without_tables(text, ["quality"])])


def lines_of_file(text: str, changed: str) -> Mapping[KeyNames, int]:
    """Returns the lines of the keys of a file, without those that the command line has replaced."""
    before, after = parse_toml(text), parse_toml(changed)
    kept = {name for name, value in before.items() if name == "race" or value == after.get(name)}
    return {names: line for names, line in key_lines(text).items() if names[0] in kept}
