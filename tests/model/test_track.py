"""Properties of tracks, challenges, tasks and corpora."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import TrackError
from pacenote.model.track import (
    Challenge,
    Corpus,
    CorpusGenerator,
    DataStream,
    Documents,
    Index,
    Operation,
    Parallel,
    Task,
    Track,
)

OPERATION = Operation("read", "search", meta={"a": "operation", "b": "operation"})
TASK = Task("t", OPERATION, clients=3, meta={"a": "task"})


def track(**fields: object) -> Track:
    challenge = Challenge("c", (TASK,), meta={"a": "challenge", "c": "challenge"})
    base = {"name": "x", "root": Path("/x"), "challenges": (challenge,)}
    return Track(**{**base, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "file", "archive"),
    [
        ("a.json", "a.json", None),
        ("a.json.bz2", "a.json", "a.json.bz2"),
        ("d-18.unparsed.json.zst", "d-18.unparsed.json", "d-18.unparsed.json.zst"),
        ("a.tar.gz", "a", "a.tar.gz"),
        ("a.json.gz", "a.json", "a.json.gz"),
    ],
)
def test_the_last_file_extension_shows_whether_a_file_is_an_archive(
    source: str, file: str, archive: str | None
) -> None:
    documents = Documents(source)
    assert (documents.document_file, documents.archive) == (file, archive)


@pytest.mark.parametrize(
    ("source", "local"), [("a.json", False), ("/a.json", True), ("./a", True), ("../a", True), (".a", False)]
)
def test_absolute_and_explicitly_relative_paths_are_local(source: str, local: bool) -> None:
    assert Documents(source).is_local is local


def test_declared_counts_are_scaled_to_the_generated_total() -> None:
    files = (Documents("a", document_count=1), Documents("b", document_count=3), Documents("c"))
    assert Corpus("x", files).declared_counts() == (1, 3, None)
    assert Corpus("x", files[:2], generator=CorpusGenerator("g", 100)).declared_counts() == (25, 75)


def test_the_error_about_an_unknown_challenge_names_the_known_ones() -> None:
    with pytest.raises(TrackError) as caught:
        track().challenge("cc")
    assert caught.value.message == 'track "x" has no challenge "cc" (did you mean "c"?)'
    assert caught.value.hint == 'choose one of "c"'


def test_the_sole_target_is_the_only_index_or_data_stream() -> None:
    first, second = Index("i"), Index("j")
    assert track().sole_target() is None
    assert track(indices=(first,)).sole_target() == "i"
    assert track(indices=(first, second)).sole_target() is None
    assert track(data_streams=(DataStream("s"),)).sole_target() == "s"
    assert track(indices=(first, second)).targets() == ("i", "j")


def test_metadata_of_the_innermost_element_takes_precedence() -> None:
    subject = track(meta={"a": "track", "d": "track"})
    metadata = subject.metadata(subject.default_challenge, TASK)
    assert metadata == {"a": "task", "b": "operation", "c": "challenge", "d": "track"}


def test_a_parallel_element_has_its_own_number_of_clients_or_the_sum_of_its_tasks() -> None:
    assert Parallel((TASK, TASK)).client_count == 6
    assert Parallel((TASK, TASK), clients=2).client_count == 2
