"""`race.json` has Rally's keys and Pacenote's own, and loses nothing when it is written and read."""

import itertools
import json
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, get_type_hints

import pytest
from msgspec.structs import replace

from pacenote.errors import PacenoteError
from pacenote.figures.rally_results import stored_document
from pacenote.model.data_options import StartingState
from pacenote.model.document_checks import UncheckedDocuments, UnsentDocuments
from pacenote.model.finding import Finding
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_record import (
    Environment,
    PlanFile,
    RaceRecord,
    RecordedClient,
    RecordedCluster,
    RecordedTrack,
    Verdict,
)
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.recorded_sources import RecordedSources
from pacenote.model.saturation_answer import RecordedSaturation
from pacenote.model.snapshot import RecordedSnapshot
from pacenote.model.system_metrics import (
    FieldUsage,
    MlProcessingTime,
    PerShardTimes,
    SystemMetrics,
    TransformFigure,
)
from pacenote.model.target_rate import TargetRate
from support.records import bulk, paced, record

WRONG = (None, True, "x", 1.5, -1, 2**63, 2**64, [], {}, [None], {"unknown": 1}, [{"unknown": 1}])
"""Values that most fields cannot have."""


def stored(race: RaceRecord) -> dict:
    return json.loads(json.dumps(stored_document(race)))


def test_every_field_of_a_record_survives_a_round_trip_through_json():
    race = record(
        plan=PlanFile("plan.json", "ab" * 32),
        unreported=("refresh",),
        car_params={"heap_size": "2g"},
        client=RecordedClient(hosts=("http://127.0.0.1:9200",)),
        other_clients={"other": RecordedClient(hosts=("http://127.0.0.1:9201",))},
        options=RecordedOptions(test_mode=True, runtime_jdk=21),
        given_options={"test-mode": True, "jvm": ["-Xss2m"], "track-params": {"a": 1}},
        seed=7,
        pacing=PacingOptions(open_loop=True),
        unchecked_documents=(UncheckedDocuments("index", 3, "a runner sends them"),),
        unsent_documents=(UnsentDocuments("index", 40, 200),),
        max_error_rate=0.5,
        targets={"term": TargetRate(50.0, operations=50.0)},
        steps={"mixed": ("a", "b")},
        task_meta={"term": {"kind": "x"}},
        max_shortfall=0.1,
        saturation=RecordedSaturation("term", "between 80 ops/s and 82 ops/s", 80.0, 82.0, "engine"),
        snapshot=RecordedSnapshot("snapshot.json", 2, 1, ("a: 1 → 2",), ("swap: 1 GiB",)),
        sources=RecordedSources("/src/elasticsearch", "0123abcd", True, "./gradlew assemble"),
        starting_state=StartingState(data_set="logs"),
        aborted="the engine ended",
        interrupted=True,
    )
    default = RaceRecord(race_id="", timestamp=datetime.now(UTC), track=RecordedTrack(""))
    same = [name for name in RaceRecord.__struct_fields__ if getattr(race, name) == getattr(default, name)]
    # An imported race has no other facts; tests/importers stores one.
    assert same == ["imported"], "give these fields other values in this test, to show that they are stored"
    assert RaceRecord.from_document(stored(race)) == race


def test_what_is_known_about_an_assembled_engine_survives_a_round_trip_through_json():
    cluster = RecordedCluster("elasticsearch", "9.5.3", title="core", absent_modules=("lang-painless",))
    race = record(cluster=cluster)
    assert RaceRecord.from_document(stored(race)) == race
    assert stored(race)["cluster"]["absent_modules"] == ["lang-painless"]


def test_every_system_metric_survives_a_round_trip_through_json():
    types = get_type_hints(SystemMetrics)
    times = PerShardTimes(1.0, 2.0, 3.0)
    values: dict[str, Any] = {
        name: times if types[name] == PerShardTimes | None else number
        for number, name in enumerate(SystemMetrics.__struct_fields__, start=1)
    }
    examples = (MlProcessingTime("j", 1.0, 2.0, 3.0, 4.0), TransformFigure("t", 5.0, "ms"))
    for example in (*examples, FieldUsage("i", "f", 6.0)):
        values |= dict.fromkeys(
            (name for name, kind in types.items() if kind == tuple[type(example), ...]), (example,)
        )
    race = replace(record(), system=SystemMetrics(**values))
    assert RaceRecord.from_document(stored(race)).system == race.system


def test_a_record_has_rallys_fields():
    document = stored(record())
    expected = {
        "race-id": "race-1",
        "race-timestamp": "20260301T123015Z",
        "pipeline": "from-distribution",
        "user-tags": {"intention": "baseline"},
        "track": "http_logs",
        "track-revision": "a1b2c3",
        "challenge": "append-no-conflicts",
        "car": ["defaults"],
        "rally-version": "pacenote 0.1.0",
        "environment": "local",
        "@timestamp": 1_772_368_215_000,
    }
    assert {key: document[key] for key in expected} == expected
    assert document["cluster"]["distribution-version"] == "3.3.0"
    assert document["cluster"]["revision"] == "deadbeef"


def test_results_have_rallys_format():
    results = stored(record())["results"]
    assert results["total_time"] == 90_000.0
    assert results["total_time_per_shard"] == {
        "min": 15_000.0,
        "median": 18_000.0,
        "max": 21_000.0,
        "unit": "ms",
    }
    assert results["flush_time"] is None
    index, term, _ = results["op_metrics"]
    assert index["throughput"] == {
        "min": 9000.0,
        "mean": 12345.678,
        "median": 12000.0,
        "max": 15000.5,
        "unit": "docs/s",
    }
    assert index["service_time"] == {
        "50_0": 40.0,
        "90_0": 80.0,
        "99_0": 90.0,
        "100_0": 270.0,
        "mean": 50.0,
        "unit": "ms",
    }
    assert index["latency"] == index["service_time"]
    assert index["error_rate"] == 0.005
    assert index["duration"] == 70_000.0
    assert term["latency"]["50_0"] == 2.5
    assert term["latency"]["99_99"] == 16.0


def test_results_have_the_metadata_of_their_tasks():
    race = record(task_meta={"index-append": {"kind": "x", "size": 3}})
    first, *others = stored(race)["results"]["op_metrics"]
    assert (first["task"], first["meta"]) == ("index-append", {"kind": "x", "size": 3})
    assert [entry["meta"] for entry in others] == [{}, {}]
    assert RaceRecord.from_document(stored(race)).task_meta == race.task_meta


def test_a_record_never_contains_secrets():
    race = record(car_params={"secret_password": "hunter2", "heap": "4g"})
    assert race.track.params == {"bulk_size": 5000, "secret_key": "<hidden>"}
    assert "hunter2" not in json.dumps(race.to_document()) + repr(race)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 3}, "race has format 3, but this version of Pacenote reads formats up to 2"),
        (
            {"race-timestamp": "yesterday"},
            "race.race-timestamp must be a time of the form 20250131T235959Z, not 'yesterday'",
        ),
        ({"seed": "42"}, "race.seed must be a whole number, not '42'"),
        ({"verdict": {"state": "fine"}}, "race.verdict.state has the unknown value 'fine'"),
        ({"results": {"total_time": "1"}}, "race.results.total_time must be a number, not '1'"),
    ],
)
def test_a_bad_field_is_named(change, message):
    with pytest.raises(PacenoteError) as caught:
        RaceRecord.from_document(stored(record()) | change)
    assert caught.value.message == message


def test_tasks_are_read_back_in_full():
    assert RaceRecord.from_document(stored(record(tasks=(bulk(), paced())))).tasks == (bulk(), paced())


def test_a_record_without_a_challenge_has_no_challenge_key() -> None:
    made = replace(record(), challenge=None)
    document = stored(made)
    assert "challenge" not in document
    assert RaceRecord.from_document(document).challenge is None


def test_rallys_keys_are_present_without_values() -> None:
    results = stored(record())["results"]
    lists = {key for key, value in results.items() if value == []}
    assert {"ml_processing_time", "total_transform_throughput", "disk_usage_total"} <= lists
    for key in ("memory_segments", "ingest_pipeline_cluster_count", "index_size", "bytes_written"):
        assert results[key] is None


def test_the_environment_is_rallys_name_and_the_host_is_below_system() -> None:
    environment = Environment(name="nightly", cpu_model="A CPU")
    document = stored(record(environment=environment))
    assert (document["environment"], document["system"]["cpu_model"]) == ("nightly", "A CPU")
    assert "name" not in document["system"]
    assert RaceRecord.from_document(document).environment == environment


def test_the_first_format_is_read() -> None:
    document = stored(record()) | {
        "format": 1,
        "environment": {"name": "local", "cpu_model": "A CPU"},
        "verdict": {"state": "void", "reasons": ["interrupted"]},
    }
    for key in ("system", "target-rates", "max-shortfall"):
        del document[key]
    race = RaceRecord.from_document(document)
    assert (race.environment.cpu_model, race.targets) == ("A CPU", {})
    assert race.verdict == Verdict("void", (Finding("interrupted"),))


def test_a_verdict_is_stored_with_its_sentences_and_their_parts() -> None:
    late = Finding("the driver sent late", "driver", "leave a core to it", ("term", "range"), 99.0)
    document = stored(record(verdict=Verdict("suspect", (late,))))["verdict"]
    assert document == {
        "state": "suspect",
        "reasons": ["term, range: the driver sent late: leave a core to it"],
        "findings": [
            {
                "text": "the driver sent late",
                "cause": "driver",
                "advice": "leave a core to it",
                "tasks": ["term", "range"],
                "doubtful_from": 99.0,
            }
        ],
    }


@pytest.mark.parametrize(
    ("text", "cause", "doubtful_from"),
    [
        ("sent late (p99 2 ms, over 10 % of service time): p99 is doubtful, p50 is not", "machine", 99.0),
        ("sent late (p99 2 ms, over 10 % of service time): p50 and p99 are doubtful", "driver", 50.0),
        ("the driver was busy 97 % of 10 s: it may have been the bottleneck", "driver", 0.0),
        ("the driver waited for a core and read replies late, by 11 % of service time", "machine", 0.0),
        ("the driver waited for a core, so the slowest replies were read late", "machine", 99.0),
        ("8 % of CPU time was stolen", "machine", None),
    ],
)
def test_what_older_findings_make_doubtful_is_read_from_their_words(text, cause, doubtful_from):
    document = stored(record(verdict=Verdict("suspect", (Finding(text, cause),))))
    del document["verdict"]["findings"][0]["doubtful_from"]
    (finding,) = RaceRecord.from_document(document).verdict.findings
    assert finding == Finding(text, cause, doubtful_from=doubtful_from)


def test_a_stored_finding_keeps_that_nothing_is_doubtful():
    verdict = Verdict("suspect", (Finding("busy", "driver"),))
    assert RaceRecord.from_document(stored(record(verdict=verdict))).verdict == verdict


def places(value: object) -> Iterator[tuple[Any, Any]]:
    """Yields all objects and lists in a document, with each of their keys."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def test_a_damaged_document_is_refused_with_its_field_or_read_as_a_race_that_can_be_stored():
    chance = random.Random(1)
    document = record(tasks=(paced("slow"), bulk(throughput=None))).to_document()
    text, count = json.dumps(document), len(list(places(document)))
    refused = []
    for number in chance.sample(range(count), min(count, 200)):
        damaged = json.loads(text)
        owner, key = next(itertools.islice(places(damaged), number, None))
        if isinstance(owner, dict) and chance.random() < 0.2:
            del owner[key]
        else:
            owner[key] = chance.choice(WRONG)
        try:
            race = RaceRecord.from_document(damaged)
        except PacenoteError as error:
            refused.append(error.message)
        else:
            assert RaceRecord.from_document(stored(race)) == race
    assert len(refused) > 80
    assert [message for message in refused if not re.match(r"(a )?race[ .]", message)] == []
