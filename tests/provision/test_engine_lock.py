"""Locks: what is checked in is whole, what is damaged is named, what is new can be made."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from pacenote.errors import EngineError, UsageError
from pacenote.provision.distribution import ModuleRecipe, Root
from pacenote.provision.distributions import find_distribution, implied_distribution
from pacenote.provision.elasticsearch import Elasticsearch
from pacenote.provision.engine import absent_modules
from pacenote.provision.engine_lock import Lock, dump_lock, find_lock, parse_lock, save_lock
from pacenote.provision.maven import MavenArtifact
from pacenote.provision.update_lock import Source, make_lock, plugin_class
from support.http_server import Server

from .conftest import FakeEngine


@pytest.fixture
def packaged(tmp_path: Path) -> Lock:
    lock = find_lock("opensearch", "3.3.0", tmp_path)
    assert lock is not None
    return lock


def test_the_default_version_is_checked_in_whole(packaged: Lock) -> None:
    distribution = find_distribution("opensearch", "")
    assert distribution.default_version == packaged.version
    assert len(packaged.lib) > 40
    assert [module.name for module in packaged.modules] == [
        each.folder for each in distribution.recipes("3.3.0")
    ]
    names = {(jar.group, jar.name): jar.version for jar in packaged.lib}
    log4j = "org.apache.logging.log4j"
    assert names[log4j, "log4j-core"] == names[log4j, "log4j-api"]


def test_no_module_brings_what_lib_or_its_parent_has(packaged: Lock) -> None:
    own = {module.name: {(jar.group, jar.name) for jar in module.artifacts} for module in packaged.modules}
    lib = {(jar.group, jar.name) for jar in packaged.lib}
    for module in packaged.modules:
        assert own[module.name].isdisjoint(lib.union(*(own[name] for name in module.extends)))


def test_written_and_read_again_is_the_same(packaged: Lock, tmp_path: Path) -> None:
    assert parse_lock(dump_lock(packaged), "x") == packaged
    other = Lock("other", "1.0", packaged.lib, packaged.modules)
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
def test_a_damaged_lock_is_named(packaged: Lock, old: str, new: str) -> None:
    text = dump_lock(packaged)
    assert old in text
    with pytest.raises(EngineError, match="the lock here is damaged") as caught:
        parse_lock(text.replace(old, new), "here")
    assert "delete it" in caught.value.hint


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return out.getvalue()


def test_plugin_class_is_the_one_top_level_plugin(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_bytes(
        zipped("a/b/XPlugin.class", "a/b/XPlugin$1.class", "a/b/YModulePlugin.class", "a/Other.class")
    )
    assert plugin_class(jar) == "a.b.YModulePlugin"
    for names in ((), ("a/XPlugin.class", "a/YPlugin.class")):
        jar.write_bytes(zipped(*names))
        with pytest.raises(EngineError, match=r"a\.jar should have one plugin class"):
            plugin_class(jar)


class TwoModules(FakeEngine):
    def roots(self, version: str) -> tuple[Root, ...]:
        return Root("g", "core", version), Root("g", "log-core", follows="log-api")

    def recipes(self, version: str) -> tuple[ModuleRecipe, ...]:
        return (
            ModuleRecipe("g", "base", "base", required=True),
            ModuleRecipe("g", "more-client", "more", extends=("base", "gone")),
            ModuleRecipe("g", "gone", "gone"),
        )


def publish(server: Server, name: str, needs: tuple[str, ...] = (), content: bytes = b"") -> None:
    """Put a jar, its checksum and its POM into the repository; what it needs is `name:version`."""
    name, _, version = name.partition(":")
    dependencies = "".join(
        f"<dependency><groupId>g</groupId><artifactId>{need.partition(':')[0]}</artifactId>"
        f"<version>{need.partition(':')[2]}</version></dependency>"
        for need in needs
    )
    pom = (
        "<project xmlns='http://maven.apache.org/POM/4.0.0'><modelVersion>4.0.0</modelVersion>"
        f"<groupId>g</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
    base = f"/g/{name}/{version}/{name}-{version}"
    jar = content or name.encode()
    server.put(f"{base}.pom", pom.encode())
    server.put(f"{base}.jar", jar)
    server.put(f"{base}.jar.sha1", hashlib.sha1(jar).hexdigest().encode())


def test_a_new_version_is_resolved_fetched_and_noted(server: Server, tmp_path: Path) -> None:
    publish(server, "core:1.0", ("log-api:7",))
    publish(server, "log-api:7")
    publish(server, "log-core:7")
    publish(server, "shared:2")
    publish(server, "base:1.0", ("shared:2",), zipped("a/BasePlugin.class"))
    publish(server, "more-client:1.0", ("shared:2", "log-api:7", "own:3"), zipped("a/MoreModulePlugin.class"))
    publish(server, "own:3")
    lock = make_lock(TwoModules(), "1.0", Source(tmp_path, server.url))
    assert [jar.file_name for jar in lock.lib] == ["core-1.0.jar", "log-api-7.jar", "log-core-7.jar"]
    base, more = lock.modules
    assert (base.main_class, more.main_class) == ("a.BasePlugin", "a.MoreModulePlugin")
    assert [jar.name for jar in base.artifacts] == ["base", "shared"]
    assert [jar.name for jar in more.artifacts] == ["more-client", "own"]
    assert more.extends == ("base",)
    assert all(jar.sha256 and jar.size for jar in lock.artifacts())
    assert absent_modules(TwoModules(), lock) == ("gone",)
    assert parse_lock(dump_lock(lock), "x") == lock


def test_a_version_that_does_not_exist_is_named(server: Server, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"g:core:9\.9 cannot be resolved"):
        make_lock(TwoModules(), "9.9", Source(tmp_path, server.url))


def test_the_coordinate_is_the_path() -> None:
    assert MavenArtifact("a.b", "c", "1").repository_path == "a/b/c/1/c-1.jar"


def test_what_cannot_be_started_is_said_with_a_way_out() -> None:
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
def test_a_version_alone_says_whose_it_is(version: str, name: str) -> None:
    assert implied_distribution(version) == name


def test_the_locks_that_come_along_are_those_of_the_defaults(tmp_path: Path) -> None:
    for name in ("opensearch", "elasticsearch"):
        distribution = find_distribution(name, "")
        lock = find_lock(name, distribution.default_version, tmp_path)
        assert lock is not None
        assert {module.name for module in lock.modules} >= {"transport-netty4", "reindex", "percolator"}
        assert all(jar.sha256 and jar.size for jar in lock.artifacts())


def test_modules_of_elasticsearch_are_allowed_what_they_need() -> None:
    lock = find_lock("elasticsearch", "7.17.28", Path("/nowhere"))
    assert lock is not None
    files = {module.name: Elasticsearch().module_files("7.17.28", module) for module in lock.modules}
    assert 'SocketPermission "*", "accept,' in files["transport-netty4"]["plugin-security.policy"]
    assert "AllPermission" not in str(files)
    assert "plugin-security.policy" not in files["percolator"]
    assert "elasticsearch.version=7.17.28\n" in files["percolator"]["plugin-descriptor.properties"]
