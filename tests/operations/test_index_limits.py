"""Names and settings of indices that every engine refuses are refused before a race."""

from __future__ import annotations

from typing import Any

import pytest

from operations.compiling import compiled, refused, track
from pacenote.model.track import ComponentTemplate, Index


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"number_of_shards": -1}, 'sets number_of_shards of "a" to -1, but it must be at least 1'),
        ({"index.number_of_shards": "0"}, 'sets number_of_shards of "a" to "0", but it must be at least 1'),
        (
            {"index": {"number_of_replicas": -1}},
            'sets number_of_replicas of "a" to -1, but it must be at least 0',
        ),
        (
            {"number_of_shards": "many"},
            'sets number_of_shards of "a" to "many", but it must be a whole number',
        ),
        ({"number_of_replicas": 0.5}, 'sets number_of_replicas of "a" to 0.5, but it must be a whole number'),
    ],
)
def test_settings_that_every_engine_refuses_are_problems(settings: dict[str, Any], problem: str) -> None:
    within = track(indices=(Index("a", {"settings": settings}),))
    assert refused("create-index", within) == (f"operations[0] {problem}",)
    assert refused("create-index", track(indices=(Index("a", {}),)), settings=settings) == (
        f"operations[0] {problem}",
    )


def test_settings_of_templates_are_checked_where_they_are() -> None:
    problem = 'operations[0] sets number_of_shards of "a" to 0, but it must be at least 1'
    settings = {"settings": {"index": {"number_of_shards": 0}}}
    template = ComponentTemplate("a", {"template": settings})
    within = track(component_templates=(template,))
    assert refused("create-component-template", within) == (problem,)
    assert refused("create-index-template", template="a", body=settings) == (problem,)


def test_other_settings_are_left_to_the_engine() -> None:
    settings = {"number_of_shards": "3", "index.number_of_replicas": 0, "number_of_routing_shards": None}
    for body in ({"settings": settings}, {"settings": {"index": {"codec": -1}}}, {}, None):
        assert compiled("create-index", track(indices=(Index("a", body),)))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Logs", "names of indices are in lower case"),
        ("a b", 'names of indices do not contain " "'),
        ("a#", 'names of indices do not contain "#"'),
        ("-a", "names of indices do not begin with -, _ or +, and are not empty, . or .."),
        ("..", "names of indices do not begin with -, _ or +, and are not empty, . or .."),
        ("é" * 128, "names have at most 255 bytes"),
    ],
)
def test_names_that_every_engine_refuses_are_problems(name: str, problem: str) -> None:
    (refusal,) = refused("create-index", track(indices=(Index(name),)))
    assert refusal.endswith(f", but {problem}")


@pytest.mark.parametrize("name", ["logs-2026.01", ".hidden", "<Logs-{now/d}>", "é" * 127])
def test_other_names_are_left_to_the_engine(name: str) -> None:
    assert compiled("create-index", track(indices=(Index(name),)))
