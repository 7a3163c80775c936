"""Reading a cluster that is old, busy or forgetful; with a real engine: tests/e2e/test_create_track.py."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

import pytest

from capture.conftest import COUNT, FakeCluster
from pacenote.capture import readers
from pacenote.capture.create import TrackWanted, _alone_in, create_track
from pacenote.capture.dump import JOURNAL
from pacenote.capture.sources import Source
from pacenote.capture.track_files import literal, track_files
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
    (maker.folder / "track.json").unlink()
    maker.cluster.drop_page = True
    with pytest.raises(EngineError, match="24 of 25 documents of notes came"):
        maker.make()


def test_a_busy_cluster_is_asked_again(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_PAUSE_S", 0.001)
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


def test_what_was_read_of_another_index_of_the_same_name_is_not_used(
    maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pacenote.capture.dump._pack", no_space)
        with pytest.raises(OSError, match="No space"):
            maker.make()
    first, file = maker.cluster.searches, maker.folder / "notes-documents.json"
    file.write_bytes(file.read_bytes().replace(b'"n":', b'"m":'))
    # It was read to its end, so it would do; but it is another one now.
    maker.cluster.uuid = "v"
    assert sorted(maker.make()) == list(range(COUNT))
    assert maker.cluster.searches == 2 * first


def test_two_runs_do_not_write_the_same_files(maker: Maker) -> None:
    maker.folder.mkdir()
    with _alone_in(maker.folder), pytest.raises(UsageError, match="another create-track writes to"):
        maker.make()


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
    nodes = {"include": {"_tier_preference": "data_content"}, "total_shards_per_node": "2"}
    maker.cluster.settings = {
        **{"default_pipeline": "geoip", "uuid": "u", "creation_date": "1", "codec": "best"},
        "routing": {"allocation": nodes},
    }
    maker.cluster.mappings = {"_routing": {"required": True}, "_source": {"excludes": ["vector"]}}
    maker.make()
    assert maker.warnings == [
        "'notes' sends its documents through the ingest pipeline 'geoip': create it before racing, or take "
        "the setting out of the track",
        "'notes' wants a routing for each document, and tracks have none: take _routing out of its mappings",
        "'notes' keeps its documents in part only (_source): the rest of them is lost",
    ]
    settings = json.loads((maker.folder / "indices" / "notes.json").read_text())["settings"]["index"]
    assert settings.pop("routing") == {"allocation": {"total_shards_per_node": "2"}}
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


def test_indices_may_be_called_like_files_of_the_track(tmp_path: Path) -> None:
    sources = [Source(name, ((name, 1),), {"_meta": {"is": name}}) for name in ("track", "track-documents")]
    files = track_files("mine", sources, {}, "green")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    track = load_track(open_track(tmp_path), {}, RenderOptions(now=0))
    assert [(index.body or {})["mappings"]["_meta"]["is"] for index in track.indices] == [
        "track",
        "track-documents",
    ]
    assert "track-documents.json" not in files


@pytest.mark.parametrize(
    "source",
    [
        '{"big":1180591620717411303424,"price":1.10,"far":1e400,"near":1E-7,"pi":3.14159265358979323846}',
        '{"a":"ä\\n\\ud800\\u00e4 } ] \\"","_source":{"hits":[{}]},"b":[],"c":{}}',
        '{ "a" :\n  1 ,\r\n  "b" : [ { } , 2 ] }',
        "{}",
    ],
)
@pytest.mark.parametrize("has_points", [True, False])
def test_documents_are_taken_as_they_are(maker: Maker, source: str, has_points: bool) -> None:
    maker.cluster.raw, maker.cluster.has_points = source, has_points
    with pytest.raises(KeyError, match="n"):
        maker.make()
    line = source.replace("\n", " ").replace("\r", " ")
    assert (maker.folder / "notes-documents.json").read_bytes() == f"{line}\n".encode() * COUNT


def test_archives_hold_the_same_documents(maker: Maker) -> None:
    maker.make()
    whole = (maker.folder / "notes-documents.json").read_bytes()
    for name in ("notes-documents.json.bz2", "notes-documents-1k.json.bz2"):
        assert bz2.decompress((maker.folder / name).read_bytes()) == whole
