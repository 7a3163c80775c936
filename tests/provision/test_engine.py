"""Problems that prevent an engine from starting are reported before anything is downloaded or created."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pacenote.cluster.cluster import start_cluster
from pacenote.errors import EngineError, PacenoteError
from pacenote.provision import engine as engine_module
from pacenote.provision.cars import Car
from pacenote.provision.engine import EngineRequest, check_engine_request, install_engine
from pacenote.provision.engine_lock import EngineLock, save_lock
from pacenote.provision.layout import create_layout, plan_layout
from pacenote.provision.maven import MavenArtifact

from .conftest import jar


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineRequest:
    def no_download(*_: object, **__: object) -> None:
        pytest.fail("an artifact was looked up or downloaded")

    monkeypatch.setattr("pacenote.provision.maven.MavenRepository", no_download)
    monkeypatch.setattr(engine_module, "resolve_lock", no_download)
    # With `root=False`, nothing is created outside the test's folder even if root runs the test.
    monkeypatch.setattr(engine_module, "create_layout", partial(create_layout, root=False))
    monkeypatch.setattr(engine_module, "plan_layout", partial(plan_layout, root=False))
    car = Car(heap_size="128m")
    return EngineRequest(tmp_path / "home", tmp_path / "artifacts", car=car, runtime_jdk="bundled")


def test_a_valid_request_passes_and_creates_nothing(request_: EngineRequest, tmp_path: Path) -> None:
    check_engine_request(request_)
    check_engine_request(replace(request_, version="3.99.0"))
    assert not list(tmp_path.iterdir())


def test_bundled_is_the_java_that_is_chosen_for_the_engine(
    request_: EngineRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = replace(request_, distribution="elasticsearch", version="7.17.28")
    check_engine_request(old)
    for major in range(17, 22):
        monkeypatch.delenv(f"JAVA{major}_HOME", raising=False)
    with pytest.raises(EngineError, match="it needs 17 to 21, and the bundled one"):
        check_engine_request(replace(old, offline=True))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"distribution": "opensaerch"}, "unknown distribution 'opensaerch'"),
        ({"version": "1.0.0"}, r"opensearch 1\.0\.0 cannot be started"),
        ({"runtime_jdk": "newest"}, "--runtime-jdk=newest"),
        ({"runtime_jdk": "/no/such/jdk"}, "no Java in /no/such/jdk"),
        ({"car": Car(heap_size="4096g")}, "too little memory"),
        ({"car": Car(heap_size="lots")}, "heap_size 'lots'"),
        ({"offline": True, "version": "3.99.0"}, r"opensearch 3\.99\.0 was never resolved here"),
        ({"offline": True}, r"jars of opensearch 3\.3\.0 are missing in .*\.jar, .* more"),
    ],
)
def test_an_invalid_request_is_rejected_before_any_folder_is_created(
    request_: EngineRequest, tmp_path: Path, change: dict[str, object], words: str
) -> None:
    with pytest.raises(PacenoteError, match=words) as caught:
        check_engine_request(replace(request_, **change))  # type: ignore[arg-type]  # one field of any kind
    assert not list(tmp_path.iterdir())
    if "offline" in change:
        assert caught.value.hint == "run once without --offline"


@pytest.mark.parametrize("version", ["", "3.99.0"])
def test_nothing_is_downloaded_when_offline(request_: EngineRequest, version: str) -> None:
    offline = replace(request_, offline=True, version=version)
    for action in (start_cluster, install_engine):
        with pytest.raises(EngineError, match="--offline"):
            action(offline)


def test_cached_jars_are_used_when_offline(request_: EngineRequest) -> None:
    layout = create_layout(request_.home, root=False)
    artifact = jar("core", b"core")
    artifact.path_in(layout.jars).parent.mkdir()
    artifact.path_in(layout.jars).write_bytes(b"core")
    save_lock(EngineLock("opensearch", "3.99.0", (artifact,), ()), layout.locks)
    offline = replace(request_, offline=True, version="3.99.0")
    check_engine_request(offline)
    assert (install_engine(offline).folder / "lib" / "core-1.0.jar").exists()
    other = MavenArtifact("org.example", "other", "2.0", hashlib.sha256(b"x").hexdigest(), 1)
    save_lock(EngineLock("opensearch", "3.99.0", (artifact, other), ()), layout.locks)
    with pytest.raises(EngineError, match=r"1 of the 2 jars .*: other-2\.0\.jar$"):
        check_engine_request(offline)


def test_an_installation_removes_stale_files(request_: EngineRequest) -> None:
    build = create_layout(request_.home, root=False).installs / ".build-old"
    build.mkdir()
    os.utime(build, (1, 1))
    with pytest.raises(EngineError):
        install_engine(replace(request_, offline=True))
    assert not build.exists()
