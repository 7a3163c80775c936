"""Checks the options of an experiment's races with the parser of `pacenote race`."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping
from pathlib import Path

from pacenote.cli import race
from pacenote.cli.commands import COMMANDS
from pacenote.cli.console import Console
from pacenote.cli.options.configuration import apply_configuration, read_configuration
from pacenote.cli.options.data import DATA_OPTIONS
from pacenote.cli.options.engine import ENGINE_OPTIONS
from pacenote.cli.options.secrets import hide_option_secrets
from pacenote.cli.options.sources import SELECTING_SOURCES
from pacenote.cli.parser import Parser, similar
from pacenote.errors import PacenoteError, UsageError
from pacenote.lab.experiment.options import arguments, arguments_of
from pacenote.model.experiment import Options
from pacenote.model.race_request import RaceRequest
from pacenote.store.home import default_home
from pacenote.track.params import parse_dict

_OF_AN_ENGINE = frozenset(
    name.replace("_", "-") for name in (*ENGINE_OPTIONS, *DATA_OPTIONS, *SELECTING_SOURCES, "pipeline")
)
_TABLES = ("track-params", "car-params", "plugin-params", "user-tags")
_ENGINE_SETTING = "engine."
_HERE = Path()


class RaceOptionCheck:
    """Checks options as `pacenote race` would in a folder, with the defaults of its `pacenote.toml`."""

    def __init__(self, console: Console, folder: Path = _HERE) -> None:
        """Raises UsageError for a configuration that cannot be read."""
        self._console = console
        self._folder = folder
        self._configuration = read_configuration("race", COMMANDS, default_home(), folder=folder)

    def warnings(self) -> tuple[str, ...]:
        """Returns what the races do not use of the configuration, and why. Raises UsageError for invalid
        values.
        """
        return apply_configuration(self._configuration, self._parser(), ()).warnings

    def problem(self, name: str, value: object) -> str | None:
        """Returns what is wrong with one option, or None."""
        parser = self._parser()
        if not parser.has_option(f"--{name}"):
            hint = similar(name, parser.option_names())
            return f"`pacenote race` has no option {name}{': ' if hint else ''}{hint}"
        if isinstance(value, float | int | str | bool | list | Mapping):
            return self._error(parser, list(arguments_of(name, value)))
        return f"{name} cannot be {value}: it must be text, a number, true, false, a list or a table"

    def conflict(self, options: Options) -> str | None:
        """Returns why these options cannot be given together, or None."""
        try:
            self.request(options)
        except PacenoteError as error:
            return error_text(error)
        return None

    def request(self, options: Options) -> RaceRequest:
        """Returns the race with these options. Raises PacenoteError."""
        parser, given = self._parser(), arguments(options)
        apply_configuration(self._configuration, parser, given)
        return race.build_request(self._parsed(parser, given))

    def data_root(self, options: Options) -> Path | None:
        """Returns the folder of the data files of races whose options name none, as configured; None if their
        options are not those of a race, or their folder is gone.
        """
        own = {name: value for name, value in options.items() if name != "dataset-cache"}
        try:
            with contextlib.chdir(self._folder):
                return self.request(own).data_root.absolute()
        except (PacenoteError, OSError):
            return None

    def table(self, name: str, text: str) -> Mapping[str, object] | None:
        """Returns the parameters that the text of an option names, or None if it does not name any. Raises
        UsageError.
        """
        return parse_dict(text, f"--{name}") if name in _TABLES else None

    def needs_new_engine(self, name: str, value: object) -> bool:
        """Returns whether an option has no effect on an engine that runs already."""
        if name == "set":
            texts = value if isinstance(value, list | Mapping) else [str(value)]
            return any(str(text).startswith(_ENGINE_SETTING) for text in texts)
        return name in _OF_AN_ENGINE

    def _parser(self) -> Parser:
        parser = Parser("race", "", self._console, race.UNAVAILABLE_OPTIONS)
        race.add_options(parser)
        return parser

    def _error(self, parser: Parser, given: list[str]) -> str | None:
        try:
            self._parsed(parser, given)
        except UsageError as error:
            is_flag = "ignored explicit argument" in error.message
            return f"{given[0].partition('=')[0]} must be true or false" if is_flag else error_text(error)
        return None

    def _parsed(self, parser: Parser, given: list[str]) -> argparse.Namespace:
        options = parser.parse(given)
        options.owns_process = False
        hide_option_secrets(options, self._console)
        return options


def error_text(error: PacenoteError) -> str:
    """Returns an error and its hint in one line."""
    return f"{error.message} ({error.hint})" if error.hint else error.message
