"""The race record at each stage of a race: at its start, when the engine runs, and after a failure."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import asdict, replace

from pacenote.cluster.cluster import Cluster
from pacenote.cluster.info import ClusterInfo
from pacenote.errors import Interrupted, PacenoteError, StoreError
from pacenote.model.client_options import ACCEPT_ENCODING
from pacenote.model.cpu_list import format_cpus
from pacenote.model.engine_options import EngineOptions
from pacenote.model.race_record import (
    Authentication,
    PlanFile,
    RaceRecord,
    RecordedClient,
    RecordedCluster,
    RecordedTrack,
)
from pacenote.model.race_request import RaceRequest
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.redaction import redact_given_options
from pacenote.model.secrets import redact_params, redact_urls, redact_value
from pacenote.model.source_options import SourceOptions
from pacenote.model.started_node import StartedNode
from pacenote.model.telemetry_options import PROFILER_FILE
from pacenote.model.track import Challenge, Track
from pacenote.model.work import Call, CallSequence, Composite, OperationStream
from pacenote.operations.base import include_in_reporting
from pacenote.operations.registry import find_type
from pacenote.plan.document import Plan, Target, TargetHost, TargetProxy
from pacenote.provision.node import Node
from pacenote.race.corpora import PreparedCorpora
from pacenote.race.environment import read_environment
from pacenote.store.race_folder import ExpectedResult, RaceFolder
from pacenote.track.prepare import PreparedTrack
from pacenote.verdict.determine import determine_verdict

_SCHEMES: dict[str, Authentication] = {"basic": "basic", "apikey": "api-key", "bearer": "bearer"}


def initial_record(request: RaceRequest, prepared: PreparedTrack, corpora: PreparedCorpora) -> RaceRecord:
    """Returns the record before the engine is started."""
    track, challenge = prepared.track, prepared.challenge
    provisioned = request.pipeline != "benchmark-only"
    unreported = [
        task.name
        for task in challenge.tasks()
        if not include_in_reporting(find_type(task.operation.type), task.operation.params)
    ]
    return RaceRecord(
        race_id=request.race_id,
        timestamp=request.effective_start or datetime.now(UTC),
        track=RecordedTrack(track.name, prepared.located.revision, request.track_params),
        challenge=None if challenge.auto_generated else challenge.name,
        pipeline=request.pipeline,
        car=request.engine.car if provisioned else ("external",),
        car_params=request.engine.car_params if provisioned else {},
        user_tags=request.user_tags,
        options=recorded_options(request),
        given_options=redact_given_options(request.given_options),
        environment=replace(read_environment(), name=request.environment_name),
        seed=request.seed,
        pacing=request.pacing,
        max_error_rate=request.max_error_rate,
        max_shortfall=request.max_shortfall,
        corpora=corpora.recorded,
        task_meta=task_metadata(track, challenge),
        unreported=tuple(unreported),
    )


def task_metadata(track: Track, challenge: Challenge) -> dict[str, dict[str, Any]]:
    """Returns the metadata of the tasks that have some, by name."""
    metadata = {task.name: track.metadata(challenge, task) for task in challenge.tasks()}
    return {name: meta for name, meta in metadata.items() if meta}


def recorded_options(request: RaceRequest) -> RecordedOptions:
    """Returns the options that have no key of their own in the record."""
    provisioned = request.pipeline != "benchmark-only"
    repository = request.track_repository
    archive = request.engine.archive
    engine = {f"engine.{name}": value for name, value in request.engine.overrides.settings.items()}
    return RecordedOptions(
        **(_recorded_car(request.engine) if provisioned else {}),
        **_recorded_source(request.engine.source),
        settings=redact_params({**engine, **request.index_settings}),
        track_path=None if request.track_path is None else str(request.track_path),
        track_repository=None if repository is None else redact_urls(repository),
        track_revision=request.track_revision,
        include_tasks=request.include_tasks,
        exclude_tasks=request.exclude_tasks,
        test_mode=request.test_mode,
        enable_assertions=request.enable_assertions,
        build_flavor=request.build_flavor,
        serverless_operator=bool(request.serverless_operator),
        distribution=request.engine.distribution if provisioned else None,
        distribution_version=(request.engine.distribution_version or None) if provisioned else None,
        distribution_repository=archive.repository if provisioned else None,
        distribution_archive=redact_urls(archive.location) if provisioned and archive.location else None,
        runtime_jdk=request.engine.runtime_jdk if provisioned else None,
        data=str(request.engine.data) if provisioned else None,
        caches=request.conditions.caches if provisioned else None,
        cooldown_s=request.conditions.cooldown_s,
        on_error=request.on_error,
        samples=request.samples,
        driver_threads=request.driver_threads,
        default_telemetry=request.telemetry.default_devices,
        telemetry=request.telemetry.devices,
        telemetry_params=redact_params(request.telemetry.params),
        nodes=request.engine.nodes if provisioned else None,
        driver_cpus=format_cpus(request.driver_cpus) or None,
        driver_scheduling=request.driver_scheduling,
        corpus=request.corpus,
        corpus_documents=request.corpus_documents,
        dataset_cache=None if request.dataset_cache is None else str(request.dataset_cache),
    )


def _recorded_source(source: SourceOptions | None) -> dict[str, Any]:
    """Returns the options that select the sources of the engine, by field of the record."""
    if source is None:
        return {}
    return {
        "revision": source.revision,
        "source_path": redact_urls(source.source_path) or None,
        "source_build_release": source.source_build_release,
    }


def _recorded_car(engine: EngineOptions) -> dict[str, Any]:
    """Returns the options that configure the engine to start, by field of the record, without secrets."""
    team = engine.team
    return {
        "team_path": None if team.path is None else str(team.path),
        "team_repository": None if team.repository is None else redact_urls(team.repository),
        "team_revision": team.revision if team.located is None else team.located.revision,
        "plugins": engine.plugins,
        "plugin_params": redact_params(engine.plugin_params),
        "jvm_options": tuple(str(redact_value(option, ())) for option in engine.overrides.jvm_options),
        "engine_variables": redact_params(engine.overrides.environment),
    }


def expected_results(plan: Plan) -> tuple[ExpectedResult, ...]:
    """Returns the results that a plan will have, for which room is reserved."""
    return tuple(
        ExpectedResult(
            task.name,
            task.operation,
            tuple(name for name, _ in _sub_operations(task.work.calls))
            if isinstance(task.work, CallSequence)
            else (),
        )
        for task in plan.tasks
    )


def _sub_operations(calls: Iterable[Call]) -> set[tuple[str, str]]:
    """Returns the names of all operations within composite operations, each with its type."""
    names: set[tuple[str, str]] = set()
    items = [item for call in calls if isinstance(call, Composite) for item in call.items]
    while items:
        item = items.pop()
        if isinstance(item, OperationStream):
            items.extend(item.items)
        else:
            names |= {(item.name, item.operation_type), *_sub_operations(item.calls)}
    return names


def with_failure(record: RaceRecord, error: BaseException) -> RaceRecord:
    """Returns the record of a race that ended outside its measured part, with the reason and the verdict."""
    if isinstance(error, KeyboardInterrupt | Interrupted):
        record = replace(record, interrupted=True)
    else:
        text = error.message if isinstance(error, PacenoteError) else f"{type(error).__name__}: {error}"
        record = replace(record, aborted=record.aborted or text)
    return with_verdict(record)


def record_failure(folder: RaceFolder, error: BaseException) -> None:
    """Stores the reason why a race ended outside its measured part. Does not change a complete record."""
    # If the folder cannot be written, the error is more important than its record.
    with contextlib.suppress(StoreError):
        record = folder.read()
        if not record.complete:
            folder.finish(with_failure(record, error), keep_damaged_journal=True)


def with_verdict(record: RaceRecord) -> RaceRecord:
    """Returns the record with its verdict."""
    return replace(record, verdict=determine_verdict(record))


def with_clients(record: RaceRecord, plan: Plan) -> RaceRecord:
    """Returns the record with how the driver connects to the clusters of a plan."""
    others = {other.name: recorded_client(other.target) for other in plan.others}
    return replace(record, client=recorded_client(plan.target), other_clients=others)


def recorded_steps(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Returns the tasks of the steps that have several, by name of the step; of a name that several steps
    have, the tasks of all.
    """
    tasks_by_step: dict[str, dict[str, None]] = {}
    for step in plan.steps:
        allocations = (allocation for row in step.client_allocations for allocation in row.allocations)
        tasks_by_step.setdefault(step.name, {}).update(
            dict.fromkeys(plan.tasks[allocation.task].name for allocation in allocations)
        )
    return {name: tuple(tasks) for name, tasks in tasks_by_step.items() if tuple(tasks) != (name,)}


def recorded_plan(name: str, text: str) -> PlanFile:
    """Returns the name and the checksum of a stored plan document."""
    return PlanFile(name, hashlib.sha256(text.encode()).hexdigest())


def with_reported_profilers(record: RaceRecord, info: ClusterInfo) -> RaceRecord:
    """Returns the record with what observes an engine that Pacenote has started, as its JVMs report: also by
    options of its archive.
    """
    devices = record.options.telemetry
    # What a device starts is named by the device.
    of_devices = {*devices, *([f"agent {PROFILER_FILE}"] if "profile" in devices else [])}
    reported = (name for name in info.profilers if name not in of_devices)
    names = dict.fromkeys((*record.options.car_profilers, *reported))
    return replace(record, options=replace(record.options, car_profilers=tuple(names)))


def recorded_cluster(info: ClusterInfo, cluster: Cluster) -> RecordedCluster:
    """Returns the cluster as the record stores it; values that it does not report are None."""
    assembled = cluster.assembled
    return RecordedCluster(
        distribution=info.distribution,
        version=info.version or None,
        flavor=info.flavor or None,
        build_hash=info.build_hash or None,
        name=info.cluster_name or None,
        nodes=tuple(asdict(node) for node in info.nodes),
        title=(assembled.title or None) if assembled else None,
        absent_modules=assembled.absent_modules if assembled and assembled.archive is None else None,
        archive=assembled.archive if assembled else None,
        started_nodes=tuple(map(_started_node, cluster.local_nodes())),
    )


def _started_node(node: Node) -> StartedNode:
    spec = node.spec
    return StartedNode(
        name=spec.name,
        roles=spec.roles,
        pid=node.pid,
        heap=spec.heap,
        cpus=format_cpus(spec.cpus) or None,
        memory_limit_bytes=spec.limits.memory,
        cpu_limit=spec.limits.cpus,
        control_groups=tuple(map(str, node.control_groups)),
        data_paths=tuple(map(str, node.data_paths)),
    )


def recorded_client(target: Target) -> RecordedClient:
    """Returns the client settings that may affect the results, as the record stores them and without
    secrets.
    """
    encrypted = any(host.scheme == "https" for host in target.hosts)
    names = {name.lower() for name, _ in target.headers}
    schemes = [value.partition(" ")[0].lower() for name, value in target.headers if name == "authorization"]
    return RecordedClient(
        hosts=tuple(f"{host.scheme}://{_address(host)}{host.path}" for host in target.hosts),
        proxies={
            _address(host): f"{host.proxy.scheme}://{_address(host.proxy)}"
            for host in target.hosts
            if host.proxy
        },
        tls=encrypted,
        certificates_verified=target.tls.verify if encrypted else None,
        host_names_verified=target.tls.verify and target.tls.verify_host if encrypted else None,
        client_certificate=encrypted and target.tls.client_cert is not None,
        authentication=next((_SCHEMES.get(scheme, "other") for scheme in schemes), "none"),
        compress=target.compress,
        accept_encoding=dict(target.headers).get(ACCEPT_ENCODING),
        timeout_s=target.timeout_ms / 1000,
        headers=tuple(sorted(names - {"authorization", ACCEPT_ENCODING})),
    )


def _address(endpoint: TargetHost | TargetProxy) -> str:
    name = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{name}:{endpoint.port}"
