"""Which data a challenge needs: only that is prepared before a race."""

from __future__ import annotations

from pacenote.model.reader import Problems, Reader
from pacenote.model.track import Challenge, Corpus, Documents, Track
from pacenote.operations.bulk import select_documents


def needed_documents(track: Track, challenge: Challenge) -> tuple[tuple[Corpus, Documents], ...]:
    """The data files that bulk tasks of the challenge index, each once, in the track's order."""
    selected: list[tuple[Corpus, Documents]] = []
    for task in challenge.tasks():
        if task.operation.type == "bulk":
            # What is wrong with the parameters is reported when the plan is built.
            reader = Reader(task.operation.params, task.operation.place, Problems())
            selected.extend(pair for pair in select_documents(reader, track) if pair not in selected)
    return tuple(
        (corpus, documents)
        for corpus in track.corpora
        for documents in corpus.documents
        if (corpus, documents) in selected
    )
