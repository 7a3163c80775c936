"""Each option of `pacenote race` is recorded, or cannot affect the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pacenote.cli import race
from pacenote.cli.console import Console
from pacenote.cli.options.rally_ini import RallySettings
from pacenote.cli.options.secrets import hide_option_secrets
from pacenote.cli.parser import Parser
from pacenote.model.race_request import RaceRequest
from pacenote.plan.document import DriverSettings, OnError, Plan, Target
from pacenote.race.corpora import PreparedCorpora
from pacenote.race.race_secrets import race_secrets
from pacenote.race.record import initial_record, with_clients
from pacenote.race.targets import parse_clusters, with_targets
from pacenote.track.prepare import prepare_track

RECORDED = {
    "track_path": ("--track-path=TRACK/other", "options.track_path"),
    "track_repository": ("--track-repository=https://token@host/x", "options.track_repository"),
    "track_revision": ("--track-revision=abc", "options.track_revision"),
    "track_params": ("--track-params=a:1", "track-params.a"),
    "challenge": ("--challenge=slow", "challenge"),
    "include_tasks": ("--include-tasks=read", "options.include_tasks"),
    "exclude_tasks": ("--exclude-tasks=read", "options.exclude_tasks"),
    "build_flavor": ("--build-flavor=serverless", "options.build_flavor"),
    "serverless_operator": ("--serverless-operator", "options.serverless_operator"),
    "test_mode": ("--test-mode", "options.test_mode"),
    "enable_assertions": ("--enable-assertions", "options.enable_assertions"),
    "corpus": ("--corpus=generated", "options.corpus"),
    "corpus_documents": ("--corpus-documents=10", "options.corpus_documents"),
    "dataset_cache": ("--dataset-cache=/data", "options.dataset_cache"),
    "pipeline": ("--pipeline=benchmark-only", "pipeline"),
    "distribution": ("--distribution=elasticsearch", "options.distribution"),
    "distribution_version": ("--distribution-version=2.19.4", "options.distribution_version"),
    "distribution_repository": ("--distribution-repository=release", "options.distribution_repository"),
    "distribution_archive": (
        "--distribution-archive=https://user:password@host/opensearch-3.3.0.tar.gz",
        "options.distribution_archive",
    ),
    "revision": ("--revision=latest", "options.revision"),
    "source_path": ("--source-path=https://token@host/es.git", "options.source_path"),
    "source_build_release": ("--source-build-release", "options.source_build_release"),
    "car": ("--car=defaults,4gheap", "car"),
    "car_params": ("--car-params=heap_size:2g", "car-params.heap_size"),
    "team_path": ("--team-path=/cars", "options.team_path"),
    "team_repository": ("--team-repository=https://token@host/x", "options.team_repository"),
    "team_revision": ("--team-revision=abc", "options.team_revision"),
    "elasticsearch_plugins": ("--elasticsearch-plugins=a", "options.plugins"),
    "plugin_params": ("--plugin-params=a:1", "options.plugin_params.a"),
    "settings": ("--set=index.codec=best_compression", "options.settings"),
    "jvm": ("--jvm=-XX:+UseZGC", "options.jvm_options"),
    "env": ("--env=A=1", "options.engine_variables.A"),
    "default_telemetry": ("--no-default-telemetry", "options.default_telemetry"),
    "telemetry": ("--telemetry=node-stats", "options.telemetry"),
    "telemetry_params": (
        "--telemetry-params=shard-stats-sample-interval:5",
        "options.telemetry_params.shard-stats-sample-interval",
    ),
    "runtime_jdk": ("--runtime-jdk=21", "options.runtime_jdk"),
    "target_hosts": ('--target-hosts={"default": ["a:1"], "b": ["c:2"]}', "other-clients.b.hosts"),
    "client_options": ("--client-options=timeout:7", "client.timeout_s"),
    "race_id": ("--race-id=mine", "race-id"),
    "data": ("--data=keep:logs", "options.data"),
    "caches": ("--caches=cold", "options.caches"),
    "cooldown": ("--cooldown=2m", "options.cooldown_s"),
    "on_error": ("--on-error=abort", "options.on_error"),
    "user_tags": ("--user-tags=a:b", "user-tags.a"),
    "environment_name": ("--environment-name=ci", "environment"),
    "max_error_rate": ("--max-error-rate=5", "max-error-rate"),
    "max_shortfall": ("--max-shortfall=10", "max-shortfall"),
    "seed": ("--seed=7", "seed"),
    "driver_threads": ("--driver-threads=3", "options.driver_threads"),
    "driver_scheduling": ("--driver-scheduling=normal", "options.driver_scheduling"),
    "driver_cpus": ("--driver-cpus=0", "options.driver_cpus"),
    "nodes": ("--nodes=3", "options.nodes.groups"),
    "node_cpus": ("--node-cpus=0", "options.nodes.cpus"),
    "node_memory": ("--node-memory=4g", "options.nodes.limits.memory"),
    "node_cpu_limit": ("--node-cpu-limit=2", "options.nodes.limits.cpus"),
    "data_paths": ("--data-paths=/data", "options.nodes.data_paths"),
    "samples": ("--samples=none", "options.samples"),
    "effective_start_date": ("--effective-start-date=2025-01-31 23:59:59", "race-timestamp"),
    "arrivals": ("--arrivals=poisson", "pacing.arrivals"),
    "open_loop": ("--open-loop", "pacing.open_loop"),
    "max_connections": ("--max-connections=9", "pacing.max_connections"),
    "spin_us": ("--spin=9", "pacing.spin_us"),
    "warmup_drain": ("--warmup-drain", "pacing.warmup_drain"),
}
"""An example of each recorded option, and the key whose value it changes."""

WITHOUT_EFFECT = {
    "track": "the name is the key `track` of the loaded track",
    "allow_outside_paths": "accepts paths that would end the race",
    "offline": "a race uses the same files, or does not begin",
    "ignore_unused_track_params": "accepts parameters that would end the race",
    "corpus_mirror": "the source of the same files",
    "maven_mirror": "the source of the same files, which have checksums",
    "archive_mirror": "the source of the same files, which have checksums",
    "source_repository": "the sources are the key `sources.origin`",
    "source_cache_days": "keeps files after the race",
    "preserve_install": "keeps files after the race",
    "cluster_name": "the name is the key `cluster.name` of the running cluster",
    "metrics_store": "writes elsewhere what the race has stored",
    "skip_rest_api_check": "has no effect",
    "kill_running_processes": "has no effect",
    "dry_run": "no race",
    "quiet": "shows less",
    "report": "affects the report only",
    "report_format": "affects the report only",
    "report_numbers_align": "affects the report only",
    "report_file": "affects the report only",
    "html": "affects the report only",
    "show_in_report": "affects the report only",
    "show_processing_time": "affects the report only",
    "threshold": "affects the exit code and the report only",
    "help": "no race",
}
"""Options that are not recorded, with the reason."""


@pytest.fixture
def parser() -> Parser:
    built = Parser("race", "", Console(), {})
    race.add_options(built)
    built.set_defaults(owns_process=False, repository_urls={}, rally=RallySettings())
    return built


def track(folder: Path) -> str:
    """Creates a track with two challenges, and returns the option that selects it."""
    operation = {"operation-type": "raw-request", "path": "/{{ a }}"}
    schedule = [{"name": name, "operation": operation} for name in ("read", "write")]
    challenges = [
        {"name": "fast", "default": True, "schedule": schedule},
        {"name": "slow", "schedule": schedule},
    ]
    folder.mkdir(exist_ok=True)
    (folder / "track.json").write_text(json.dumps({"version": 2, "challenges": challenges}))
    return f"--track-path={folder}"


def document(request: RaceRequest, folder: Path) -> dict[str, Any]:
    """Returns `race.json` as it is stored when the engine runs; only the track itself is always the same."""
    values = {
        name: getattr(request, name) for name in ("home", "challenge", "include_tasks", "exclude_tasks")
    }
    prepared = prepare_track(
        RaceRequest(
            race_id="r", track_path=folder, track_params=request.track_params, **values
        ).track_request()
    )
    record = initial_record(request, prepared, PreparedCorpora(()))
    plan = Plan("r", 1, Target((), (), 1), DriverSettings(0, OnError.CONTINUE), (), ())
    if clusters := parse_clusters(request):
        record = with_clients(record, with_targets(plan, clusters[0], request))
    return record.to_document()


def value(document: Any, key: str) -> object:
    for part in key.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def test_each_option_is_recorded_or_has_a_reason_not_to_be(parser: Parser) -> None:
    options = {action.dest for action in parser._actions}
    assert len(options) > 40
    assert options - RECORDED.keys() - WITHOUT_EFFECT.keys() == set()
    assert (RECORDED.keys() | WITHOUT_EFFECT.keys()) - options == set()
    assert RECORDED.keys() & WITHOUT_EFFECT.keys() == set()


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_option_changes_its_key(
    name: str, parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "track"
    base = ["--track=t"]
    if name == "track_path":
        base = [track(folder)]
    elif name == "max_connections":
        base += ["--open-loop"]
    elif name == "source_build_release":
        base += ["--pipeline=from-sources"]
    elif name in ("client_options", "target_hosts"):
        base += ["--pipeline=benchmark-only"]
    track(folder)
    option, key = RECORDED[name]
    given = option.replace("TRACK", str(folder))

    def stored(arguments: list[str]) -> object:
        return value(document(race.build_request(parser.parse(arguments)), folder), key)

    before, after = stored(base), stored([*base, given])
    assert before != after
    assert "token" not in str(after)


def test_a_secret_in_an_option_of_the_jvm_is_neither_recorded_nor_shown(
    parser: Parser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    track(tmp_path)
    options = parser.parse(["--track=t", "--jvm=-Dstore.password=hunter2222", "--jvm=-Da=b"])
    request = race.build_request(options)
    stored = value(document(request, tmp_path), "options.jvm_options")
    assert stored == ("-Dstore.password=<hidden>", "-Da=b")
    assert "hunter2222" in race_secrets(request)
    console = Console()
    hide_option_secrets(options, console)
    console.warning("hunter2222 is wrong")
    assert "hunter2222" not in capsys.readouterr().err
