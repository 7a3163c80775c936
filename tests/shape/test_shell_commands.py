"""Commands to copy are built in one place: what is quoted elsewhere is not safe where secrets are removed."""

from __future__ import annotations

import re

from shape.sources import PACKAGE

_QUOTES = re.compile(r"\bshlex\.(?:quote|join)\b|\bfrom shlex import (?!split$)", re.MULTILINE)
_UNQUOTED = re.compile(r"\bpacenote (?:[a-z]+ )+(?:--[a-z-]+=)?\{")


def _modules(pattern: re.Pattern[str]) -> set[str]:
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if pattern.search(path.read_text("utf-8"))
    }


def test_only_one_module_quotes_arguments() -> None:
    # The second one quotes the path of this program.
    assert _modules(_QUOTES) == {"model/shell_command.py", "cli/program.py"}


def test_commands_are_not_formatted() -> None:
    # Seeds of random numbers, the name of a test suite, and an option that is missing.
    others = {"lab/experiment/design.py", "report/render/thresholds_junit.py", "cli/trend.py"}
    searches = {f"lab/tune/{name}.py" for name in ("confirm", "steps", "suggest")}
    assert _modules(_UNQUOTED) - others - searches == {"report/tune.py"}
