"""A series that ended with a regression, before the machine or the data changed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from compare.test_trend import Factor, nights, shown, step, trend_of
from pacenote.model.accepted_regression import AcceptedRegression
from pacenote.model.race_record import RaceRecord, RecordedCorpus

LABEL = "throughput:index-append"
GIB = 1024**3


def with_documents(race: RaceRecord, documents: int) -> RaceRecord:
    corpus = RecordedCorpus("logs", "generated", documents=documents, bytes=documents * 100)
    return replace(race, corpora=(corpus,))


SLOWER = step(6, 0.8)


def grown(first: int, count: int = 12, rate: Factor = SLOWER) -> list[RaceRecord]:
    """Returns nights whose corpus has a document more from this one on."""
    races = nights(count, rate=rate)
    return [with_documents(race, 1_000 + (night >= first)) for night, race in enumerate(races)]


def more_memory(first: int) -> list[RaceRecord]:
    records = []
    for night, race in enumerate(nights(12, rate=SLOWER)):
        # A kernel may leave some megabytes less.
        gib = 96 if night >= first else 64 - 0.1 * (night >= 3)
        records.append(replace(race, environment=replace(race.environment, memory_bytes=round(gib * GIB))))
    return records


@pytest.mark.parametrize("races", [grown(11), more_memory(9)])
def test_a_regression_remains_if_the_environment_becomes_another_one(races):
    trend = trend_of(races)
    assert len(trend.races) < 6
    assert trend.answer == "earlier regression"
    assert trend.earlier is not None
    assert trend.earlier.answer == "regression"
    assert trend.to_document()["earlier"]["metrics"][0]["metric"]["label"] == LABEL
    text = " ".join(shown(trend).split())
    assert text.startswith("REGRESSION BEFORE throughput of index-append -")
    last = trend.earlier.races[-1]
    until = f"{last.timestamp:%Y-%m-%d %H:%M} ({last.name})"
    assert (
        f"yes: throughput of index-append is worse in the {len(trend.earlier.races)} races until {until}, "
        "before the machine, the data or the work of a task changed; it was not accepted"
    ) in text


def test_a_short_series_between_does_not_hide_it():
    races = grown(10)
    races[-1] = with_documents(races[-1], 1_002)
    trend = trend_of(races)
    assert (len(trend.races), trend.answer) == (1, "earlier regression")
    # Nor does one in which changes can be found, and none is.
    between = grown(12, 24)
    between = [with_documents(race, 1_002) if night == 23 else race for night, race in enumerate(between)]
    assert trend_of(between).answer == "earlier regression"
    # Nor does one that lacks a metric that was asked for.
    races[-2] = replace(races[-2], tasks=races[-2].tasks[1:])
    assert trend_of(races, metrics=("throughput:index-append",)).answer == "earlier regression"


def test_a_regression_of_the_newest_series_comes_first():
    trend = trend_of(grown(12, 24, lambda night: 0.8 if 6 <= night < 12 else 1 if night < 18 else 0.8))
    assert trend.answer == "regression"
    assert trend.earlier is not None
    text = " ".join(shown(trend).split())
    assert text.startswith("REGRESSION throughput of index-append -")
    assert (
        "What else? throughput of index-append is worse in the 12 races until 2026-03-12 12:30 (n11)" in text
    )


def test_it_ends_when_it_is_accepted_or_gone():
    accepted = AcceptedRegression("n06", LABEL, -0.2, "the new codec", "step")
    assert trend_of(grown(11), accepted=(accepted,)).answer == "too few races"
    gone = grown(14, 15, lambda night: 0.8 if 4 <= night < 8 else 1)
    assert trend_of(gone).answer == "too few races"


def test_a_regression_before_counts_from_the_given_day_on():
    races = grown(11)
    assert trend_of(races, since=races[5].timestamp.date()).answer == "earlier regression"
    assert trend_of(races, since=races[10].timestamp.date()).answer == "too few races"


def test_only_what_ended_before_in_the_same_benchmark_counts():
    races = grown(11)
    assert trend_of([*races[:11], replace(races[11], car=("4gheap",))]).answer == "too few races"
    # The series with fewer documents goes on beside the newest one.
    beside = grown(9)
    beside[10] = with_documents(beside[10], 1_000)
    assert trend_of(beside).answer == "too few races"
    assert trend_of(races, since=races[11].timestamp.date()).answer == "too few races"
