"""`pacenote race`: options, output and exit codes."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_progress import RaceProgress, TaskProgress
from pacenote.race.engine_request import engine_request
from pacenote.store.race_store import RaceStore
from support.records import bulk, record, task


def request_of(run, fake_race, *arguments):
    requests = fake_race(lambda request, listener: record(request.race_id))
    code, _, err = run("race", "--track=http_logs", *arguments)
    assert (code, err) == (0, "")
    (request,) = requests
    return request


def test_defaults(run, fake_race, home):
    request = request_of(run, fake_race)
    assert (request.track, request.track_path, request.home) == ("http_logs", None, home)
    assert (request.pipeline, request.engine.distribution, request.engine.distribution_version) == (
        "from-distribution",
        "opensearch",
        "",
    )
    assert (request.engine.car, request.engine.runtime_jdk, request.target_hosts) == (("defaults",), None, ())
    assert (request.client.timeout_s, request.max_error_rate, request.seed) == (60.0, 0.01, 42)
    assert (request.on_error, request.corpus, request.driver_threads) == (None, None, 0)
    assert (request.pacing, request.track_request().pacing) == (PacingOptions(), PacingOptions())
    assert len(request.race_id) == 36


def test_pacing(run, fake_race):
    arguments = ("--open-loop", "--max-connections=64", "--arrivals=poisson", "--spin=50", "--warmup-drain")
    pacing = PacingOptions(
        open_loop=True, max_connections=64, arrivals="poisson", spin_us=50, warmup_drain=True
    )
    request = request_of(run, fake_race, *arguments)
    assert (request.pacing, request.track_request().pacing) == (pacing, pacing)


def test_the_maven_mirror_is_an_option_or_in_the_environment(run, fake_race, monkeypatch):
    assert request_of(run, fake_race).engine.maven_mirror is None
    monkeypatch.setenv("PACENOTE_MAVEN_MIRROR", "https://user:hunter2@mirror")
    request = request_of(run, fake_race)
    assert request.engine.maven_mirror == "https://user:hunter2@mirror"
    assert "hunter2" not in repr(request)
    assert request_of(run, fake_race, "--maven-mirror=https://other").engine.maven_mirror == "https://other"


def test_all_options_are_passed_to_the_request(run, fake_race, tmp_path):
    (tmp_path / "params.json").write_text('{"bulk_size": 5000}')
    request = request_of(
        run,
        fake_race,
        *("--race-id=r1", "--challenge=fast", f"--track-params={tmp_path / 'params.json'}"),
        *("--ignore-unused-track-params", "--pipeline=from-distribution", "--distribution=opensearch"),
        *(
            "--distribution-version=2.19.4",
            "--car=4gheap,basic",
            "--car-params=heap_size:'4g'",
            "--runtime-jdk=21",
        ),
        *(
            "--client-options=timeout:5",
            "--on-error=abort",
            "--user-tag=intention:x,run:3",
            "--max-error-rate=2.5%",
            "--max-shortfall=10",
        ),
        *(
            "--seed=7",
            "--driver-threads=3",
            "--samples=none",
            "--corpus=generated",
            "--preserve-install",
            "--offline",
        ),
    )
    assert (request.race_id, request.challenge, request.track_params) == ("r1", "fast", {"bulk_size": 5000})
    assert request.ignore_unused_track_params
    assert request.engine.preserve_install
    assert request.offline
    assert (request.engine.distribution_version, request.engine.car, request.engine.car_params) == (
        "2.19.4",
        ("4gheap", "basic"),
        {"heap_size": "4g"},
    )
    assert (request.engine.runtime_jdk, request.client.timeout_s, request.on_error) == (21, 5.0, "abort")
    assert request.user_tags == {"intention": "x", "run": 3}
    assert (request.max_error_rate, request.seed, request.driver_threads) == (0.025, 7, 3)
    assert request.max_shortfall == 0.1
    assert request.samples == "none"
    assert request.corpus == "generated"


def test_all_track_options_are_passed_to_the_request(run, fake_race, tmp_path):
    request = request_of(
        run,
        fake_race,
        *("--track-repository=mine", "--track-revision=abc", "--build-flavor=serverless"),
        *("--serverless-operator", "--test-mode", "--enable-assertions", "--corpus-documents=5000"),
        *('--include-tasks=["a,b", "type:search"]', f"--dataset-cache={tmp_path}"),
        "--effective-start-date=2026-01-31 23:59:59",
    )
    assert (request.track_repository, request.track_revision) == ("mine", "abc")
    assert (request.build_flavor, request.serverless_operator) == ("serverless", True)
    assert (request.test_mode, request.enable_assertions, request.corpus_documents) == (True, True, 5000)
    assert (request.include_tasks, request.exclude_tasks) == (("a,b", "type:search"), ())
    assert request.dataset_cache == tmp_path
    assert request.effective_start == datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)
    assert request_of(run, fake_race, "--exclude-tasks=a, tag:b").exclude_tasks == ("a", "tag:b")


def test_the_cluster_and_the_environment_can_be_named(run, fake_race):
    request = request_of(run, fake_race, "--cluster-name=mine", "--environment-name=nightly")
    assert (request.engine.cluster_name, request.environment_name) == ("mine", "nightly")
    assert engine_request(request, Path("artifacts")).cluster_name == "mine"
    request = request_of(run, fake_race)
    assert (request.engine.cluster_name, request.environment_name) == ("rally-benchmark", "local")


def test_a_configured_flag_can_be_turned_off(run, fake_race):
    assert not request_of(run, fake_race, "--test-mode", "--no-test-mode").test_mode


@pytest.mark.parametrize(
    "hosts", ["h1:9200,h2:9200", '["h1:9200", "h2:9200"]', '{"default": ["h1:9200", "h2:9200"]}']
)
def test_hosts_alone_mean_an_existing_cluster(run, fake_race, hosts):
    request = request_of(run, fake_race, f"--target-hosts={hosts}")
    assert request.pipeline == "benchmark-only"
    assert request.target_hosts == ("h1:9200", "h2:9200")


def test_hosts_from_a_file(run, fake_race, tmp_path):
    (tmp_path / "hosts.json").write_text('{"default": ["h1:9200"]}')
    assert request_of(run, fake_race, f"--target-hosts={tmp_path / 'hosts.json'}").target_hosts == (
        "h1:9200",
    )


@pytest.mark.parametrize(("option", "value"), [("--car", "4gheap"), ("--cluster-name", "mine")])
def test_options_without_effect_are_reported(run, fake_race, option, value):
    fake_race(lambda request, listener: record(request.race_id))
    code, _, err = run("race", "--track=x", "--pipeline=benchmark-only", f"{option}={value}")
    assert (code, err) == (0, f"warning: {option} has no effect with --pipeline=benchmark-only\n")
    defaults = ("--target-hosts=h", "--cluster-name=rally-benchmark", "--car=defaults")
    assert run("race", "--track=x", *defaults)[2] == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either --track or --track-path"),
        (["--track=x", "--track-path=y"], "give either --track or --track-path"),
        (["--track-path=y", "--track-revision=z"], "give either --track-revision or --track-path"),
        (["--track=x", "--include-tasks=a", "--exclude-tasks=b"], "give either --include-tasks or --exclude"),
        (
            ["--track=x", "--corpus-documents=0"],
            "--corpus-documents: must be a whole number above 0, not '0'",
        ),
        (["--track=x", "--max-connections=8"], "--max-connections needs --open-loop"),
        (
            ["--track=x", "--open-loop", "--max-connections=0"],
            "--max-connections: must be a whole number from 1 to 1,000,000, not '0'",
        ),
        (["--track=x", "--spin=1000001"], "--spin: must be a whole number from 0 to 1000000, not '1000001'"),
        (
            ["--track=x", "--corpus-documents=abc"],
            "--corpus-documents: must be a whole number above 0, not 'abc'",
        ),
        (
            ["--track=x", "--arrivals=bursty"],
            "--arrivals cannot be 'bursty'\nhint: one of deterministic, poisson, uniform\n",
        ),
        (["--track=x", "--arrivals=possion"], "--arrivals cannot be 'possion'\nhint: did you mean poisson?"),
        (["--track=x", "stray"], "unrecognized arguments: stray\nhint: see `pacenote race --help`"),
        (["--track=x", "--effective-start-date=now"], "'now' is not a time"),
        (
            ["--track=x", "--client-options=basic_auth_user:me"],
            "--client-options: basic_auth_user and basic_",
        ),
        (["--track=x", "--race-id=latest"], "--race-id cannot be 'latest'"),
        (["--track=x", "--race-id=../x"], "--race-id cannot be '../x'"),
        (["--track=x", "--pipeline=bench"], "--pipeline cannot be 'bench'"),
        (["--track=x", "--car=a", "--target-hosts=h"], "engines cannot be installed on --target-hosts"),
        (
            ["--track=x", "--client-options=verify_cert:false"],
            "--client-options: unknown client option 'verify_cert'",
        ),
        (["--track=x", "--client-options=timeout:soon"], "--client-options: timeout must be a number"),
        (
            ["--track=x", '--target-hosts={"a": ["h"], "b": ["h"]}'],
            "--target-hosts names no cluster 'default'",
        ),
        (["--track=x", "--target-hosts=[1]"], "--target-hosts must be a list of hosts"),
        (["--track=x", "--target-hosts=["], "--target-hosts is not valid JSON"),
        (["--track=x", "--target-hosts=nope.json"], "--target-hosts: nope.json cannot be read"),
        (
            ["--track=x", "--max-error-rate=101"],
            "--max-error-rate: must be a percentage from 0 to 100, not '101'",
        ),
        (["--track=x", "--max-error-rate=few"], "--max-error-rate: must be a percentage"),
        (["--track=x", "--max-error-rate=nan"], "--max-error-rate: must be a percentage"),
        (
            ["--track=x", "--max-shortfall=-1"],
            "--max-shortfall: must be a percentage from 0 to 100, not '-1'",
        ),
        (["--track=x", "--seed=-1"], "--seed must be a whole number"),
        (["--track=x", "--seed=18446744073709551616"], "--seed must be a whole number from 0 to 2^64 - 1"),
        (
            ["--track=x", "--runtime-jdk=new"],
            "--runtime-jdk must be a major version such as 21, 'bundled', or the folder of a JDK, not 'new'",
        ),
        (
            ["--track=x", "--distribution=elastic"],
            "unknown distribution 'elastic'; Pacenote can start opensearch 3.x",
        ),
        (
            ["--track=x", "--report-file=/dev/null/r.md"],
            "--report-file /dev/null/r.md cannot be written",
        ),
    ],
)
def test_contradictory_options_are_rejected_before_the_race(run, fake_race, arguments, message):
    requests = fake_race(lambda request, listener: record())
    code, _, err = run("race", *arguments)
    assert code == 2
    assert err.startswith(f"error: {message}")
    assert requests == []


def test_an_existing_race_id_is_rejected_before_the_race(run, fake_race):
    RaceStore().create(record("r1"))
    fake_race(lambda request, listener: record())
    code, _, err = run("race", "--track=x", "--race-id=r1")
    assert (code, err) == (2, "error: race 'r1' already exists\nhint: choose another --race-id\n")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"tasks": (bulk(error_rate=0.5),)}, 3),
        ({"aborted": "the engine died", "complete": False}, 3),
        ({"interrupted": True, "complete": False}, 130),
        ({"driver": {"threads": [{"cpu_s": 9.0, "wall_s": 10.0}]}}, 0),
    ],
)
def test_exit_codes_of_races(run, fake_race, changes, code):
    fake_race(lambda request, listener: record(**changes))
    ended, out, _ = run("race", "--track=x")
    assert ended == code
    assert "Mean Throughput" in out
    assert "- Verdict: " in out


def test_a_dry_run_shows_the_race_and_the_allocation_matrix_and_nothing_else(run, tmp_path):
    options = ("--track-params=bulk_indexing_clients:3", "--exclude-tasks=nothing")
    code, out, err = run("race", "--track=http_logs", "--dry-run", *options)
    assert code == 0
    warning, source = err.splitlines()
    assert warning.startswith("warning: --exclude-tasks: ")
    assert source.startswith('track "http_logs" is the one that comes with Pacenote')
    assert "step 4: index-append\n  index-append (index-append, bulk): 3 clients, as fast as possible" in out
    assert "  clients 0–2: index-append[0] … index-append[2]\n" in out
    assert "    POST /_bulk 5,000 of 1,000,000 documents in 7 files\n" in out
    assert out.splitlines()[:2] == [
        "engine: opensearch 3.3.0, started on a free port of 127.0.0.1 with car 'defaults' and 1g of heap",
        "corpus http_logs: 1,000,000 documents in 7 files, generated with seed 42",
    ]
    assert out.splitlines()[2].startswith("duration: at least ")


def test_a_dry_run_does_not_create_the_folder_of_the_report(run, tmp_path):
    file = tmp_path / "reports" / "report.md"
    assert run("race", "--track=http_logs", "--dry-run", f"--report-file={file}")[0] == 0
    assert not file.parent.exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--target-hosts=localhost:99999", "'localhost:99999' in --target-hosts is not a host"),
        ("--target-hosts=foo bar", "'foo bar' in --target-hosts is not a host"),
        ("--car=16gheap,nonsense", "unknown car 'nonsense' in --car"),
        ("--distribution-version=3.3", "hint: give all three numbers, for example 3.3.0"),
        ("--driver-threads=0", "--driver-threads"),
        ("--report-file=/dev/null/report.md", "--report-file /dev/null/report.md cannot be written"),
    ],
)
def test_a_dry_run_rejects_what_the_race_would_reject(run, option, message):
    code, _, err = run("race", "--track=http_logs", "--dry-run", option)
    assert (code, message in err) == (2, True), err


def report_everything(request, listener):
    listener.preparing("downloading opensearch 3.3.0", 0, 200)
    listener.preparing("downloading opensearch 3.3.0", 100, 200)
    listener.preparing("downloading opensearch 3.3.0", 200, 200)
    listener.preparing("downloading opensearch 3.3.0", 200, 200)
    listener.started(record(request.race_id, tasks=(), complete=False))
    running = TaskProgress("search", "ops", True, 0.25, 812.5, 1.5, 3.25, 812, 0, 30.0)
    for elapsed in (0.0, 5.0, 10.0, 12.0, 20.0):
        warm = replace(running, warming_up=elapsed < 15, errors=int(elapsed))
        listener.progress(RaceProgress(1, 2, elapsed, (warm,)))
    listener.warning("the host is noisy")
    listener.task_finished(task())
    listener.finished(record(request.race_id))
    return record(request.race_id)


def test_without_a_terminal_progress_is_plain_lines(run, fake_race):
    fake_race(report_everything)
    code, out, err = run("race", "--track=x", "--race-id=r1")
    assert code == 0
    assert err.splitlines() == [
        "downloading opensearch 3.3.0 …",
        "downloading opensearch 3.3.0: done",
        "race r1: track 'http_logs', challenge 'append-no-conflicts' on opensearch 3.3.0",
        "[1/2] search started",
        "[1/2] search: 812 ops/s, service time p50 1.5 ms, p99 3.25 ms, 10 errors, warming up, 25 %, "
        "30 s left",
        "[1/2] search: 812 ops/s, service time p50 1.5 ms, p99 3.25 ms, 20 errors, 25 %, 30 s left",
        "warning: the host is noisy",
        "search done: 1 min 10 s (1 min measured), 833.33 ops/s, service time p50 2 ms, p99 8 ms, "
        "4.8 MiB sent",
        "race r1 is valid",
    ]
    assert "- Verdict: valid" in out


def test_quiet_keeps_report_and_warnings(run, fake_race):
    fake_race(report_everything)
    code, out, err = run("race", "--track=x", "--quiet")
    assert (code, err) == (0, "warning: the host is noisy\n")
    assert "- Verdict: valid" in out


@pytest.mark.parametrize(
    ("report_format", "file"), [("csv", "r.csv"), ("csv-full", "r.csv"), ("json", "r.json")]
)
def test_a_second_report_in_a_file_gets_a_file_of_its_own(run, fake_race, tmp_path, report_format, file):
    fake_race(lambda request, listener: record())
    arguments = ("race", "--track=x", f"--report-format={report_format}", f"--report-file={tmp_path / file}")
    first, second, third = (run(*arguments) for _ in range(3))
    assert [one[0] for one in (first, second, third)] == [0, 0, 0]
    stem, _, ending = file.partition(".")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{stem}-2.{ending}",
        f"{stem}-3.{ending}",
        file,
    ]
    assert {path.read_text() for path in tmp_path.iterdir()} == {first[1]}
    assert second[2] == f"the report is in {tmp_path / f'{stem}-2.{ending}'}, because {file} has one\n"


def test_markdown_reports_are_appended(run, fake_race, tmp_path):
    fake_race(lambda request, listener: record())
    file = tmp_path / "missing" / "folder" / "r.md"
    _, out, _ = run("race", "--track=x", f"--report-file={file}")
    run("race", "--track=x", f"--report-file={file}")
    assert file.read_text() == out + out


def test_an_empty_file_takes_a_report_of_any_format(run, fake_race, tmp_path):
    fake_race(lambda request, listener: record())
    file = tmp_path / "r.json"
    file.touch()
    run("race", "--track=x", "--report-format=json", f"--report-file={file}")
    assert json.loads(file.read_text())["verdict"]["state"] == "valid"


def test_a_report_without_room_for_the_verdict_is_accompanied_by_it(run, fake_race):
    fake_race(lambda request, listener: record(interrupted=True))
    _, out, err = run("race", "--track=x", "--report-format=csv")
    assert out.startswith("Metric,Task,Value,Unit\n")
    assert "interrupted" not in out
    assert err == "warning: the race is void: interrupted\n"


def test_the_short_report_can_be_asked_for(run, fake_race):
    fake_race(lambda request, listener: record())
    _, out, _ = run("race", "--track=x", "--report=short")
    assert " VALID " in out
    assert "Mean Throughput" not in out
    assert "Mean Throughput" in run("race", "--track=x", "--report=full")[1]


def test_processing_time_is_shown_if_rallys_configuration_asks_for_it(run, fake_race, tmp_path):
    fake_race(lambda request, listener: record())
    assert "processing time" not in run("race", "--track=x")[1]
    (tmp_path / "rally" / ".rally").mkdir(parents=True)
    (tmp_path / "rally" / ".rally" / "rally.ini").write_text("[reporting]\noutput.processingtime = true\n")
    assert "50th percentile processing time" in run("race", "--track=x")[1]


def test_a_report_file_that_cannot_be_written_leaves_no_folders(run, fake_race, tmp_path):
    fake_race(lambda *_: record())
    (tmp_path / "file").touch()
    for name, reason in (("a/b/" + "x" * 300, "is not a path"), ("file/c/r.md", "cannot be written")):
        code, _, err = run("race", "--track=geonames", f"--report-file={tmp_path / name}")
        assert (code, reason in err) == (2, True)
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("home", "rally")] == ["file"]


def test_a_report_file_given_alone_is_markdown(run, fake_race, tmp_path):
    fake_race(lambda request, listener: record())
    run("race", "--track=x", f"--report-file={tmp_path / 'r.md'}", "--show-in-report=all")
    assert "Total Ingest Pipeline count" in Path(tmp_path / "r.md").read_text()


def test_standard_output_holds_only_json(run, fake_race):
    fake_race(report_everything)
    _, out, _ = run("race", "--track=x", "--report-format=json")
    assert json.loads(out)["verdict"] == {"state": "valid", "reasons": [], "findings": []}
