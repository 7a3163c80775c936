"""What stops an engine's start is known before anything is downloaded or created."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pacenote.cluster.cluster import start_cluster
from pacenote.errors import EngineError, PacenoteError
from pacenote.provision import engine as engine_module
from pacenote.provision.cars import Car
from pacenote.provision.cleanup import MAX_AGE_SECONDS, remove_leftovers
from pacenote.provision.engine import EngineRequest, check_engine_request, install_engine
from pacenote.provision.engine_lock import Lock, save_lock
from pacenote.provision.layout import Place, find_place, planned_place
from pacenote.provision.maven import MavenArtifact

from .conftest import jar


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineRequest:
    def no_download(*_: object, **__: object) -> None:
        pytest.fail("something was looked up or downloaded")

    monkeypatch.setattr("pacenote.provision.maven.MavenRepository", no_download)
    monkeypatch.setattr(engine_module, "make_lock", no_download)
    # As an ordinary user, so that also root leaves nothing outside of the test's own folder.
    monkeypatch.setattr(engine_module, "find_place", partial(find_place, root=False))
    monkeypatch.setattr(engine_module, "planned_place", partial(planned_place, root=False))
    car = Car(heap_size="128m")
    return EngineRequest(tmp_path / "home", tmp_path / "artifacts", car=car, runtime_jdk="bundled")


def test_a_possible_request_passes_and_creates_nothing(request_: EngineRequest, tmp_path: Path) -> None:
    check_engine_request(request_)
    check_engine_request(replace(request_, version="3.99.0"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"distribution": "opensaerch"}, "unknown distribution 'opensaerch'"),
        ({"version": "1.0.0"}, r"opensearch 1\.0\.0 cannot be started"),
        ({"runtime_jdk": "newest"}, "--runtime-jdk=newest"),
        ({"runtime_jdk": "/no/such/jdk"}, "no Java in /no/such/jdk"),
        ({"car": Car(heap_size="4096g")}, "too little memory"),
        ({"car": Car(heap_size="lots")}, "heap_size 'lots'"),
        ({"offline": True, "version": "3.99.0"}, r"opensearch 3\.99\.0 was never looked up here"),
        ({"offline": True}, r"jars of opensearch 3\.3\.0 are missing in .*\.jar, .* more"),
    ],
)
def test_an_impossible_one_is_refused_before_any_folder(
    request_: EngineRequest, tmp_path: Path, change: dict[str, object], words: str
) -> None:
    with pytest.raises(PacenoteError, match=words) as caught:
        check_engine_request(replace(request_, **change))  # type: ignore[arg-type]  # one field of any kind
    assert not list(tmp_path.iterdir())
    if "offline" in change:
        assert caught.value.hint == "run once without --offline"


@pytest.mark.parametrize("version", ["", "3.99.0"])
def test_offline_starts_and_installs_download_nothing(request_: EngineRequest, version: str) -> None:
    offline = replace(request_, offline=True, version=version)
    for action in (start_cluster, install_engine):
        with pytest.raises(EngineError, match="--offline"):
            action(offline)


def test_offline_takes_what_is_here(request_: EngineRequest) -> None:
    place = find_place(request_.home, root=False)
    artifact = jar("core", b"core")
    artifact.path_in(place.jars).parent.mkdir()
    artifact.path_in(place.jars).write_bytes(b"core")
    save_lock(Lock("opensearch", "3.99.0", (artifact,), ()), place.locks)
    offline = replace(request_, offline=True, version="3.99.0")
    check_engine_request(offline)
    assert (install_engine(offline).folder / "lib" / "core-1.0.jar").exists()
    other = MavenArtifact("org.example", "other", "2.0", hashlib.sha256(b"x").hexdigest(), 1)
    save_lock(Lock("opensearch", "3.99.0", (artifact, other), ()), place.locks)
    with pytest.raises(EngineError, match=r"1 of the 2 jars .*: other-2\.0\.jar$"):
        check_engine_request(offline)


@pytest.mark.parametrize("root", [True, False])
def test_the_planned_place_is_the_place(tmp_path: Path, root: bool) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    planned = planned_place(tmp_path / "a" / "home", root=root, shared=shared)
    assert not (tmp_path / "a").exists()
    assert planned == find_place(tmp_path / "a" / "home", root=root, shared=shared)


def test_old_leftovers_go_and_fresh_ones_stay(place: Place) -> None:
    made = [
        *(folder / f".build-{age}" for folder in (place.installs, place.java) for age in ("old", "new")),
        *(folder / f".x.{age}.part" for folder in (place.jars / "g", place.locks) for age in ("old", "new")),
        *(place.installs / f"whole-{age}" for age in ("old", "new")),
        *(place.jars / "g" / f"x-{age}.jar" for age in ("old", "new")),
    ]
    past = time.time() - MAX_AGE_SECONDS - 60
    for each in made:
        (each if ".build-" in each.name else each.parent).mkdir(parents=True, exist_ok=True)
        (each / "file" if each.is_dir() else each).write_text("x")
        if "old" in each.name:
            os.utime(each, (past, past))
    remove_leftovers(place)
    gone = [each for each in made if not each.exists()]
    assert gone == [each for each in made if "old" in each.name and each.name.startswith(".")]


def test_a_start_removes_leftovers(request_: EngineRequest) -> None:
    build = find_place(request_.home, root=False).installs / ".build-old"
    build.mkdir()
    os.utime(build, (1, 1))
    with pytest.raises(EngineError):
        install_engine(replace(request_, offline=True))
    assert not build.exists()
