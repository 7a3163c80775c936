"""The page of a search: the winner, the history of the candidates, and the confirmation."""

from __future__ import annotations

from msgspec import structs
from msgspec.structs import replace

from pacenote.model.tune import Drop, TuneEvent
from pacenote.report.page.tune.build import build_tune_page
from pacenote.report.page.tune.history import TuneHistory, tune_history
from report.page import examples
from report.page.reading import answer, captions, cells, dots, drawings, tables


def test_the_winner_comes_first():
    page = build_tune_page(examples.tune_page())
    assert (page.badge, page.tone) == ("better", "good")
    assert page.figures[0].value == "heap 2g, codec default"
    assert answer(page, 0) == "Better than the default, confirmed: heap 2g, codec default."
    assert "limit p99:term < 50 ms: kept" in answer(page, 1).lower()
    assert "heap (4), codec (2)" in answer(page, 3)
    assert page.heading == "Better throughput:index-append, with p99:term < 50 ms"
    # It lacks the track, so it is no command to copy.
    assert "Next: use it: pacenote race '--car-params=" in answer(page, 4)
    assert "pacenote tune --objective=throughput:index-append --budget=10m" in answer(page, 4)


def test_the_history_shows_who_raced_and_who_dropped_out_when():
    page = build_tune_page(examples.tune_page())
    rows = drawings(page)["history"].rows
    assert [row.label for row in rows] == [
        "3: heap 2g, codec default",
        "the default",
        "4: heap 4g",
        "7: heap 512m",
    ]
    assert [len(dots(row)) for row in rows] == [6, 6, 4, 2]
    assert rows[0].note.endswith("winner")
    assert rows[2].note.endswith("out")
    assert {dot.form for dot in dots(rows[3])} == {"cross"}
    assert captions(rows[3]) == []
    candidates = {row[0]: row for row in cells(tables(page)["data-candidates"])}
    assert candidates["4"][-2:] == ["4", "worse than the best (p = 0.01)"]
    assert candidates["3"][-1] == "winner"
    assert len(cells(tables(page)["data-search-races"])) == 18


def test_a_block_that_was_raced_again_counts_once():
    ended = TuneEvent(
        event="ended", at="", candidate=1, block=1, outcome="raced", verdict="valid", objective=1.0
    )
    again = TuneEvent(event="repeated", at="", block=1)
    killed = structs.replace(ended, outcome="killed", objective=None)
    history = tune_history((ended, again, killed, structs.replace(ended, objective=2.0)))
    assert [end.objective for end in history.ends] == [2.0]


def test_a_candidate_that_never_raced_says_so():
    sources = examples.tune_page()
    ends = tuple(end for end in sources.history.ends if end.candidate != 7)
    history = TuneHistory(ends, ((0, Drop(7, "no heap")),))
    rows = drawings(build_tune_page(replace(sources, history=history)))["history"].rows
    assert captions(rows[3]) == [" could not race"]


def test_a_search_that_has_just_begun_has_a_page():
    sources = examples.tune_page()
    result = replace(
        sources.result, answer="none yet", confirmation=None, settings={}, winner=None, reason=""
    )
    page = build_tune_page(replace(sources, result=result, history=TuneHistory(), confirmation=()))
    assert (page.badge, page.tone) == ("none yet", "doubtful")
    assert answer(page, 2) == "No race has ended."
    assert "history" not in drawings(page)
    assert page.figures[0].value == "4"
