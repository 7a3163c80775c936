"""Distributions are found by name and version."""

from __future__ import annotations

import pytest

from pacenote.errors import EngineError, UsageError
from pacenote.provision.distributions import find_distribution, implied_distribution


def test_unsupported_distributions_are_named_with_a_hint() -> None:
    with pytest.raises(
        EngineError, match=r"elasticsearch 8\.17\.0 cannot be started .* opensearch 3\.x"
    ) as caught:
        find_distribution("elasticsearch", "8.17.0")
    assert "--pipeline=benchmark-only" in caught.value.hint
    assert "elasticsearch 7.17.x" in caught.value.message
    with pytest.raises(EngineError, match=r"opensearch 2\.19\.4 cannot be started"):
        find_distribution("opensearch", "2.19.4")
    with pytest.raises(UsageError) as unknown:
        find_distribution("opensaerch", "")
    assert "opensearch" in unknown.value.hint


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("3.3.0", "opensearch"),
        ("2.19.4", "opensearch"),
        ("7.17.28", "elasticsearch"),
        ("9.0.0", "elasticsearch"),
    ],
)
def test_a_version_implies_its_distribution(version: str, name: str) -> None:
    assert implied_distribution(version) == name
