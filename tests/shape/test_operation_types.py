"""Other packages learn about operation types from their flags: they do not compare the names of types."""

import ast

import pytest

from pacenote.operations.registry import known_types
from shape.sources import PACKAGE, files, label, parse

ALLOWED = {
    "python/pacenote/model/task_kinds.py": "the model does not import operation types; a test compares both",
    "python/pacenote/report/summary.py": "reports do not import operation types",
    "python/pacenote/report/saturation.py": "`search` is a kind of measurement there",
    "python/pacenote/operations/supplied_bulk.py": "`refresh` is a parameter there",
    "python/pacenote/metrics_store/store.py": "`refresh` is a parameter there",
    "python/pacenote/metrics_store/store_annotations.py": "`refresh` is a parameter there",
    "python/pacenote/python_tasks/results.py": "`bulk` is an error type there",
    "python/pacenote/plugins/rally_api/type_sources.py": "Rally's parameter sources of types",
    "python/pacenote/plugins/rally_api/esrally/driver/runner.py": "Rally's classes of runners",
}
"""Modules that may select by the name of a type, with the reason."""


WITHOUT_TYPES = PACKAGE / "provision"
"""Modules that know no operations: their names are those of an engine's modules, such as `reindex`."""


def types_selected_in(tree: ast.AST) -> set[str]:
    """Returns the names of types that are compared with something, or that are keys of a dictionary."""
    selecting: list[ast.AST | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            selecting += [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            selecting += node.keys
        elif isinstance(node, ast.MatchValue):
            selecting.append(node.value)
    values = [part for found in selecting if found is not None for part in ast.walk(found)]
    constants = {part.value for part in values if isinstance(part, ast.Constant)}
    return {name for name in known_types() if name in constants}


def test_only_types_select_by_their_names():
    types = PACKAGE / "operations" / "types"
    assert (WITHOUT_TYPES / "distributions").is_dir(), "the modules that know no operations have moved"
    sources = [
        path
        for path in files(".py")
        if PACKAGE in path.parents and not {types, WITHOUT_TYPES} & set(path.parents)
    ]
    assert len(sources) > 100, "the guard found hardly any modules"
    by_file = {label(path): names for path in sources if (names := types_selected_in(parse(path)))}
    assert {name: names for name, names in by_file.items() if name not in ALLOWED} == {}, (
        "add a flag to OperationType"
    )
    assert [name for name in ALLOWED if name not in by_file] == []


@pytest.mark.parametrize("code", ["x == 'bulk'", "x in ('bulk', 'y')", "{'bulk': 1}[x]"])
def test_selections_by_name_are_detected(code):
    assert types_selected_in(ast.parse(code)) == {"bulk"}
    assert not types_selected_in(ast.parse("x = 'bulk'"))
