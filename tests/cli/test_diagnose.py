"""`pacenote diagnose`, and the experiments that it writes."""

from __future__ import annotations

import json
import tomllib

import pytest
from msgspec.structs import replace

from importers.samples import PUBLISHED
from pacenote.diagnose.rules_file import bundled_rules
from pacenote.model.race_record import RecordedCluster
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.model.started_node import StartedNode
from pacenote.store.race_store import RaceStore
from support.planted_links import planted_link
from support.records import bulk, paced, record

RULES = """
[[rule]]
id = "X1"
title = "a small heap"
evidence = "jvm.heap_max_bytes < least"
finding = "the heap has {jvm.heap_max_bytes}"
source = "a test"
[rule.parameters]
least = {value = 1073741824, unit = "bytes", meaning = "smallest heap"}
[rule.bound]
value = "0.1"
assumes = "the test is right"
[[rule.mechanism]]
figure = "gc.stop_share"
direction = "falls"
[[rule.advice]]
text = "double the heap to {jvm.heap_max_bytes * 2|heap}"
options = {car-params = {heap_size = "{jvm.heap_max_bytes * 2|heap}"}, jvm = ["-Xss2m"]}

[[rule]]
id = "X2"
title = "by hand"
evidence = "jvm.heap_max_bytes > 0"
finding = "there is a heap"
source = "a test"
[[rule.advice]]
text = "think"
"""

S5_ROWS = """\
| Segment count |  | 36 | 32 | -4 | |
| Min Throughput | range | 0.703838 | 0.70406 | 0.00022 | ops/s |
| Max Throughput | range | 0.71209 | 0.712078 | -1e-05 | ops/s |
"""
"""Rows of the published comparison that the sample leaves out."""


@pytest.fixture(name="stored")
def stored_race():
    """A race of an engine that Pacenote started with a heap of 256 MB."""
    snapshot = RaceSnapshot(
        Snapshot({"node.n0.jvm.vm_name": "OpenJDK VM", "node.n0.jvm.flag.MaxHeapSize": str(1 << 28)})
    )
    clean = bulk(error_rate=0.0, errors=())
    race = record(
        "race-a",
        tasks=(clean, paced()),
        car_params={"heap_size": "256m"},
        cluster=RecordedCluster("opensearch", "3.3.0", started_nodes=(StartedNode(name="n0"),)),
        track=replace(record().track, params={"docs": 1000}),
        challenge="append-no-conflicts-index-only",
        options=RecordedOptions(distribution="opensearch", settings={"engine.node.name": "a"}),
    )
    RaceStore().create(race).write_snapshot(snapshot)
    return race


@pytest.fixture(name="own")
def own_rules(tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "own.toml").write_text(RULES)
    return tmp_path / "rules"


def test_a_race_is_diagnosed_with_bundled_and_own_rules(run, stored, own):
    code, out, err = run("diagnose", "race-a", f"--rules={own}")
    assert (code, err) == (0, "")
    assert out.startswith("# Diagnosis of race race-a\n")
    assert "### X1: a small heap" in out
    assert "- found: the heap has 256.0 MiB\n" in out
    assert "- bound: at most +10.0 % of throughput:index-append, if the test is right\n" in out
    assert "- try: double the heap to 512m\n" in out
    assert "## Not applicable: " in out
    code, out, _ = run("diagnose", "race-a", "--report=short", f"--rules={own}")
    assert code == 0
    assert "\n Cause\n  - X1: a small heap\n" in out
    assert "      can bring    at most +10.0 % of throughput:index-append\n" in out
    assert " Also found: X2, by hand\n" in out
    assert "pacenote diagnose race-a --full" in out
    assert "pacenote diagnose race-a --write-experiment=try.toml" in out


def test_json_has_the_answer_of_every_rule(run, stored, own, tmp_path):
    file = tmp_path / "out" / "diagnosis.json"
    code, out, _ = run(
        "diagnose", "race-a", f"--rules={own}", "--report-format=json", f"--report-file={file}"
    )
    document = json.loads(out)
    assert (code, document["format"], json.loads(file.read_text())) == (0, 1, document)
    (only,) = document["diagnoses"]
    answers = [each for key in ("validity", "findings", "ruled_out", "not_applicable") for each in only[key]]
    assert len(answers) == len(bundled_rules()) + 2
    assert [each["id"] for each in only["findings"]] == ["X1", "X2"]
    assert only["findings"][0]["advice"][0]["options"] == {
        "car-params": {"heap_size": "512m"},
        "jvm": ["-Xss2m"],
    }


@pytest.mark.parametrize("name", ["heap.toml", "folder/heap.toml"])
def test_no_experiment_is_written_where_a_link_of_another_user_leads(run, stored, own, tmp_path, name):
    link, target = planted_link(tmp_path)
    code, _, err = run("diagnose", "race-a", f"--rules={own}", f"--write-experiment={link / name}")
    assert (code, f"{link / name} cannot be written: {link} belongs to user 54321" in err) == (64, True)
    assert list(target.iterdir()) == []


def test_the_experiment_of_the_first_advice_can_be_run(run, stored, own, tmp_path):
    file = tmp_path / "heap.toml"
    code, _, err = run("diagnose", "race-a", f"--rules={own}", f"--write-experiment={file}")
    assert code == 0
    assert f"experiment run {file}" in err
    text = file.read_text()
    assert text.startswith("# X1: a small heap\n# found in race race-a: the heap has 256.0 MiB\n")
    assert "# expected: at most +10.0 % of throughput:index-append, if the test is right\n" in text
    document = tomllib.loads(text)
    assert document["primary"] == ["throughput:index-append"]
    assert document["race"] == {
        "pipeline": "from-distribution",
        "track": "http_logs",
        "challenge": "append-no-conflicts-index-only",
        "track-params": {"docs": 1000},
        "distribution": "opensearch",
        "car": ["defaults"],
        "car-params": {"heap_size": "256m"},
        "set": ["engine.node.name=a"],
    }
    assert document["variants"] == {
        "as-raced": {},
        "X1": {"car-params": {"heap_size": "512m"}, "jvm": ["-Xss2m"]},
    }
    code, _, err = run("diagnose", "race-a", f"--rules={own}", f"--write-experiment={file}")
    assert code == 64
    assert "exists already" in err


def test_a_folder_gets_an_experiment_for_each_advice(run, stored, own, tmp_path):
    code, _, _ = run("diagnose", "race-a", f"--rules={own}", f"--write-experiment={tmp_path / 'all'}")
    assert code == 0
    assert [path.name for path in (tmp_path / "all").iterdir()] == ["X1.toml"]


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("X2", "there is no experiment for X2, which fired: its advice is to be followed by hand"),
        ("H13", "there is no experiment for H13, which is not applicable: "),
        ("Z9", "--only: there is no rule 'Z9'"),
    ],
)
def test_rules_without_an_experiment_say_why(stored, run, own, only, message):
    path = own / "x" / "x.toml"
    code, _, err = run("diagnose", "race-a", f"--rules={own}", f"--write-experiment={path}", f"--only={only}")
    assert code == 2
    assert message in err
    assert not path.exists()


def test_wrong_rules_and_options_are_refused(run, stored, own, tmp_path):
    (own / "own.toml").write_text(RULES.replace('least"', 'lest"').replace("think", "{"))
    code, out, err = run("diagnose", "race-a", f"--rules={own}")
    assert (code, out) == (2, "")
    assert "own.toml: line 2: X1: evidence: there is no parameter 'lest'" in err
    assert "own.toml: line 20: X2: advice 1: text: a brace has no partner" in err
    code, _, err = run("diagnose", "race-a", "--only=H1")
    assert (code, "--only needs --write-experiment" in err) == (2, True)
    code, _, err = run("diagnose", "absent")
    assert code == 64


def test_the_published_comparison_of_two_heaps_is_not_evidence_for_any_heap(run, tmp_path):
    path = tmp_path / "published.txt"
    path.write_text(PUBLISHED + S5_ROWS, "utf-8")
    run("import", path)
    code, out, _ = run("diagnose", "2716fc79", "b2836ba5", "--report-format=json")
    assert code == 0
    for diagnosis in json.loads(out)["diagnoses"]:
        fired = {each["id"]: each for each in diagnosis["validity"] if each["state"] == "fired"}
        assert {"V1", "V2", "V3", "V9"} == set(fired)
        assert fired["V1"]["tasks"] == ["index"]
        text = fired["V2"]["text"]
        assert "documents differ by 20.9 %; the store size differs by 10.8 %; segments differ by 4; " in text
        assert fired["V9"]["text"] == (
            "1 pair of races: throughput-median:index changed by +15.7 %; how much of that is chance is not "
            "known"
        )
        assert fired["V3"]["tasks"] == ["range"]
        assert diagnosis["findings"] == []


def test_a_race_that_was_imported_has_no_experiment(run, own, tmp_path):
    path = tmp_path / "published.txt"
    path.write_text(PUBLISHED, "utf-8")
    run("import", path)
    (own / "own.toml").write_text(RULES.replace("jvm.heap_max_bytes < least", "task.error_rate * 0 < least"))
    code, _, err = run("diagnose", "2716fc79", f"--rules={own}", f"--write-experiment={tmp_path / 'x.toml'}")
    assert code == 2
    assert "there is no experiment" in err or "was imported" in err


def test_figures_are_listed(run):
    code, out, _ = run("list", "figures")
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert "share" in lines["gc.stop_share"]
    assert "GC log" in lines["gc.stop_share"]
    figures = json.loads(run("list", "figures", "--format=json")[1])
    assert {"name": "gc.collector", "unit": "text", "source": "GC log"}.items() <= next(
        each for each in figures if each["name"] == "gc.collector"
    ).items()


def test_rules_are_listed(run, own):
    code, out, _ = run("list", "rules", f"--rules={own}")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["Rule", "Finds", "For", "Needs", "Thresholds"]
    assert {"H1", "V10", "X1"} <= {line.split()[0] for line in lines}
    code, out, _ = run("list", "rules", "--format=json")
    document = {each["id"]: each for each in json.loads(out)}
    assert len(document) == len(bundled_rules())
    assert document["V1"]["effect"] == "void"
    assert document["V1"]["parameters"]["failed"] == {
        "value": 0.01,
        "unit": "share",
        "meaning": "failed operations, if the race states no limit",
    }
