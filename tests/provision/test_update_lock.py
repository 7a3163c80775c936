"""Lock files for new versions are created from a Maven repository."""

from __future__ import annotations

import hashlib
import io
import zipfile
from functools import partial
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.provision import update_lock
from pacenote.provision.distributions.parts import ModuleDefinition, RootArtifact
from pacenote.provision.engine_lock import format_lock, packaged_artifacts, parse_lock
from pacenote.provision.engine_selection import absent_modules
from pacenote.provision.pom_resolver import PomResolver
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
    """Returns a jar that is the same whenever it is made: its members have a fixed time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), b"x")
    return out.getvalue()


def described(text: str) -> bytes:
    """Returns a jar whose module describes itself like this."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/es-plugins/a/plugin-descriptor.properties", text.encode("latin-1"))
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


def publish_engine(server: ScriptedServer, *needs: str) -> None:
    """Publishes an engine without its pinned tool, whose core needs these artifacts."""
    publish(server, "core:1.0", needs)
    publish(server, "log-api:7")
    publish(server, "log-core:7")
    publish(server, "bridge:1.0")
    publish(server, "base:1.0", (), zipped("a/BasePlugin.class"))


def test_a_page_instead_of_the_pom_of_an_optional_module_is_an_error(
    server: ScriptedServer, tmp_path: Path
) -> None:
    publish_engine(server, "log-api:7")
    publish(server, "tool:5")
    publish(server, "more-client:1.0", (), zipped("a/MorePlugin.class"))
    server.put("/g/gone/1.0/gone-1.0.pom", b"<!DOCTYPE html><html></html>")
    with pytest.raises(EngineError, match=r"g:gone:1\.0 cannot be resolved: ") as caught:
        resolve_lock(TwoModules(), "1.0", LockSource(tmp_path, server.url))
    assert "\n" not in str(caught.value)


def test_a_repository_that_asks_to_wait_again_and_again_is_an_error(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update_lock, "PomResolver", partial(PomResolver, time_limit_s=0.5))
    publish_engine(server, "late:1")
    publish(server, "tool:5")
    server.put("/g/late/1/late-1.pom", b"", 429, **{"retry-after": "4"})
    with pytest.raises(EngineError, match=r"g:core:1\.0 cannot be resolved: .* longer than 0\.5 s"):
        resolve_lock(TwoModules(), "1.0", LockSource(tmp_path, server.url))


def test_a_dependency_on_a_pinned_tool_must_have_its_checksum(server: ScriptedServer, tmp_path: Path) -> None:
    publish_engine(server, "log-api:7", "tool:5")
    publish(server, "tool:5")
    cache = tmp_path / "cache"
    lock = resolve_lock(TwoModules(), "1.0", LockSource(cache, server.url))
    (tool,) = (jar for jar in lock.lib if jar.name == "tool")
    with ScriptedServer().running() as hostile:
        publish_engine(hostile, "log-api:7", "tool:5")
        publish(hostile, "tool:5", (), b"evil")
        # The jar of the cache is used, otherwise the other one is refused.
        assert resolve_lock(TwoModules(), "1.0", LockSource(cache, hostile.url)) == lock
        with pytest.raises(EngineError, match="g:tool:5 has the wrong checksum"):
            resolve_lock(TwoModules(), "1.0", LockSource(tmp_path / "empty", hostile.url))
    assert tool.path_in(cache).read_bytes() == b"tool"


def test_jars_of_the_locks_of_the_package_must_have_their_checksums(
    server: ScriptedServer, tmp_path: Path
) -> None:
    known = next(jar for jar in packaged_artifacts() if jar.name == "ecj")
    needed = f"<groupId>{known.group}</groupId><artifactId>ecj</artifactId><version>{known.version}</version>"
    evil = b"evil".ljust(known.size)
    pom = f"<project><dependencies><dependency>{needed}</dependency></dependencies></project>"
    server.put("/g/evil/1/evil-1.pom", pom.encode())
    server.put(f"/{known.pom_path}", b"<project/>")
    server.put(f"/{known.repository_path}", evil)
    server.put(f"/{known.repository_path}.sha1", hashlib.sha1(evil).hexdigest().encode())
    publish_engine(server, "log-api:7", "evil:1")
    publish(server, "tool:5")
    publish(server, "evil:1")
    with pytest.raises(EngineError, match=r"org\.eclipse\.jdt:ecj:[\d.]+ has the wrong checksum"):
        resolve_lock(TwoModules(), "1.0", LockSource(tmp_path, server.url))
    assert not list(tmp_path.rglob("ecj*.jar"))


def test_a_pom_cannot_name_files_to_write(server: ScriptedServer, tmp_path: Path) -> None:
    outside = tmp_path / "outside" / "owned"
    publish_engine(server, "log-api:7", f"{outside}:1.0")
    publish(server, "tool:5")
    publish(server, f"{outside}:1.0")
    with pytest.raises(EngineError, match=r"g:core:1\.0 cannot be resolved: '.*/owned' is not a valid name"):
        resolve_lock(TwoModules(), "1.0", LockSource(tmp_path / "cache", server.url))
    assert not outside.parent.exists()
    assert not (tmp_path / "cache").exists()


def test_an_engine_that_does_not_need_what_another_artifact_follows_is_an_error(
    server: ScriptedServer, tmp_path: Path
) -> None:
    publish_engine(server)
    publish(server, "tool:5")
    with pytest.raises(EngineError, match=r"the version of log-core cannot be determined: .* log-api"):
        resolve_lock(TwoModules(), "1.0", LockSource(tmp_path, server.url))


def test_two_jars_with_one_file_name_are_an_error(server: ScriptedServer, tmp_path: Path) -> None:
    publish_engine(server, "log-api:7", "a:b-c", "a-b:c")
    for name in ("tool:5", "a:b-c", "a-b:c"):
        publish(server, name)
    with pytest.raises(EngineError, match=r"cannot be in one folder: both are called a-b-c\.jar"):
        resolve_lock(TwoModules(), "1.0", LockSource(tmp_path, server.url))


def test_a_module_that_the_core_needs_keeps_its_own_jar(server: ScriptedServer, tmp_path: Path) -> None:
    publish_engine(server, "log-api:7", "base:1.0")
    publish(server, "tool:5")
    lock = resolve_lock(TwoModules(), "1.0", LockSource(tmp_path, server.url))
    assert [jar.name for jar in lock.modules[0].artifacts] == ["base"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"no zip", r"base-1\.0\.jar is not a module: "),
        (
            described("classname=../../x"),
            r"base-1\.0\.jar is not a module: '\.\./\.\./x' is not a valid name",
        ),
        (described("x" * 2_000_000), r"base-1\.0\.jar is not a module: .* more than 1,048,576 bytes"),
        (described("\xff"), r"base-1\.0\.jar is not a module: "),
        (
            zipped(*(f"a/X{n}Plugin.class" for n in range(999))),
            r"must have one plugin class, but has .{200,300}…$",
        ),
    ],
    ids=["damaged", "name", "large", "encoding", "many"],
)
def test_a_module_that_is_none_is_an_error_of_one_line(
    server: ScriptedServer, tmp_path: Path, content: bytes, problem: str
) -> None:
    for name in ("core:1.0", "log-api:7", "log-core:7", "bridge:1.0", "tool:5"):
        publish(server, name, ("log-api:7",) if name == "core:1.0" else ())
    publish(server, "base:1.0", (), content)
    with pytest.raises(EngineError, match=problem):
        resolve_lock(TwoModules(), "1.0", LockSource(tmp_path, server.url))
