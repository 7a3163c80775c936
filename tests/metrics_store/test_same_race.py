"""Only the documents of the same race are replaced or deleted, whatever a race says about its id and time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from pacenote.metrics_store.metrics_documents import MetricSources
from pacenote.metrics_store.same_race import OtherRaceStored
from pacenote.metrics_store.store import MetricsStore
from pacenote.model.race_record import Environment, PlanFile, RaceRecord, RecordedTrack
from pacenote.model.result import Throughput
from support.metrics_store import FakeStore, fake_store
from support.records import bulk, record

PLAN = PlanFile("plan.json", "a" * 64)
OURS = record("nightly", plan=PLAN)

STRANGERS = {
    "plan-sha256": replace(OURS, plan=PlanFile("plan.json", "b" * 64)),
    "plan-sha256 is unknown here": replace(OURS, plan=None),
    "track": replace(OURS, track=RecordedTrack("other")),
    "environment": replace(OURS, environment=Environment(name="ci", pacenote="0.1.0")),
    "rally-version": replace(OURS, environment=Environment(pacenote="9.9.9")),
    "challenge": replace(OURS, challenge="c"),
    "car": replace(OURS, car=("4gheap",)),
    "revision of the engine": replace(OURS, cluster=replace(OURS.cluster, build_hash="f00d")),
    "mean throughput of 'index-append'": replace(
        OURS, tasks=(bulk(throughput=Throughput(9_000.0, 12_345.0, 12_000.0, 15_000.5)), *OURS.tasks[1:])
    ),
    "duration of 'index-append'": replace(OURS, tasks=(bulk(duration_s=71.0), *OURS.tasks[1:])),
    "min throughput of 'index-append' is unknown here": replace(OURS, tasks=OURS.tasks[1:]),
}


def written(store: FakeStore, race: RaceRecord = OURS) -> MetricsStore:
    stored = MetricsStore(store.client())
    stored.write(race, MetricSources())
    return stored


def copies(store: FakeStore) -> dict[str, dict[str, dict]]:
    return {name: dict(documents) for name, documents in store.indices.items()}


@pytest.mark.parametrize("differs", STRANGERS)
def test_the_race_of_a_stranger_replaces_no_race_of_the_store(differs):
    with fake_store() as store:
        stored = written(store)
        before = copies(store)
        with pytest.raises(OtherRaceStored) as refused:
            stored.write(STRANGERS[differs], MetricSources())
        assert copies(store) == before
        assert f"its {differs}" in refused.value.message
        assert "race nightly of 20260301T123015Z is not the one that the metrics store has" in str(
            refused.value
        )
        assert "`pacenote delete race --id=nightly --no-metrics-store`" in refused.value.hint


def test_a_race_that_an_earlier_version_has_written_is_replaced():
    with fake_store() as store:
        stored = written(store)
        for documents in store.indices.values():
            for document in documents.values():
                document.pop("plan-sha256", None)
        assert not any("plan-sha256" in one for one in store.documents("*"))
        assert not stored.write(OURS, MetricSources()).refused
        (race,) = store.documents("rally-races-v1")
        assert race["plan-sha256"] == "a" * 64
        # It is not compared by what it lacks, but by all else.
        del race["plan-sha256"]
        for name in ("track", "mean throughput of 'index-append'"):
            with pytest.raises(OtherRaceStored, match=f"its {name}"):
                stored.write(STRANGERS[name], MetricSources())


def test_what_an_interrupted_export_left_is_replaced_only_by_the_same_race():
    with fake_store() as store:
        stored = written(store)
        store.indices["rally-races-v1"].clear()
        with pytest.raises(OtherRaceStored, match="its plan-sha256"):
            stored.write(STRANGERS["plan-sha256"], MetricSources())
        store.indices["rally-results-v1"].clear()
        with pytest.raises(OtherRaceStored, match="its track"):
            stored.write(STRANGERS["track"], MetricSources())
        assert not stored.write(OURS, MetricSources()).refused


def test_a_race_of_another_second_is_no_obstacle():
    with fake_store() as store:
        stored = written(store)
        later = OURS.timestamp + timedelta(seconds=1)
        assert not stored.write(replace(STRANGERS["track"], timestamp=later), MetricSources()).refused


@pytest.mark.parametrize(
    "odd",
    [
        {"results": [], "cluster": 5},
        {"results": {"op_metrics": {"task": 1}}},
        {"results": {"op_metrics": [1, {"task": []}, {"task": "x", "throughput": [], "duration": None}]}},
        {"track": ["x" * 100_000] * 100},
        {"environment": "\x1b[31m" + "x" * 100_000},
        {"track": {}, "car": 7, "challenge": False},
    ],
)
def test_documents_of_any_form_are_compared_and_named_in_one_line(odd):
    with fake_store() as store:
        stored = written(store)
        (race,) = store.documents("rally-races-v1")
        race.update(odd)
        if odd.keys() & {"track", "environment"}:
            with pytest.raises(OtherRaceStored) as refused:
                stored.write(OURS, MetricSources())
            assert len(refused.value.message) < 400
            assert refused.value.message.isprintable()
        else:
            assert not stored.write(OURS, MetricSources()).refused
