"""Nodes of a cluster may have one name: by default, it is that of their host."""

from __future__ import annotations

import pytest

from pacenote.errors import EngineError
from pacenote.model.node_names import MAX_NODE_NAME, NodeNames
from pacenote.telemetry.sampler import MAX_NAME


def named(**names: str) -> dict[str, dict[str, object]]:
    """Returns the nodes of a reply by their ids."""
    return {node_id: {"name": name} for node_id, name in names.items()}


def test_nodes_with_one_name_are_numbered_in_the_order_of_their_ids() -> None:
    for reply in (named(a="es", b="es", c="other"), named(c="other", b="es", a="es")):
        names = NodeNames().of(reply)
        assert names == {"a": "es", "b": "es #2", "c": "other"}
        assert list(names) == list(reply)


def test_a_node_keeps_its_name() -> None:
    names = NodeNames()
    assert names.of(named(b="es")) == {"b": "es"}
    # The other one joins, the first one leaves, and both are back.
    assert names.of(named(a="es", b="es")) == {"a": "es #2", "b": "es"}
    assert names.of(named(a="es")) == {"a": "es #2"}
    assert names.of(named(a="es", b="es", c="es")) == {"a": "es #2", "b": "es", "c": "es #3"}


def test_a_name_that_is_not_repeated_stays() -> None:
    assert NodeNames().of(named(a="es", b="es", c="es #2")) == {"a": "es", "b": "es #3", "c": "es #2"}


def test_a_node_without_a_name_has_that_of_its_id() -> None:
    assert NodeNames().of({"a": {}, "b": {"name": 7}}) == {"a": "a", "b": "7"}


def test_long_names_stay_different_in_labels() -> None:
    reply = named(**{f"id{number}": "n" * 9999 + str(number) for number in range(9)})
    names = NodeNames().of(reply)
    assert len({name[:MAX_NAME] for name in names.values()}) == 9
    assert len(names["id0"]) == MAX_NODE_NAME


def test_a_cluster_cannot_fill_the_memory_with_ids() -> None:
    names = NodeNames()
    for number in range(15):
        names.of(named(**{f"{number}{'i' * (1 << 20)}": "n"}))
    with pytest.raises(EngineError, match="too long"):
        names.of(named(**{"i" * (1 << 20): "n"}))
