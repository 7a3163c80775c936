"""Corpora are generated once, and either completely or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.race.generated_corpora import generate


def test_a_corpus_is_generated_once_unless_it_is_damaged(tmp_path: Path) -> None:
    labels: list[str] = []

    def progress(label: str, done: int, total: int) -> None:
        labels.append(label)

    generate("http_logs", 700, 1, tmp_path, progress)
    first = {path.name: path.read_bytes() for path in tmp_path.glob("*.json")}
    assert sum(text.count(b"\n") for name, text in first.items() if name != "generated.json") == 700
    assert set(labels) == {"generating 700 documents of http_logs"}
    labels.clear()
    generate("http_logs", 700, 1, tmp_path, progress)
    assert labels == []
    (tmp_path / "documents-241998.json").write_bytes(b"")
    (tmp_path / "documents-241998.json.Ab12Cd.partial").write_bytes(b"")
    (tmp_path / "thesis.partial").write_bytes(b"")
    generate("http_logs", 700, 1, tmp_path, progress)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.json")} == first
    # The folder belongs to the user, so only Pacenote's own partial files are removed.
    assert [path.name for path in tmp_path.glob("*.partial")] == ["thesis.partial"]


def test_a_progress_callback_that_raises_ends_the_generation(tmp_path: Path) -> None:
    def stop(label: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate("http_logs", 3_000_000, 1, tmp_path, stop)
    assert not list(tmp_path.glob("*.json"))
