"""The options of `pacenote tune`: which an action has, and those that its races have."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence

from pacenote.cli import race
from pacenote.cli.commands import COMMANDS
from pacenote.cli.console import Console
from pacenote.cli.lab.resumed_plans import is_adopted
from pacenote.cli.options.configuration import EXCLUDES, read_configuration
from pacenote.cli.options.configured import ConfiguredOption
from pacenote.cli.options.credentials import separated_clients, separated_flags
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.lab.experiment.options import RESERVED, arguments
from pacenote.model.shell_command import shell_command
from pacenote.store.home import default_home

_OF_SEARCHES = (
    *("objective", "constraint", "quality", "knobs", "budget", "change-durability"),
    *("dry-run", "seed", "html", "adopt"),
)
_OF_ALL = ("report-format", "quiet")
_OF_OTHERS = (("resume", "budget"), ("resume", "adopt"), ("report", "html"))


def check_action(action: str, options: argparse.Namespace, parser: Parser) -> None:
    """Raises UsageError for options that an action does not have: a search that has begun has its own.

    `parser` is that of `pacenote tune`.
    """
    if options.target and action in ("run", "knobs", "list"):
        resume = shell_command("pacenote", "tune", "resume", options.target)
        hint = f"`{resume}` goes on with a search" if action == "run" else ""
        raise UsageError(f"`tune {action}` takes no id: {options.target}", hint=hint)
    if options.html is not None and action != "report":
        raise UsageError(
            f"--html is an option of `tune report`, not of `tune {action}`: each search has a page"
        )
    if is_adopted(options) and action == "run":
        raise UsageError("--adopt is an option of `tune resume`, not of `tune run`")
    for name, _ in given_options(parser, options.arguments) if action != "run" else ():
        if name not in _OF_ALL and (action, name) not in _OF_OTHERS:
            raise UsageError(f"--{name} is an option of a new search, not of `tune {action}`")


def race_options(options: argparse.Namespace, parser: Parser, console: Console) -> dict[str, object]:
    """Returns the options of all races: those that are given, and those that are configured for races or for
    searches, so that all of them have the same ones, and candidates add to them. `parser` is that of
    `pacenote tune`.

    Raises UsageError for an option that a search chooses itself.
    """
    given: dict[str, object] = {}
    for name, value in given_options(parser, options.arguments):
        if name in (*_OF_SEARCHES, *_OF_ALL):
            continue
        if name in RESERVED:
            raise UsageError(f"--{name} cannot be given to `pacenote tune`: {RESERVED[name]}")
        earlier = given.get(name)
        given[name] = [*earlier, value] if isinstance(earlier, list) else [value]
    last = {name: values[-1] for name, values in given.items() if isinstance(values, list)}
    configured = _configured(last, console)
    of_races = Parser("race", "", console, race.UNAVAILABLE_OPTIONS)
    race.add_options(of_races)
    kept = {name: one.value for name, one in configured.items() if of_races.has_option(f"--{name}")}
    flags = [
        text
        for name, values in given.items()
        for value in (values if isinstance(values, list) else [])
        for text in arguments({name: value})
    ]
    tables = _tables(of_races.parse([*arguments(kept), *flags]))
    values = {name: value for name, value in {**kept, **last}.items() if name not in tables}
    return {**values, **{name: value for name, value in tables.items() if value}}


def given_options(parser: Parser, given: Sequence[str]) -> list[tuple[str, object]]:
    """Returns the options that are given, without dashes, with their values; those that take none are true or
    false.
    """
    options: list[tuple[str, object]] = []
    rest = list(given)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not name.startswith("-") or not parser.has_option(name):
            continue
        if not parser.takes_value(name):
            positive = f"--{name.removeprefix('--no-')}"
            is_off = name.startswith("--no-") and parser.has_option(positive)
            options.append(((positive if is_off else name).removeprefix("--"), not is_off))
        else:
            # A word after an option that may have no value is its value, as argparse reads it.
            has_value = parser.needs_value(name) or (rest and not rest[0].startswith("-"))
            options.append((name.removeprefix("--"), value if equals else rest.pop(0) if has_value else ""))
    return options


def _configured(given: Mapping[str, object], console: Console) -> dict[str, ConfiguredOption]:
    """Returns what is configured for races, and in place of it for searches, unless an option is given that
    replaces it.
    """
    races = read_configuration("race", COMMANDS, default_home()).options
    own = read_configuration("tune", COMMANDS, default_home()).options
    own = {name: option for name, option in own.items() if option.strict}
    configured, of_own = separated_clients(races, own)
    _replace(configured, own)
    configured |= own
    configured, of_flags = separated_flags(configured, frozenset(given))
    _replace(configured, given)
    for credentials in (*of_own, *of_flags):
        console.warning(credentials.text)
    left = (*_OF_SEARCHES, *_OF_ALL, *RESERVED)
    return {name: option for name, option in configured.items() if name not in left}


def _replace(options: dict[str, ConfiguredOption], names: Collection[str]) -> None:
    """Removes options that others replace, which have these names."""
    for excluded in [*names, *(other for name in names for other in EXCLUDES.get(name, ()))]:
        options.pop(excluded, None)


def _tables(parsed: argparse.Namespace) -> dict[str, object]:
    """Returns options with several values as tables and lists: what a candidate sets is added to them, and a
    race takes only one source for each of them.
    """
    return {
        "track-params": parsed.track_params,
        "car-params": parsed.car_params,
        "plugin-params": parsed.plugin_params,
        "user-tags": parsed.user_tags,
        "set": [f"{name}={value}" for name, value in parsed.settings.items()],
        "env": [f"{name}={value}" for name, value in parsed.env.items()],
        "jvm": list(parsed.jvm),
    }
