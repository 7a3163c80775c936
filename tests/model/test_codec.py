"""Frozen dataclasses survive a round trip through JSON; error messages name the field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import pytest

from pacenote.errors import PacenoteError
from pacenote.model.codec import decode, encode


@dataclass(frozen=True, slots=True)
class Leaf:
    count: int
    share: float = 0.5
    kind: Literal["good", "bad"] = "good"


@dataclass(frozen=True, slots=True)
class Tree:
    leaves: tuple[Leaf, ...]
    by_name: Mapping[str, Leaf] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    anything: Mapping[str, object] = field(default_factory=dict)
    times_s: tuple[float, ...] | None = None


TREE = Tree((Leaf(1), Leaf(2, 0.25, "bad")), {"a": Leaf(3)}, {"b": "c"}, {"d": [1, {"e": None}]}, (1.5, 2.0))


def test_a_dataclass_survives_a_round_trip_through_json() -> None:
    assert decode(Tree, json.loads(json.dumps(encode(TREE))), "tree") == TREE


def test_every_field_is_written_and_every_mapping_becomes_an_object() -> None:
    document = json.loads(json.dumps(encode(Tree((), tags=MappingProxyType({"b": "c"})))))
    assert document == {"leaves": [], "by_name": {}, "tags": {"b": "c"}, "anything": {}, "times_s": None}


def test_a_field_with_a_default_may_be_missing() -> None:
    assert decode(Tree, {"leaves": [{"count": 7}]}, "tree") == Tree((Leaf(7),))


def test_whole_numbers_of_64_bits_are_accepted() -> None:
    for count in (2**64 - 1, -(2**64) + 1):
        assert decode(Leaf, {"count": count, "share": 1}, "leaf") == Leaf(count, 1.0)


def test_fields_that_accept_any_type_are_not_converted() -> None:
    document = {"leaves": [], "anything": {"nested": [{"x": 1.0, "y": [True, None]}]}}
    assert decode(Tree, document, "tree").anything == document["anything"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "tree must be an object, not []"),
        ({}, "tree lacks the field 'leaves'"),
        ({"leaves": {}}, "tree.leaves must be a list, not {}"),
        ({"leaves": [{}]}, "tree.leaves[0] lacks the field 'count'"),
        ({"leaves": [{"count": 1.0}]}, "tree.leaves[0].count must be a whole number, not 1.0"),
        ({"leaves": [{"count": True}]}, "tree.leaves[0].count must be a whole number, not True"),
        ({"leaves": [{"count": 1, "share": False}]}, "tree.leaves[0].share must be a number, not False"),
        ({"leaves": [{"count": 1, "kind": "odd"}]}, "tree.leaves[0].kind has the unknown value 'odd'"),
        ({"leaves": [{"count": 1, "color": "red"}]}, "tree.leaves[0] has the unknown field 'color'"),
        ({"leaves": [], "color": "red", "age": 7}, "tree has the unknown field 'age'"),
        ({"leaves": [], "by_name": {"a": {"count": 1, "b": 2}}}, "tree.by_name.a has the unknown field 'b'"),
        ({"leaves": [], "tags": {"a": 1}}, "tree.tags[...] must be text, not {'a': 1}"),
        ({"leaves": [], "times_s": "soon"}, "tree.times_s must be a list, not 'soon'"),
        ({"leaves": [], "times_s": [1, float("inf")]}, "tree.times_s[1] must be a finite number, not inf"),
        (
            {"leaves": [{"count": 2**64}]},
            f"tree.leaves[0].count must be a number of at most 64 bits, not {2**64}",
        ),
        (
            {"leaves": [{"count": -(10**99)}]},
            f"tree.leaves[0].count must be a number of at most 64 bits, not -1{'0' * 58}…",
        ),
        ({"leaves": "x" * 99}, f"tree.leaves must be a list, not '{'x' * 59}…"),
    ],
)
def test_a_bad_field_is_named(document: object, message: str) -> None:
    with pytest.raises(PacenoteError) as caught:
        decode(Tree, document, "tree")
    assert caught.value.message == message
