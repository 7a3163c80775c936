"""Tracks are captured from old or busy clusters, or ones that lose points in time.

The tests in `tests/e2e` capture from a real engine.
"""

from __future__ import annotations

import bz2
import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from capture.conftest import COUNT, FakeCluster, TrackCreator
from pacenote.capture import dump, readers
from pacenote.capture.create import CaptureRequest, _exclusive_folder, create_track
from pacenote.capture.dump import JOURNAL
from pacenote.capture.foreign_folder import write_inside
from pacenote.capture.raw_documents import raw_sources
from pacenote.capture.sources import BackingIndex, CaptureSource
from pacenote.capture.track_files import literal, track_files
from pacenote.cli.main import main
from pacenote.errors import EngineError, PacenoteError, StoreError, UsageError
from pacenote.net import reply
from pacenote.track.load import load_track, render_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import open_track


def test_the_user_is_warned_that_a_race_deletes_the_indices(
    cluster: FakeCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    options = ("--indices=notes", f"--target-hosts=127.0.0.1:{cluster.port}", f"--output-path={tmp_path}")
    assert main(["create-track", "--track=mine", *options, "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == (
        "a race of it first deletes indices of the same names: do not race it against this cluster"
    )
    schedule = json.loads(render_track(open_track(tmp_path / "mine"), {}, RenderOptions(now=0)))
    assert schedule["challenges"][0]["schedule"][0]["operation"] == "delete-index"


def test_an_opensearch_version_that_cannot_sort_across_shards_is_read_shard_by_shard(
    creator: TrackCreator,
) -> None:
    numbers = creator.create()
    assert numbers == [*range(0, COUNT, 2), *range(1, COUNT, 2)]
    # The first point in time tests whether they are supported; then each shard has one. All are closed.
    assert (creator.cluster.opened, creator.cluster.points) == (3, {})
    track = load_track(open_track(creator.folder), {"number_of_replicas": 0}, RenderOptions(now=0))
    assert track.corpora[0].documents[0].document_count == COUNT
    body = track.indices[0].body
    assert body is not None
    assert body["settings"]["index"]["number_of_replicas"] == "0"
    assert [task.operation.type for task in track.challenges[0].tasks()] == [
        *("delete-index", "create-index", "cluster-health", "bulk", "refresh", "search")
    ]


@pytest.mark.parametrize(("distribution", "version"), [("elasticsearch", "8.17.0"), ("opensearch", "3.3.0")])
def test_an_engine_that_sorts_across_shards_is_read_index_by_index(
    creator: TrackCreator, distribution: str, version: str
) -> None:
    creator.cluster.distribution, creator.cluster.version = distribution, version
    assert creator.create() == list(range(COUNT))
    assert (creator.cluster.opened, creator.cluster.points) == (2, {})


def test_an_engine_without_points_in_time_is_read_with_a_scroll(creator: TrackCreator) -> None:
    creator.cluster.has_points = False
    assert creator.create() == list(range(COUNT))
    assert creator.cluster.points == {}
    (creator.folder / "track.json").unlink()
    creator.cluster.drop_page = True
    with pytest.raises(EngineError, match="received only 24 of 25 documents of notes"):
        creator.create()


def test_requests_to_a_busy_cluster_are_retried(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "_RETRY_DELAY_S", 0.001)
    creator.cluster.statuses = [429, 503]
    assert sorted(creator.create()) == list(range(COUNT))
    (creator.folder / "track.json").unlink()
    creator.cluster.statuses = [429] * 6
    with pytest.raises(EngineError, match="the documents of notes cannot be read: HTTP status 429"):
        creator.create()


@pytest.mark.parametrize("has_points", [True, False])
def test_a_page_that_is_too_large_is_not_requested_again(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch, has_points: bool
) -> None:
    monkeypatch.setattr(reply, "MAX_BODY_BYTES", 1 << 20)
    creator.cluster.raw, creator.cluster.has_points = f'"{"x" * 90_000}"', has_points
    with pytest.raises(EngineError, match="is larger than 1 MiB") as caught:
        creator.create(batch=COUNT)
    assert "--batch-size" in caught.value.hint
    assert creator.cluster.searches == int(has_points)


def test_the_capture_ends_if_points_in_time_expire_repeatedly(creator: TrackCreator) -> None:
    creator.cluster.lose_points = True
    with pytest.raises(EngineError, match="its points in time expire too early"):
        creator.create()
    assert (
        creator.labels.count("reading notes: the point in time has expired; starting from the beginning") == 3
    )


def test_documents_of_a_replaced_index_with_the_same_name_are_not_used(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pacenote.capture.dump._compress", no_space)
        with pytest.raises(OSError, match="No space"):
            creator.create()
    first, file = creator.cluster.searches, creator.folder / "notes-documents.json"
    file.write_bytes(file.read_bytes().replace(b'"n":', b'"m":'))
    # The file is complete, but the index has been replaced.
    creator.cluster.uuid = "v"
    assert sorted(creator.create()) == list(range(COUNT))
    assert creator.cluster.searches == 2 * first


def test_a_second_capture_to_the_same_folder_is_rejected(creator: TrackCreator) -> None:
    creator.folder.mkdir()
    with (
        _exclusive_folder(creator.folder),
        pytest.raises(UsageError, match="another create-track is writing to"),
    ):
        creator.create()


def test_an_index_that_does_not_store_documents_is_rejected(creator: TrackCreator) -> None:
    creator.cluster.keeps_source = False
    with pytest.raises(EngineError, match=r"'notes' does not store its documents \(_source is disabled\)"):
        creator.create()


def test_with_a_damaged_journal_the_capture_starts_over(creator: TrackCreator) -> None:
    creator.folder.mkdir()
    (creator.folder / JOURNAL).write_text('{"notes": {"documents": "many"')
    (creator.folder / "notes-documents.json").write_text("rubbish")
    assert len(creator.create()) == COUNT


def test_an_existing_track_is_not_overwritten(creator: TrackCreator) -> None:
    creator.create()
    with pytest.raises(UsageError, match=r".*mine already contains a track"):
        creator.create()


def test_unknown_indices_are_rejected(creator: TrackCreator) -> None:
    with pytest.raises(UsageError, match="--indices: no index poems in this cluster"):
        creator.create("poems")
    with pytest.raises(PacenoteError, match="give either --indices or --data-streams"):
        create_track(CaptureRequest("x", creator.folder), creator.cluster.rest(), lambda *_: None, print)
    assert not creator.folder.exists()


def test_lossy_settings_cause_warnings_and_internal_settings_are_left_out(creator: TrackCreator) -> None:
    nodes = {"include": {"_tier_preference": "data_content"}, "total_shards_per_node": "2"}
    creator.cluster.settings = {
        **{"default_pipeline": "geoip", "uuid": "u", "creation_date": "1", "codec": "best"},
        "routing": {"allocation": nodes},
    }
    creator.cluster.mappings = {"_routing": {"required": True}, "_source": {"excludes": ["vector"]}}
    creator.create()
    assert creator.warnings == [
        "'notes' uses the ingest pipeline 'geoip': create it before racing, or remove the setting from the "
        "track",
        "'notes' requires a routing value for each document, which tracks do not have: remove _routing from "
        "its mappings",
        "'notes' stores only a part of each document (_source): the rest is lost",
    ]
    settings = json.loads((creator.folder / "indices" / "notes.json").read_text())["settings"]["index"]
    assert settings.pop("routing") == {"allocation": {"total_shards_per_node": "2"}}
    assert sorted(settings) == ["codec", "default_pipeline", "number_of_replicas", "number_of_shards"]


def test_a_track_captured_from_empty_indices_only_creates_them(tmp_path: Path) -> None:
    source = CaptureSource(
        "notes", (BackingIndex("notes", 1),), {"_meta": {"x": "{{a}} {# b #} {%"}}, {"number_of_shards": "1"}
    )
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
    assert literal("{ {a} }") == '"{ {a} }"'


def test_indices_may_be_named_like_files_of_the_track(tmp_path: Path) -> None:
    sources = [
        CaptureSource(name, (BackingIndex(name, 1),), {"_meta": {"is": name}})
        for name in ("track", "track-documents")
    ]
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
def test_documents_are_copied_byte_for_byte(creator: TrackCreator, source: str, has_points: bool) -> None:
    creator.cluster.raw, creator.cluster.has_points = source, has_points
    with pytest.raises(KeyError, match="n"):
        creator.create()
    line = source.replace("\n", " ").replace("\r", " ")
    assert (creator.folder / "notes-documents.json").read_bytes() == f"{line}\n".encode() * COUNT


def test_archives_contain_the_same_documents(creator: TrackCreator) -> None:
    creator.create()
    whole = (creator.folder / "notes-documents.json").read_bytes()
    for name in ("notes-documents.json.bz2", "notes-documents-1k.json.bz2"):
        assert bz2.decompress((creator.folder / name).read_bytes()) == whole


def test_files_behind_links_in_a_foreign_folder_stay_as_they_are(creator: TrackCreator) -> None:
    creator.folder.mkdir()
    target = creator.folder.parent / "mine.txt"
    target.write_text("mine")
    for name in (
        ".track.json.new",
        f"{JOURNAL}.new",
        ".notes-documents.json.bz2.new",
        "notes-documents-1k.json",
    ):
        (creator.folder / name).symlink_to(target)
    assert len(creator.create()) == COUNT
    assert target.read_text() == "mine"


def test_the_documents_are_not_written_to_a_link(creator: TrackCreator) -> None:
    creator.folder.mkdir()
    target = creator.folder.parent / "mine.txt"
    target.write_text("mine")
    (creator.folder / "notes-documents.json").symlink_to(target)
    with pytest.raises(PacenoteError, match=r"cannot write .*notes-documents\.json"):
        creator.create()
    assert target.read_text() == "mine"


def interrupted(creator: TrackCreator) -> Path:
    """Captures a part of the documents, and returns the file with them."""
    limit = creator.cluster.searches + 3
    search = creator.cluster.search

    def search_until(body: dict[str, Any]) -> tuple[int, object]:
        return search(body) if creator.cluster.searches < limit else (500, {})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(creator.cluster, "search", search_until)
        with pytest.raises(EngineError):
            creator.create()
    return creator.folder / "notes-documents.json"


@pytest.mark.parametrize("has_progress", [False, True])
def test_a_file_with_another_name_stays_as_it_is(creator: TrackCreator, *, has_progress: bool) -> None:
    creator.folder.mkdir()
    documents = creator.folder / "notes-documents.json"
    if has_progress:
        documents = interrupted(creator)
        assert json.loads((creator.folder / JOURNAL).read_text())["notes"]["documents"] > 0
        kept = documents.read_bytes()
    else:
        kept = b"mine"
        documents.write_bytes(kept)
    other = creator.folder.parent / "other"
    os.link(documents, other)
    assert sorted(creator.create()) == list(range(COUNT))
    assert other.read_bytes() == kept


def test_a_file_of_another_user_stays_as_it_is(creator: TrackCreator) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    documents = interrupted(creator)
    os.chown(documents, 54321, -1)
    with documents.open("rb") as theirs:
        assert sorted(creator.create()) == list(range(COUNT))
        assert os.fstat(theirs.fileno()).st_nlink == 0
        assert theirs.read().count(b"\n") < COUNT


def _is_usual(name: str, value: object) -> bool:
    """Returns whether a value has the type that a member of the journal has."""
    usual = {"complete": bool, "after": list, "identity": str, "pit_id": str}
    is_nested = isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
    return name == "x" or (name in usual and isinstance(value, usual[name]) and not is_nested)


_ODD: tuple[object, ...] = (None, True, -1, 1 << 70, 1.5, "x", "\ud800", [], [{}], {}, {"a": 1}, [[[]]])


@pytest.mark.process
@pytest.mark.parametrize(
    "name", ["identity", "documents", "bytes", "complete", "target", "pit_id", "after", "", "x"]
)
def test_a_journal_of_someone_else_is_only_data(creator: TrackCreator, name: str) -> None:
    interrupted(creator)
    stored = (creator.folder / JOURNAL).read_text()
    documents = (creator.folder / "notes-documents.json").read_bytes()
    for odd in _ODD:
        journal: Any = json.loads(stored)
        notes = journal["notes"]
        if name == "":
            journal = {"notes": odd} if odd is not True else odd
        else:
            (notes["position"] if name in notes["position"] else notes)[name] = odd
        shutil.rmtree(creator.folder)
        creator.folder.mkdir()
        (creator.folder / JOURNAL).write_text(json.dumps(journal))
        (creator.folder / "notes-documents.json").write_bytes(documents)
        if _is_usual(name, odd):
            # Whether it is the right position cannot be known.
            with contextlib.suppress(PacenoteError):
                creator.create(batch=COUNT)
        else:
            assert sorted(creator.create(batch=COUNT)) == list(range(COUNT)), odd


def test_a_scroll_that_never_ends_is_left(creator: TrackCreator, monkeypatch: pytest.MonkeyPatch) -> None:
    creator.cluster.has_points = False
    scroll = creator.cluster.scroll

    def endless(method: str, body: dict[str, Any]) -> tuple[int, object]:
        return scroll(method, {**body, "scroll_id": "4"} if "scroll_id" in body else body)

    monkeypatch.setattr(creator.cluster, "scroll", endless)
    with pytest.raises(EngineError, match="received 28 of 25 documents of notes"):
        creator.create()


def test_a_key_that_occurs_twice_has_an_error_of_one_line() -> None:
    with pytest.raises(ValueError, match="the response has no 'hits'"):
        raw_sources(b'{"hits": {}, "hits": {"hits": []}}')


@pytest.mark.parametrize(
    ("limit", "number", "message"),
    [
        ("_MORE_DOCUMENTS", -COUNT - 1, "received 25 documents of 'notes', which has 25"),
        ("_FREE_BYTES", 1 << 62, "cannot write .*: less than .* are free"),
    ],
)
def test_documents_without_end_do_not_fill_the_disk(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch, limit: str, number: int, message: str
) -> None:
    monkeypatch.setattr(dump, limit, number)
    with pytest.raises(PacenoteError, match=message):
        creator.create()


def test_a_journal_that_is_a_pipe_is_not_waited_for(creator: TrackCreator) -> None:
    creator.folder.mkdir()
    os.mkfifo(creator.folder / JOURNAL)
    assert len(creator.create()) == COUNT


@pytest.mark.process
@pytest.mark.parametrize("value", [None, "x", -1, [], [None], {}], ids=str)
def test_an_index_that_is_described_in_another_form_is_captured_or_refused(
    cluster: FakeCluster, tmp_path: Path, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value of the mappings and settings is another one in turn."""
    mappings = {"_routing": {"required": True}, "_source": {"excludes": ["a"]}, "properties": {"a": {}}}
    settings = {"default_pipeline": "p", "routing": {"allocation": {"include": {"_tier": "hot"}}}}
    monkeypatch.setattr(readers, "_RETRY_DELAY_S", 0.001)
    places = [*_places(mappings, "mappings"), *_places(settings, "settings")]
    captured = 0
    for number, (part, *keys) in enumerate(places):
        changed = json.loads(json.dumps({"mappings": mappings, "settings": settings}))
        inner = changed
        for key in (part, *keys[:-1]):
            inner = inner[key]
        inner[keys[-1]] = value
        cluster.mappings, cluster.settings = changed["mappings"], changed["settings"]
        with contextlib.suppress(PacenoteError):
            TrackCreator(cluster, tmp_path / str(number)).create(batch=COUNT)
            captured += 1
    assert captured > 0


def _places(value: dict[str, Any], *at: str) -> Iterator[tuple[str, ...]]:
    for key, inner in value.items():
        yield (*at, key)
        if isinstance(inner, dict):
            yield from _places(inner, *at, key)


@pytest.mark.parametrize("name", ["operations", "challenges"])
def test_nothing_is_written_through_a_link_to_a_folder(creator: TrackCreator, name: str) -> None:
    outside = creator.folder.parent / "outside"
    outside.mkdir()
    creator.folder.mkdir()
    (creator.folder / name).symlink_to(outside)
    with pytest.raises(UsageError, match=rf"mine/{name} is not a file that this create-track writes"):
        creator.create()
    with pytest.raises(NotADirectoryError):
        write_inside(creator.folder, f"{name}/default.json", b"{}")
    assert list(outside.iterdir()) == []


def test_the_folder_of_the_track_is_not_a_link(creator: TrackCreator) -> None:
    outside = creator.folder.parent / "outside"
    outside.mkdir()
    creator.folder.symlink_to(outside)
    with pytest.raises(StoreError, match=r"cannot write .*: Not a directory"):
        creator.create()
    assert list(outside.iterdir()) == []


def test_a_folder_that_others_could_replace_is_rejected(creator: TrackCreator) -> None:
    creator.folder.mkdir()
    creator.folder.chmod(0o777)
    with pytest.raises(UsageError, match="could be replaced by others while the track is written"):
        creator.create()
    assert list(creator.folder.iterdir()) == []
