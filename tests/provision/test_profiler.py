"""The library of async-profiler: installed once, for an engine whose options name it."""

from __future__ import annotations

import hashlib
import platform
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.model.telemetry_options import TelemetryOptions
from pacenote.provision import profiler
from pacenote.provision.cars import Car
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.layout import EngineLayout, create_layout
from pacenote.telemetry.devices import jvm_options
from support.http_server import ScriptedServer

OPTIONS = jvm_options(TelemetryOptions(devices=("profile",)), "/logs")


@pytest.fixture
def layout(tmp_path: Path) -> EngineLayout:
    return create_layout(tmp_path / "home", root=False)


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Returns a jar with small libraries, which is taken for that of the profiler."""
    file = tmp_path / "profiler.jar"
    with zipfile.ZipFile(file, "w") as archive:
        for folder in ("linux-x64", "linux-arm64"):
            archive.writestr(f"{folder}/libasyncProfiler.so", folder)
    data = file.read_bytes()
    artifact = replace(profiler.ARTIFACT, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    monkeypatch.setattr(profiler, "ARTIFACT", artifact)
    return data


def request(layout: EngineLayout, *, mirror: str | None = None, offline: bool = False) -> EngineRequest:
    car = Car(jvm_options=OPTIONS)
    return EngineRequest(layout.home, layout.home, car=car, maven_mirror=mirror, offline=offline)


def test_the_library_is_downloaded_once_and_can_be_read_by_nodes(
    layout: EngineLayout, jar: bytes, server: ScriptedServer
) -> None:
    library = profiler.profiler_library(layout)
    profiler.install_profiler(EngineRequest(layout.home, layout.home), layout)
    assert not library.exists()
    server.put(f"/{profiler.ARTIFACT.repository_path}", jar)
    for _ in range(2):
        profiler.install_profiler(request(layout, mirror=server.url), layout)
    assert library.read_text().startswith("linux-")
    assert library.stat().st_mode & 0o777 == 0o755
    assert len(server.requests) == 1
    assert [path.name for path in library.parent.iterdir() if path.name != ".lock"] == [library.name]


@pytest.mark.usefixtures("jar")
def test_another_file_is_not_loaded(layout: EngineLayout, server: ScriptedServer) -> None:
    server.put(f"/{profiler.ARTIFACT.repository_path}", b"x" * profiler.ARTIFACT.size)
    with pytest.raises(EngineError, match=r"tools\.profiler:async-profiler:4\.3 has the"):
        profiler.install_profiler(request(layout, mirror=server.url), layout)
    assert not profiler.profiler_library(layout).exists()


def test_a_library_that_is_missing_is_named_before_the_race(
    layout: EngineLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        EngineError, match=r"async-profiler:4\.3 is not on this machine, and --offline"
    ) as caught:
        profiler.install_profiler(request(layout, offline=True), layout)
    assert caught.value.hint == "run once without --offline"
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(EngineError, match="async-profiler has no library for riscv64"):
        profiler.install_profiler(request(layout), layout)
