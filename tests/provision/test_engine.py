"""Problems that prevent an engine from starting are reported before anything is downloaded or created."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.cluster.cluster import start_cluster
from pacenote.errors import DownloadError, EngineError, PacenoteError, UsageError
from pacenote.model.archive_options import ArchiveOptions
from pacenote.provision import engine_checks, engine_installation, engine_selection
from pacenote.provision.cars import Car, compose_car
from pacenote.provision.engine import check_settings
from pacenote.provision.engine_checks import check_engine_request
from pacenote.provision.engine_installation import install_engine
from pacenote.provision.engine_lock import EngineLock, save_lock
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.engine_selection import expected_absent_modules
from pacenote.provision.layout import create_layout
from pacenote.provision.maven import MavenArtifact, MavenRepository
from support.http_server import ScriptedServer

from .conftest import jar, put_in_cache, use_own_layout, write_jar


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineRequest:
    def no_download(*_: object, **__: object) -> None:
        pytest.fail("an artifact was looked up or downloaded")

    monkeypatch.setattr("pacenote.provision.maven.MavenRepository", no_download)
    for module in (engine_checks, engine_selection):
        monkeypatch.setattr(module, "MavenRepository", no_download)
    monkeypatch.setattr(engine_installation, "resolve_lock", no_download)
    use_own_layout(monkeypatch)
    car = Car(heap_size="128m")
    return EngineRequest(tmp_path / "home", tmp_path / "artifacts", car=car, runtime_jdk="bundled")


@pytest.mark.process
def test_a_valid_request_passes_and_creates_nothing(request_: EngineRequest, tmp_path: Path) -> None:
    check_engine_request(request_)
    check_engine_request(dataclasses.replace(request_, version="3.8.0"))
    assert not list(tmp_path.iterdir())


def test_bundled_is_the_java_that_is_chosen_for_the_engine(
    request_: EngineRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = dataclasses.replace(request_, distribution="elasticsearch", version="7.17.28")
    check_engine_request(old)
    for major in range(17, 22):
        monkeypatch.delenv(f"JAVA{major}_HOME", raising=False)
    with pytest.raises(EngineError, match="it needs 17 to 21, and the bundled one"):
        check_engine_request(dataclasses.replace(old, offline=True))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"distribution": "opensaerch"}, "unknown distribution 'opensaerch'"),
        ({"version": "0.9.0"}, r"opensearch 0\.9\.0 cannot be started"),
        ({"runtime_jdk": "newest"}, "--runtime-jdk=newest"),
        ({"runtime_jdk": "/no/such/jdk"}, "no Java in /no/such/jdk"),
        ({"car": Car(heap_size="4096g")}, "too little memory"),
        ({"car": Car(heap_size="lots")}, "heap_size 'lots'"),
        ({"cluster_name": "../../docs/precious"}, "--cluster-name cannot be '../../docs/precious'"),
        ({"node_name": "a/b"}, "--node-name cannot be 'a/b'"),
        (
            {"car": Car(heap_size="128m", settings={"cluster.name": "a/b"})},
            r"cluster\.name in the settings of the car cannot be 'a/b'",
        ),
        ({"offline": True, "version": "3.99.0"}, r"opensearch 3\.99\.0 was never resolved here"),
        ({"offline": True}, r"jars of opensearch 3\.3\.0 are missing in .*\.jar, .* more"),
    ],
)
def test_an_invalid_request_is_rejected_before_any_folder_is_created(
    request_: EngineRequest, tmp_path: Path, change: dict[str, object], words: str
) -> None:
    with pytest.raises(PacenoteError, match=words) as caught:
        check_engine_request(dataclasses.replace(request_, **change))  # type: ignore[arg-type]  # one field of any kind
    assert not list(tmp_path.iterdir())
    if "offline" in change:
        assert caught.value.hint == "run once without --offline"


def test_a_version_that_is_not_published_is_refused_with_the_nearest_ones(
    request_: EngineRequest, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in (engine_checks, engine_selection):
        monkeypatch.setattr(module, "MavenRepository", MavenRepository)
    names = ("opensearch", "opensearch-cli", "opensearch-agent-bootstrap", "opensearch-plugin-classloader")
    listed = b"<version>3.98.0</version><version>3.98.1</version>"
    for folder in (*names, "plugin/transport-netty4-client"):
        server.put(f"/org/opensearch/{folder}/maven-metadata.xml", listed)
    with pytest.raises(
        EngineError, match=r"^opensearch 3\.99\.0 is not in the Maven repository http"
    ) as caught:
        check_engine_request(dataclasses.replace(request_, version="3.99.0", maven_mirror=server.url))
    assert caught.value.hint == "the nearest versions that can be assembled are 3.98.0, 3.98.1"
    assert not (tmp_path / "home").exists()


def test_the_installation_uses_what_the_check_has_found_out(
    request_: EngineRequest, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (engine_checks, engine_selection):
        monkeypatch.setattr(module, "MavenRepository", MavenRepository)
    pom = "/org/opensearch/opensearch/3.99.0/opensearch-3.99.0.pom"
    server.put(pom, b"<project/>")
    server.put("/opensearch-3.99.0.tar.gz.sha512", b"0" * 128)
    archive = ArchiveOptions(distributions={"release.url": f"{server.url}/opensearch-{{{{VERSION}}}}.tar.gz"})
    request = dataclasses.replace(request_, version="3.99.0", maven_mirror=server.url, archive=archive)
    checked = check_engine_request(request)
    assert checked == dataclasses.replace(request, partly_published=True)
    assert expected_absent_modules(checked) == ()
    asked = server.count(pom)
    with pytest.raises(DownloadError, match=r"opensearch 3\.99\.0"):
        install_engine(checked)
    assert server.count(pom) == asked


def test_the_modules_that_an_engine_will_lack_are_known(request_: EngineRequest) -> None:
    packaged = dataclasses.replace(request_, distribution="elasticsearch", version="9.5.3")
    assert {"lang-painless", "reindex", "x-pack-esql"} <= set(expected_absent_modules(packaged))
    assert "lang-painless" not in expected_absent_modules(request_)
    unresolved = dataclasses.replace(request_, distribution="elasticsearch", version="7.17.1")
    assert "legacy-geo" in expected_absent_modules(unresolved)


@pytest.mark.parametrize("version", ["", "3.99.0"])
def test_nothing_is_downloaded_when_offline(request_: EngineRequest, version: str) -> None:
    offline = dataclasses.replace(request_, offline=True, version=version)
    for action in (start_cluster, install_engine):
        with pytest.raises(EngineError, match="--offline"):
            action(offline)


def test_cached_jars_are_used_when_offline(request_: EngineRequest) -> None:
    layout = create_layout(request_.home, root=False)
    artifact = jar("core", b"core")
    put_in_cache(artifact, layout.jars, b"core")
    save_lock(EngineLock("opensearch", "3.99.0", (artifact,), ()), layout.locks)
    offline = dataclasses.replace(request_, offline=True, version="3.99.0")
    check_engine_request(offline)
    assert (install_engine(offline).program.home / "lib" / "core-1.0.jar").exists()
    other = MavenArtifact("org.example", "other", "2.0", hashlib.sha256(b"x").hexdigest(), 1)
    save_lock(EngineLock("opensearch", "3.99.0", (artifact, other), ()), layout.locks)
    with pytest.raises(EngineError, match=r"1 of the 2 jars .*: other-2\.0\.jar$"):
        check_engine_request(offline)


def test_misspelt_settings_are_found_before_a_race_if_the_jars_are_there(request_: EngineRequest) -> None:
    layout = create_layout(request_.home, root=False)
    write_jar(layout.jars / "org.example", "core-1.0.jar", "indices.memory.index_buffer_size")
    content = (layout.jars / "org.example" / "core-1.0.jar").read_bytes()
    save_lock(EngineLock("opensearch", "3.99.0", (jar("core", content),), ()), layout.locks)
    car = compose_car((), {"additional_cluster_settings": {"indices.memory.index_bufer_size": "1%"}})
    misspelt = dataclasses.replace(request_, version="3.99.0", car=car)
    with pytest.raises(UsageError, match=r"opensearch 3\.99\.0 has no setting indices") as caught:
        check_engine_request(misspelt)
    assert caught.value.hint == "did you mean indices.memory.index_buffer_size?"


def test_settings_are_checked_when_the_jars_are_there(
    request_: EngineRequest, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (engine_checks, engine_selection):
        monkeypatch.setattr(module, "MavenRepository", MavenRepository)
    monkeypatch.setattr("pacenote.provision.maven.MavenRepository", MavenRepository)
    layout = create_layout(request_.home, root=False)
    write_jar(layout.home, "core-1.0.jar", "indices.memory.index_buffer_size")
    content = (layout.home / "core-1.0.jar").read_bytes()
    artifact = jar("core", content)
    server.put(f"/{artifact.repository_path}", content)
    save_lock(EngineLock("opensearch", "3.99.0", (artifact,), ()), layout.locks)
    request = dataclasses.replace(request_, version="3.99.0", maven_mirror=server.url)
    assert check_engine_request(request) == request
    misspelt = replace(request.car, settings={"indices.memory.index_bufer_size": "1%"})
    checked = check_engine_request(dataclasses.replace(request, car=misspelt))
    assert checked.unchecked_settings
    with pytest.raises(UsageError, match=r"opensearch 3\.99\.0 has no setting indices"):
        check_settings(checked)
    assert server.count(f"/{artifact.repository_path}") == 1
    check_settings(check_engine_request(request))


def test_an_installation_removes_stale_files(request_: EngineRequest) -> None:
    build = create_layout(request_.home, root=False).installs / ".build-old"
    build.mkdir()
    os.utime(build, (1, 1))
    with pytest.raises(EngineError):
        install_engine(dataclasses.replace(request_, offline=True))
    assert not build.exists()
