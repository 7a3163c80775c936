"""A stored race whose record has values of odd types or sizes: every output answers, or names one problem."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.output.test_race_page import BEGIN_S, S, write_series
from pacenote import _core
from pacenote.errors import PacenoteError
from pacenote.model.race_record import RaceRecord
from pacenote.store.race_store import RaceStore
from support.records import record, task

pytestmark = pytest.mark.process

ODD = (
    None,
    [],
    {},
    ["x"],
    {"x": "y"},
    "x",
    "",
    "NaN",
    True,
    -1,
    1e308,
    5e-324,
    1e-200,
    10**29,
    2**63,
    2**70,
)
"""What replaces values: other types, and numbers that no part of a race has."""

FORMS = ("--report-format=markdown", "--report-format=csv", "--html=page.html")
COMMANDS = (
    *(("report", "race-1", form) for form in FORMS),
    ("diagnose", "race-1"),
    ("compare", "--baseline=race-2", "--contender=race-1"),
    ("diff", "race-2", "race-1"),
    ("list", "races"),
    ("export", "race-1", "--output=race.json"),
)

SAMPLER = {
    "nodes": ["node-0"],
    "node_cpus": [0, 1],
    "process_cpus": {"node-0": [0, 1], "driver": [2]},
    "link_bytes_per_s": {"eth0": 125_000_000},
    "data_devices": [{"device": "md0", "disks": ["vda", "vdb"]}],
}
NODE = {
    **{"name": "node-0", "host": "127.0.0.1", "os": "Linux", "jvm_version": "25.0.2", "cpus": 2},
    **{"heap_max_bytes": 1 << 30, "plugins": [], "modules": ["reindex"]},
}
PATHS = ("driver", "telemetry", "cluster", "environment", "tasks", "system", "documents")

Keys = tuple[str | int, ...]


def places(value: Any, keys: Keys = ()) -> Iterator[Keys]:
    """Yields the keys of every part of a document, inner ones first."""
    if isinstance(value, dict | list):
        for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield from places(item, (*keys, key))
    yield keys


def put(document: Any, keys: Keys, value: Any) -> bool:
    """Replaces a part; returns whether the record can then still be read. Otherwise, nothing is changed."""
    container = document
    for key in keys[:-1]:
        if not isinstance(container, dict | list) or (isinstance(container, list) and not container):
            return False
        try:
            container = container[key]
        except (KeyError, IndexError, TypeError):
            return False
    try:
        before, container[keys[-1]] = container[keys[-1]], value  # type: ignore[call-overload,index]
    except (KeyError, IndexError, TypeError):
        return False
    try:
        RaceRecord.from_document(json.loads(json.dumps(document)))
    except PacenoteError:
        container[keys[-1]] = before  # type: ignore[call-overload,index]
        return False
    return True


@pytest.fixture
def stored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: Path, written: Path
) -> tuple[Path, dict[str, Any]]:
    """The file of a race with series of its task and its host, beside another race, and its document."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(written, home)
    file = home / "races" / "race-1" / "race.json"
    return file, json.loads(file.read_text("utf-8"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder with these races, which are written once."""
    home = tmp_path_factory.mktemp("written")
    built = record(
        "race-1",
        tasks=(task(duration_s=20.0),),
        driver={
            **{"threads": [{"name": "drive-0", "cpu_s": 5.0, "wall_s": 20.0, "run_queue_s": 1.0}]},
            **{"started_unix_ns": BEGIN_S * S, "wall_s": 20.0, "cpus": {"numbers": [2]}},
            **{"machine": {"busy_share": 0.5, "most_stolen": {"share": 0.1, "from_s": 1.0}}},
            **{"clock": {"gaps": [{"from_s": 1.0, "length_s": 0.2}], "steps": [], "paused": []}},
            **{"scheduling": {"asked": "auto", "workers": "realtime", "demotions": 1, "demoted_s": 1.0}},
            **{"throttling": {"throttled_s": 0.5, "periods": 5, "share": 0.1}},
        },
        telemetry={
            "host-sampler": SAMPLER,
            "node_startup_time": 3.5,
            "task-observations": {"search": {"other_share": 0.2, "lacked_share": 0.3, "health": "red"}},
        },
    ).to_document()
    built["cluster"]["nodes"] = [NODE, {**NODE, "name": "node-1"}]
    folder = RaceStore(home).create(RaceRecord.from_document(built))
    RaceStore(home).create(record("race-2"))
    write_series(folder)
    file = _core.TelemetryFile(folder.path)
    for second in range(21):
        rows = [
            *(
                ("host", f"cpu.{state}", {"cpu": cpu})
                for state in ("user", "idle")
                for cpu in ("0", "1", "2")
            ),
            *(("host", f"cpu.{state}", {}) for state in ("user", "idle")),
            *(("host", f"disk.{name}", {"device": "md0"}) for name in ("reads", "io_time", "queue_time")),
            ("host", "network.sent_bytes", {"interface": "eth0"}),
            *(("host", "process.user", {"process": name}) for name in ("node-0", "driver")),
            ("node-counters", "process.cpu.total", {"node": "node-1"}),
        ]
        file.write(
            (BEGIN_S + second) * S,
            [(source, name, 300.0 * second, "ms", "counter", labels) for source, name, labels in rows],
        )
    file.add_task("search", BEGIN_S * S, (BEGIN_S + 20) * S)
    file.close()
    return home


def check(run: Any, commands: Any = COMMANDS) -> None:
    for command in commands:
        code, out, err = run(*command)
        assert "this is a bug" not in err, (command, err)
        assert code != 0 or out or err, command


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_every_output_answers_for_odd_values(run, stored, odd):
    file, document = stored
    changed = copy.deepcopy(document)
    chosen = random.Random(str(odd))  # which of them are replaced need not be secret
    every = [keys for name in PATHS if name in document for keys in places(document[name], (name,))]
    places_changed = [
        keys
        for keys in every
        if chosen.random() < (0.3 if len(keys) > 2 else 0.1) and put(changed, keys, odd)
    ]
    assert places_changed
    file.write_text(json.dumps(changed), "utf-8")
    check(run, chosen.sample(COMMANDS, 4))


@pytest.mark.parametrize(
    ("keys", "odd"),
    [
        *((("telemetry", "host-sampler", name), odd) for name in SAMPLER for odd in (1, ["x"])),
        (("cluster", "nodes", 0, "host"), ["a"]),
        (("driver", "started_unix_ns"), 2**70),
    ],
    ids=str,
)
def test_values_of_another_form_are_left_out(run, stored, keys, odd):
    file, document = stored
    assert put(document, keys, odd)
    file.write_text(json.dumps(document), "utf-8")
    check(run, [COMMANDS[2], ("diagnose", "race-1")])


@pytest.mark.parametrize(("name", "odd"), [("started_s", 3e8), ("duration_s", 3e8), ("started_s", -3e8)])
def test_a_task_long_before_or_after_its_series_has_a_page(run, stored, name, odd):
    file, document = stored
    document["tasks"][0][name] = odd
    file.write_text(json.dumps(document), "utf-8")
    check(run, [("report", "race-1"), ("report", "race-1", "--html=page.html")])
    # A part of each second of nine years would be gigabytes.
    assert Path("page.html").stat().st_size < 20 << 20


@pytest.mark.parametrize("name", ["started_s", "duration_s", "window_s"])
def test_a_task_at_a_time_of_no_race_is_refused(run, stored, name):
    file, document = stored
    document["tasks"][0][name] = 1e29
    file.write_text(json.dumps(document), "utf-8")
    code, _, err = run("report", "race-1", "--html=page.html")
    assert code != 0
    assert f"race.tasks[0].{name} is not a time of a race: 1e+29 s" in err
