"""The entry point: finds the command, runs it, and turns errors into a message and an exit code.

Exit codes: 0 success, 2 usage error, 3 the race finished but is void, or a gate failed, 64 could not run, 130
interrupted. Until the command is known only argparse is imported, so that the command line starts
quickly.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from pacenote.cli.commands import COMMANDS, command_module, command_parser
from pacenote.cli.console import Console
from pacenote.cli.options.command_trust import trusted_for_command
from pacenote.cli.options.secrets import hide_option_secrets
from pacenote.cli.options.words import warn_of_words
from pacenote.cli.parser import Parser, similar
from pacenote.cli.reading_limit import reading_limit
from pacenote.errors import Interrupted, PacenoteError, UsageError

_DEFECT_EXIT_CODE = 64

_ENVIRONMENT_ERRORS = frozenset({
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENAMETOOLONG, errno.ELOOP),
})
"""Errors of the operating system that are not bugs: permissions, limits and disks."""

_NO_THREAD = "can't start new thread"
"""What Python says if the system does not start a thread."""

_NO_ROOM_FOR_LIBRARY = "failed to map segment from shared object"
"""What the dynamic linker says if the memory is not sufficient for a library."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code; never raises.

    Without `arguments`, it runs those of the process, which then belongs to the command: it may fork.
    """
    owns_process = arguments is None
    console: Console | None = None
    try:
        if owns_process:
            _protect_new_files()
        console = Console()
        arguments = list(sys.argv[1:] if arguments is None else arguments)
        code = _run_guarded(arguments, console, owns_process=owns_process)
        code = code if console.close() else code or _DEFECT_EXIT_CODE
    except KeyboardInterrupt:  # While the last output was written.
        code = Interrupted.exit_code
    except BaseException:
        code = _DEFECT_EXIT_CODE
    if owns_process:
        try:
            _ignore_signals()
            _leave_threads(code, console)
        except BaseException:  # A signal, or there is no memory left.
            os._exit(code)
    return code


def _protect_new_files() -> None:
    """Keeps users outside of the group from writing to what the command creates, also with a umask of 0: what
    is in the home folder is run.
    """
    os.umask(os.umask(stat.S_IRWXO | stat.S_IRWXG) | stat.S_IWOTH)


def _ignore_signals() -> None:
    """Ignores the signals that would stop a command: its exit code is known."""
    # Imported here because it would delay all commands.
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _leave_threads(code: int, console: Console | None) -> None:
    """Ends the process if a track's Python code left threads or coroutines running, for which the interpreter
    would wait, or after Ctrl-C: if it interrupted `exec`, the interpreter would end with a signal instead.
    """
    left = [thread for thread in threading.enumerate() if not thread.daemon]
    left.remove(threading.current_thread())
    if left and console is not None:
        names = ", ".join(f"'{thread.name}'" for thread in left)
        console.warning(f"the track's Python code left threads running, which end now: {names}")
    # The module is only loaded if there was a race.
    drive = sys.modules.get("pacenote.race.drive")
    if left or code == Interrupted.exit_code or (drive is not None and drive.is_track_code_left()):
        os._exit(code)


def _run_guarded(arguments: list[str], console: Console, *, owns_process: bool) -> int:
    try:
        return _run(arguments, console, owns_process=owns_process)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except BaseException as error:
        return _report_error(error, console, debug="--debug" in arguments)


def _run(arguments: list[str], console: Console, *, owns_process: bool) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        console.result_lines(_help())
        return 0 if arguments else UsageError.exit_code
    name, *rest = arguments
    if name == "help":
        return _run([*rest, "--help"], console, owns_process=owns_process)
    if name == "--version":
        from pacenote.version import pacenote_version

        console.result(f"pacenote {pacenote_version() or '(from its sources)'}\n")
        return 0
    # Imported here because it would delay help.
    from pacenote.cli.foreign_messages import foreign_messages

    _check_current_folder()
    command = command_module(_known_command(name))
    parser = command_parser(name, console)
    rest = parser.expanded(rest)
    with trusted_for_command(rest):
        # What follows `--` is no option.
        if not {"-h", "--help"} & set(rest[: [*rest, "--"].index("--")]):
            _claim_home()
        _configure(parser, name, rest, console)
        options = parser.parse(rest)
        options.owns_process = owns_process
        options.arguments = rest
        console.quiet = bool(getattr(options, "quiet", False))
        hide_option_secrets(options, console)
        warn_of_words(options, console)
        action = str(getattr(options, "action", ""))
        limit = reading_limit(name, action, console) if owns_process else contextlib.nullcontext()
        with limit, foreign_messages(console):
            code: int = command.run(options, console)
        return code


def _claim_home() -> None:
    """Raises StoreError if another user has made the home folder in a folder such as /tmp."""
    # Imported here because it would delay help.
    from pacenote.store.home import default_home
    from pacenote.system.own_home import claim_home

    claim_home(default_home())


def _check_current_folder() -> None:
    """Raises UsageError if the current folder was removed or cannot be entered: relative paths need it."""
    try:
        os.getcwd()  # noqa: PTH109  # pathlib is slower to fail, and raises the same
    except OSError as error:
        raise UsageError(
            f"the current folder cannot be used: {error.strerror}", hint="change to a folder that exists"
        ) from error


def _configure(parser: Parser, command: str, arguments: Sequence[str], console: Console) -> None:
    """Makes configured values the defaults of the options."""
    from pacenote.cli.options.configuration import apply_configuration, read_configuration
    from pacenote.store.home import default_home

    rally_name = _value_of("--configuration-name", arguments)
    configuration = read_configuration(command, COMMANDS, default_home(), rally_name)
    notes = apply_configuration(configuration, parser, arguments)
    # The file that it names cannot suppress the line.
    if notes.changed_by and "--quiet" not in arguments:
        console.progress(f"settings of {notes.changed_by}")
    for text in notes.warnings:
        console.warning(text)
    for text in configuration.rally.ignored if "--debug" in arguments else ():
        console.warning(text)


def _value_of(option: str, arguments: Sequence[str]) -> str | None:
    """Returns the value of an option that is needed before all options are parsed."""
    for number, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == option:
            return value if equals else next(iter(arguments[number + 1 :]), None)
    return None


def _known_command(name: str) -> str:
    if name in COMMANDS:
        return name
    if name.startswith("-"):
        raise UsageError(f"expected a command, not '{name}'", hint="pacenote COMMAND [options]")
    raise UsageError(f"unknown command '{name}'", hint=_meant_command(name) or "see `pacenote --help`")


def _meant_command(name: str) -> str:
    """Returns `did you mean …?` with similar commands, such as `list tracks` for `trakc`; empty if there is
    none.
    """
    from pacenote.cli.list import LISTS
    from pacenote.model.messages import similar_names

    best = similar_names(name, (*COMMANDS, *LISTS))[:1]
    return f"did you mean list {best[0]}?" if LISTS.keys() & best else similar(name, COMMANDS)


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
        "`pacenote help COMMAND` shows the options of a command, `pacenote --version` the version.",
        "",
    ])


def _report_error(error: BaseException, console: Console, *, debug: bool) -> int:
    if debug:
        console.trace(error)
    if isinstance(error, KeyboardInterrupt):
        error = Interrupted("interrupted")
    elif isinstance(error, MemoryError) or _NO_ROOM_FOR_LIBRARY in str(error):
        error = PacenoteError(
            "the memory is not sufficient",
            hint="free memory, or raise the limit of the process (`ulimit -v`)",
        )
    elif isinstance(error, RuntimeError) and _NO_THREAD in str(error):
        error = PacenoteError(
            "this user cannot start another thread or process",
            hint="end processes, or raise the limits of processes and memory (`ulimit -u`, `ulimit -v`)",
        )
    elif isinstance(error, OSError) and error.errno in _ENVIRONMENT_ERRORS:
        error = _environment_error(error)
    if isinstance(error, PacenoteError):
        console.error(error)
        return error.exit_code
    console.error(
        PacenoteError(
            f"{type(error).__name__} in {_location(error)}: {' '.join(str(error).split()) or 'no message'}",
            hint="this is a bug in Pacenote; run again with --debug",
        )
    )
    return _DEFECT_EXIT_CODE


def _environment_error(error: OSError) -> PacenoteError:
    where = f"{error.filename}: " if error.filename else ""
    if error.errno == errno.EMFILE:
        return PacenoteError(f"{where}{error.strerror}", hint="raise the limit of open files (`ulimit -n`)")
    return PacenoteError(
        f"{where}{error.strerror}",
        hint=f"Pacenote needs this in {_location(error)}; check permissions, limits and disks of this host",
    )


def _location(error: BaseException) -> str:
    """Returns the file and line of Pacenote's code that raised the error, relative to the installation."""
    package = Path(__file__).parents[1]
    location = "an unknown location"
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(package):
            location = f"{file.relative_to(package.parent).as_posix()}:{trace.tb_lineno}"
        trace = trace.tb_next
    return location
