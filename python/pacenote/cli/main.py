"""The entry point: finds the command, runs it, and turns whatever goes wrong into a message and an exit code.

Exit codes: 0 fine, 2 usage, 3 the race finished but is void, 64 could not run, 130 interrupted.
Only argparse is imported before the command is known, so that the command line answers at once.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from pacenote.cli.console import Console
from pacenote.cli.parser import Parser, similar
from pacenote.errors import Interrupted, PacenoteError, UsageError

COMMANDS = {
    "race": "run a race: provision or find a cluster, put load on it, report",
    "list": "list races, tracks, cars and more",
    "info": "show a track: its data, challenges and tasks",
    "validate-track": "check a track without running it",
    "render-track": "print the JSON that a track's templates make",
    "download": "fetch an engine or the data of a track, to race later without a network",
    "create-track": "make a track from the indices or data streams of a cluster",
    "saturate": "find the highest rate at which a task meets an objective",
    "report": "print the report of a race again",
    "generate": "generate the documents of a track's corpus",
}
"""Every command with what it is for; its module has the same name and offers `LATER`, `add_options` and
`run`.
"""

_LATER = (
    *(
        "add",
        "build",
        "compare",
        "delete",
        "diagnose",
        "experiment",
        "export",
        "gc",
    ),
    *("host", "install", "jfr", "serve", "start", "stop", "trend"),
)

_DEFECT = 64


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code; never raises."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    console = Console()
    try:
        code = _guarded(arguments, console)
        return code if console.close() else code or _DEFECT
    except KeyboardInterrupt:  # While the last words were printed.
        return Interrupted.exit_code
    except BaseException:
        return _DEFECT


def _guarded(arguments: list[str], console: Console) -> int:
    try:
        return _run(arguments, console)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except BaseException as error:
        return _explain(error, console, debug="--debug" in arguments)


def _run(arguments: list[str], console: Console) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        console.result(_help())
        return 0 if arguments else UsageError.exit_code
    name, *rest = arguments
    if name == "--version":
        from pacenote.telemetry.environment import pacenote_version

        console.result(f"pacenote {pacenote_version() or '(from its sources)'}\n")
        return 0
    command = importlib.import_module(f"pacenote.cli.{_known_command(name).replace('-', '_')}")
    parser = Parser(name, COMMANDS[name], console, command.LATER)
    command.add_options(parser)
    parser.add_argument("--debug", action="store_true", help="show stack traces of errors")
    for flag in ("--quiet", "--offline"):  # Rally has them everywhere.
        if not parser.has_option(flag):
            parser.add_flag(flag, help=argparse.SUPPRESS)
    parser.add_argument("--configuration-name", help="read Rally's rally-NAME.ini in place of rally.ini")
    _configure(parser, name, rest, console)
    options = parser.parse(rest)
    console.quiet = bool(getattr(options, "quiet", False))
    code: int = command.run(options, console)
    return code


def _configure(parser: Parser, command: str, arguments: Sequence[str], console: Console) -> None:
    """Lets the configuration speak before the arguments do."""
    from pacenote.cli.configuration import apply, read_configuration
    from pacenote.store.home import default_home

    rally_name = _value_of("--configuration-name", arguments)
    configuration = read_configuration(command, COMMANDS, default_home(), rally_name)
    apply(configuration, parser, arguments)
    for text in configuration.ignored if "--debug" in arguments else ():
        console.warning(text)


def _value_of(option: str, arguments: Sequence[str]) -> str | None:
    """The value of an option that is needed before the others can be read."""
    for number, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == option:
            return value if equals else next(iter(arguments[number + 1 :]), None)
    return None


def _known_command(name: str) -> str:
    if name in COMMANDS:
        return name
    if name.startswith("-"):
        raise UsageError(f"'{name}' stands where a command is expected", hint="pacenote COMMAND [options]")
    if name in _LATER:
        raise UsageError(f"`pacenote {name}` is not available yet", hint=f"there is {', '.join(COMMANDS)}")
    raise UsageError(f"there is no command '{name}'", hint=similar(name, COMMANDS) or "see `pacenote --help`")


def _help() -> str:
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name:{width}}  {purpose}" for name, purpose in COMMANDS.items()]
    return "\n".join([
        "usage: pacenote COMMAND [options]",
        "",
        "A benchmarking lab for Elasticsearch and OpenSearch.",
        "",
        *lines,
        "",
        "`pacenote COMMAND --help` shows the options of a command, `pacenote --version` the version.",
        "",
    ])


def _explain(error: BaseException, console: Console, *, debug: bool) -> int:
    if debug:
        console.trace(error)
    if isinstance(error, KeyboardInterrupt):
        error = Interrupted("interrupted")
    if isinstance(error, PacenoteError):
        console.error(error)
        return error.exit_code
    console.error(
        PacenoteError(
            f"{type(error).__name__} in {_place(error)}: {' '.join(str(error).split()) or 'no message'}",
            hint="this is a defect of Pacenote; run again with --debug",
        )
    )
    return _DEFECT


def _place(error: BaseException) -> str:
    """File and line of our code where the error came up, without the path of the installation."""
    ours = Path(__file__).parents[1]
    place = "an unknown place"
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(ours):
            place = f"{file.relative_to(ours.parent).as_posix()}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
