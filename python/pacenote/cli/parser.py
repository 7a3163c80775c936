"""Argument parsing with one-line errors that name the option and the next step."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, NoReturn, get_args

from pacenote.cli.console import Console
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.errors import UsageError

Group = Literal["search", "track", "cluster", "nodes", "load", "report", "telemetry", "advanced"]
"""The groups of options, in the order of the help."""

_HELP_COLUMN = 34
"""The column at which the descriptions of options begin."""

_TRACK_PARAMETERS = frozenset({
    *("bulk_indexing_clients", "bulk_size", "clients", "ingest_percentage", "iterations", "search_clients"),
    *("number_of_replicas", "number_of_shards", "target_throughput", "time_period", "warmup_iterations"),
    *("corpus_file", "warmup_time_period"),
})
"""Typical parameters of tracks. They are not options of any command."""

_OTHER_DASHES = "–—"
"""Dashes that word processors put in place of two hyphens."""

_SURROGATE = re.compile("[\ud800-\udfff]")
"""What Python makes of bytes on the command line that are not UTF-8."""

_TRACK_NAME = re.compile(r"\w[\w/.-]*")


class GivenOption(NamedTuple):
    """An option that the command line or a configuration file has. A dataclass would delay `--help`."""

    name: str
    """Its name without dashes; that of a flag also for `--no-name`."""

    dest: str
    """The attribute of the parsed options that has its value."""

    texts: tuple[str, ...]
    """Its value before it was parsed; empty for a flag."""

    is_configured: bool = False
    """Whether it is from a configuration file."""


class Parser(argparse.ArgumentParser):
    """The parser of one command.

    `unavailable` are options that Rally has and Pacenote does not. Their error message differs from that for
    a misspelled option, and a value that asks for what happens anyway is accepted.
    """

    def __init__(
        self, command: str, description: str, console: Console, unavailable: Mapping[str, UnavailableOption]
    ) -> None:
        super().__init__(
            prog=f"pacenote {command}",
            description=description,
            add_help=False,
            allow_abbrev=False,
            formatter_class=_Help,
        )
        self._console = console
        self._groups: dict[str, argparse._ArgumentGroup] = {}
        self._open_group: argparse._ArgumentGroup | None = None
        self._given: dict[str, GivenOption] = {}
        self._harmless: set[str] = set()
        for name, option in unavailable.items():
            self.add_argument(name, action=_Unavailable, option=option)
        with self.group("advanced"):
            self.add_argument(
                *("-h", "--help"), action="help", default=argparse.SUPPRESS, help="show this help"
            )

    @contextlib.contextmanager
    def group(self, title: Group) -> Generator[None, None, None]:
        """Shows the options that are added in the block in this group of the help."""
        outer = self._open_group
        if title not in self._groups:
            self._groups[title] = self.add_argument_group(title)
        self._open_group = self._groups[title]
        try:
            yield
        finally:
            self._open_group = outer

    def add_argument(self, *names: str, harmless: bool = False, **settings: Any) -> argparse.Action:
        """Adds an option to the open group, if there is one.

        A `harmless` one is used from a `pacenote.toml` that is not trusted: its values name no program, code,
        address, or path that is read or written, and select nothing that is changed or removed.
        """
        add = super().add_argument if self._open_group is None else self._open_group.add_argument
        action = add(*names, **settings)
        if harmless:
            self._harmless.update(names)
        return action

    def add_flag(
        self,
        name: str,
        help: str,  # noqa: A002  # argparse's name
        *,
        default: bool = False,
        harmless: bool = False,
    ) -> None:
        """Adds `--name`, and `--no-name`, which overrides the configuration."""
        self.add_argument(name, action=_Flag, help=help, default=default, harmless=harmless)

    def hide(self, name: str) -> None:
        """Leaves an option that the command refuses out of its help."""
        self._option_string_actions[name].help = argparse.SUPPRESS

    def expanded(self, arguments: Sequence[str]) -> list[str]:
        """Returns the arguments after the command with the full names of abbreviated options.

        Raises UsageError for unknown options and ambiguous abbreviations.
        """
        full: list[str] = []
        for position, argument in enumerate(arguments):
            if argument == "--":
                return [*full, *arguments[position:]]
            name, equals, value = argument.partition("=")
            if name.startswith("--"):
                full.append(f"{self._full_name(name)}{equals}{value}")
            elif self._is_dashed_value(argument, full[-1:]):
                # argparse would take it for an option.
                full[-1] += f"={argument}"
            else:
                full.append(argument)
        return full

    def _is_dashed_value(self, argument: str, before: Sequence[str]) -> bool:
        """Returns whether an argument such as `-Xss1m` is the value of the option before it."""
        option = self._option_string_actions.get(before[0]) if before else None
        is_option = argument in self._option_string_actions
        return option is not None and option.nargs is None and argument.startswith("-") and not is_option

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parses the arguments after the command. Raises UsageError, and SystemExit(0) after `--help`."""
        options, others = self.parse_known_args(self.expanded(arguments))
        if others:
            # Few command lines are wrong.
            from pacenote.model.secrets import redact_before_at

            text = redact_before_at(f"unrecognized arguments: {' '.join(others)}")
            raise UsageError(text, hint=self._instead_of_argument(others[0], options))
        options.given = dict(self._given)
        return options

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Returns the value of an option's arguments, or of an argument; called by argparse."""
        if action.option_strings and action.default is not argparse.SUPPRESS:
            self._note(action, arg_strings)
            if arg_strings == ["--"] and action.nargs in (None, "?"):
                # Before Python 3.13, argparse takes the value of `--name=--` for the end of the options.
                value = self._get_value(action, "--")
                self._check_value(action, value)
                return value
        return super()._get_values(action, arg_strings)

    def _note(self, action: argparse.Action, texts: Sequence[str], *, is_configured: bool = False) -> None:
        """Notes that an option was given."""
        name = next((name for name in action.option_strings if name.startswith("--")), "")
        given = GivenOption(name.removeprefix("--"), action.dest, tuple(texts), is_configured)
        self._given[given.name] = given

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Returns the value of an argument; called by argparse."""
        try:
            check_characters(action, arg_string)
            return super()._get_value(action, arg_string)
        except (OverflowError, RecursionError, argparse.ArgumentTypeError) as error:
            raise argparse.ArgumentError(action, str(error)) from error

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Rejects a value that is not one of the choices, with similar ones; called by argparse."""
        if action.choices is not None:
            validate_choice(str(value), action.option_strings[0], tuple(action.choices))

    def has_option(self, name: str) -> bool:
        """Returns whether the command has the option, or refuses it."""
        return name in self._option_string_actions

    def takes_value(self, name: str) -> bool:
        """Returns whether an option of the command takes a value."""
        return self._option_string_actions[name].nargs != 0

    def needs_value(self, name: str) -> bool:
        """Returns whether an option of the command cannot be given without a value."""
        return self._option_string_actions[name].nargs not in (0, "?")

    def option_names(self) -> list[str]:
        """Returns the names of all options that are not refused, without their dashes."""
        return [name.removeprefix("--") for name in self._available() if name.startswith("--")]

    def harmless_names(self) -> frozenset[str]:
        """Returns the names of the options that are used from a file which is not trusted, without their
        dashes.
        """
        return frozenset(name.removeprefix("--") for name in self._harmless)

    def configure(self, name: str, value: object, origin: str) -> bool:
        """Makes a configured value the option's default, and returns whether that changes it.

        Raises UsageError with its origin.
        """
        action = self._option_string_actions[name]
        if action.nargs == 0:
            if not isinstance(value, bool):
                raise UsageError(f"{origin} must be true or false")
            constant = action.const if isinstance(action, argparse._StoreConstAction) else True
            return self._set_default(action, constant if value else False, ())
        if isinstance(action, EachGiven):
            uses = value if isinstance(value, list) else [value]
            configured = tuple(self._configured(action, use, origin) for use in uses)
            return self._set_default(action, configured, tuple(map(_as_argument, uses)))
        if isinstance(action, _Unavailable):
            action.check(_as_argument(value), f"{origin}: {name}")
            return False
        return self._set_default(action, self._configured(action, value, origin), (_as_argument(value),))

    def _configured(self, action: argparse.Action, value: object, origin: str) -> object:
        """Returns the value of an option as if it were given on the command line. Raises UsageError with its
        origin.
        """
        text = _as_argument(value)
        if action.choices is not None and text not in action.choices:
            raise UsageError(f"{origin} must be one of {', '.join(action.choices)}, not '{text}'")
        try:
            check_characters(action, text)
            return action.type(text) if callable(action.type) else text
        except UsageError as error:
            raise UsageError(f"{origin}: {error.message}", hint=error.hint) from error
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{origin} {error}", hint=f"see `{self.prog} --help`") from error
        except (OverflowError, RecursionError, ValueError) as error:
            raise UsageError(f"{origin} cannot be '{text}'", hint=f"see `{self.prog} --help`") from error

    def _set_default(self, action: argparse.Action, value: object, texts: Sequence[str]) -> bool:
        changes: bool = self.get_default(action.dest) != value
        self.set_defaults(**{action.dest: value})
        if changes:
            self._note(action, texts, is_configured=True)
        return changes

    def error(self, message: str) -> NoReturn:
        """Raises UsageError instead of printing the usage, without passwords in arguments."""
        # Few command lines are wrong.
        from pacenote.model.secrets import redact_before_at

        text = message.removeprefix("argument ")
        name, _, problem = text.partition(": ")
        needs_value = name.startswith("--") and problem == "expected one argument"
        form = f"write {name}=VALUE; after a space, VALUE cannot begin with -"
        raise UsageError(redact_before_at(text), hint=form if needs_value else f"see `{self.prog} --help`")

    def format_help(self) -> str:
        """Returns the help, with the options in groups."""
        self.usage = " ".join((self.prog, *self._required(), "[options]"))
        titles = get_args(Group)
        self._action_groups.sort(key=lambda group: titles.index(group.title) if group.title in titles else -1)
        return super().format_help()

    def print_help(self, file: object = None) -> None:  # noqa: ARG002  # argparse passes it
        """Prints the help as a result."""
        self._console.result(self.format_help())

    def _required(self) -> list[str]:
        """Returns the arguments that must be given, as the usage shows them."""
        required = (action for action in self._actions if action.required)
        return [
            _invocation(action) if action.option_strings else str(action.metavar or action.dest)
            for action in required
        ]

    def _available(self) -> dict[str, argparse.Action]:
        """Returns the options that are not refused, by name."""
        actions = self._option_string_actions
        return {name: action for name, action in actions.items() if not isinstance(action, _Unavailable)}

    def _full_name(self, name: str) -> str:
        known = self._option_string_actions
        if name in known:
            return name
        matches = [option for option in known if option.startswith(name)]
        if len({id(known[option]) for option in matches}) == 1:
            return matches[0]
        if matches:
            raise UsageError(f"{name} is ambiguous: it may be {' or '.join(matches)}")
        raise UsageError(f"`{self.prog}` has no option {name}", hint=self._instead_of(name))

    def _instead_of(self, name: str) -> str:
        parameter = name.removeprefix("--").replace("-", "_")
        if parameter in _TRACK_PARAMETERS and self.has_option("--track-params"):
            return f"a parameter of a track is given as --track-params={parameter}:VALUE"
        return similar(name, self._available()) or f"see `{self.prog} --help`"

    def _instead_of_argument(self, argument: str, options: argparse.Namespace) -> str:
        if argument[:1] in _OTHER_DASHES:
            name = argument.lstrip(f"-{_OTHER_DASHES}").partition("=")[0]
            return f"an option begins with two hyphens, not with a dash: --{name}"
        if _TRACK_NAME.fullmatch(argument) and getattr(options, "track", "") is None:
            return f"a track is given as --track={argument}"
        return f"see `{self.prog} --help`"


def _as_argument(value: object) -> str:
    """Returns a configured value as it is written on the command line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class _Help(argparse.HelpFormatter):
    """argparse's help, which shows an option under one name, and of a flag only `--name`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_HELP_COLUMN)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return _invocation(action) if action.option_strings else super()._format_action_invocation(action)


def _invocation(action: argparse.Action) -> str:
    """Returns how an option is given: `--name`, or `--name VALUE`."""
    name = next((name for name in action.option_strings if name.startswith("--")), action.option_strings[0])
    value = action.metavar or action.dest.rpartition("_")[2].upper()
    return name if action.nargs == 0 else f"{name} {value}"


class _Flag(argparse.Action):
    """The action of `--name` and `--no-name`."""

    def __init__(
        self,
        option_strings: Sequence[str],
        dest: str,
        help: str | None = None,  # noqa: A002
        *,
        default: bool = False,
    ) -> None:
        (name,) = option_strings
        super().__init__((name, f"--no-{name.removeprefix('--')}"), dest, nargs=0, default=default, help=help)

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002  # argparse passes all four
        namespace: argparse.Namespace,
        values: object,  # noqa: ARG002
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, not (option_string or "").startswith("--no-"))


class Several(argparse.Action):
    """The action of an option with a tuple of values, which add up if it is given several times. They replace
    a configured value, so that what was given is kept apart, in an attribute that no option can have.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002  # argparse passes all four
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        """Adds values to those that were given before; called by argparse."""
        given = f"{self.dest} as given"
        both = (*getattr(namespace, given, ()), *self._added(values))
        setattr(namespace, given, both)
        setattr(namespace, self.dest, both)

    def _added(self, values: Any) -> tuple[Any, ...]:
        """Returns what one use of the option adds."""
        return tuple(values)


class EachGiven(Several):
    """The action of an option with a tuple of values, one for each use of the option. They replace a
    configured value.
    """

    def _added(self, values: Any) -> tuple[Any, ...]:
        return (values,)


class _Unavailable(argparse.Action):
    """The action of an option that Pacenote does not have: an error, unless the value has no effect."""

    def __init__(self, option_strings: Sequence[str], dest: str, option: UnavailableOption) -> None:
        super().__init__(option_strings, dest, nargs="?", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        self._option = option

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002  # argparse passes all four
        namespace: argparse.Namespace,  # noqa: ARG002
        values: object,
        option_string: str | None = None,
    ) -> None:
        self.check(values, option_string or "")

    def check(self, value: object, name: str) -> None:
        """Raises UsageError unless the value has no effect; None means that no value was given."""
        if value not in self._option.accepted:
            raise UsageError(f"{name} is not available in Pacenote yet", hint=self._option.hint)


def check_characters(action: argparse.Action, text: str) -> None:
    """Raises ArgumentTypeError if a value of an option has characters that no value has: a NUL character, or,
    unless it is a path, a byte that is not UTF-8.
    """
    if "\0" in text:
        raise argparse.ArgumentTypeError("contains a NUL character, which no value has")
    if text.isascii() or not _SURROGATE.search(text) or not action.option_strings:
        return
    # Few command lines have such bytes.
    from pacenote.cli.options import values

    if action.type not in (values.path, values.paths, values.output_file, values.page_file):
        raise argparse.ArgumentTypeError("is not UTF-8 text")


def similar(name: str, known: Iterable[str]) -> str:
    """Returns `did you mean …?` with the most similar names, or an empty string if none is similar."""
    from pacenote.model.messages import similar_names

    matches = similar_names(name, known)
    return f"did you mean {' or '.join(matches)}?" if matches else ""


def validate_choice(
    value: str, option: str, known: Collection[str], unavailable: Mapping[str, str] | None = None
) -> str:
    """Returns the value of an option, or the argument of the command `option`, if it is known.

    Raises UsageError, with a different message for values that only Rally has: `unavailable` contains what to
    do instead.
    """
    if value in known:
        return value
    if unavailable and value in unavailable:
        raise UsageError(f"{option} {value} is not available in Pacenote yet", hint=unavailable[value])
    wrong = f"{option} cannot be" if option.startswith("--") else f"cannot {option}"
    raise UsageError(f"{wrong} '{value}'", hint=similar(value, known) or f"one of {', '.join(known)}")
