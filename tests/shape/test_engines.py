"""Differences between engines have one home, `model/engine.py`: no other module compares their names."""

import ast

import pytest

from pacenote.model import engine
from pacenote.model.engine import ELASTICSEARCH, ENGINE_APIS, OPENSEARCH, SERVERLESS
from pacenote.provision.distributions.registry import DISTRIBUTIONS
from shape.sources import PACKAGE, files, label, parse

HOME = PACKAGE / "model" / "engine.py"

ENGINES = {OPENSEARCH, ELASTICSEARCH, *DISTRIBUTIONS}

NAMES = {*ENGINES, SERVERLESS}

CONSTANTS = {name for name, value in vars(engine).items() if isinstance(value, str) and value in ENGINES}
"""Names of the constants in `model/engine.py` that are names of engines."""

ALLOWED = {
    "python/pacenote/provision/distributions/": "each distribution states its own name",
    "python/pacenote/model/track_request.py": "the type of `--build-flavor`",
    "python/pacenote/cli/options/track.py": "the values of `--build-flavor`",
    "python/pacenote/metrics_store/": "the engine that stores results is not the one under test",
    "python/pacenote/python_tasks/results.py": "a Python package with this name",
}
"""Files and folders that may contain the name of an engine or flavor as a value, with the reason."""


def names_in(tree: ast.AST) -> set[str]:
    """Returns the names of engines and flavors that are complete values, not parts of a text."""
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES
    }


def test_only_one_module_knows_engines_by_name():
    sources = [path for path in files(".py") if PACKAGE in path.parents]
    by_file = {label(path): names_in(parse(path)) for path in sources if path != HOME}
    assert names_in(parse(HOME)) >= {OPENSEARCH, ELASTICSEARCH, SERVERLESS}, (
        "the guard does not see the names"
    )
    wrong = {name: names for name, names in by_file.items() if names and not name.startswith(tuple(ALLOWED))}
    assert wrong == {}, "put the difference into model/engine.py"
    used = [name for name, names in by_file.items() if names]
    unused = [allowed for allowed in ALLOWED if not any(name.startswith(allowed) for name in used)]
    assert unused == []


def engines_compared_in(tree: ast.AST) -> set[str]:
    """Returns the constants with names of engines that are compared with something."""
    return {
        operand.id if isinstance(operand, ast.Name) else operand.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for operand in (node.left, *node.comparators)
        if isinstance(operand, ast.Name | ast.Attribute)
    } & CONSTANTS


def test_only_one_module_compares_engines():
    assert {"OPENSEARCH", "ELASTICSEARCH", "DEFAULT_DISTRIBUTION"} <= CONSTANTS
    sources = [path for path in files(".py") if PACKAGE in path.parents and path != HOME]
    assert len(sources) > 100, "the guard found hardly any modules"
    by_file = {label(path): engines_compared_in(parse(path)) for path in sources}
    assert {name: names for name, names in by_file.items() if names} == {}, "add a field to EngineApi"


@pytest.mark.parametrize("code", ["x == OPENSEARCH", "engine.ELASTICSEARCH != x", "1 < x == OPENSEARCH"])
def test_comparisons_with_engines_are_detected(code):
    assert engines_compared_in(ast.parse(code))
    assert not engines_compared_in(ast.parse("x = OPENSEARCH"))


def test_every_distribution_that_pacenote_starts_has_an_api():
    assert DISTRIBUTIONS
    assert [name for name in DISTRIBUTIONS if name not in ENGINE_APIS] == [], "add it to model/engine.py"
