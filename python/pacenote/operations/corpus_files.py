"""Selects the data files of the track that an operation reads."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.track import CorpusFile, Track


def select_files(params: FieldReader, track: Track) -> tuple[CorpusFile, ...]:
    """Returns the data files that `corpora`, `indices` and `data-streams` select, in track order."""
    names = params.names("corpora")
    known = [corpus.name for corpus in track.corpora]
    for name in names:
        if name not in known:
            params.problem(
                "corpora",
                f"names {quoted(name)}, which is not a corpus of the track{did_you_mean(name, known)}",
            )
    indices, streams = params.names("indices"), params.names("data-streams")
    return tuple(
        file
        for file in track.corpus_files()
        if not names or file.corpus.name in names
        if not indices or file.documents.target_index in indices
        if not streams or file.documents.target_data_stream in streams
    )
