"""Exports as OpenMetrics text, read by a strict reader."""

from pathlib import Path

from pacenote.export.document import exported_race
from pacenote.export.openmetrics import openmetrics_text
from support.openmetrics import parse_openmetrics
from support.records import bulk, paced, part, record, task, times

TIME = 1_772_368_215.0


def families(*races, **settings):
    exported = (exported_race(race, "complete", Path("/races/race-1")) for race in races)
    return parse_openmetrics("".join(openmetrics_text(exported, **settings)))


def value(family, suffix="", **labels):
    """Returns the value of the only sample that has these labels."""
    (sample,) = [
        sample
        for (name, own), sample in family.samples.items()
        if name == family.name + suffix and labels.items() <= dict(own).items()
    ]
    return sample


def test_times_are_summaries_in_seconds():
    family = families(record(tasks=(paced(),)))["pacenote_latency_seconds"]
    assert (family.form, family.unit) == ("summary", "seconds")
    assert value(family, quantile="0.99") == (0.008, TIME)
    assert value(family, quantile="1") == (0.024, TIME)
    assert value(family, "_count", task="term") == (50_000.0, TIME)
    assert value(family, "_sum", task="term") == (156.25, TIME)


def test_percentiles_without_enough_samples_are_left_out():
    family = families(record(tasks=(task(service_time=times(50)),)))["pacenote_service_time_seconds"]
    quantiles = {dict(labels).get("quantile") for _, labels in family.samples}
    assert quantiles == {"0", "0.5", "0.9", "1", None}


def test_units_are_base_units_and_labels_say_what_is_counted():
    by_name = families(record(tasks=(bulk(), paced())))
    assert by_name["pacenote_network_sent_bytes"].form == "counter"
    assert value(by_name["pacenote_network_sent_bytes"], "_total", task="term") == (5_000_000.0, TIME)
    assert by_name["pacenote_error_rate_ratio"].unit == "ratio"
    throughput = by_name["pacenote_throughput"]
    assert value(throughput, statistic="mean", task="index-append", unit="docs/s")[0] == 12_345.678
    assert value(by_name["pacenote_indexing_time_seconds"], "_total") == (90.0, TIME)
    assert value(by_name["pacenote_failures"], "_total", part="HTTP 429", unit="documents")[0] == 12


def test_races_are_labels_and_their_families_follow_one_another():
    races = [record(f"race-{number}", user_tags={"number": number}) for number in range(3)]
    by_name = families(*races)
    counts = by_name["pacenote_race"].samples
    assert {dict(labels)["race"] for _, labels in counts} == {"race-0", "race-1", "race-2"}
    assert value(by_name["pacenote_race"], "_info", tag_number="2", version="3.3.0", car="defaults")[0] == 1
    states = {
        dict(labels)["pacenote_race_verdict"]: sample
        for (_, labels), (sample, _) in by_name["pacenote_race_verdict"].samples.items()
        if dict(labels)["race"] == "race-1"
    }
    assert states == {"valid": 1, "suspect": 0, "void": 0}


def test_names_from_outside_are_escaped():
    name = 'a"b\\c\nd\x1b\u202e'
    own = task(name, parts=(part(name),))
    parsed = families(record(tasks=(own,), user_tags={"a-b": "1", "a_b": "2", "é": "3", "": "4"}))
    shown = 'a"b\\c\\u000ad\\u001b\\u202e'
    assert (
        value(parsed["pacenote_clients"], task=shown, tag_a_b="1", tag_a_b_2="2", tag__="3", tag_="4")[0] == 2
    )


def test_names_that_are_shown_alike_are_one_sample():
    names = ("a\nb", "a\\u000ab")
    by_name = families(record(tasks=tuple(map(task, names))))
    assert len(by_name["pacenote_clients"].samples) == 1


def test_each_part_of_a_large_export_ends_with_its_line():
    """Where lines are cleaned one by one, a part of one would not be."""
    tags = {"a": "##vso[a]b" * 20_000}
    parts = list(openmetrics_text([exported_race(record("race", user_tags=tags), "complete", Path("/r"))]))
    assert len(parts) > 3
    assert all(part.endswith("\n") for part in parts)


def test_a_large_export_waits_in_files():
    by_name = families(*(record(f"race-{number}") for number in range(3)), in_memory=100)
    assert len(by_name["pacenote_clients"].samples) == 9


def test_tags_whose_labels_are_alike_are_numbered():
    tags = {"a-b": "1", "a.b": "2", "a_b_2": "3", "a b": "4"}
    family = families(record(user_tags=tags))["pacenote_race"]
    labels = {"tag_a_b": "1", "tag_a_b_2": "2", "tag_a_b_2_2": "3", "tag_a_b_3": "4"}
    assert value(family, "_info", **labels)[0] == 1
