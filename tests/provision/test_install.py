"""An engine is assembled once and then reused."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import DiskError, EngineError
from pacenote.provision import install
from pacenote.provision.assembly_steps import AssemblySource
from pacenote.provision.engine_lock import EngineLock, EngineModule
from pacenote.provision.install import MARKER, assemble
from pacenote.provision.java import JavaRuntime
from support.disks import fill, small_disk

from .conftest import FakeEngine, jar, put_in_cache


@pytest.fixture
def lock(tmp_path: Path) -> EngineLock:
    core, own = jar("core", b"core"), jar("own", b"own")
    for artifact in (core, own):
        put_in_cache(artifact, tmp_path / "jars", artifact.name.encode())
    (tmp_path / "installs").mkdir()
    return EngineLock("fake", "1.0", (core,), (EngineModule("m", "a.M", (), (own,)),))


def source(lock: EngineLock, tmp_path: Path) -> AssemblySource:
    java = JavaRuntime(tmp_path / "java", "21.0.1", "", frozenset(), "test")
    return AssemblySource(lock, tmp_path / "jars", java)


def build(lock: EngineLock, tmp_path: Path) -> Path:
    return assemble(FakeEngine(), source(lock, tmp_path), tmp_path / "installs")


def test_an_engine_is_assembled_once(lock: EngineLock, tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        folder = build(lock, tmp_path)
    finally:
        os.umask(old)
    assert (folder / "lib" / "core-1.0.jar").read_bytes() == b"core"
    assert (folder / "modules" / "m" / "own-1.0.jar").read_bytes() == b"own"
    assert (folder / "modules" / "m" / "descriptor").read_text() == "m 1.0"
    assert all(each.stat().st_mode & 0o777 == 0o755 for each in (folder, *folder.rglob("*")) if each.is_dir())
    before = folder.stat().st_ino
    assert build(lock, tmp_path) == folder
    assert folder.stat().st_ino == before
    assert [each.name for each in (tmp_path / "installs").iterdir()] == [folder.name]


def test_jars_with_one_file_name_do_not_change_the_cache(lock: EngineLock, tmp_path: Path) -> None:
    (core,) = lock.lib
    other = replace(jar("core", b"evil"), group="org.evil")
    put_in_cache(other, tmp_path / "jars", b"evil")
    with pytest.raises(DiskError, match="File exists"):
        build(replace(lock, lib=(core, other)), tmp_path)
    assert core.path_in(tmp_path / "jars").read_bytes() == b"core"
    assert not list((tmp_path / "installs").iterdir())


def test_a_file_by_which_a_module_describes_itself_does_not_change_the_cache(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("META-INF/es-plugins/m/pinned-1.jar", b"evil")
    own, pinned = jar("own", content.getvalue()), replace(jar("pinned", b"pinned"), version="1")
    for artifact, data in ((own, content.getvalue()), (pinned, b"pinned")):
        put_in_cache(artifact, tmp_path / "jars", data)
    (tmp_path / "installs").mkdir()
    lock = EngineLock("fake", "1.0", (), (EngineModule("m", "a.M", (), (own, pinned)),))
    assemble(FakeEngine(modules_describe_themselves=True), source(lock, tmp_path), tmp_path / "installs")
    assert pinned.path_in(tmp_path / "jars").read_bytes() == b"pinned"


def test_a_folder_without_a_marker_is_replaced(lock: EngineLock, tmp_path: Path) -> None:
    folder = build(lock, tmp_path)
    (folder / MARKER).unlink()
    (folder / "lib" / "core-1.0.jar").unlink()
    assert (build(lock, tmp_path) / "lib" / "core-1.0.jar").exists()


def test_jars_are_copied_if_they_cannot_be_linked(
    lock: EngineLock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.link", no_links)
    assert (build(lock, tmp_path) / "lib" / "core-1.0.jar").read_bytes() == b"core"


def test_a_missing_jar_leaves_no_files(lock: EngineLock, tmp_path: Path) -> None:
    lock.lib[0].path_in(tmp_path / "jars").unlink()
    with pytest.raises(DiskError):
        build(lock, tmp_path)
    assert not list((tmp_path / "installs").iterdir())


def test_locale_jars_provide_only_word_boundaries(lock: EngineLock, tmp_path: Path) -> None:
    services = "META-INF/services/java.text.spi."
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in (services + "BreakIteratorProvider", services + "DateFormatProvider", "a/B.class"):
            archive.writestr(name, b"x")
    spi = jar("spi", out.getvalue())
    put_in_cache(spi, tmp_path / "jars", out.getvalue())
    folder = build(replace(lock, locale=(spi,)), tmp_path)
    with zipfile.ZipFile(folder / "locale" / "spi-1.0.jar") as archive:
        assert archive.namelist() == [services + "BreakIteratorProvider", "a/B.class"]


@pytest.mark.parametrize("has_directory", [False, True])
def test_a_damaged_jar_is_named(lock: EngineLock, tmp_path: Path, has_directory: bool) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/services/java.text.spi.DateFormatProvider", b"x")
        archive.writestr("a/B.class", bytes(range(256)) * 64)
    content = out.getvalue()
    if has_directory:
        start = content.index(b"a/B.class") + len(b"a/B.class")
        content = content[:start] + b"\xff" * 64 + content[start + 64 :]
    else:
        content = b"no zip"
    spi = jar("spi", content)
    put_in_cache(spi, tmp_path / "jars", content)
    with pytest.raises(EngineError) as caught:
        build(replace(lock, locale=(spi,)), tmp_path)
    assert caught.value.message.startswith(f"{spi.path_in(tmp_path / 'jars')} is damaged: ")
    assert caught.value.hint == "delete this file; it will be downloaded again"


@pytest.mark.parametrize("leave_kb", range(0, 360, 50))
def test_a_full_disk_leaves_no_files_and_the_next_attempt_succeeds(tmp_path: Path, leave_kb: int) -> None:
    core, own = jar("core", os.urandom(150_000)), jar("own", b"own")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("META-INF/services/java.text.spi.DateFormatProvider", b"x")
        archive.writestr("a/B.class", os.urandom(100_000))
    spi = jar("spi", content.getvalue())
    for artifact, data in ((core, os.urandom(150_000)), (own, b"own"), (spi, content.getvalue())):
        put_in_cache(artifact, tmp_path / "jars", data)
    lock = EngineLock("fake", "1.0", (core,), (EngineModule("m", "a.M", (), (own,)),), locale=(spi,))
    # The jars are on another disk, and are therefore copied.
    with small_disk(tmp_path / "installs", 400) as disk:
        filler = fill(disk, leave_kb)
        message = ""
        try:
            build(lock, tmp_path)
        except DiskError as error:
            message = error.message
        if message:
            assert message.startswith(f"no space left on the disk for {disk}")
            assert list(disk.iterdir()) == [filler]
        assert bool(message) == (leave_kb < 260)
        filler.unlink()
        folder = build(lock, tmp_path)
        assert (folder / MARKER).read_text() == "fake 1.0\n"
        assert (folder / "lib" / "core-1.0.jar").stat().st_size == 150_000
        assert zipfile.ZipFile(folder / "locale" / "spi-1.0.jar").testzip() is None


def test_the_assembly_reports_its_progress(
    lock: EngineLock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int, int]] = []
    monkeypatch.setattr(install, "run_steps", lambda *_: seen.append(("compiled", 0, 0)))
    for _ in range(2):
        assemble(FakeEngine(), source(lock, tmp_path), tmp_path / "installs", lambda *step: seen.append(step))
    label = "assembling fake 1.0"
    before = [(label, done, 2) for done in (0, 0, 1)]
    assert seen == [*before, ("compiled", 0, 0), (label, 2, 2)], "the second one finds the first"
