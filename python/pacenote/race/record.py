"""The race record at each stage of a race: at its start, when the engine runs, and after a failure."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime

from pacenote.cluster.info import ClusterInfo
from pacenote.errors import Interrupted, PacenoteError
from pacenote.model.client_options import ACCEPT_ENCODING
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
from pacenote.model.secrets import redact_urls
from pacenote.model.verdict import determine_verdict
from pacenote.model.work import Call, CallSequence, Composite, OperationStream
from pacenote.operations.base import include_in_reporting
from pacenote.operations.registry import find_type
from pacenote.plan.document import Plan, Target, TargetHost, TargetProxy
from pacenote.race.corpora import PreparedCorpora
from pacenote.race.environment import read_environment
from pacenote.store.race_folder import ExpectedResult
from pacenote.track.prepare import PreparedTrack

_SCHEMES: dict[str, Authentication] = {"basic": "basic", "apikey": "api-key", "bearer": "bearer"}


def initial_record(request: RaceRequest, prepared: PreparedTrack, corpora: PreparedCorpora) -> RaceRecord:
    """Returns the record before the engine is started."""
    track, challenge = prepared.track, prepared.challenge
    provisioned = request.pipeline != "benchmark-only"
    metadata = {task.name: track.metadata(challenge, task) for task in challenge.tasks()}
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
        car=request.car if provisioned else ("external",),
        car_params=request.car_params if provisioned else {},
        user_tags=request.user_tags,
        options=recorded_options(request),
        environment=dataclasses.replace(read_environment(), name=request.environment_name),
        seed=request.seed,
        pacing=request.pacing,
        max_error_rate=request.max_error_rate,
        max_shortfall=request.max_shortfall,
        corpora=corpora.recorded,
        task_meta={name: meta for name, meta in metadata.items() if meta},
        unreported=tuple(unreported),
    )


def recorded_options(request: RaceRequest) -> RecordedOptions:
    """Returns the options that have no key of their own in the record."""
    provisioned = request.pipeline != "benchmark-only"
    repository = request.track_repository
    return RecordedOptions(
        track_path=None if request.track_path is None else str(request.track_path),
        track_repository=None if repository is None else redact_urls(repository),
        track_revision=request.track_revision,
        include_tasks=request.include_tasks,
        exclude_tasks=request.exclude_tasks,
        test_mode=request.test_mode,
        enable_assertions=request.enable_assertions,
        build_flavor=request.build_flavor,
        serverless_operator=bool(request.serverless_operator),
        distribution=request.distribution if provisioned else None,
        distribution_version=(request.distribution_version or None) if provisioned else None,
        runtime_jdk=request.runtime_jdk if provisioned else None,
        on_error=request.on_error,
        samples=request.samples,
        driver_threads=request.driver_threads,
        corpus=request.corpus,
        corpus_documents=request.corpus_documents,
        dataset_cache=None if request.dataset_cache is None else str(request.dataset_cache),
    )


def expected_results(plan: Plan) -> tuple[ExpectedResult, ...]:
    """Returns the results that a plan will have, for which room is reserved."""
    return tuple(
        ExpectedResult(
            task.name,
            task.operation,
            tuple(_sub_operations(task.work.calls)) if isinstance(task.work, CallSequence) else (),
        )
        for task in plan.tasks
    )


def _sub_operations(calls: Iterable[Call]) -> set[str]:
    """Returns the names of all operations within composite operations."""
    names: set[str] = set()
    items = [item for call in calls if isinstance(call, Composite) for item in call.items]
    while items:
        item = items.pop()
        if isinstance(item, OperationStream):
            items.extend(item.items)
        else:
            names |= {item.name, *_sub_operations(item.calls)}
    return names


def with_failure(record: RaceRecord, error: BaseException) -> RaceRecord:
    """Returns the record of a race that ended outside its measured part, with the reason and the verdict."""
    if isinstance(error, KeyboardInterrupt | Interrupted):
        record = dataclasses.replace(record, interrupted=True)
    else:
        text = error.message if isinstance(error, PacenoteError) else f"{type(error).__name__}: {error}"
        record = dataclasses.replace(record, aborted=record.aborted or text)
    return with_verdict(record)


def with_verdict(record: RaceRecord) -> RaceRecord:
    """Returns the record with its verdict."""
    return dataclasses.replace(record, verdict=determine_verdict(record))


def with_clients(record: RaceRecord, plan: Plan) -> RaceRecord:
    """Returns the record with how the driver connects to the clusters of a plan."""
    others = {other.name: recorded_client(other.target) for other in plan.others}
    return dataclasses.replace(record, client=recorded_client(plan.target), other_clients=others)


def recorded_plan(name: str, text: str) -> PlanFile:
    """Returns the name and the checksum of a stored plan document."""
    return PlanFile(name, hashlib.sha256(text.encode()).hexdigest())


def recorded_cluster(info: ClusterInfo) -> RecordedCluster:
    """Returns the cluster as the record stores it; values that it does not report are None."""
    return RecordedCluster(
        distribution=info.distribution,
        version=info.version or None,
        flavor=info.flavor or None,
        build_hash=info.build_hash or None,
        name=info.cluster_name or None,
        nodes=tuple(dataclasses.asdict(node) for node in info.nodes),
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
