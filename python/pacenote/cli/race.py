"""`pacenote race`: converts arguments to a request, runs the race, prints its report."""

from __future__ import annotations

import argparse
import importlib
import uuid
from collections.abc import Callable, Iterator
from typing import Any, cast, get_args

from pacenote.cli.console import Console
from pacenote.cli.gates.thresholds import check_thresholds, threshold_exit_code
from pacenote.cli.interruption import NOTHING_MEASURED, printing_report, stored_record
from pacenote.cli.metrics_store.races import add_to_store
from pacenote.cli.options import values
from pacenote.cli.options.cars import engine_settings, index_settings
from pacenote.cli.options.clients import HELP as CLIENT_OPTIONS_HELP
from pacenote.cli.options.clients import client_options
from pacenote.cli.options.data import DATA_OPTIONS, add_data_options, start_conditions
from pacenote.cli.options.engine import (
    ENGINE_OPTIONS,
    PIPELINES,
    SELECTING_OPTIONS,
    add_engine_options,
    add_maven_mirror,
    engine_options,
    is_given,
)
from pacenote.cli.options.given import given_options
from pacenote.cli.options.metrics_store import add_store_option, configured_store
from pacenote.cli.options.nodes import add_driver_cpus_option
from pacenote.cli.options.race_trust import remember_options
from pacenote.cli.options.rally_ini import show_rally_settings
from pacenote.cli.options.sources import (
    SELECTING_SOURCES,
    add_source_build_options,
    engine_from_sources,
)
from pacenote.cli.options.telemetry import add_telemetry_options, telemetry_options
from pacenote.cli.options.track import (
    add_challenge_option,
    add_corpus_options,
    add_filter_options,
    add_flavor_options,
    add_param_options,
    add_source_options,
    track_fields,
)
from pacenote.cli.options.unavailable import unavailable_options
from pacenote.cli.output.progress import progress_listener
from pacenote.cli.output.race_findings import race_evidence, show_findings
from pacenote.cli.output.race_page import add_page
from pacenote.cli.output.report_file import check_report_size
from pacenote.cli.output.report_output import (
    add_report_options,
    check_report_file,
    is_short,
    show_report,
)
from pacenote.cli.parser import Parser, validate_choice
from pacenote.errors import Interrupted, UsageError, VoidRace
from pacenote.model.client_options import AdditionalCluster
from pacenote.model.pacing_options import DEFAULT_SPIN_US, PacingOptions
from pacenote.model.race_listener import RaceListener
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import OnErrorChoice, Pipeline, RaceRequest, SamplesChoice, SchedulingChoice
from pacenote.model.source_options import CURRENT
from pacenote.model.target_rate import MAX_SHORTFALL
from pacenote.model.track import BUILT_IN_SCHEDULES
from pacenote.race.stop_signals import block_signals, exit_at_third, interrupting
from pacenote.store.home import RACES, default_home
from pacenote.system.paths import exists

UNAVAILABLE_OPTIONS = unavailable_options((
    "--source-build-method",
    "--load-driver-hosts",
    "--enable-driver-profiling",
    "--multi-cluster",
))


def add_options(parser: Parser, *, writes_page: bool = True) -> None:
    """Adds Rally's options of `race`, and those that only Pacenote has.

    With `writes_page`, one of them says whether the race ends with a page.
    """
    _add_track_options(parser)
    _add_cluster_options(parser)
    add_data_options(parser)
    _add_race_options(parser)
    add_telemetry_options(parser)
    _add_record_options(parser)
    _add_pacing_options(parser)
    with parser.group("report"):
        add_report_options(parser)
        add_store_option(parser)
        if writes_page:
            parser.add_flag(
                "--html", help="end with a page in the folder of the race (default: yes)", default=True
            )


def run(options: argparse.Namespace, console: Console) -> int:
    """Runs the race, prints its report, and returns the exit code. Raises PacenoteError."""
    check_report_size(options)
    check_thresholds(options)
    request = build_request(options)
    check_report_file(options)
    metrics_store = configured_store(options)
    show_rally_settings(options, console, builds=request.engine.source is not None)
    for text in options_without_effect(options, request):
        console.warning(text)
    if options.owns_process:
        console.keep_results_apart()
    if request.dry_run:
        from pacenote.cli.output.dry_run import dry_run_text
        from pacenote.race.dry_run import dry_run

        planned = dry_run(request)
        for text in planned.warnings:
            console.warning(text)
        for text in planned.notes:
            console.progress(text)
        console.result_lines(dry_run_text(planned))
        return 0
    race_module = importlib.import_module("pacenote.race.run")
    race: Callable[[RaceRequest, RaceListener], RaceRecord] = race_module.race
    with exit_at_third(console.error_at_exit), interrupting():
        try:
            with progress_listener(console) as listener:
                record = race(request, listener)
            stopped = record.interrupted
        except KeyboardInterrupt as cause:
            record, stopped = stored_record(request, cause), True
        if stopped and not record.tasks:
            raise Interrupted(NOTHING_MEASURED)
        with printing_report(stopped=stopped):
            folder = request.home / RACES / record.race_id
            remember_options(folder, request.home)
            evidence = race_evidence(record, folder, console)
            show_report(record, folder, options, console, evidence)
            if not is_short(options, console):
                show_findings(record, evidence.diagnosis, console)
            if options.html:
                add_page(folder, evidence, console)
            if metrics_store is not None and record.complete:
                add_to_store(folder, metrics_store, console)
            if options.owns_process:
                block_signals()
    code = threshold_exit_code(record, options, console)
    if stopped:
        return Interrupted.exit_code
    return VoidRace.exit_code if record.verdict.state == "void" else code


def build_request(options: argparse.Namespace) -> RaceRequest:
    """Returns the race that the options describe.

    Raises UsageError for options that contradict each other, and StoreError for a home that cannot be read.
    """
    # Imports SQLite, which would delay --help.
    from pacenote.store.race_store import ID_HINT, RaceStore, check_home, is_race_id

    track = track_fields(options)
    race_id = options.race_id or str(uuid.uuid4())
    if not is_race_id(race_id):
        raise UsageError(
            f"--race-id cannot be '{race_id}'",
            hint=ID_HINT,
        )
    home = default_home()
    check_home(home)
    if exists(RaceStore(home).races / race_id):
        raise UsageError(f"race '{race_id}' already exists", hint="choose another --race-id")
    pipeline = _pipeline(options)
    return RaceRequest(
        race_id=race_id,
        home=home,
        pipeline=pipeline,
        on_error=options.on_error,
        user_tags=options.user_tags,
        environment_name=options.environment_name,
        max_error_rate=options.max_error_rate,
        max_shortfall=options.max_shortfall,
        seed=options.seed,
        driver_threads=options.driver_threads,
        driver_cpus=options.driver_cpus or (),
        driver_scheduling=options.driver_scheduling,
        samples=options.samples,
        pacing=_pacing(options),
        corpus=options.corpus,
        corpus_documents=options.corpus_documents,
        corpus_mirrors=options.corpus_mirror,
        dataset_cache=options.dataset_cache and options.dataset_cache.absolute(),
        effective_start=options.effective_start_date,
        test_mode=options.test_mode,
        enable_assertions=options.enable_assertions,
        conditions=start_conditions(options),
        dry_run=options.dry_run,
        owns_process=options.owns_process,
        engine=engine_from_sources(options) if pipeline == "from-sources" else engine_options(options),
        index_settings=index_settings(options),
        given_options=given_options(options),
        telemetry=telemetry_options(options, starts_engine=pipeline in ("from-distribution", "from-sources")),
        **track,
        **_cluster_fields(options),
    )


def _cluster_fields(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the existing clusters, each with its client options, by field of the request.

    Raises UsageError.
    """
    hosts = options.target_hosts
    clients = options.client_options.for_clusters(hosts or (values.DEFAULT_CLUSTER,))
    return {
        "target_hosts": hosts.get(values.DEFAULT_CLUSTER, ()),
        "client": clients[values.DEFAULT_CLUSTER],
        "additional_clusters": tuple(
            AdditionalCluster(name, hosts[name], clients[name])
            for name in hosts
            if name != values.DEFAULT_CLUSTER
        ),
    }


def options_without_effect(options: argparse.Namespace, request: RaceRequest) -> Iterator[str]:
    """Yields a warning for each option that was given and has no effect."""
    from pacenote.telemetry.devices import unused_parameters

    yield from unused_parameters(request.telemetry)
    for name in (*ENGINE_OPTIONS, *DATA_OPTIONS) if request.pipeline == "benchmark-only" else ():
        if is_given(options, name):
            yield f"--{name.replace('_', '-')} has no effect with --pipeline=benchmark-only"
    if request.pipeline != "from-sources":
        for name in SELECTING_SOURCES:
            if getattr(options, name) not in (None, "", CURRENT):
                yield f"--{name.replace('_', '-')} has no effect with --pipeline={request.pipeline}"
    elif options.distribution_version:
        yield "--distribution-version has no effect with --pipeline=from-sources: the sources have their own"
    if options.kill_running_processes:
        yield "--kill-running-processes has no effect: a race does not touch processes of other races"
    yield from dict.fromkeys(
        text
        for client in (request.client, *(each.client for each in request.additional_clusters))
        for text in client.remarks
    )


def _pipeline(options: argparse.Namespace) -> Pipeline:
    """Returns the pipeline. Target hosts without engine options mean an existing cluster.

    Rally guesses it from the version. Raises UsageError.
    """
    installs = any(is_given(options, name) for name in SELECTING_OPTIONS)
    guess = "benchmark-only" if options.target_hosts and not installs else "from-distribution"
    if any(is_given(options, name) for name in SELECTING_SOURCES) and not options.distribution_version:
        guess = "from-sources"
    pipeline = cast(
        Pipeline,
        validate_choice(options.pipeline or guess, "--pipeline", PIPELINES),
    )
    if pipeline == "benchmark-only" and (named := engine_settings(options)):
        raise UsageError(
            f"--set engine.{next(iter(named))} needs an engine that the race starts",
            hint="change the setting of the existing cluster before the race",
        )
    if pipeline != "benchmark-only" and options.target_hosts:
        raise UsageError(
            "engines cannot be installed on --target-hosts, only on this host",
            hint="add --pipeline=benchmark-only to race against an existing cluster; --nodes=3 starts three "
            "nodes here",
        )
    return pipeline


def _pacing(options: argparse.Namespace) -> PacingOptions:
    """Returns how tasks with a target rate are paced. Raises UsageError."""
    if options.max_connections is not None and not options.open_loop:
        raise UsageError(
            "--max-connections needs --open-loop",
            hint="without it, each client has its own connection and schedule",
        )
    return PacingOptions(**{name: getattr(options, name) for name in PacingOptions.__struct_fields__})


def _add_track_options(parser: Parser) -> None:
    add_source_options(parser)
    add_challenge_option(parser)
    add_param_options(parser)
    add_filter_options(parser)
    with parser.group("track"):
        parser.add_flag(
            "--test-mode",
            help="run all tasks briefly and with little data, to check that they work",
            harmless=True,
        )
        parser.add_flag("--enable-assertions", help="check the assertions of operations", harmless=True)
        parser.add_flag(
            "--dry-run", help="print the steps of the race without sending a request", harmless=True
        )
    add_corpus_options(parser)
    add_flavor_options(parser)


def _add_cluster_options(parser: Parser) -> None:
    with parser.group("cluster"):
        parser.add_argument(
            "--target-hosts",
            type=values.hosts,
            default={},
            help="existing cluster: host:port,host2:port, URLs, or JSON for several clusters (default: none; "
            "an engine is started)",
        )
        parser.add_argument(
            "--client-options",
            type=client_options,
            default="",
            help=CLIENT_OPTIONS_HELP,
        )
        parser.add_argument(
            "--pipeline",
            help="from-distribution, from-sources, docker or benchmark-only (default: follows from the hosts "
            "and the engine)",
        )
        add_engine_options(parser)
        add_source_build_options(parser)


def _add_race_options(parser: Parser) -> None:
    with parser.group("load"):
        parser.add_argument(
            "--on-error",
            choices=get_args(OnErrorChoice),
            metavar="ACTION",
            help="after a failure: continue, continue-on-network or abort (default: continue, or abort "
            "if the operation is administrative)",
            harmless=True,
        )
        parser.add_argument(
            "--max-error-rate",
            type=values.share,
            metavar="PERCENT",
            default=0.01,
            help="error rate above which the race is void (default: 1)",
            harmless=True,
        )
        parser.add_argument(
            "--max-shortfall",
            type=values.share,
            metavar="PERCENT",
            default=MAX_SHORTFALL,
            help="missing its target rate by more makes a task suspect (default: 5)",
            harmless=True,
        )
        parser.add_argument(
            "--seed",
            type=values.seed,
            metavar="N",
            default=42,
            help="seed of data and schedule (default: 42; a search draws one)",
            harmless=True,
        )
        parser.add_argument(
            "--driver-threads",
            type=values.positive,
            metavar="N",
            default=0,
            help="threads that send requests (default: one per core)",
            harmless=True,
        )
        add_driver_cpus_option(parser)
        parser.add_argument(
            "--driver-scheduling",
            choices=get_args(SchedulingChoice),
            metavar="HOW",
            default="auto",
            help="how sending threads are scheduled: auto (real-time if permitted), realtime or normal "
            "(default: auto)",
        )


def _add_record_options(parser: Parser) -> None:
    with parser.group("report"):
        parser.add_argument("--race-id", help="id of the race (default: a new uuid)")
        parser.add_argument(
            *("--user-tags", "--user-tag"),
            dest="user_tags",
            type=values.tags,
            default={},
            help="tags stored with the race: k:v,k2:v2 (default: none)",
            harmless=True,
        )
    with parser.group("advanced"):
        add_maven_mirror(parser)
        parser.add_flag("--skip-rest-api-check", help=argparse.SUPPRESS, harmless=True)
        parser.add_argument(
            "--environment-name",
            metavar="NAME",
            default="local",
            help="environment stored with the race (default: local, or env.name of rally.ini)",
            harmless=True,
        )
        parser.add_argument(
            "--samples",
            choices=get_args(SamplesChoice),
            metavar="WHICH",
            default="auto",
            help="stored samples: all, none, or auto, the first 20 million of each task (default: auto)",
            harmless=True,
        )
        parser.add_argument(
            "--effective-start-date", type=values.moment, help=argparse.SUPPRESS, harmless=True
        )
        parser.add_flag(
            "--kill-running-processes", help="no effect: a race does not touch processes of other races"
        )
        parser.add_flag("--quiet", help="show no progress; the report is still printed", harmless=True)


def _add_pacing_options(parser: Parser) -> None:
    with parser.group("load"):
        parser.add_argument(
            "--arrivals",
            choices=BUILT_IN_SCHEDULES,
            metavar="SCHEDULE",
            help=f"arrivals of tasks with a target rate: {', '.join(BUILT_IN_SCHEDULES)} (default: as in the "
            "track)",
            harmless=True,
        )
        parser.add_flag(
            "--open-loop",
            help="clients of a task with a target rate share its schedule, so slow replies do not delay it",
            harmless=True,
        )
        parser.add_argument(
            "--max-connections",
            type=values.clients,
            metavar="N",
            help="connections of each open-loop task (default: its number of clients)",
            harmless=True,
        )
        parser.add_argument(
            "--spin",
            dest="spin_us",
            type=values.microseconds,
            default=DEFAULT_SPIN_US,
            metavar="US",
            help="spin this many microseconds before an operation is due: less lateness, more CPU time "
            f"(default: {DEFAULT_SPIN_US})",
            harmless=True,
        )
        parser.add_flag(
            "--warmup-drain",
            help="begin to measure when the backlog of the warm-up is gone, at the latest halfway",
            harmless=True,
        )
