"""Argument parsing with one-line errors that name the option and the next step."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NoReturn

from pacenote.cli.console import Console
from pacenote.errors import UsageError


class Parser(argparse.ArgumentParser):
    """The parser of one command.

    `unavailable` are options that Rally has and Pacenote does not, each with what to do instead (or "").
    Their error message differs from that for a misspelled option.
    """

    def __init__(
        self, command: str, description: str, console: Console, unavailable: Mapping[str, str]
    ) -> None:
        super().__init__(
            prog=f"pacenote {command}", description=description, allow_abbrev=False, formatter_class=_Help
        )
        self._console = console
        self._unavailable = unavailable

    def add_flag(self, name: str, help: str) -> None:  # noqa: A002  # argparse's name
        """Adds `--name`, which is false by default, and `--no-name`, which overrides the configuration."""
        self.add_argument(name, action=_Flag, help=help)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parses the arguments after the command. Raises UsageError, and SystemExit(0) after `--help`."""
        self._refuse_unknown(arguments)
        return self.parse_args(arguments)

    def has_option(self, name: str) -> bool:
        """Returns whether the command has the option."""
        return name in self._option_string_actions

    def option_names(self) -> list[str]:
        """Returns the names of all options, without their dashes."""
        return [name.removeprefix("--") for name in self._option_string_actions if name.startswith("--")]

    def configure(self, name: str, value: object, origin: str) -> None:
        """Makes a configured value the option's default. Raises UsageError with its origin."""
        action = self._option_string_actions[name]
        if action.nargs == 0:
            if not isinstance(value, bool):
                raise UsageError(f"{origin} must be true or false")
            self.set_defaults(**{action.dest: value})
            return
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if action.choices is not None and text not in action.choices:
            raise UsageError(f"{origin} must be one of {', '.join(action.choices)}, not '{text}'")
        try:
            typed = action.type(text) if callable(action.type) else text
        except UsageError as error:
            raise UsageError(f"{origin}: {error.message}", hint=error.hint) from error
        except ValueError as error:
            raise UsageError(f"{origin} cannot be '{text}'", hint=f"see `{self.prog} --help`") from error
        self.set_defaults(**{action.dest: typed})

    def error(self, message: str) -> NoReturn:
        """Raises UsageError instead of printing the usage, without passwords in arguments."""
        # Few command lines are wrong.
        from pacenote.model.secrets import redact_before_at

        raise UsageError(
            redact_before_at(message.removeprefix("argument ")), hint=f"see `{self.prog} --help`"
        )

    def print_help(self, file: object = None) -> None:  # noqa: ARG002  # argparse passes it
        """Prints the help as a result."""
        self._console.result(self.format_help())

    def _refuse_unknown(self, arguments: Sequence[str]) -> None:
        known = self._option_string_actions
        for argument in arguments:
            if argument == "--":
                return
            name = argument.partition("=")[0]
            if not name.startswith("--") or name in known:
                continue
            if name in self._unavailable:
                raise UsageError(f"{name} is not available in Pacenote yet", hint=self._unavailable[name])
            raise UsageError(
                f"`{self.prog}` has no option {name}",
                hint=similar(name, known) or f"see `{self.prog} --help`",
            )


class _Help(argparse.HelpFormatter):
    """argparse's help, which shows only `--name` of a flag, not `--no-name`."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if isinstance(action, _Flag):
            return action.option_strings[0]
        return super()._format_action_invocation(action)


class _Flag(argparse.Action):
    """The action of `--name` and `--no-name`."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:  # noqa: A002
        (name,) = option_strings
        super().__init__((name, f"--no-{name.removeprefix('--')}"), dest, nargs=0, default=False, help=help)

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002  # argparse passes all four
        namespace: argparse.Namespace,
        values: object,  # noqa: ARG002
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, not (option_string or "").startswith("--no-"))


def similar(name: str, known: Iterable[str]) -> str:
    """Returns `did you mean …?` with the most similar names, or an empty string if none is similar."""
    import difflib

    matches = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(matches)}?" if matches else ""


def validate_choice(
    value: str, option: str, known: Collection[str], unavailable: Collection[str] = ()
) -> str:
    """Returns the value if it is known.

    Raises UsageError, with a different message for values that only Rally has.
    """
    if value in known:
        return value
    if value in unavailable:
        raise UsageError(
            f"{option} {value} is not available in Pacenote yet", hint=f"available: {', '.join(known)}"
        )
    raise UsageError(
        f"{option} cannot be '{value}'", hint=similar(value, known) or f"one of {', '.join(known)}"
    )
