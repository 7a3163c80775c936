"""Reading a cluster that is old, busy or forgetful; with a real engine: tests/e2e/test_create_track.py."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

import pytest

from capture.conftest import COUNT, FakeCluster
from pacenote.capture import reading
from pacenote.capture.create import TrackWanted, create_track
from pacenote.capture.dump import JOURNAL, line_of
from pacenote.capture.files import literal, track_files
from pacenote.capture.source import Source
from pacenote.errors import EngineError, PacenoteError, UsageError
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import open_track


class Maker:
    """Makes a track of the cluster's index, and knows what was said."""

    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder / "mine"
        self.said: list[str] = []
        self.warnings: list[str] = []

    def make(self, pattern: str = "notes", batch: int = 4) -> list[int]:
        wanted = TrackWanted("mine", self.folder, indices=(pattern,), batch=batch)
        create_track(
            wanted, self.cluster.rest(), lambda label, *_: self.said.append(label), self.warnings.append
        )
        return self.numbers()

    def numbers(self) -> list[int]:
        lines = (self.folder / "notes-documents.json").read_text().splitlines()
        return [json.loads(line)["n"] for line in lines]


@pytest.fixture
def maker(cluster: FakeCluster, tmp_path: Path) -> Maker:
    return Maker(cluster, tmp_path)


def test_an_opensearch_that_cannot_sort_over_shards_is_read_shard_by_shard(maker: Maker) -> None:
    numbers = maker.make()
    assert numbers == [*range(0, COUNT, 2), *range(1, COUNT, 2)]
    # One to see whether there is such a thing, one a shard; none is left open.
    assert (maker.cluster.opened, maker.cluster.points) == (3, {})
    track = load_track(open_track(maker.folder), {"number_of_replicas": 0}, RenderOptions(now=0))
    assert track.corpora[0].documents[0].document_count == COUNT
    body = track.indices[0].body
    assert body is not None
    assert body["settings"]["index"]["number_of_replicas"] == "0"
    assert [task.operation.type for task in track.challenges[0].tasks()] == [
        *("delete-index", "create-index", "cluster-health", "bulk", "refresh", "search")
    ]


@pytest.mark.parametrize(("distribution", "version"), [("elasticsearch", "8.17.0"), ("opensearch", "3.3.0")])
def test_others_are_read_in_one_go(maker: Maker, distribution: str, version: str) -> None:
    maker.cluster.distribution, maker.cluster.version = distribution, version
    assert maker.make() == list(range(COUNT))
    assert (maker.cluster.opened, maker.cluster.points) == (2, {})


def test_one_that_knows_no_points_in_time_is_scrolled(maker: Maker) -> None:
    maker.cluster.has_points = False
    assert maker.make() == list(range(COUNT))
    assert maker.cluster.points == {}


def test_a_busy_cluster_is_asked_again(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_PAUSE_S", 0.001)
    maker.cluster.statuses = [429, 503]
    assert sorted(maker.make()) == list(range(COUNT))
    (maker.folder / "track.json").unlink()
    maker.cluster.statuses = [429] * 6
    with pytest.raises(EngineError, match="the documents of notes cannot be read: HTTP status 429"):
        maker.make()


def test_points_in_time_that_do_not_last_end_the_run(maker: Maker) -> None:
    maker.cluster.lose_points = True
    with pytest.raises(EngineError, match="its points in time do not last"):
        maker.make()
    assert maker.said.count("reading notes: its point in time is no more, it is read from the beginning") == 3


def test_an_index_without_sources_cannot_be_taken(maker: Maker) -> None:
    maker.cluster.keeps_source = False
    with pytest.raises(EngineError, match=r"'notes' does not keep its documents \(_source is off\)"):
        maker.make()


def test_a_damaged_journal_begins_anew(maker: Maker) -> None:
    maker.folder.mkdir()
    (maker.folder / JOURNAL).write_text('{"notes": {"documents": "many"')
    (maker.folder / "notes-documents.json").write_text("rubbish")
    assert len(maker.make()) == COUNT


def test_what_is_there_is_not_overwritten(maker: Maker) -> None:
    maker.make()
    with pytest.raises(UsageError, match=r"there is a track in .*mine already"):
        maker.make()


def test_names_that_are_not_there(maker: Maker) -> None:
    with pytest.raises(UsageError, match="--indices: there is no index poems in this cluster"):
        maker.make("poems")
    with pytest.raises(PacenoteError, match="give either --indices or --data-streams"):
        create_track(TrackWanted("x", maker.folder), maker.cluster.rest(), lambda *_: None, print)
    assert not maker.folder.exists()


def test_pipelines_are_told_and_what_is_the_engines_own_left_out(maker: Maker) -> None:
    maker.cluster.settings = {"default_pipeline": "geoip", "uuid": "u", "creation_date": "1", "codec": "best"}
    maker.make()
    assert maker.warnings == [
        "'notes' sends its documents through the ingest pipeline 'geoip': create it before racing, or take "
        "the setting out of the track"
    ]
    settings = json.loads((maker.folder / "notes.json").read_text())["settings"]["index"]
    assert sorted(settings) == ["codec", "default_pipeline", "number_of_replicas", "number_of_shards"]


def test_a_track_of_empty_indices_only_creates_them(tmp_path: Path) -> None:
    source = Source("notes", (("notes", 1),), {"_meta": {"x": "{{a}} {# b #} {%"}}, {"number_of_shards": "1"})
    for name, text in track_files("mine", [source], {}, "green").items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    track = load_track(open_track(tmp_path), {}, RenderOptions(now=0))
    assert track.corpora == ()
    assert track.indices[0].body == {
        "mappings": {"_meta": {"x": "{{a}} {# b #} {%"}},
        "settings": {"index": {"number_of_shards": "1"}},
    }
    assert [task.operation.type for task in track.challenges[0].tasks()][-1] == "cluster-health"
    assert literal("{ {a} }") == "{ {a} }"


def test_documents_are_lines_of_any_text(maker: Maker) -> None:
    assert (
        line_of({"a": "ä\n", "b": 1.5, "c": 2**70})
        == '{"a":"ä\\n","b":1.5,"c":1180591620717411303424}\n'.encode()
    )
    assert line_of({"a": "\ud800"}) == b'{"a":"\\ud800"}\n'
    maker.make()
    whole = (maker.folder / "notes-documents.json").read_bytes()
    for name in ("notes-documents.json.bz2", "notes-documents-1k.json.bz2"):
        assert bz2.decompress((maker.folder / name).read_bytes()) == whole
