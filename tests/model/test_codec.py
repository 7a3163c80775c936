"""Stored values survive a round trip through JSON; error messages name the field."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args, get_type_hints

import pytest
from msgspec import Struct, field

import pacenote
from pacenote.errors import PacenoteError
from pacenote.model.codec import MAX_NAME, Integer, Name, Number, Seed, Stored, decode, encode
from pacenote.model.experiment import PlannedRace


class Leaf(Stored, frozen=True):
    count: Integer
    share: Number = 0.5
    kind: Literal["good", "bad"] = "good"


class Tree(Stored, frozen=True):
    leaves: tuple[Leaf, ...]
    by_name: Mapping[str, Leaf] = field(default_factory=dict)
    nested: Mapping[str, Mapping[str, Leaf]] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    anything: Mapping[str, object] = field(default_factory=dict)
    times_s: tuple[Number, ...] | None = None


TREE = Tree(
    (Leaf(1), Leaf(2, 0.25, "bad")),
    {"a": Leaf(3)},
    {"f": {"g": Leaf(4)}},
    {"b": "c"},
    {"d": [1, {"e": None}]},
    (1.5, 2.0),
)


def test_a_stored_value_survives_a_round_trip_through_json() -> None:
    assert decode(Tree, json.loads(json.dumps(encode(TREE))), "tree") == TREE


def test_every_field_is_written_and_every_mapping_becomes_an_object() -> None:
    document = json.loads(json.dumps(encode(Tree((), tags=MappingProxyType({"b": "c"})))))
    assert document == {
        "leaves": [],
        "by_name": {},
        "nested": {},
        "tags": {"b": "c"},
        "anything": {},
        "times_s": None,
    }


def test_a_field_with_a_default_may_be_missing() -> None:
    assert decode(Tree, {"leaves": [{"count": 7}]}, "tree") == Tree((Leaf(7),))


def test_whole_numbers_of_64_bits_are_accepted() -> None:
    for count in (2**63 - 1, -(2**63)):
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
        ({"leaves": [], "color": "red", "age": 7}, "tree has the unknown field 'color'"),
        ({"leaves": [], "by_name": {"a": {"count": 1, "b": 2}}}, "tree.by_name.a has the unknown field 'b'"),
        ({"leaves": [], "tags": {"a": 1}}, "tree.tags.a must be text, not 1"),
        ({"leaves": [], "times_s": "soon"}, "tree.times_s must be a list, not 'soon'"),
        ({"leaves": [], "times_s": [1, float("inf")]}, "tree.times_s[1] must be a finite number, not inf"),
        (
            {"leaves": [{"count": 2**63}]},
            f"tree.leaves[0].count must be a whole number of 64 bits with its sign, not {2**63}",
        ),
        (
            {"leaves": [{"count": -(10**99)}]},
            f"tree.leaves[0].count must be a whole number of 64 bits with its sign, not -1{'0' * 58}…",
        ),
        (
            {"leaves": [{"count": 1, "share": -1e76}]},
            "tree.leaves[0].share must be a number of at most 1e+75, not -1e+76",
        ),
        (
            {"leaves": [], "by_name": {name: {"count": 1 if name != "k" else None} for name in "abcdkzk"}},
            "tree.by_name.k.count must be a whole number, not None",
        ),
        (
            {
                "leaves": [],
                "nested": {"a": {"x": {"count": 1}}, "b.c": {"x": {"count": 1}, "y": {}, "z": {}}},
            },
            "tree.nested.b.c.y lacks the field 'count'",
        ),
        ({"leaves": "x" * 99}, f"tree.leaves must be a list, not '{'x' * 59}…"),
    ],
)
def test_a_bad_field_is_named(document: object, message: str) -> None:
    with pytest.raises(PacenoteError) as caught:
        decode(Tree, document, "tree")
    assert caught.value.message == message


@pytest.mark.parametrize(
    "place", ["nope[0]", "leaves[7]", "by_name[...].x", "leaves[...]", f"x[{'9' * 5000}]"]
)
def test_a_name_that_looks_like_a_place_is_a_name(place: str) -> None:
    """msgspec appends the place of an error to its text, in which the name stands."""
    name = f"x - at `$.{place}"
    for document, where in (
        ({"leaves": [], name: 1}, "tree"),
        ({"leaves": [{"count": 1, name: 1}]}, "tree.leaves[0]"),
        ({"leaves": [], "by_name": {"a": {"count": 1, name: 1}}}, "tree.by_name.a"),
    ):
        with pytest.raises(PacenoteError) as caught:
            decode(Tree, document, "tree")
        assert caught.value.message.startswith(where)
        assert name in caught.value.message
    with pytest.raises(PacenoteError):
        decode(Tree, {"leaves": [{"count": 1, "kind": name}]}, "tree")


class Named(Stored, frozen=True):
    name: Name = ""
    by_name: Mapping[Name, Mapping[Name, int]] = field(default_factory=dict)


def test_a_long_name_is_refused_where_it_is() -> None:
    longest = "A" * MAX_NAME
    for document, message in (
        ({"name": f"{longest}A"}, f"named.name must be text of at most 1,000 characters, not '{'A' * 59}…"),
        ({"by_name": {f"{longest}A": {}}}, "named.by_name has a key of more than 1,000 characters"),
        (
            {"by_name": {"a": {f"{longest}A": 1}}},
            "named.by_name[...] has a key of more than 1,000 characters",
        ),
    ):
        with pytest.raises(PacenoteError) as caught:
            decode(Named, document, "named")
        assert caught.value.message == message
    assert decode(Named, {"name": longest, "by_name": {longest: {longest: 1}}}, "named").name == longest


def test_fields_that_may_have_secrets_are_not_shown() -> None:
    class Address(Stored, frozen=True):
        _hidden: ClassVar[tuple[str, ...]] = ("url",)

        name: str
        url: str

    assert repr(Address("a", "https://u:secret@host")) == "Address(name='a')"


def parts(kind: Any) -> Iterator[Any]:
    """Yields a type and all types within it."""
    yield kind
    if kind not in (Integer, Number, Seed):
        for part in get_args(kind):
            yield from parts(part)


def is_not_stored(kind: object) -> bool:
    """Tells whether a type has fields, but is not read from documents."""
    is_struct = isinstance(kind, type) and issubclass(kind, Struct) and not issubclass(kind, Stored)
    return is_struct or is_dataclass(kind)


def test_every_number_of_a_stored_type_has_limits_and_every_value_has_a_stored_type() -> None:
    for module in pkgutil.walk_packages(pacenote.__path__, "pacenote."):
        if not module.name.endswith("__main__") and ".esrally" not in module.name:
            importlib.import_module(module.name)
    own = [kind for kind in Stored.__subclasses__() if kind.__module__.startswith("pacenote.")]
    assert len(own) > 100
    wrong = {
        f"{kind.__name__}.{name}"
        for kind in own
        for name, hint in get_type_hints(kind, include_extras=True).items()
        for part in parts(hint)
        if part in (int, float) or is_not_stored(part)
    }
    assert wrong == set()


@pytest.mark.parametrize("seed", [2**64, 10**90])
def test_a_seed_has_at_most_64_bits(seed: int) -> None:
    race: dict[str, object] = {"number": 1, "block": 1, "variant": "a"}
    with pytest.raises(PacenoteError, match="a seed has at most 64 bits"):
        decode(PlannedRace, {**race, "seed": seed}, "races")
    assert decode(PlannedRace, {**race, "seed": 2**64 - 1}, "races").seed == 2**64 - 1


FIRST_USE = """
import sys, threading
from msgspec import defstruct
from pacenote.model.codec import Integer, Stored, decode

names = [f"field{number}" for number in range(20)]
parts = [
    defstruct(f"Part{number}", [(name, Integer) for name in names], bases=(Stored,), frozen=True)
    for number in range(100)
]
whole = defstruct("Whole", [(part.__name__, part) for part in parts], bases=(Stored,), frozen=True)
document = {part.__name__: dict.fromkeys(names, 1) for part in parts}
sys.setswitchinterval(1e-6)
begin = threading.Barrier(4)

def read():
    begin.wait()
    decode(whole, document, "whole")

threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_may_use_a_type_for_the_first_time_together() -> None:
    # Without a lock, two of three processes crash.
    for _ in range(3):
        subprocess.run([sys.executable, "-c", FIRST_USE], check=True)
