"""`pacenote list`: races, pipelines, cars, telemetry devices and plugins."""

import fcntl
import json
from datetime import UTC, datetime, timedelta

import pytest

from pacenote.cli.lists.races import race_table
from pacenote.cli.metrics_store.listing import ListedRace
from pacenote.model.saturation_answer import RecordedSaturation
from pacenote.provision.containers.compose import ContainerSpec, compose_text
from pacenote.store.home import default_home
from pacenote.store.race_store import RaceStore
from support.records import BEGAN, record, summary

WIDE = """\
ID        Age    Track           Engine            Car       Tags          Result         State
--------  -----  --------------  ----------------  --------  ------------  -------------  ----------
b625d810  3 min  http_logs /…    opensearch 3.3.0  defaults  intention=b…  70,730 docs/s  suspect
x         3 s    a_track_with_…  opensearch 3.3.0  defaults  reason=to f…                 running
broken                                                                                    unreadable
"""


@pytest.fixture
def races():
    store = RaceStore()
    for day, name in enumerate(("abc-1", "abc-2"), start=1):
        store.create(record(name, timestamp=BEGAN.replace(day=day)))
    return store


def test_races_are_listed(run, races):
    code, out, err = run("list", "races")
    assert (code, err) == (0, "")
    header, _, first, second = out.splitlines()
    assert header.split("  ")[0] == "ID"
    cells = [cell.strip() for cell in first.split("  ") if cell]
    assert cells[0] == "abc-2"
    assert cells[2:] == [
        *(
            "http_logs / append-no-conflicts",
            "opensearch 3.3.0",
            "defaults",
            "intention=baseline",
            "12,346 docs/s",
            "valid",
        ),
    ]
    assert second.startswith("abc-1")


def test_containers_are_listed_as_nodes(run):
    folder = default_home() / "containers" / "pacenote-1"
    folder.mkdir(parents=True)
    text = compose_text(ContainerSpec("opensearch", "3.3.0", 39201), default_home())
    (folder / "docker-compose.yml").write_text(text)
    with folder.with_name("pacenote-1.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (node,) = json.loads(run("list", "nodes", "--format=json")[1])
        assert (node["node"], node["name"], node["address"]) == (
            *("pacenote-1", "rally-node-0"),
            "127.0.0.1:39201",
        )
        assert node["image"] == "opensearchproject/opensearch:3.3.0"
        assert " 127.0.0.1:39201 " in run("list", "nodes")[1]


def test_a_list_of_races_fits_its_width():
    summaries = [
        summary(),
        summary(
            race_id="x",
            track="a_track_with_a_long_name",
            challenge="and-a-challenge-with-a-long-name",
            user_tags={"reason": "to find out why merges take longer than last week"},
            state="running",
            headline="",
            timestamp="20260301T123312Z",
        ),
        summary(
            race_id="broken",
            timestamp="",
            track="",
            challenge="",
            distribution="",
            version="",
            car="",
            user_tags={},
            verdict="",
            state="unreadable",
            headline="",
        ),
    ]
    ids = {"b625d810-94f3-4db7-b65f-d6554a032a0e": "b625d810", "x": "x", "broken": "broken"}
    now = datetime(2026, 3, 1, 12, 33, 15, tzinfo=UTC)
    text = race_table([*map(ListedRace, summaries)], ids, now, 100)
    assert text == WIDE
    assert max(map(len, race_table([*map(ListedRace, summaries)], ids, now, 80).splitlines())) <= 80


@pytest.mark.parametrize(
    ("tags", "shown"),
    [
        (
            {"t": 1, "experiment": "heap-1", "variant": "2g", "block": "3"},
            "2g block 3 of heap-1, t=1",
        ),
        ({"experiment": "heap-1", "warm-up": "1g"}, "1g warm-up of heap-1"),
        ({"experiment": "heap-1", "variant": "2g"}, "experiment=heap-1, variant=2g"),
    ],
)
def test_races_of_an_experiment_are_told_apart(tags, shown):
    now = datetime(2026, 3, 1, 12, 33, 15, tzinfo=UTC)
    text = race_table([ListedRace(summary(user_tags=tags))], {summary().race_id: "b"}, now, 200)
    assert f"  {shown}  " in text


@pytest.mark.parametrize(
    ("seconds", "age"), [(0, ""), (59, "59 s"), (61, "1 min"), (7_300, "2 h"), (90_000, "1 d"), (-5, "")]
)
def test_the_age_of_a_race_is_shown_in_one_unit(seconds, age):
    now = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC) + timedelta(seconds=seconds)
    line = race_table([ListedRace(summary())], {summary().race_id: "b"}, now, 200).splitlines()[2]
    assert line.partition("http_logs")[0].split() == ["b", *age.split()]


def test_a_race_in_progress_is_running_until_its_process_ends(run):
    folder = RaceStore().create(record("r", complete=False))
    assert run("list", "races")[1].split()[-1] == "running"
    folder.finish(record("r", complete=False))
    assert run("list", "races")[1].split()[-1] == "killed"


def test_races_are_listed_as_json_in_rallys_form(run, races):
    _, out, _ = run("list", "races", "--format=json", "--limit=1", "--user-tag=intention:baseline")
    (race,) = json.loads(out)["races"]
    assert (race["race-id"], race["user-tags"], race["state"]) == (
        "abc-2",
        {"intention": "baseline"},
        "complete",
    )
    assert race["verdict"]["state"] == "valid"
    assert race["results"]["op_metrics"][0]["task"] == "index-append"
    # What Rally writes for each race.
    assert {
        *(
            "@timestamp",
            "rally-version",
            "rally-revision",
            "environment",
            "race-id",
            "race-timestamp",
            "pipeline",
        ),
        *("multi-cluster", "user-tags", "track", "car", "cluster", "results", "track-revision", "challenge"),
        *("track-params", "car-params", "plugin-params"),
    } <= race.keys()


def test_a_race_that_cannot_be_read_is_in_the_json_list(run, races):
    (RaceStore().races / "abc-1" / "race.json").write_text("{")
    listed = json.loads(run("list", "races", "--format=json")[1])["races"]
    assert listed[-1] == {"race-id": "abc-1", "state": "unreadable"}


@pytest.mark.parametrize(
    ("option", "count"),
    [("--from-date=20260302", 1), ("--to-date=20260301", 1), ("--track=nope", 0), ("--benchmark-name=x", 0)],
)
def test_races_are_filtered(run, races, option, count):
    _, out, _ = run("list", "races", "--format=json", option)
    assert len(json.loads(out)["races"]) == count


def test_an_empty_home_has_no_races(run, home):
    assert run("list", "races") == (0, "No races found.\n", "")
    assert not home.exists()


def test_an_invalid_date_is_rejected(run):
    code, _, err = run("list", "races", "--from-date=2026-03-01")
    assert code == 2
    assert err.startswith("error: '2026-03-01' is not a date\nhint: dates are written yyyyMMdd")


@pytest.mark.parametrize("place", [".", "races"])
def test_a_home_that_is_not_a_folder_is_an_error(run, home, place):
    (home / place).parent.mkdir(parents=True, exist_ok=True)
    (home / place).touch()
    code, out, err = run("list", "races")
    assert (code, out) == (64, "")
    assert err.startswith(f"error: cannot read races from {home / place}: Not a directory\n")


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("pipelines", "benchmark-only race against an existing cluster"),
        ("cars", "4gheap car 4 GB of heap"),
        ("cars", "zgc mixin the Z garbage collector"),
        ("telemetry", "jvm-stats Number and time of garbage collections"),
        ("telemetry", "startup-time Seconds until a node that Pacenote starts is healthy."),
        (
            "elasticsearch-plugins",
            "No plugins of the engine come with Pacenote; --team-repository=default lists",
        ),
    ],
)
def test_lists_of_pipelines_cars_telemetry_and_plugins(run, what, line):
    code, out, err = run("list", what)
    assert (code, err) == (0, "")
    assert any(" ".join(text.split()).startswith(line) for text in out.splitlines())
    assert isinstance(json.loads(run("list", what, "--format=json")[1]), list)


def test_the_answers_of_searches_are_listed(run, races):
    saturation = RecordedSaturation("term", "between 80 ops/s and 82 ops/s", 80.0, 82.0, "engine")
    races.create(record("search", saturation=saturation))
    _, out, _ = run("list", "races")
    (line,) = [line for line in out.splitlines() if line.startswith("search")]
    assert "  term: between 80 ops/s and 82 ops/s  " in line
    _, out, _ = run("list", "races", "--format=json", "--limit=20")
    races = {race["race-id"]: race["saturation"] for race in json.loads(out)["races"]}
    assert races["search"]["answer"] == "between 80 ops/s and 82 ops/s"
    assert races["abc-1"] is None
