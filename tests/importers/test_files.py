"""Files of other tools on disk."""

from __future__ import annotations

import hashlib
import json

import pytest

from importers.samples import PUBLISHED
from pacenote.errors import PacenoteError
from pacenote.importers import files
from pacenote.importers.files import race_files, read_file


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_is_read_in_the_encodings_of_windows(tmp_path, encoding):
    path = tmp_path / "published.txt"
    path.write_bytes(PUBLISHED.encode(encoding))
    file = read_file(path)
    assert [race.side for race in file.races] == ["baseline", "contender"]
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"{", "it is not readable JSON"),
        (b"[" * 5, "no summary or comparison of Rally"),
        (b'{"a": ' * 5_000, "it is not readable JSON"),
        (b'{"name": "x"}', "it is JSON, but not a race"),
        (b"\x7fELF\0\0", "it is not text"),
        (b"hello", "no summary or comparison of Rally or OpenSearch Benchmark found in it"),
    ],
)
def test_a_foreign_or_damaged_file_is_refused_with_what_is_expected(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(PacenoteError, match=r".") as error:
        read_file(path)
    assert error.value.message.startswith(f"{path}: {message}")
    assert error.value.hint


def test_a_folder_is_searched_four_levels_deep_and_without_links(tmp_path):
    deep = tmp_path / "a" / "b" / "c" / "d"
    (deep / "e").mkdir(parents=True)
    for folder in (tmp_path, deep, deep / "e"):
        (folder / "race.json").write_text("{}", "utf-8")
    (tmp_path / "link").symlink_to(deep)
    assert race_files(tmp_path) == (deep / "race.json", tmp_path / "race.json")


def test_the_number_of_files_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILES", 1)
    for name in ("race.json", "test_run.json"):
        (tmp_path / name).write_text("{}", "utf-8")
    with pytest.raises(PacenoteError, match="more than 1 races"):
        race_files(tmp_path)


def test_a_log_that_mentions_tags_is_read_as_text(tmp_path):
    path = tmp_path / "rally.log"
    text = PUBLISHED.replace("| range |", "| <range> |")
    path.write_text(f"rendering <table> and <pre>\n{text}", "utf-8")
    assert {value.task for value in read_file(path).races[0].values} == {"", "index", "<range>"}


def test_a_text_may_contain_a_table_of_a_web_page(tmp_path):
    path = tmp_path / "notes.md"
    cells = "<tr><th>Metric<th>Task<th>Value</tr><tr><td>Mean Throughput<td>a<td>5</tr>"
    path.write_text(f"Results:\n\n<table>{cells}</table>\n", "utf-8")
    assert [value.value for value in read_file(path).races[0].values] == [5.0]


def test_the_number_of_races_of_one_document_is_limited(tmp_path):
    task = {"task": "index", "operation": "index", "throughput": {"mean": 1, "unit": "docs/s"}}
    results = [{"cluster_name": str(number), "op_metrics": [task]} for number in range(1_001)]
    path = tmp_path / "race.json"
    path.write_text(json.dumps({"race-id": "a", "track": "t", "results": results}))
    with pytest.raises(PacenoteError, match="more than 1,000 races or 200,000 figures"):
        read_file(path)


def test_the_number_of_figures_is_limited(tmp_path, monkeypatch):
    path = tmp_path / "summary.md"
    rows = "".join(f"| Mean Throughput | index-{number} | 1 | docs/s |\n" for number in range(4))
    path.write_text(f"| Metric | Task | Value | Unit |\n|---|---|---|---|\n{rows}")
    assert len(read_file(path).races) == 1
    monkeypatch.setattr(files, "MAX_FIGURES", 3)
    with pytest.raises(PacenoteError, match="more than 1,000 races or 3 figures"):
        read_file(path)


def test_what_a_file_says_of_all_its_races_is_limited(tmp_path, monkeypatch):
    """Each race is stored with it, so that a small file could fill the disk."""
    metrics = {"task": "t", "throughput": {"mean": 5.0, "unit": "docs/s"}}
    results = [{"cluster_name": str(at), "op_metrics": [metrics]} for at in range(3)]
    document = {"race-id": "r", "user-tags": {"note": "x" * 1_000}, "results": results}
    path = tmp_path / "race.json"
    path.write_text(json.dumps(document), "utf-8")
    monkeypatch.setattr(files, "MAX_FACTS", 5_000)
    assert len(read_file(path).races) == 3
    monkeypatch.setattr(files, "MAX_FACTS", 3_000)
    with pytest.raises(PacenoteError, match="says too much about each of its 3 races"):
        read_file(path)


def test_links_in_a_folder_are_not_followed(tmp_path):
    (tmp_path / "race.json").write_text("{}")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "race.json").symlink_to("../race.json")
    with pytest.raises(PacenoteError, match="has only links to races"):
        race_files(folder)
    (folder / "test_run.json").write_text("{}")
    assert race_files(folder) == (folder / "test_run.json",)


def test_it_is_not_known_whether_a_link_in_a_folder_leads_to_a_folder(tmp_path):
    """To know it, the kernel follows the link, also into the mounts of another process."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "race.json").symlink_to(tmp_path)
    with pytest.raises(PacenoteError, match="has only links to races"):
        race_files(folder)
