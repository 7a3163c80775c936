"""Values of replies become text and numbers with `as_text`, `as_number` and `as_integer`.

`str` of a list or an object may have sixteen times the size of the reply, and so has the error of `int` and
`float` for a text that is no number.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shape.sources import PACKAGE, parse, tracked

PACKAGES = {"capture", "cluster", "metrics_store", "telemetry"}
"""Packages that read replies of servers."""

READERS = {"pacenote.net.reply", "pacenote.net.rest"}
"""Modules from which those of other packages import what reads replies."""

PATH_READER = "GetJson"
"""The type of what reads a path of an engine."""

ALLOWED = {
    "capture/readers.py": (1, "a number of `as_integer`"),
    "capture/sources.py": (2, "texts of at most six digits"),
    "metrics_store/metrics_documents.py": (2, "numbers of Pacenote"),
    "metrics_store/race_documents.py": (1, "names of Pacenote's figures"),
    "metrics_store/same_race.py": (3, "ids and times of Pacenote"),
    "metrics_store/samples.py": (1, "an error of Pacenote"),
    "metrics_store/settings.py": (2, "settings of Pacenote"),
    "metrics_store/store.py": (1, "a text or a number, as `_with_names` says"),
    "metrics_store/templates.py": (1, "a request of Pacenote"),
    "net/rest.py": (4, "parameters of requests, and errors of Python"),
    "provision/containers/engine_container.py": (2, "seconds"),
    "provision/fleet.py": (3, "seconds, and an error of Pacenote"),
    "race/document_check.py": (3, "names in a plan"),
    "race/snapshots.py": (2, "paths, and limits of the host"),
    "telemetry/disk_usage_stats.py": (1, "a parameter"),
    "telemetry/flattening.py": (3, "numbers, digits of limited length, and names"),
    "telemetry/heap_dump.py": (1, "a path"),
    "telemetry/ingest_stats.py": (1, "a position"),
    "telemetry/node_disk.py": (1, "a file of the kernel"),
    "telemetry/parameters.py": (7, "parameters"),
    "telemetry/shard_recoveries.py": (1, "a text or a number"),
}
"""Modules that call such a function, how often, and for what."""

_CALLS = {"str", "int", "float", "repr"}


def _calls(tree: ast.Module) -> int:
    kept = _kept_values(tree)
    return sum(
        _is_call(node)
        or (
            isinstance(node, ast.FormattedValue)
            and (node.conversion == ord("r") or _is_of_document(node.value, kept))
        )
        for node in ast.walk(tree)
    )


def _is_call(node: ast.AST) -> bool:
    """Returns whether such a function is called, directly or by `map`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    function: ast.expr = node.args[0] if node.func.id == "map" and node.args else node.func
    return isinstance(function, ast.Name) and function.id in _CALLS


def _kept_values(tree: ast.Module) -> set[str]:
    """Returns the names of variables that have a value of a document."""
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = (
                    zip(target.elts, node.value.elts, strict=False)
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                    else ((target, node.value),)
                )
                names |= {
                    part.id
                    for part, value in pairs
                    if isinstance(part, ast.Name) and _is_of_document(value, names)
                }
    return names


def _is_of_document(value: ast.expr, kept: set[str]) -> bool:
    """Returns whether an expression is a value under a key of a document, as it is there."""
    if isinstance(value, ast.Subscript):
        return isinstance(value.slice, ast.Constant) and isinstance(value.slice.value, str)
    if isinstance(value, ast.BoolOp):
        return any(_is_of_document(part, kept) for part in value.values)
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Attribute) and value.func.attr == "get" and len(value.args) > 0
    return isinstance(value, ast.Name) and value.id in kept


def _reads_replies(path: Path, tree: ast.Module) -> bool:
    return path.relative_to(PACKAGE).parts[0] in PACKAGES or any(
        isinstance(node, ast.ImportFrom)
        and (node.module in READERS or any(name.name == PATH_READER for name in node.names))
        for node in ast.walk(tree)
    )


def test_values_of_replies_are_not_made_text_whatever_they_are() -> None:
    modules = {
        path: parse(path) for path in tracked() if path.suffix == ".py" and path.is_relative_to(PACKAGE)
    }
    using = {
        path.relative_to(PACKAGE).as_posix(): number
        for path, tree in modules.items()
        if _reads_replies(path, tree) and (number := _calls(tree))
    }
    assert using == {name: number for name, (number, _) in ALLOWED.items()}, "use the functions of codec.py"


@pytest.mark.parametrize(
    "code",
    [
        "str(value)",
        "list(map(int, values))",
        "f'{value!r}'",
        "f'{reply[\"id\"]}'",
        "f'{reply.get(\"id\")}'",
        "a, b = 1, reply.get('id')\nf'{b}'",
        "a = reply['id'] or 1\nf'{a}'",
    ],
)
def test_each_way_to_make_a_text_is_recognized(code: str) -> None:
    assert _calls(ast.parse(code)) == 1
    assert _calls(ast.parse("f'{as_text(reply[\"id\"])} {name} {names[0]}'")) == 0
