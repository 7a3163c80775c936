"""Corpora are generated once, and either completely or not at all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pacenote import _core
from pacenote.errors import CorpusError
from pacenote.model.progress import no_progress
from pacenote.race import generated_corpora
from pacenote.race.data_folder import exclusive_folder
from pacenote.race.generated_corpora import GeneratedCorpus, ensure_generated, generate
from support.disks import small_disk


def test_a_corpus_is_generated_once_unless_it_is_damaged(tmp_path: Path) -> None:
    labels: list[str] = []

    def progress(label: str, done: int, total: int) -> None:
        labels.append(label)

    generate("http_logs", 700, 1, tmp_path, progress)
    first = {path.name: path.read_bytes() for path in tmp_path.glob("documents-*.json")}
    assert sum(text.count(b"\n") for text in first.values()) == 700
    assert set(labels) == {"generating 700 documents of http_logs"}
    labels.clear()
    generate("http_logs", 700, 1, tmp_path, progress)
    assert labels == []
    (tmp_path / "documents-241998.json").write_bytes(b"")
    (tmp_path / "documents-241998.json.Ab12Cd.partial").write_bytes(b"")
    (tmp_path / "thesis.partial").write_bytes(b"")
    generate("http_logs", 700, 1, tmp_path, progress)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("documents-*.json")} == first
    # The folder belongs to the user, so only Pacenote's own partial files are removed.
    assert [path.name for path in tmp_path.glob("*.partial")] == ["thesis.partial"]


def test_a_progress_callback_that_raises_ends_the_generation(tmp_path: Path) -> None:
    def stop(label: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate("http_logs", 3_000_000, 1, tmp_path, stop)
    assert not list(tmp_path.glob("documents-*.json"))


def change_byte(path: Path, *, keep_time: bool) -> None:
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(status.st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    if keep_time:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CORPUS = GeneratedCorpus("http_logs", {"documents-241998.json": 500}, 42)


@pytest.mark.parametrize("keep_time", [False, True])
def test_generated_data_with_one_changed_byte_is_not_used(tmp_path: Path, keep_time: bool) -> None:
    ensure_generated(CORPUS, tmp_path, no_progress).verify()
    path = tmp_path / "documents-241998.json"
    generated = path.read_bytes()
    change_byte(path, keep_time=keep_time)
    assert path.read_bytes() != generated
    present = ensure_generated(CORPUS, tmp_path, no_progress)
    if keep_time:
        with pytest.raises(CorpusError, match=r"documents-241998\.json was changed since it was generated"):
            present.verify()
    else:
        # The time shows it at once, so the file is generated again.
        present.verify()
        assert path.read_bytes() == generated


def test_pacenote_generate_replaces_changed_files(tmp_path: Path) -> None:
    generate("http_logs", 700, 1, tmp_path, no_progress)
    path = tmp_path / "documents-241998.json"
    generated = path.read_bytes()
    change_byte(path, keep_time=True)
    generate("http_logs", 700, 1, tmp_path, no_progress)
    assert path.read_bytes() == generated


def test_a_copied_folder_is_compared_and_not_generated_again(tmp_path: Path) -> None:
    ensure_generated(CORPUS, tmp_path / "a", no_progress)
    shutil.copytree(tmp_path / "a", tmp_path / "b", copy_function=shutil.copy)
    labels: list[str] = []
    ensure_generated(CORPUS, tmp_path / "b", lambda label, *_: labels.append(label)).verify()
    assert labels == []


def test_files_without_a_checksum_are_generated_again(tmp_path: Path) -> None:
    ensure_generated(CORPUS, tmp_path, no_progress)
    manifest = json.loads((tmp_path / "generated.json").read_text())
    for file in manifest["files"]:
        del file["crc32c"]
    (tmp_path / "generated.json").write_text(json.dumps(manifest))
    labels: list[str] = []
    ensure_generated(CORPUS, tmp_path, lambda label, *_: labels.append(label))
    assert labels


def test_unchanged_files_are_compared_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_generated(CORPUS, tmp_path / "a", no_progress)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    compared: list[str] = []

    class CountingCore:
        """The Rust core, which tells which files it reads."""

        def __getattr__(self, name: str) -> object:
            return getattr(_core, name)

        def crc32c(self, path: str) -> int:
            compared.append(path)
            return _core.crc32c(path)

    monkeypatch.setattr(generated_corpora, "_core", CountingCore())
    for folder, expected in (("a", 0), ("b", 1), ("b", 0)):
        compared.clear()
        ensure_generated(CORPUS, tmp_path / folder, no_progress).verify()
        assert len(compared) == expected, folder
    change_byte(tmp_path / "b" / "documents-241998.json", keep_time=True)
    with pytest.raises(CorpusError, match="was changed since it was generated"):
        ensure_generated(CORPUS, tmp_path / "b", no_progress).verify()


def test_files_of_a_folder_that_cannot_be_written_are_compared(tmp_path: Path) -> None:
    ensure_generated(CORPUS, tmp_path / "a", no_progress)
    with small_disk(tmp_path / "disk", 1024) as disk:
        intact, changed = (Path(shutil.copytree(tmp_path / "a", disk / name)) for name in "bc")
        change_byte(changed / "documents-241998.json", keep_time=True)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for _ in range(2):
            ensure_generated(CORPUS, intact, no_progress).verify()
            with pytest.raises(CorpusError, match="was changed since it was generated"):
                ensure_generated(CORPUS, changed, no_progress).verify()


def test_pacenote_generate_does_not_replace_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "documents-241998.json"
    for manifest in (None, "[]", "{", '{"files": [{"name": "documents-191998.json"}]}'):
        if manifest is not None:
            (tmp_path / "generated.json").write_text(manifest)
        path.write_text("collected for years")
        with pytest.raises(
            CorpusError, match=r"documents-241998\.json exists and was not generated"
        ) as caught:
            generate("http_logs", 700, 1, tmp_path, no_progress)
        assert caught.value.hint.startswith("choose another --output-path")
        assert path.read_text() == "collected for years"


def test_pacenote_generate_completes_what_it_has_begun(tmp_path: Path) -> None:
    def stop(label: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate("http_logs", 700, 1, tmp_path, stop)
    (tmp_path / "documents-241998.json").touch()
    for name, documents in (("http_logs", 20), ("noaa", 10)):
        generate(name, documents, 1, tmp_path, no_progress)
    assert sum(path.read_bytes().count(b"\n") for path in tmp_path.glob("documents*.json")) == 20 + 10


def test_pacenote_generate_does_not_replace_another_data_set(tmp_path: Path) -> None:
    generate("http_logs", 20, 1, tmp_path, no_progress)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.json")}

    def refuse(documents: int, seed: int) -> None:
        with pytest.raises(CorpusError, match="has documents of another corpus, number or seed") as caught:
            generate("http_logs", documents, seed, tmp_path, no_progress)
        assert caught.value.hint == "choose another --output-path, or remove its files"

    refuse(21, 1)
    refuse(20, 2)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.json")} == before
    generate("noaa", 10, 1, tmp_path, no_progress)
    refuse(21, 1)


KILLED = """
import os, pathlib, signal, sys
from pacenote.model.progress import no_progress
from pacenote.race.generated_corpora import GeneratedCorpus, ensure_generated
pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
corpus = GeneratedCorpus("http_logs", {"documents-241998.json": 500}, 42)
ensure_generated(corpus, pathlib.Path(sys.argv[1]), no_progress)
"""
"""A process that is killed before the manifest gets its name."""


def test_pipes_in_a_shared_folder_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "generated.json")
    assert ensure_generated(CORPUS, tmp_path, no_progress).documents == CORPUS.counts
    manifest = json.loads((tmp_path / "generated.json").read_text())
    (tmp_path / manifest["files"][0]["name"]).unlink()
    os.mkfifo(tmp_path / manifest["files"][0]["name"])
    manifest["files"][0]["bytes"] = 0
    (tmp_path / "generated.json").write_text(json.dumps(manifest))
    ensure_generated(CORPUS, tmp_path, no_progress).verify()
    assert all((tmp_path / name).is_file() for name in CORPUS.counts)


@pytest.mark.process
def test_a_manifest_that_a_killed_race_has_not_completed_is_removed(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = {path.name for path in tmp_path.iterdir()} - {".lock"}
    assert left != "generated.json"
    ensure_generated(CORPUS, tmp_path, no_progress)
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"generated.json", *CORPUS.counts}
    assert left not in names


def test_a_comparison_does_not_replace_the_manifest_of_another_race(tmp_path: Path) -> None:
    ensure_generated(CORPUS, tmp_path / "a", no_progress)
    folder = Path(shutil.copytree(tmp_path / "a", tmp_path / "b"))
    manifest = folder / "generated.json"
    with exclusive_folder(folder, ()):
        copied = manifest.read_text()
        ensure_generated(CORPUS, folder, no_progress).verify()
        # The other race may be about to replace it.
        assert manifest.read_text() == copied
    ensure_generated(CORPUS, folder, no_progress).verify()
    assert manifest.read_text() != copied
