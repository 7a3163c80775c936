"""Lock files for new versions are created from a Maven repository."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.provision import update_lock
from pacenote.provision.distributions.parts import ModuleDefinition, RootArtifact
from pacenote.provision.engine_lock import format_lock, parse_lock
from pacenote.provision.engine_selection import absent_modules
from pacenote.provision.update_lock import LockSource, plugin_class, resolve_lock
from support.http_server import ScriptedServer

from .conftest import FakeEngine

PINNED = hashlib.sha256(b"tool").hexdigest()


class TwoModules(FakeEngine):
    def assembly_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        return RootArtifact("g", "bridge", version), RootArtifact("g", "tool", "5", sha256=PINNED, size=4)

    def root_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        return RootArtifact("g", "core", version), RootArtifact("g", "log-core", follows="log-api")

    def module_definitions(self, version: str) -> tuple[ModuleDefinition, ...]:
        return (
            ModuleDefinition("g", "base", "base", required=True),
            ModuleDefinition("g", "more-client", "more", extends=("base", "gone")),
            ModuleDefinition("g", "gone", "gone"),
        )


def publish(server: ScriptedServer, name: str, needs: tuple[str, ...] = (), content: bytes = b"") -> None:
    """Publishes a jar with its checksum and POM; `needs` lists its dependencies as `name:version`."""
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


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return out.getvalue()


def test_the_plugin_class_is_the_only_top_level_plugin(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_bytes(
        zipped("a/b/XPlugin.class", "a/b/XPlugin$1.class", "a/b/YModulePlugin.class", "a/Other.class")
    )
    assert plugin_class(jar) == "a.b.YModulePlugin"
    for names in ((), ("a/XPlugin.class", "a/YPlugin.class")):
        jar.write_bytes(zipped(*names))
        with pytest.raises(EngineError, match=r"a\.jar must have one plugin class"):
            plugin_class(jar)


def test_a_new_version_is_resolved_and_downloaded(server: ScriptedServer, tmp_path: Path) -> None:
    publish(server, "core:1.0", ("log-api:7",))
    publish(server, "log-api:7")
    publish(server, "log-core:7")
    publish(server, "shared:2")
    publish(server, "base:1.0", ("shared:2",), zipped("a/BasePlugin.class"))
    publish(server, "more-client:1.0", ("shared:2", "log-api:7", "own:3"), zipped("a/MoreModulePlugin.class"))
    publish(server, "own:3")
    publish(server, "bridge:1.0", ("shared:2",))
    publish(server, "tool:5")
    lock = resolve_lock(TwoModules(), "1.0", LockSource(tmp_path, server.url))
    assert [jar.file_name for jar in lock.lib] == ["core-1.0.jar", "log-api-7.jar", "log-core-7.jar"]
    base, more = lock.modules
    assert (base.main_class, more.main_class) == ("a.BasePlugin", "a.MoreModulePlugin")
    assert [jar.name for jar in base.artifacts] == ["base", "shared"]
    assert [jar.name for jar in more.artifacts] == ["more-client", "own"]
    assert more.extends == ("base",)
    assert [jar.file_name for jar in lock.assembly] == ["bridge-1.0.jar", "tool-5.jar"]
    assert all(jar.sha256 and jar.size for jar in lock.artifacts())
    assert absent_modules(TwoModules(), lock) == ("gone",)
    assert parse_lock(format_lock(lock), "x") == lock


def test_a_pinned_tool_must_have_its_checksum(server: ScriptedServer, tmp_path: Path) -> None:
    for name in ("core:1.0", "log-core:7", "log-api:7", "bridge:1.0"):
        publish(server, name, ("log-api:7",) if name == "core:1.0" else ())
    publish(server, "base:1.0", (), zipped("a/BasePlugin.class"))
    publish(server, "tool:5", (), b"evil")
    with pytest.raises(EngineError, match=r"g:tool:5 has the "):
        resolve_lock(TwoModules(), "1.0", LockSource(tmp_path, server.url))


def test_a_module_can_state_its_plugin_class(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as jar:
        jar.writestr("META-INF/es-plugins/a/plugin-descriptor.properties", "name=a\nclassname=a.b.Own\n")
        jar.writestr("a/XPlugin.class", "x")
        jar.writestr("a/YPlugin.class", "x")
    assert plugin_class(tmp_path / "a.jar") == "a.b.Own"


def test_the_error_about_a_missing_version_names_it(server: ScriptedServer, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"fake 9\.9 is not in the Maven repository"):
        resolve_lock(TwoModules(), "9.9", LockSource(tmp_path, server.url))


def test_a_repository_that_asks_to_wait_again_and_again_is_an_error(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update_lock, "_RESOLVE_TIMEOUT_S", 0.5)
    for name, needs in (("core:1.0", ("late:1",)), ("bridge:1.0", ()), ("base:1.0", ()), ("tool:5", ())):
        publish(server, name, needs)
    server.put("/g/late/1/late-1.pom", b"", 429, **{"retry-after": "4"})
    with pytest.raises(EngineError, match=r"g:core:1\.0 cannot be resolved: .* longer than 0\.5 s"):
        resolve_lock(TwoModules(), "1.0", LockSource(tmp_path, server.url))
