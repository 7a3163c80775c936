"""The files and the command of a node of the published core of Elasticsearch."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.provision.distributions.elasticsearch_core import ElasticsearchCore
from pacenote.provision.distributions.parts import CompiledJar, NodePaths
from pacenote.provision.engine_lock import find_lock
from pacenote.provision.java import JavaRuntime

CORE = ElasticsearchCore()


def java(*modules: str) -> JavaRuntime:
    return JavaRuntime(Path("/java"), "25.0.1", "", frozenset(modules), "test")


@pytest.fixture
def paths(tmp_path: Path) -> NodePaths:
    bridge = tmp_path / "lib" / "entitlement-bridge" / "bridge-9.5.3.jar"
    bridge.parent.mkdir(parents=True)
    bridge.touch()
    return NodePaths(tmp_path, *(tmp_path / name for name in ("config", "data", "logs", "tmp")))


def test_the_name_says_that_it_is_not_the_official_distribution() -> None:
    title = "Elasticsearch core 9.5.3, assembled: not the official distribution"
    assert CORE.title("9.5.3") == title


@pytest.mark.parametrize("version", ["8.19.21", "9.5.3"])
def test_the_packaged_lock_has_every_part_that_the_assembly_needs(version: str, tmp_path: Path) -> None:
    lock = find_lock("elasticsearch", version, tmp_path)
    assert lock is not None
    assert {each.name for each in lock.assembly} == {each.name for each in CORE.assembly_artifacts(version)}
    pinned = {each.name: each.sha256 for each in CORE.assembly_artifacts(version) if each.sha256}
    assert set(pinned) == {"ecj", "aircompressor-v3"}
    assert pinned.items() <= {each.name: each.sha256 for each in lock.assembly}.items()
    assert [module.name for module in lock.modules] == ["transport-netty4"]
    assert "lang-painless" in CORE.unpublished_modules(version)


def test_a_trimmed_java_gets_the_copy_of_the_entitlement_module_first(paths: NodePaths) -> None:
    trimmed = CORE.main_arguments(paths, java("java.base"))
    assert f"--module-path={paths.home}/lib-trimmed-java:{paths.home}/lib" in trimmed
    for full in (java("java.base", "jdk.jdi", "jdk.jlink"), java()):
        assert f"--module-path={paths.home}/lib" in CORE.main_arguments(paths, full)
    assert f"--patch-module=java.base={paths.home}/lib/entitlement-bridge/bridge-9.5.3.jar" in trimmed


def test_settings_and_folders_are_sent_to_the_server(paths: NodePaths) -> None:
    sent = CORE.standard_input(paths, {"http.port": 9201, "path.data": "elsewhere"})
    assert b"http.port\0\x049201" in sent
    assert str(paths.data).encode() in sent
    assert b"elsewhere" not in sent


@pytest.mark.parametrize(
    ("version", "folder"),
    [("8.19.21", "root_until_9_1"), ("9.1.0", "root_until_9_1"), ("9.5.3", "root_since_9_2")],
)
def test_the_version_selects_the_source_of_the_root_path(version: str, folder: str) -> None:
    compiled = [step for step in CORE.assembly_steps(version) if isinstance(step, CompiledJar)]
    assert [step.sources for step in compiled] == [("agent",), ("ansi",), ("root", folder)]


def test_java_17_is_enough_for_8_19_only() -> None:
    assert 17 in CORE.java_range("8.19.21")
    assert 17 not in CORE.java_range("9.5.3")
    assert 25 in CORE.java_range("9.5.3")


def test_other_processors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "s390x")
    with pytest.raises(EngineError, match="cannot be assembled for s390x, only for x86_64 and aarch64"):
        CORE.assembly_steps("9.5.3")
