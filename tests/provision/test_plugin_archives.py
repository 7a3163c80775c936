"""Plugins are unpacked into a copy of an assembled engine."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.model.archive_options import ArchiveOptions
from pacenote.model.engine_archive import EngineArchive
from pacenote.provision.archives.archive_cache import CachedArchive, CacheLimits
from pacenote.provision.archives.plugin_sources import PluginOrigin, is_location, plugin_source
from pacenote.provision.install import MARKER
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_registry import NodeEntry, current_process, lock_node, register, unregister
from pacenote.provision.plugin_archives import AssembledEngineFolder, prune_copies, unpack_plugins
from support.official_archive import plugin_zip


@pytest.fixture
def engine(tmp_path: Path) -> AssembledEngineFolder:
    folder = tmp_path / "installs" / "elasticsearch-7.17.28"
    for name in ("lib", "modules/reindex", "plugins", "config", "bin"):
        (folder / name).mkdir(parents=True)
    (folder / "lib" / "core.jar").write_text("jar")
    return AssembledEngineFolder(folder, "elasticsearch", "7.17.28")


def archive(folder: Path, content: bytes, name: str = "own.zip") -> CachedArchive:
    path = folder / name
    path.write_bytes(content)
    return CachedArchive(path, EngineArchive(str(path), hashlib.sha512(content).hexdigest(), verified=False))


def test_a_plugin_is_unpacked_into_a_copy(engine: AssembledEngineFolder, tmp_path: Path) -> None:
    own = archive(tmp_path, plugin_zip("own", "7.17.28", extended_plugins="reindex,absent;optional=true"))
    folder = unpack_plugins(engine, [own])
    assert (folder / "plugins" / "own" / "own.jar").stat().st_mode & 0o777 == 0o644
    assert (folder / "lib" / "core.jar").samefile(engine.folder / "lib" / "core.jar")
    assert not list((engine.folder / "plugins").iterdir())
    own.path.unlink()
    assert unpack_plugins(engine, [own]) == folder


def test_what_is_not_the_plugin_that_was_checked_is_not_unpacked(
    engine: AssembledEngineFolder, tmp_path: Path
) -> None:
    own = archive(tmp_path, plugin_zip("own", "7.17.28"))
    archive(tmp_path, plugin_zip("own", "7.17.28", description="evil"), "other.zip").path.replace(own.path)
    with pytest.raises(EngineError, match=r"own\.zip is not used: it was changed or replaced"):
        unpack_plugins(engine, [own])
    assert [path.name for path in engine.folder.parent.iterdir()] == [engine.folder.name]
    again = archive(tmp_path, plugin_zip("own", "7.17.28"), "again.zip")
    descriptor = unpack_plugins(engine, [again]) / "plugins" / "own" / "plugin-descriptor.properties"
    assert "evil" not in descriptor.read_text()


def test_copies_that_no_node_uses_are_removed(engine: AssembledEngineFolder, layout: EngineLayout) -> None:
    layout.installs.rmdir()
    engine.folder.parent.rename(layout.installs)
    engine = replace(engine, folder=layout.installs / engine.folder.name)
    own = archive(layout.home, plugin_zip("own", "7.17.28"))
    copy, limits = unpack_plugins(engine, [own]), CacheLimits(days=1)
    prune_copies(layout, limits)
    assert copy.exists()
    os.utime(copy / MARKER, (1, 1))
    entry = NodeEntry("n-1", layout.nodes / "n-1", current_process(), None)
    lock = lock_node(layout, entry)
    register(layout, entry)
    prune_copies(layout, limits)
    assert copy.exists(), "a node may run in it"
    unregister(layout, entry, lock)
    assert unpack_plugins(engine, [own]) == copy
    prune_copies(layout, limits)
    assert copy.exists(), "it was used"
    os.utime(copy / MARKER, (1, 1))
    prune_copies(layout, limits)
    assert not copy.exists()
    assert engine.folder.exists()


def zip_of(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as members:
        for name in names:
            members.writestr(name, "name=own\nelasticsearch.version=7.17.28\n")
    return buffer.getvalue()


def zip_with(descriptor: bytes, method: int = zipfile.ZIP_DEFLATED, other: str = "own.jar") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as members:
        members.writestr("plugin-descriptor.properties", descriptor)
        members.writestr(other, "")
    return buffer.getvalue()


def damaged(content: bytes) -> bytes:
    """Inverts the compressed data of the first member."""
    start = content.index(b"plugin-descriptor.properties") + len("plugin-descriptor.properties")
    return content[:start] + bytes(byte ^ 255 for byte in content[start : start + 30]) + content[start + 30 :]


def encrypted(content: bytes) -> bytes:
    """Marks all members of an archive as encrypted."""
    marked = bytearray(content)
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := marked.find(signature, at + 1)) >= 0:
            marked[at + flags] |= 1
    return bytes(marked)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"<html>not found</html>", "is damaged"),
        (
            encrypted(zip_of("plugin-descriptor.properties")),
            "is damaged: File 'plugin-descriptor.properties'",
        ),
        *(
            (damaged(zip_with(b"name=own\n" * 100, method)), "is damaged: ")
            for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
        ),
        # The name is marked as UTF-8, and is not.
        (zip_with(b"", other="\xe9\xe9").replace("\xe9\xe9".encode(), b"\xff\xfe" * 2), "is damaged: "),
        # A few kilobytes that unpack to more than a descriptor has.
        (
            zip_with(b" " * (2 << 20)),
            "is damaged: plugin-descriptor.properties has more than 1,048,576 bytes",
        ),
        (zip_of("README"), "is not a plugin: it has no plugin-descriptor.properties"),
        (plugin_zip("../own", "7.17.28"), "its plugin-descriptor.properties has no name"),
        (plugin_zip("own", "7.17.27"), "is a plugin of elasticsearch 7.17.27, not of elasticsearch 7.17.28"),
        (plugin_zip("own", ""), "is a plugin of another engine"),
        (plugin_zip("own", "7.17.28", extended_plugins="lang-painless"), "plugin own needs lang-painless"),
        (
            zip_of("plugin-descriptor.properties", "../../outside"),
            "../../outside would be written outside of its folder",
        ),
    ],
)
def test_what_is_not_a_plugin_of_the_engine_is_refused(
    engine: AssembledEngineFolder, tmp_path: Path, content: bytes, problem: str
) -> None:
    with pytest.raises(EngineError) as caught:
        unpack_plugins(engine, [archive(tmp_path, content)])
    assert problem in caught.value.message
    assert "\n" not in caught.value.message
    assert [path.name for path in engine.folder.parent.iterdir()] == [engine.folder.name]


def test_a_plugin_with_too_many_files_is_refused(
    engine: AssembledEngineFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacenote.provision.plugin_archives.MAX_MEMBERS", 10)
    names = ("plugin-descriptor.properties", *(f"{n}.jar" for n in range(10)))
    with pytest.raises(EngineError, match="contains more than 10 files"):
        unpack_plugins(engine, [archive(tmp_path, zip_of(*names))])


def test_a_plugin_is_named_by_its_name_its_location_or_its_coordinate(tmp_path: Path) -> None:
    origin = PluginOrigin("opensearch", "3.4.0", ArchiveOptions(), "https://example.org/maven2")
    assert not is_location("analysis-icu")
    icu = plugin_source("analysis-icu", origin)
    assert icu.address == (
        "https://artifacts.opensearch.org/releases/plugins/analysis-icu/3.4.0/analysis-icu-3.4.0.zip"
    )
    assert icu.checked
    coordinate = plugin_source("org.opensearch.plugin:opensearch-job-scheduler:3.4.0.0", origin)
    assert coordinate.address == (
        "https://example.org/maven2/org/opensearch/plugin/opensearch-job-scheduler/3.4.0.0/"
        "opensearch-job-scheduler-3.4.0.0.zip"
    )
    assert plugin_source(str(tmp_path / "own.zip"), origin).is_file
    assert plugin_source("https://example.org/own.zip", origin).address == "https://example.org/own.zip"
