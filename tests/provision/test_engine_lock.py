"""The packaged lock files are complete, and damaged lock files are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.provision.distributions.registry import DISTRIBUTIONS, find_distribution
from pacenote.provision.engine_lock import EngineLock, find_lock, format_lock, parse_lock, save_lock


@pytest.fixture
def packaged(tmp_path: Path) -> EngineLock:
    lock = find_lock("opensearch", "3.3.0", tmp_path)
    assert lock is not None
    return lock


def test_the_default_version_has_a_complete_lock_file(packaged: EngineLock) -> None:
    distribution = find_distribution("opensearch", "")
    assert distribution.default_version == packaged.version
    assert len(packaged.lib) > 40
    assert [module.name for module in packaged.modules] == [
        each.folder for each in distribution.module_definitions("3.3.0")
    ]
    names = {(jar.group, jar.name): jar.version for jar in packaged.lib}
    log4j = "org.apache.logging.log4j"
    assert names[log4j, "log4j-core"] == names[log4j, "log4j-api"]


def test_modules_do_not_repeat_jars_from_lib_or_their_parent_modules(packaged: EngineLock) -> None:
    own = {module.name: {(jar.group, jar.name) for jar in module.artifacts} for module in packaged.modules}
    lib = {(jar.group, jar.name) for jar in packaged.lib}
    for module in packaged.modules:
        assert own[module.name].isdisjoint(lib.union(*(own[name] for name in module.extends)))


def test_a_lock_is_unchanged_after_writing_and_reading(packaged: EngineLock, tmp_path: Path) -> None:
    assert parse_lock(format_lock(packaged), "x") == packaged
    other = EngineLock("other", "1.0", packaged.lib, packaged.modules)
    save_lock(other, tmp_path / "locks")
    assert find_lock("other", "1.0", tmp_path / "locks") == other
    assert other.digest() != packaged.digest()
    assert find_lock("other", "2.0", tmp_path) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"lib"', '"lob"'),
        ("opensearch-cli", "../../etc"),
        ('"geo"', '"../geo"'),
        ("io.netty:netty-buffer:4.1.125.Final 352365 d2", "io.netty:netty-buffer:4.1.125.Final 352365 x"),
        ("{", "["),
    ],
)
def test_a_damaged_lock_file_is_named(packaged: EngineLock, old: str, new: str) -> None:
    text = format_lock(packaged)
    assert old in text
    with pytest.raises(EngineError, match="the lock file here is damaged") as caught:
        parse_lock(text.replace(old, new), "here")
    assert "delete it" in caught.value.hint


def test_the_locks_of_default_versions_have_required_modules_and_checksums(tmp_path: Path) -> None:
    assert DISTRIBUTIONS
    for name in DISTRIBUTIONS:
        distribution = find_distribution(name, "")
        lock = find_lock(name, distribution.default_version, tmp_path)
        assert lock is not None
        assert {module.name for module in lock.modules} >= {"transport-netty4", "reindex", "percolator"}
        assert all(jar.sha256 and jar.size for jar in lock.artifacts())
