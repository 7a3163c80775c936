"""Values of replies become text and numbers with `as_text`, `as_number` and `as_integer`.

`str` of a list or an object may have sixteen times the size of the reply, and so has the error of `int` and
`float` for a text that is no number.
"""

from __future__ import annotations

import ast

from shape.sources import PACKAGE, parse, tracked

PACKAGES = {"capture", "cluster", "metrics_store", "telemetry"}
"""Packages that read replies of servers."""

ALLOWED = {
    "capture/sources.py": (2, "texts of at most six digits"),
    "metrics_store/metrics_documents.py": (2, "numbers of Pacenote"),
    "metrics_store/race_documents.py": (1, "names of Pacenote's figures"),
    "metrics_store/samples.py": (1, "an error of Pacenote"),
    "metrics_store/store.py": (3, "texts or numbers, as `_with_names` says"),
    "metrics_store/templates.py": (1, "a request of Pacenote"),
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
    return sum(
        _is_call(node) or (isinstance(node, ast.FormattedValue) and node.conversion == ord("r"))
        for node in ast.walk(tree)
    )


def _is_call(node: ast.AST) -> bool:
    """Returns whether such a function is called, directly or by `map`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    function: ast.expr = node.args[0] if node.func.id == "map" and node.args else node.func
    return isinstance(function, ast.Name) and function.id in _CALLS


def test_values_of_replies_are_not_made_text_whatever_they_are() -> None:
    using = {
        path.relative_to(PACKAGE).as_posix(): number
        for path in tracked()
        if path.suffix == ".py" and path.is_relative_to(PACKAGE)
        if path.relative_to(PACKAGE).parts[0] in PACKAGES and (number := _calls(parse(path)))
    }
    assert using == {name: number for name, (number, _) in ALLOWED.items()}, "use the functions of codec.py"
