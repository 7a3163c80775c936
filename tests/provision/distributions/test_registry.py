"""Distributions are looked up by name and version."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import EngineError, UsageError
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.registry import (
    DESCRIPTIONS,
    DISTRIBUTIONS,
    find_distribution,
    implied_distribution,
)
from pacenote.provision.engine_lock import find_lock

EACH = pytest.mark.parametrize("distribution", DESCRIPTIONS, ids=lambda each: type(each).__name__)


def test_unsupported_distributions_are_rejected_with_a_hint() -> None:
    with pytest.raises(
        EngineError, match=r"elasticsearch 8\.17\.0 cannot be started .* opensearch 3\.x"
    ) as caught:
        find_distribution("elasticsearch", "8.17.0")
    assert "--pipeline=benchmark-only" in caught.value.hint
    assert "elasticsearch 7.17.x" in caught.value.message
    with pytest.raises(EngineError, match=r"opensearch 1\.3\.0 cannot be started"):
        find_distribution("opensearch", "1.3.0")
    for incomplete in ("3.3", "v3.3.0", "3.3.٣", "3.3.0٣", "3.3." + "1" * 100):
        with pytest.raises(UsageError) as caught_incomplete:
            find_distribution("opensearch", incomplete)
        assert caught_incomplete.value.hint == "give all three numbers, for example 3.3.0"
    for name, begin, complete in (
        ("opensearch", "2.19", "2.19.6"),
        ("opensearch", "2", "2.19.6"),
        ("elasticsearch", "8.19", "8.19.21"),
        ("elasticsearch", "9.5", "9.5.3"),
        ("elasticsearch", "7.1", "7.17.28"),
    ):
        with pytest.raises(UsageError) as caught_incomplete:
            find_distribution(name, begin)
        assert caught_incomplete.value.hint == f"give all three numbers, for example {complete}"
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


@EACH
def test_the_default_version_is_supported_and_implies_its_distribution(distribution: Distribution) -> None:
    version = distribution.default_version
    assert find_distribution(distribution.name, version) is distribution
    assert implied_distribution(version) == distribution.name


@EACH
def test_every_distribution_has_a_test(distribution: Distribution) -> None:
    module = type(distribution).__module__.rpartition(".")[2]
    assert Path(__file__).with_name(f"test_{module}.py").exists()


def test_the_first_description_of_an_engine_has_its_default_version() -> None:
    assert {name: each.default_version for name, each in DISTRIBUTIONS.items()} == {
        "opensearch": "3.3.0",
        "elasticsearch": "7.17.28",
    }


@EACH
def test_the_default_version_has_a_packaged_lock_with_the_required_modules(
    distribution: Distribution, tmp_path: Path
) -> None:
    lock = find_lock(distribution.name, distribution.default_version, tmp_path)
    assert lock is not None
    assert (lock.distribution, lock.version) == (distribution.name, distribution.default_version)
    required = {each.folder for each in distribution.module_definitions(lock.version) if each.required}
    assert required <= {module.name for module in lock.modules}
