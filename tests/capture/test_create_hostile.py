"""A hostile or endless cluster, and other users, neither fill the memory nor take over a capture."""

from __future__ import annotations

import os
import tracemalloc
from types import ModuleType
from typing import Any

import pytest

from capture.conftest import COUNT, TrackCreator
from pacenote.capture import create, limited_reader, readers, sources
from pacenote.capture.create import _exclusive_folder
from pacenote.capture.own_names import LOCK
from pacenote.capture.raw_documents import ndjson_line
from pacenote.errors import EngineError, UsageError
from pacenote.net.reply import parse_body
from pacenote.net.rest import RestResponse
from pacenote.system.locks import try_lock


def test_a_folder_that_another_user_creates_while_the_cluster_is_read_is_rejected(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It did not exist when it was checked, in a folder such as /tmp."""
    if os.geteuid() != 0:
        pytest.skip("only root may give folders away")
    creator.folder.parent.chmod(0o1777)
    answer = creator.cluster.answer

    def answer_later(method: str, path: str, query: str, body: dict[str, Any]) -> tuple[int, object]:
        if not creator.folder.exists():
            creator.folder.mkdir()
            os.chown(creator.folder, 54321, 54321)
        return answer(method, path, query, body)

    monkeypatch.setattr(creator.cluster, "answer", answer_later)
    with pytest.raises(UsageError, match=r"could be replaced by others .*: .* belongs to user 54321"):
        creator.create()
    assert list(creator.folder.iterdir()) == []


def test_a_track_that_is_created_while_the_cluster_is_read_stays(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = creator.cluster.answer

    def answer_later(method: str, path: str, query: str, body: dict[str, Any]) -> tuple[int, object]:
        creator.folder.mkdir(exist_ok=True)
        (creator.folder / "track.json").write_text("{}")
        return answer(method, path, query, body)

    monkeypatch.setattr(creator.cluster, "answer", answer_later)
    with pytest.raises(UsageError, match="already contains a track"):
        creator.create()
    assert (creator.folder / "track.json").read_text() == "{}"


def test_a_user_who_can_list_the_folder_cannot_keep_others_waiting(creator: TrackCreator) -> None:
    creator.folder.mkdir()
    descriptor = os.open(creator.folder, os.O_RDONLY)
    try:
        assert try_lock(descriptor)
        with _exclusive_folder(creator.folder):
            assert (creator.folder / LOCK).stat().st_mode & 0o777 == 0o600
        assert len(creator.create()) == COUNT
    finally:
        os.close(descriptor)
    assert not (creator.folder / LOCK).exists()


def test_a_large_document_is_in_memory_as_often_as_it_has_to_be() -> None:
    """A text with an emoji takes four bytes for each character."""
    document = b'{"n":"' + b"x" * (4 << 20) + "\N{GRINNING FACE}".encode() + b'"}'
    data = b'{"_shards":{"failed":0},"hits":{"hits":[{"sort":[1],"_source":' + document + b"}]}}"
    body = parse_body(data)
    tracemalloc.start()
    try:
        (hit,) = readers._hits("notes", RestResponse(200, body, data))
        assert hit.source == document
        assert ndjson_line(document) == document
        assert tracemalloc.get_traced_memory()[1] < 3.5 * len(document)
    finally:
        tracemalloc.stop()
    assert body["hits"]["hits"] == []


def test_failed_shards_without_end_are_a_short_message(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hits(_: object) -> dict[str, Any]:
        return {"_shards": {"failed": "password: x1 " * 100_000}, "hits": {"hits": []}}

    monkeypatch.setattr(creator.cluster, "hits", hits)
    with pytest.raises(EngineError, match=r"cannot be read: password: x1 .*… shards failed") as caught:
        creator.create()
    assert len(caught.value.message) < 400


@pytest.mark.parametrize("sort", ["x" * 100, {"a": 1}, [1] * 100])
def test_documents_are_sorted_by_a_few_values(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch, sort: object
) -> None:
    hit = creator.cluster.hit
    monkeypatch.setattr(creator.cluster, "hit", lambda n, place: {**hit(n, place), "sort": sort})
    with pytest.raises(EngineError, match="unexpected form"):
        creator.create()


@pytest.mark.parametrize(
    ("module", "limit", "message"),
    [
        (sources, "DESCRIBING_S", "the cluster has not described its indices within 0 s"),
        (limited_reader, "READING_S", "the cluster has not sent all documents within 0 s"),
    ],
)
def test_a_cluster_that_never_ends_a_phase_is_left(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch, module: ModuleType, limit: str, message: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, limit, 0.0)
        with pytest.raises(EngineError, match=message):
            creator.create()
    # What has arrived was stored.
    assert sorted(creator.create()) == list(range(COUNT))


def test_documents_that_arrive_too_slowly_are_not_waited_for(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limited_reader, "SLOW_READING_S", -1e6)
    with pytest.raises(EngineError, match=r"the documents of 'notes' arrive too slowly: .* bytes in "):
        creator.create()


def test_a_track_is_complete_without_the_health_of_a_slow_cluster(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(create, "HEALTH_S", -1.0)
    assert sorted(creator.create()) == list(range(COUNT))
    assert "yellow" not in "".join(path.read_text() for path in creator.folder.rglob("*.json"))


@pytest.mark.parametrize("number", [10**101, 10**4_000, -(10**200)])
def test_mappings_that_no_track_can_have_are_refused_before_documents_are_read(
    creator: TrackCreator, number: int
) -> None:
    creator.cluster.mappings = {"_meta": {"number": number}}
    with pytest.raises(EngineError, match=r"cannot be those of a track|unexpected form|too many digits"):
        creator.create()
    assert creator.cluster.searches == 0
    assert not creator.folder.exists()
