"""In test mode, a track has little data, short tasks and no pauses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pacenote.model.track import Documents, Task
from pacenote.track.test_mode import for_test_mode
from pacenote.units import Rate
from track.builders import load


def documents(tmp_path: Path, **keys: Any) -> Documents:
    file = {"source-file": "f.json", "document-count": 1001}
    file |= {key.replace("_", "-"): value for key, value in keys.items()}
    track = load(tmp_path, corpora=[{"name": "library", "documents": [file]}])
    return for_test_mode(track).corpora[0].documents[0]


def task(tmp_path: Path, **keys: Any) -> Task:
    written = {key.replace("_", "-"): value for key, value in keys.items()}
    track = for_test_mode(load(tmp_path, schedule=[{"operation": "read", **written}]))
    (only,) = track.challenges[0].tasks()
    return only


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("documents.json.bz2", "documents-1k.json.bz2"),
        ("documents-181998.unparsed.json.zst", "documents-181998.unparsed-1k.json.zst"),
        ("documents.json", "documents-1k.json"),
        ("documents.tar.gz", "documents-1k.tar.gz"),
        ("2026/documents.json.gz", "2026/documents-1k.json.gz"),
        ("./mine.json", "./mine-1k.json"),
        ("/data/mine.json.bz2", "/data/mine-1k.json.bz2"),
    ],
)
def test_large_files_are_replaced_by_their_first_documents(tmp_path: Path, name: str, short: str) -> None:
    file = documents(tmp_path, source_file=name, compressed_bytes=10, uncompressed_bytes=20)
    assert (file.source_file, file.document_count) == (short, 1000)
    assert (file.compressed_bytes, file.uncompressed_bytes) == (None, None)
    assert file.params["source-file"] == name


def test_small_files_are_kept(tmp_path: Path) -> None:
    file = documents(tmp_path, document_count=1000, uncompressed_bytes=20)
    assert (file.source_file, file.document_count, file.uncompressed_bytes) == ("f.json", 1000, 20)


def test_a_generator_creates_only_the_documents_that_are_used(tmp_path: Path) -> None:
    files = [
        {"source-file": "a.json", "document-count": 5000},
        {"source-file": "b.json", "document-count": 10},
    ]
    corpus = {"name": "library", "documents": files, "generator": {"name": "g", "documents": 100_000}}
    generator = for_test_mode(load(tmp_path, corpora=[corpus])).corpora[0].generator
    assert generator is not None
    assert generator.documents == 1010


def test_a_task_has_one_iteration_per_client(tmp_path: Path) -> None:
    short = task(tmp_path, iterations=1000, warmup_iterations=500, clients=8)
    assert (short.iterations, short.warmup_iterations, short.clients) == (1, 1, 8)
    assert (short.params["iterations"], short.params["warmup-iterations"]) == (1, 1)
    assert task(tmp_path).iterations is None
    assert task(tmp_path, iterations=3, warmup_iterations=0).warmup_iterations == 0


def test_periods_are_short_and_without_warm_up(tmp_path: Path) -> None:
    short = task(tmp_path, time_period=600, warmup_time_period=120, ramp_up_time_period=60)
    assert (short.time_period, short.warmup_time_period, short.ramp_up_time_period) == (10.0, 0.0, None)
    assert short.is_time_based
    assert task(tmp_path, time_period=5).time_period == 5.0


@pytest.mark.parametrize(
    ("target", "lifted"),
    [
        ({"target_throughput": "10 docs/s"}, f"{sys.maxsize} docs/s"),
        ({"target_interval": 5}, f"{sys.maxsize} ops/s"),
    ],
)
def test_target_rates_are_removed(tmp_path: Path, target: dict[str, Any], lifted: str) -> None:
    plain = task(tmp_path, **target)
    assert (plain.target_throughput, plain.target_interval) == (None, None)
    assert plain.params["target-throughput"] == lifted
    assert "target-interval" not in plain.params


def test_a_task_with_a_scheduler_of_a_plugin_keeps_a_target_rate(tmp_path: Path) -> None:
    custom = task(tmp_path, target_throughput="10 docs/s", schedule="mine")
    assert custom.target_throughput == Rate(float(sys.maxsize), "docs")
    assert task(tmp_path, schedule="mine").target_throughput is None
