"""Commands to copy are built in one place: what is quoted elsewhere is not safe where secrets are removed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from shape.sources import PACKAGE, parse

_QUOTES = re.compile(r"\bshlex\.(?:quote|join)\b|\bfrom shlex import (?!split$)", re.MULTILINE)

_BUILDERS = {"shell_command", "shell_words"}

_PROGRAMS = {"program()", "location.program", "NAME"}
"""Expressions that stand for the name of this program."""

_PROGRAM = "pacenote"

_IN_COMMAND = re.compile(rf"(^|[\s`(/]){_PROGRAM} ([a-z]+ ?)?[^`;\n]*$")
"""The text before a value in a command."""

_IN_OPTION = re.compile(r"[^\s-].*\s[`\"'(]?--[a-z][a-z-]*[= ][^\s`]*$", re.DOTALL)
"""The text before a value of an option that is advised: in a message that begins with the option, the value
is that of the user.
"""

_CONSTANT = re.compile(r"(\w+\.)*_?[A-Z][A-Z0-9_]*(\.name)?|format_\w+\(.*\)")

ALLOWED = {
    ("cli/import_races.py", "several"): "text after a command",
    (
        "cli/main.py",
        "pacenote_version() or '(from its sources)'",
    ): "the version of this program",
    ("cli/output/stack_files.py", "recorded"): "names of kinds of events, which are fixed",
    ("cli/parser.py", "command"): "names of commands, which are fixed",
    ("cli/parser.py", "argument"): "matches the pattern of a name",
    ("cli/parser.py", "parameter"): "one of a few names",
    ("lab/experiment/design.py", "experiment.seed"): "the seed of random numbers, which is not printed",
    ("lab/experiment/kept_engine.py", "name"): "names of commands, which are fixed",
    ("lab/saturate.py", "self._track_clients"): "a number",
    ("lab/tune/confirm.py", "plan.seed"): "the seed of random numbers, which is not printed",
    ("lab/tune/confirm.py", "again"): "the seed of random numbers, which is not printed",
    ("lab/tune/steps.py", "state.plan.seed"): "the seed of random numbers, which is not printed",
    ("lab/tune/steps.py", "block % SEEDS"): "the seed of random numbers, which is not printed",
    ("lab/tune/suggest.py", "state.plan.seed"): "the seed of random numbers, which is not printed",
    ("lab/tune/suggest.py", "first"): "the seed of random numbers, which is not printed",
    ("metrics_store/race_documents.py", "version"): "the version of this program",
    ("model/race_record.py", "version"): "the version of this program",
    ("cli/race.py", "request.pipeline"): "one of a few names",
    ("provision/resources.py", "fewer"): "text after an option",
    ("sources/build.py", "plugin"): "the name of a folder of the sources, whose commands run",
    ("report/render/thresholds_junit.py", "race_id"): "the name of a test suite, not a command",
    ("report/tune.py", "minutes"): "a number",
}
"""Other values that follow such a text, and why they may."""


def _parts(node: ast.expr) -> list[str | ast.expr]:
    """Returns the texts and values that an expression joins."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return [part for value in node.values for part in _parts(value)]
    if isinstance(node, ast.FormattedValue):
        return [_PROGRAM if ast.unparse(node.value) in _PROGRAMS else node.value]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_parts(node.left), *_parts(node.right)]
    return [node]


def _calls_builder(node: ast.AST) -> bool:
    names = (call.func for call in ast.walk(node) if isinstance(call, ast.Call))
    return any(isinstance(name, ast.Name) and name.id in _BUILDERS for name in names)


def _built_names(tree: ast.Module) -> set[str]:
    """Returns the names of functions and variables of a module with what a builder returns."""
    built = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            returned = (each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value)
            built |= {f"{node.name}()"} if any(map(_calls_builder, returned)) else set()
        elif isinstance(node, ast.Assign) and _calls_builder(node.value):
            built |= {ast.unparse(target) for target in node.targets}
    return built


def _is_built(value: ast.expr, built: set[str]) -> bool:
    if _calls_builder(value):
        return True
    called = f"{ast.unparse(value.func)}()" if isinstance(value, ast.Call) else ""
    return not built.isdisjoint({ast.unparse(value), called})


def unbuilt(tree: ast.Module) -> Iterator[str]:
    """Yields the values in commands and advised options that are not built."""
    built = _built_names(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr | ast.BinOp):
            continue
        before = ""
        for part in _parts(node):
            if isinstance(part, str):
                before += part
                continue
            in_command = _IN_COMMAND.search(before) or _IN_OPTION.search(before)
            if in_command and not _is_built(part, built) and not _CONSTANT.fullmatch(ast.unparse(part)):
                yield ast.unparse(part)
            before += "VALUE"


@pytest.mark.parametrize(
    "line",
    [
        'f"see `pacenote report {race} --full`"',
        '"removes it: pacenote delete " f"experiment --id={race}"',
        '"stop it: pacenote stop " + race',
        'f"{program()} report {race}"',
        'f"{location.program} diagnose {short(race)}"',
        'f"the race is stored: --data=restore:{race} starts with it"',
        'f"show it with --race={race}"',
    ],
)
def test_a_value_that_is_not_quoted_is_found(line: str) -> None:
    assert list(unbuilt(ast.parse(f"hint = {line}"))) != []


@pytest.mark.parametrize(
    "line",
    [
        "f\"see `{shell_command('pacenote', 'report', race)} --full`\"",
        "f\"{program()} {shell_command('report', race)}\"",
        'f"--id={race} is not the id of a race"',
        'f"`pacenote list races` shows what is here: {race}"',
        'f"pacenote list {_RACES}"',
    ],
)
def test_a_value_that_is_quoted_or_in_no_command_is_not_found(line: str) -> None:
    assert list(unbuilt(ast.parse(f"hint = {line}"))) == []


def test_only_one_module_quotes_arguments() -> None:
    using = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if _QUOTES.search(path.read_text("utf-8"))
    }
    # The second one quotes the path of this program.
    assert using == {"model/shell_command.py", "cli/program.py"}


def test_values_in_commands_are_quoted() -> None:
    values = {
        (path.relative_to(PACKAGE).as_posix(), value)
        for path in PACKAGE.rglob("*.py")
        for value in unbuilt(parse(path))
    }
    assert values == set(ALLOWED), "use shell_command of model/shell_command.py"
