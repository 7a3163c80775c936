"""Only the data files that a challenge reads are required."""

from __future__ import annotations

import dataclasses

from pacenote.model.track import Corpus, CorpusFile, Documents, Operation
from pacenote.plan.corpora import required_files
from plan.planning import BULK, LIBRARY, SEARCH, task, track

LINES = Operation("l", "bulk", {"param-source": "lines", "bulk-size": 500})
SUPPLIED_SEARCH = Operation("w", "search", {"param-source": "words"})


def test_only_files_that_a_bulk_task_reads_are_required() -> None:
    other = Corpus("other", (Documents("x.json"), Documents("y.json", target_index="films")))
    subject = dataclasses.replace(
        track(task("a", Operation("o", "bulk", {"indices": ["films"]})), task("b", SEARCH)),
        corpora=(LIBRARY, other),
    )
    assert required_files(subject, subject.default_challenge) == (CorpusFile(other, other.documents[1]),)
    everything = dataclasses.replace(track(task("a", BULK), task("b", BULK)), corpora=(LIBRARY, other))
    assert len(required_files(everything, everything.default_challenge)) == 3
    assert required_files(track(task("b")), track(task("b")).default_challenge) == ()


def test_files_that_parameter_sources_read_are_required() -> None:
    subject = track(task("a", LINES), task("b", SUPPLIED_SEARCH))
    file = CorpusFile(LIBRARY, LIBRARY.documents[0])
    assert required_files(subject, subject.default_challenge) == ()
    named = required_files(subject, subject.default_challenge, lambda one: [file] if one.name == "a" else [])
    assert named == (file,)
    both = track(task("a", BULK), task("b", LINES))
    assert required_files(both, both.default_challenge, lambda _: [file]) == (file,)
