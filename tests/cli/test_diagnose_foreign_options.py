"""Options of a stored race, which may be that of someone else, are checked before they are used again."""

from __future__ import annotations

import html
import json
import tomllib

import pytest

from cli.test_diagnose import RULES
from lab.tune.searches import search_plan
from pacenote.cli.lab.stored_experiment import NoOptionCheck
from pacenote.cli.options.race_trust import remember_options, unchecked_options
from pacenote.lab.experiment.read_file import read_experiment
from pacenote.lab.experiment.start import create_experiment
from pacenote.model.race_record import RecordedCluster
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.model.started_node import StartedNode
from pacenote.model.tune import Knob
from pacenote.store.experiment_store import ExperimentStore
from pacenote.store.race_store import RaceStore
from pacenote.store.tune_store import create_tune, write_tune
from support.engine import OPENSEARCH, engine_document
from support.http_server import http_server, json_response
from support.records import bulk, paced, record

OTHERS = {
    "track-path": "/x/track",
    "track-repository": "https://example.org/x.git",
    "track-revision": "refs/pull/1/head",
    "runtime-jdk": "/x/jdk",
    "source-path": "/x/source",
    "revision": "abc",
    "team-repository": "https://example.org/x.git",
    "team-path": "/x/team",
    "target-hosts": "203.0.113.1:9200",
    "pipeline": "benchmark-only",
    "distribution-archive": "/x/opensearch.tar.gz",
    "distribution-repository": "mine",
    "elasticsearch-plugins": ["file:///x.zip"],
    "dataset-cache": "/x/data",
    "corpus-mirror": "http://example.org",
    "data-paths": "/x/data",
    "data": "keep:mine",
    "client-options": {"verify_certs": False},
    "jvm": ["-XX:OnOutOfMemoryError=touch /x/RAN"],
    "env": ["LD_PRELOAD=/x.so"],
    "set": ["engine.network.host=0"],
    "car-params": {"build_command": "touch /x/RAN"},
    "track-params": "params.json",
    "track": "../track",
    "car": "mine.json",
    "telemetry-params": {"x": "1"},
    "option-of-a-later-version": 1,
}
"""Options with values that name code, programs, addresses or paths, or may do so."""

PLAIN = {
    "track": "geonames",
    "distribution": "opensearch",
    "distribution-version": "3.3.0",
    "car": "defaults,unpooled",
    "car-params": {"heap_size": "1g", "use_g1_gc": True},
    "track-params": "bulk_size:1000,bulk_indexing_clients:8",
    "set": ["index.codec=best_compression", "index.refresh_interval=30s"],
    "jvm": ["-Xmx1g", "-XX:+UseZGC", "-XX:MaxGCPauseMillis=50"],
    "pipeline": "from-distribution",
    "telemetry": ["jfr"],
    "challenge": "append-no-conflicts",
}
"""Options of an ordinary race, which someone who diagnoses that of a colleague need not check."""


@pytest.fixture(name="diagnosed")
def diagnosed_race(run, tmp_path):
    """Returns a function that stores a race with options, writes its experiment, and returns the file, the
    messages of `diagnose`, and the folder of the race.
    """

    def write(options, remembered=False):
        (tmp_path / "rules").mkdir(exist_ok=True)
        (tmp_path / "rules" / "own.toml").write_text(RULES)
        race = record(
            "gift",
            tasks=(bulk(error_rate=0.0, errors=()), paced()),
            cluster=RecordedCluster("opensearch", "3.3.0", started_nodes=(StartedNode(name="n0"),)),
            challenge=None,
            given_options=options,
        )
        store = RaceStore()
        folder = store.create(race)
        facts = {"node.n0.jvm.vm_name": "OpenJDK VM", "node.n0.jvm.flag.MaxHeapSize": str(1 << 28)}
        folder.write_snapshot(RaceSnapshot(Snapshot(facts)))
        folder.finish(race)
        if remembered:
            remember_options(folder.path, store.home)
        file = tmp_path / "try.toml"
        code, _, err = run("diagnose", "gift", f"--rules={tmp_path / 'rules'}", f"--write-experiment={file}")
        assert code == 0
        return file, err, folder

    return write


def track_with_code(folder, marker):
    """Writes a track whose template creates a file."""
    folder.mkdir(parents=True)
    code = f"{{{{ cycler.__init__.__globals__.os.system('touch {marker}') and '' }}}}"
    document = {
        "version": 2,
        "description": "x",
        "operations": [{"name": "s", "operation-type": "sleep", "duration": 1}],
        "schedule": [{"operation": "s"}],
    }
    (folder / "track.json").write_text(code + json.dumps(document))
    return folder


@pytest.mark.parametrize("name", OTHERS)
def test_an_experiment_with_what_a_race_of_others_names_is_not_run(diagnosed, run, name):
    file, err, _ = diagnosed({"track": "geonames", **PLAIN, name: OTHERS[name]})
    assert (
        f"{file} is not run as it is: race gift, which this home is not known to have run, names code" in err
    )
    assert f" {name}=" in err
    text = file.read_text()
    assert f"{name}=" in text.partition("unchecked")[0]
    assert tomllib.loads(text)["unchecked"] == [name]
    for options in ((), ("--dry-run",), ("--dry-run", "--track-params=a:1", "--blocks=3")):
        code, out, err = run("experiment", "run", file, *options)
        assert (code, out) == (2, "")
        assert "the options of a stored race in it have not been checked" in err


def test_no_code_of_a_race_of_others_runs_before_its_options_are_checked(diagnosed, run, tmp_path):
    marker = tmp_path / "RAN"
    track = track_with_code(tmp_path / "track", marker)
    file, _, _ = diagnosed({"track-path": str(track), "distribution-version": "3.3.0"})
    run("experiment", "run", file, "--dry-run")
    assert not marker.exists()
    # One line enables all of it.
    file.write_text(
        "".join(line for line in file.read_text().splitlines(True) if not line.startswith("unchecked"))
    )
    run("experiment", "run", file, "--dry-run")
    assert marker.exists()


def test_options_that_this_home_has_raced_are_written_without_a_word(diagnosed):
    own = {name: OTHERS[name] for name in ("runtime-jdk", "jvm", "set", "dataset-cache", "team-path")}
    file, err, _ = diagnosed({**PLAIN, **own, "track-params": {"a": "x"}}, remembered=True)
    assert "unchecked" not in file.read_text()
    assert "is not run as it is" not in err
    # A copied race cannot claim a value that no race of this home had.
    known = {"runtime-jdk": OTHERS["runtime-jdk"], "team-path": OTHERS["team-path"]}
    assert unchecked_options(known) == {}
    assert unchecked_options({**known, "runtime-jdk": "/y/jdk"}) == {"runtime-jdk": "/y/jdk"}
    assert unchecked_options({"track-path": OTHERS["team-path"]}) == {"track-path": OTHERS["team-path"]}


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.chmod(0o666),
        lambda file: file.write_text('{"options": {"a": 1}}'),
        lambda file: file.write_text("[" * 100_000),
        lambda file: file.unlink(),
    ],
)
def test_what_this_home_has_raced_is_not_known_from_a_file_of_others(diagnosed, home, change):
    diagnosed({"track-path": "/x/track"}, remembered=True)
    assert unchecked_options({"track-path": "/x/track"}) == {}
    change(home / "raced.json")
    assert unchecked_options({"track-path": "/x/track"}) == {"track-path": "/x/track"}


def test_plain_options_of_others_need_no_check(diagnosed):
    file, err, _ = diagnosed(PLAIN)
    assert "unchecked" not in file.read_text()
    assert "is not run as it is" not in err


def test_pages_name_what_a_race_of_others_names(diagnosed, run, tmp_path):
    _, _, folder = diagnosed({**PLAIN, "track-path": "/x/track"})
    page = tmp_path / "page.html"
    assert run("report", "gift", f"--html={page}")[0] == 0
    assert "Check first: race gift, which this home is not known to have run" in page.read_text()
    remember_options(folder.path, RaceStore().home)
    assert run("report", "gift", f"--html={page}")[0] == 0
    assert "Check first" not in page.read_text()


@pytest.mark.process
def test_a_race_that_ends_is_known_to_this_home(run, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    schedule = [{"operation": {"operation-type": "raw-request", "path": "/one"}}]
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    with http_server(lambda request: json_response(engine_document(request.target, OPENSEARCH))) as server:
        hosts = server.address.removeprefix("http://")
        run("race", f"--track-path={folder}", "--pipeline=benchmark-only", f"--target-hosts={hosts}")
    options = RaceStore().load("latest").given_options
    assert options["track-path"] == str(folder)
    assert unchecked_options(options) == {}
    assert "Check first" not in (RaceStore().folder("latest").page).read_text()


def test_pages_of_experiments_and_searches_of_others_name_what_they_run(run, home, tmp_path):
    store = ExperimentStore(home)
    text = (
        '[race]\ntrack = "t"\nclient-options = {basic_auth_user = "me", basic_auth_password = "secret-1"}\n'
        '[variants.a]\nruntime-jdk = "/x/jdk"\n[variants.b]\nruntime-jdk = "/y/jdk"\n'
    )
    folder = create_experiment(store, read_experiment(text, "heap", "heap.toml", NoOptionCheck()), text)
    knob = Knob("x", "jvm", ("-XX:OnError=/x", "-Xmx1g"))
    search = create_tune(store)
    write_tune(search, search_plan(knobs=(knob,), race={"track": "t", "team-path": "/x/team"}))
    # As if they had been copied from another home.
    (home / "begun.json").unlink()
    pages = (tmp_path / "experiment.html", tmp_path / "search.html")
    assert run("experiment", "report", folder.experiment_id, f"--html={pages[0]}")[::2] == (0, "")
    assert run("tune", "report", search.tune_id, f"--html={pages[1]}")[::2] == (0, "")
    experiment, tuned = (html.unescape(page.read_text()) for page in pages)
    assert (
        "check first: experiment heap-1, which this home is not known to have run, names code" in experiment
    )
    assert 'runtime-jdk=["/x/jdk", "/y/jdk"]' in experiment
    assert '"basic_auth_password": "<hidden>"' in experiment
    assert "secret-1" not in experiment
    assert "check first: search tune-1, which this home is not known to have run, names code" in tuned
    assert 'team-path=/x/team, jvm=["-XX:OnError=/x"]' in tuned
    for files in (folder, search.files):
        store.adopt(files)
    run("experiment", "report", folder.experiment_id, f"--html={pages[0]}")
    run("tune", "report", search.tune_id, f"--html={pages[1]}")
    assert not any("check first" in page.read_text() for page in pages)
