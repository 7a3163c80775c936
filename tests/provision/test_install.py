"""An engine is assembled once, whole, and found again."""

from __future__ import annotations

import dataclasses
import io
import os
import zipfile
from pathlib import Path

import pytest

from pacenote.errors import DiskError, EngineError
from pacenote.provision.distribution import NodePaths
from pacenote.provision.distributions import find_distribution
from pacenote.provision.engine_lock import Lock, Module
from pacenote.provision.install import MARKER, assemble
from pacenote.provision.java import Java

from .conftest import FakeEngine, jar


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    core, own = jar("core", b"core"), jar("own", b"own")
    for each in (core, own):
        each.path_in(tmp_path / "jars").parent.mkdir(parents=True, exist_ok=True)
        each.path_in(tmp_path / "jars").write_bytes(each.name.encode())
    (tmp_path / "installs").mkdir()
    return Lock("fake", "1.0", (core,), (Module("m", "a.M", (), (own,)),))


def build(lock: Lock, tmp_path: Path) -> Path:
    return assemble(FakeEngine(), lock, tmp_path / "jars", tmp_path / "installs")


def test_layout_and_reuse(lock: Lock, tmp_path: Path) -> None:
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


def test_a_folder_without_its_marker_is_replaced(lock: Lock, tmp_path: Path) -> None:
    folder = build(lock, tmp_path)
    (folder / MARKER).unlink()
    (folder / "lib" / "core-1.0.jar").unlink()
    assert (build(lock, tmp_path) / "lib" / "core-1.0.jar").exists()


def test_copies_where_links_do_not_work(lock: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.link", no_links)
    assert (build(lock, tmp_path) / "lib" / "core-1.0.jar").read_bytes() == b"core"


def test_a_missing_jar_leaves_nothing_behind(lock: Lock, tmp_path: Path) -> None:
    lock.lib[0].path_in(tmp_path / "jars").unlink()
    with pytest.raises(DiskError):
        build(lock, tmp_path)
    assert not list((tmp_path / "installs").iterdir())


def test_opensearch_in_words() -> None:
    distribution = find_distribution("opensearch", "3.3.0")
    paths = NodePaths(*(Path("/", name) for name in ("home", "config", "data", "logs", "tmp")))
    module = Module("m", "a.M", ("x", "y"), ())
    descriptor = distribution.module_files("3.3.0", module)["plugin-descriptor.properties"]
    assert "classname=a.M\nextended.plugins=x,y\n" in descriptor
    settings = {**distribution.settings(1, 2), "a": "b: c", "n": True}
    text = distribution.config_files(paths, settings)["opensearch.yml"]
    assert 'network.host: "127.0.0.1"\nhttp.port: 1\ntransport.port: 2\n' in text
    assert 'a: "b: c"\nn: true\npath.data: "/data"' in text
    full = Java(Path("/java"), "25", "", frozenset({"jdk.incubator.vector"}), "JAVA_HOME")
    options = distribution.jvm_options(1 << 30, paths, full)
    assert {"-Xms1073741824", "-Xmx1073741824", "--add-modules=jdk.incubator.vector"} <= set(options)
    bundled = dataclasses.replace(full, modules=frozenset(), trimmed=True)
    assert not any("vector" in each for each in distribution.jvm_options(1, paths, bundled))
    assert distribution.main(paths, full)[-2:] == ("/home/lib/*", "org.opensearch.bootstrap.OpenSearch")
    assert distribution.main(paths, bundled)[-2] == "/home/lib/*:/home/locale/*"


def test_locale_jars_serve_word_boundaries_only(lock: Lock, tmp_path: Path) -> None:
    services = "META-INF/services/java.text.spi."
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in (services + "BreakIteratorProvider", services + "DateFormatProvider", "a/B.class"):
            archive.writestr(name, b"x")
    spi = jar("spi", out.getvalue())
    spi.path_in(tmp_path / "jars").write_bytes(out.getvalue())
    folder = build(dataclasses.replace(lock, locale=(spi,)), tmp_path)
    with zipfile.ZipFile(folder / "locale" / "spi-1.0.jar") as archive:
        assert archive.namelist() == [services + "BreakIteratorProvider", "a/B.class"]
    spi.path_in(tmp_path / "jars").write_bytes(b"no zip")
    with pytest.raises(EngineError, match="is damaged"):
        build(dataclasses.replace(lock, version="2.0", locale=(spi,)), tmp_path)
