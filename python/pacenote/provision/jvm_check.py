"""Checks JVM options by running the JVM with them, before a race is prepared for an engine that cannot start.

HotSpot runs `-XX:+PrintFlagsFinal -version`, which takes about 0.1 s. OpenJ9 ignores unknown options that
begin with `-XX:` unless it is told to refuse them.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import islice
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError, PacenoteError, UsageError
from pacenote.model.printable import single_line
from pacenote.provision.java import JavaRuntime
from pacenote.provision.jvm_run import run_jvm
from pacenote.system.child_process import ProcessUser

_TIMEOUT_S = 20

_MAX_READ = 512 << 10
"""Characters of the output of a JVM that are read: it prints about 100,000, with all its flags."""
_MAX_LINE = 1000
"""Characters of a line that are read: the time for some patterns grows with their square."""
_MAX_WARNINGS = 20
_MAX_FLAGS = 3000
"""Flags that are read: a JVM has about a thousand."""

_NOT_CHECKED = (
    *("-D", "-agentlib:", "-agentpath:", "-javaagent:", "-Xrun", "-XX:StartFlightRecording"),
    *("-Xloggc:", "-Xverbosegclog:", "-XX:LogFile=", "-XX:DumpLoadedClassList=", "-Xshare:dump"),
    *("-XX:ArchiveClassesAtExit", "-XX:+AutoCreateSharedArchive", "-XX:AOTMode=", "-XX:AOTCacheOutput"),
    *("-XX:OnError", "-XX:OnOutOfMemoryError"),
)
"""Options that the JVM accepts in any form, or with which it would write files, open ports or wait."""

_LOG_FILE = re.compile(r'(-Xlog:[^:]*:)(?!stdout\b|stderr\b|:|$)(?:"[^"]*"|(?:file=)?(?:"[^"]*"|[^:"]*))')

_HOTSPOT_END = (
    # Without touching the memory of the heap, without files outside the temporary folder.
    *("-XX:-AlwaysPreTouch", "-Xms16m", "-XX:-UsePerfData", "-XX:ErrorFile=hs_err.log"),
    *("-XX:+PrintFlagsFinal", "-version"),
)
_OPENJ9_END = ("-XX:-IgnoreUnrecognizedXXColonOptions", "-version")
_ONLY_OPENJ9 = ("-Xgc:", "-Xgcpolicy", "-Xscmx", "-Xshareclasses", "-Xtune:", "-Xverbosegclog")
"""Beginnings of options that HotSpot does not have."""

_ALL_FLAGS = (
    *("-XX:+UnlockExperimentalVMOptions", "-XX:+UnlockDiagnosticVMOptions"),
    *("-XX:-UsePerfData", "-XX:+PrintFlagsFinal", "-version"),
)

# Patterns for lines of output, which may be that of any program.
_FLAG = re.compile(r"\s*(\w{1,80})\s+(\w{1,80})\s*:?=.*?\{([^{}]*)\}")
# Sizes of generations are compared with the small initial heap of the check.
_WARNING = re.compile(r"\bVM warning: (?!Sharing is only|\w*NewSize )(.*)")

_UNKNOWN = re.compile(
    r"Unrecognized VM option '([^']*)'|Unrecognized option: (\S+)|JVMJ9VM007[EW] [^:]{0,200}: *(\S+)"
)
_LOCKED = re.compile(r"VM option '([^']*)' is (\w+) and must be enabled via (-XX:\+\w+)")
_INVALID = re.compile(
    r"(?:Improperly specified|Missing \+/- setting for|Unexpected \+/- setting in) VM option '([^']*)'"
)
_CONFLICT = re.compile(r"Multiple garbage collectors selected|Conflicting collector combinations")
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC$")
_NO_ROOM = re.compile(
    r"Could not reserve|Invalid maximum heap|insufficient memory|Cannot allocate memory|"
    r"JVMJ9GC\w{1,9} .{0,200}heap"
)
_NOT_A_CAUSE = re.compile(
    r"Error: Could not create the Java|Error: A fatal exception|Error occurred during init|\[Global flags\]"
)


class JvmFlag(Struct, frozen=True):
    """A flag that a HotSpot JVM has."""

    name: str
    """Its name, such as `UseZGC`."""
    type: str
    """Its type, such as `bool` or `size_t`."""
    kind: str
    """Kinds of the flag, such as `product` or `C2 experimental`."""

    @property
    def option(self) -> str:
        """The flag as an option, without the value of those that have one."""
        text = f"-XX:+{self.name}" if self.type == "bool" else f"-XX:{self.name}="
        for kind in ("experimental", "diagnostic"):
            if kind in self.kind:
                return f"{text} after -XX:+Unlock{kind.capitalize()}VMOptions"
        return text


class _Answer(Struct, frozen=True):
    """What a JVM printed."""

    exit_code: int
    text: str


class _Jvm(Struct, frozen=True):
    """A JVM that is asked, and the user that it runs as."""

    java: JavaRuntime
    user: ProcessUser | None

    def run(self, arguments: tuple[str, ...]) -> _Answer:
        """Runs it to its end. Raises EngineError if it cannot be run."""
        return _run(self.java.binary, arguments, self.user)

    def flags(self) -> dict[str, JvmFlag]:
        """Returns all flags of HotSpot; empty if it does not print them."""
        try:
            return parse_jvm_flags(self.run(_ALL_FLAGS).text)
        except EngineError:
            return {}


def check_jvm_options(java: JavaRuntime, options: Sequence[str], user: ProcessUser | None) -> tuple[str, ...]:
    """Returns the JVM's warnings about options that it ignores, one line each. The JVM runs as `user`, or as
    the current one.

    Raises UsageError for an option that the JVM refuses, with its name, and EngineError if the JVM does not
    run or does not fit into the memory. The answer is remembered, so that checking again costs nothing.
    """
    checked = tuple(_LOG_FILE.sub(r"\1file=check.log", option) for option in options if _is_checked(option))
    last = _OPENJ9_END if java.is_openj9 else _HOTSPOT_END
    jvm = _Jvm(java, user)
    answer = jvm.run((*checked, *last))
    if answer.exit_code == 0:
        warnings = (match[1] for line in _lines(answer.text) if (match := _WARNING.search(line)))
        return tuple(islice(dict.fromkeys(map(single_line, warnings)), _MAX_WARNINGS))
    raise _refusal(jvm, options, answer.text)


def parse_jvm_flags(text: str) -> dict[str, JvmFlag]:
    """Returns the flags in the output of `-XX:+PrintFlagsFinal` by name."""
    matches = islice(filter(None, map(_FLAG.match, _lines(text))), _MAX_FLAGS)
    return {match[2]: JvmFlag(match[2], match[1], match[3]) for match in matches}


def _lines(text: str) -> list[str]:
    """Returns the lines of what a JVM printed, as far as they are read."""
    return [line[:_MAX_LINE] for line in text[:_MAX_READ].splitlines()]


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> re.Match[str] | None:
    """Returns the first match of a pattern in lines."""
    return next(filter(None, map(pattern.search, lines)), None)


def _is_checked(option: str) -> bool:
    return not option.startswith(_NOT_CHECKED)


@cache
def _run(binary: Path, arguments: tuple[str, ...], user: ProcessUser | None) -> _Answer:
    """Runs a JVM to its end. Raises EngineError if it cannot be run."""
    try:
        output = run_jvm(binary, arguments, user, _TIMEOUT_S)
    except EngineError as error:
        failure = error.__cause__
        # Without a file, it is the change of the user that fails.
        if not isinstance(failure, OSError) or failure.filename is None:
            raise
        raise _not_run(binary, failure) from failure
    except OSError as failure:
        raise _not_run(binary, failure) from failure
    # Options may make it wait, for example for a debugger; the start of the engine has its own limit.
    return _Answer(0, "") if output.exit_code is None else _Answer(output.exit_code, output.text)


def _not_run(binary: Path, failure: OSError) -> EngineError:
    return EngineError(
        f"{binary} cannot be run: {_reason(failure)}", hint="select another Java with --runtime-jdk"
    )


def _reason(failure: OSError) -> str:
    if failure.errno == errno.ENOEXEC:
        return "it is not a program for this processor"
    if failure.errno == errno.ENOENT:
        return "it, or the loader that it needs, does not exist"
    return failure.strerror or str(failure)


def _refusal(jvm: _Jvm, options: Sequence[str], text: str) -> PacenoteError:
    """Returns the error for options that a JVM refuses, from what it printed."""
    java = jvm.java
    lines = _lines(text)
    if unknown := _first(_UNKNOWN, lines):
        option = _as_given(next(filter(None, unknown.groups())), options)
        return UsageError(
            f"{java.title} does not know the JVM option {option}", hint=_unknown_hint(jvm, option)
        )
    if locked := _first(_LOCKED, lines):
        option, unlock = _as_given(locked[1], options), locked[3]
        return UsageError(
            f"the JVM option {option} is {locked[2]} in {java.title}", hint=f"add {unlock} before it"
        )
    if invalid := _first(_INVALID, lines):
        return UsageError(
            f"{java.title} does not accept the JVM option {_as_given(invalid[1], options)}",
            hint=_value_hint(jvm, invalid[1]),
        )
    if _first(_CONFLICT, lines):
        collectors = dict.fromkeys(option for option in options if _COLLECTOR.match(option))
        return UsageError(
            f"JVM options that exclude each other: {' and '.join(collectors)}",
            hint="select one garbage collector",
        )
    cause = _cause(lines)
    if _first(_NO_ROOM, lines):
        return EngineError(f"{java.title} cannot start with this heap: {cause}", hint="choose a smaller heap")
    plain = jvm.run(("-version",))
    if plain.exit_code != 0:
        hint = "select another Java with --runtime-jdk"
        return EngineError(f"{java.title} does not run: {_cause(_lines(plain.text))}", hint=hint)
    return UsageError(f"{java.title} refuses the JVM options: {cause}", hint="correct or remove them")


def _cause(lines: Iterable[str]) -> str:
    """Returns up to two lines in which a JVM states why it does not start."""
    stripped = (line.strip("# ") for line in lines if "VM warning: " not in line)
    causes = (line for line in stripped if line and not _NOT_A_CAUSE.search(line) and not _FLAG.match(line))
    return "; ".join(map(single_line, islice(causes, 2))) or "it prints no reason"


def _as_given(name: str, options: Iterable[str]) -> str:
    """Returns an option as it was given; the JVM names it without its prefix."""
    forms = (name, f"-XX:+{name}", f"-XX:-{name}", f"-XX:{name}")
    exact = next((option for option in options if option in forms), None)
    return exact or next((option for option in options if option.startswith(f"-XX:{name}=")), name)


def _unknown_hint(jvm: _Jvm, option: str) -> str:
    remove = "remove it from --jvm or additional_java_settings"
    if jvm.java.is_openj9:
        return f"{remove}; options of HotSpot have other names in OpenJ9, such as -Xgcpolicy:gencon"
    if option.startswith(_ONLY_OPENJ9):
        return "it is an option of OpenJ9: remove it, or select the folder of an OpenJ9 with --runtime-jdk"
    name = re.match(r"-XX:[+-]?(\w{1,80})", option)
    close = _close_flags(jvm, name[1]) if name else ()
    return f"did you mean {' or '.join(flag.option for flag in close)}?" if close else remove


def _close_flags(jvm: _Jvm, name: str) -> tuple[JvmFlag, ...]:
    flags = jvm.flags()
    by_lower = {flag_name.lower(): flag for flag_name, flag in flags.items()}
    return tuple(by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=2, cutoff=0.75))


def _value_hint(jvm: _Jvm, argument: str) -> str:
    flag = jvm.flags().get(re.sub(r"^[+-]|=.*", "", argument))
    if flag is None:
        return "correct its value"
    if flag.type == "bool":
        return f"write -XX:+{flag.name} or -XX:-{flag.name}"
    return "give a number such as 512 or 512m" if "int" in flag.type else f"its value is of type {flag.type}"
