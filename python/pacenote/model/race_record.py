"""The record of one race and its document, `race.json`.

`to_document` returns Rally's race and results document, so that tools made for Rally can read it, with the
additional keys of Pacenote. `from_document` restores the record from these keys; Rally's `op_metrics` are
derived from `tasks` (`figures/rally_results.py`) and are not read back.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import field
from msgspec.structs import force_setattr

from pacenote.errors import PacenoteError
from pacenote.model.codec import Integer, Name, Number, Seed, Stored, check_seed, decode, encode
from pacenote.model.data_options import StartingState
from pacenote.model.document_checks import DocumentCheck, UncheckedDocuments, UnsentDocuments
from pacenote.model.engine_archive import EngineArchive
from pacenote.model.finding import NOT_FINISHED, Finding, stored_without_doubt
from pacenote.model.imported import ImportedResults, without_unknown
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_time import TIMESTAMP_FORMAT, parse_timestamp
from pacenote.model.recorded_nodes import recorded_nodes
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.recorded_sources import RecordedSources
from pacenote.model.result import TaskResult, check_result
from pacenote.model.saturation_answer import RecordedSaturation
from pacenote.model.secrets import redact_params
from pacenote.model.snapshot import RecordedSnapshot
from pacenote.model.started_node import StartedNode
from pacenote.model.system_metrics import SystemMetrics
from pacenote.model.target_rate import MAX_SHORTFALL, TargetRate

FORMAT_VERSION = 2
"""Version of `race.json`. All lower versions can be read; a higher one was written by a newer Pacenote."""

CorpusOrigin = Literal["declared", "excerpt", "as-is", "generated"]
"""Where a corpus came from: the declared files, their first documents (test mode), files used as they are, or
Pacenote's seeded generator.
"""

Authentication = Literal["none", "basic", "api-key", "bearer", "other"]
"""The kind of credentials that the driver sent."""

VerdictState = Literal["valid", "suspect", "void"]
"""Whether results may be used: without restriction, with care, or not at all."""


class RecordedTrack(Stored, frozen=True):
    """The track of a race. Secret parameters are redacted on construction."""

    name: str
    """The name of the track."""

    revision: str | None = None
    """The git revision of its repository, or None if it is not from a repository."""

    params: Mapping[str, object] = field(default_factory=dict)
    """Track parameters from the user, with secrets redacted."""

    def __post_init__(self) -> None:
        """Redacts secrets, so that records never contain them."""
        force_setattr(self, "params", redact_params(self.params))


class RecordedCluster(Stored, frozen=True):
    """The engine under test; a fact that could not be determined is None."""

    distribution: str | None = None
    """`elasticsearch` or `opensearch`."""

    version: str | None = None
    """The version of the engine."""

    flavor: str | None = None
    """The build flavor, such as `default`."""

    build_hash: str | None = None
    """The revision that the engine was built from."""

    name: str | None = None
    """The name of the cluster."""

    nodes: tuple[Mapping[str, object], ...] = ()
    """The nodes as the engine described them."""

    title: str | None = None
    """What an engine is that Pacenote assembled and that must not be mistaken for the official
    distribution.
    """

    absent_modules: tuple[str, ...] | None = None
    """The modules of the official archive that an engine lacks which Pacenote assembled."""

    archive: EngineArchive | None = None
    """The official archive that Pacenote installed the engine from, or None."""

    started_nodes: tuple[StartedNode, ...] = ()
    """The nodes that Pacenote started; empty for an existing cluster."""


class Environment(Stored, frozen=True):
    """The host of the driver; a fact that could not be read is None."""

    name: str = "local"
    """Rally's `env.name`."""

    host_name: str | None = None
    """The name of the host."""

    os_name: str | None = None
    """The operating system."""

    kernel: str | None = None
    """The version of the kernel."""

    architecture: str | None = None
    """The processor architecture."""

    cpu_model: str | None = None
    """The model of the processor."""

    cpu_logical_cores: Integer | None = None
    """Hardware threads."""

    cpu_physical_cores: Integer | None = None
    """Physical cores."""

    cpu_usable_cores: Integer | None = None
    """Hardware threads that the driver may use."""

    memory_bytes: Integer | None = None
    """Memory in bytes."""

    load_average: tuple[Number, ...] | None = None
    """Load averages of the last 1, 5 and 15 minutes before the engine was started."""

    python: str | None = None
    """The version of Python."""

    pacenote: str | None = None
    """The version of Pacenote."""


class RecordedClient(Stored, frozen=True):
    """The driver's connection to the cluster, without secrets."""

    hosts: tuple[str, ...] = ()
    """URLs of the cluster."""

    proxies: Mapping[str, str] = field(default_factory=dict)
    """Proxy URLs, by address of the host."""

    tls: bool = False
    """Whether connections were encrypted."""

    certificates_verified: bool | None = None
    """Whether certificates were verified, or None if TLS is not used."""

    host_names_verified: bool | None = None
    """Whether host names were verified, or None if TLS is not used."""

    client_certificate: bool = False
    """Whether the driver sent a client certificate."""

    authentication: Authentication = "none"
    """The kind of credentials that the driver sent."""

    compress: bool = False
    """Whether request bodies were compressed."""

    accept_encoding: str | None = None
    """Content encoding of the replies that were requested, unless an operation requested another one; None in
    older records: `gzip` if `compress` is set, and otherwise none.
    """

    timeout_s: Number | None = None
    """Timeout of requests that do not set their own, in seconds."""

    headers: tuple[str, ...] = ()
    """Names of the other headers of every request."""


class RecordedCorpus(Stored, frozen=True):
    """The data of a race."""

    name: str
    """The name of the corpus."""

    origin: CorpusOrigin
    """Where its files came from."""

    documents: Integer
    """Number of documents."""

    bytes: Integer
    """Size of the unpacked files in bytes."""

    files: tuple[str, ...] = ()
    """Names of the unpacked files."""

    seed: Seed | None = None
    """Seed of the generator, or None for a corpus that was not generated."""

    def __post_init__(self) -> None:
        """Raises ValueError for a seed that is too large."""
        check_seed(self.seed)


class Verdict(Stored, frozen=True):
    """Whether the results of a race may be used."""

    state: VerdictState
    """`valid`, `suspect` or `void`."""

    findings: tuple[Finding, ...] = ()
    """What is wrong with the race; empty if it is valid."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons why the verdict is not `valid`: one sentence each, with the tasks and the values."""
        return tuple(map(str, self.findings))

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready document, which has the findings also as sentences (`reasons`)."""
        return {"state": self.state, "reasons": list(self.reasons), "findings": encode(self.findings)}

    @classmethod
    def from_document(cls, document: object) -> Verdict:
        """Reads `to_document`; documents of format 1 have only sentences. Raises PacenoteError."""
        stored = decode(_StoredVerdict, document, "race.verdict")
        if not stored.findings:
            return cls(stored.state, tuple(map(Finding, stored.reasons)))
        documents = document["findings"] if isinstance(document, Mapping) else ()
        findings = (
            finding if "doubtful_from" in fields else stored_without_doubt(finding)
            for finding, fields in zip(stored.findings, documents, strict=True)
        )
        return cls(stored.state, tuple(findings))


class _StoredVerdict(Stored, frozen=True):
    state: VerdictState
    reasons: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


class PlanFile(Stored, frozen=True):
    """The plan that was run, as stored in the race folder."""

    file: str
    """The name of the file in the race folder."""

    sha256: str
    """SHA-256 of the file, as hexadecimal digits."""


STORED_FIELDS = (
    ("race-id", "race_id"),
    ("pipeline", "pipeline"),
    ("sources", "sources"),
    ("user-tags", "user_tags"),
    ("challenge", "challenge"),
    ("car", "car"),
    ("car-params", "car_params"),
    ("client", "client"),
    ("other-clients", "other_clients"),
    ("options", "options"),
    ("given-options", "given_options"),
    ("seed", "seed"),
    ("pacing", "pacing"),
    ("max-error-rate", "max_error_rate"),
    ("target-rates", "targets"),
    ("max-shortfall", "max_shortfall"),
    ("corpora", "corpora"),
    ("plan", "plan"),
    ("tasks", "tasks"),
    ("steps", "steps"),
    ("task-meta", "task_meta"),
    ("unreported", "unreported"),
    ("documents", "documents"),
    ("documents-unchecked", "unchecked_documents"),
    ("documents-unsent", "unsent_documents"),
    ("driver", "driver"),
    ("telemetry", "telemetry"),
    ("telemetry-errors", "telemetry_errors"),
    ("saturation", "saturation"),
    ("starting-state", "starting_state"),
    ("snapshot", "snapshot"),
    ("imported", "imported"),
    ("aborted", "aborted"),
    ("interrupted", "interrupted"),
    ("complete", "complete"),
)
"""Key in `race.json` → field of the record, for fields that are stored unchanged. Keys are Rally's where they
exist.
"""

_KEYS = {name: key for key, name in STORED_FIELDS} | {
    "timestamp": "race-timestamp",
    "environment": "system",
    "system": "results",
}
"""Field of the record → key in `race.json`, if they differ."""

_TRACK_KEYS = {"name": "track", "revision": "track-revision", "params": "track-params"}
"""Field of the track → key in `race.json`."""

_CLUSTER_NAMES = {
    "distribution-version": "version",
    "distribution-flavor": "flavor",
    "revision": "build_hash",
}
"""Key of the cluster in `race.json` → its field."""


class RaceRecord(Stored, frozen=True, kw_only=True, rename=_KEYS):
    """One race: everything that was requested, measured and observed.

    Later stages of a race fill in fields with `msgspec.structs.replace`.
    """

    race_id: str
    """The id of the race."""

    timestamp: datetime
    """When the race began."""

    track: RecordedTrack
    """The track."""

    challenge: str | None = None
    """The name of the challenge, or None if the track has a bare schedule instead."""

    pipeline: str = "benchmark-only"
    """Rally's pipeline."""

    car: tuple[str, ...] = ("external",)
    """Names of the cars, as in Rally."""

    car_params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of the cars, secrets redacted."""

    user_tags: Mapping[str, object] = field(default_factory=dict)
    """Tags from the user."""

    cluster: RecordedCluster = field(default_factory=RecordedCluster)
    """The engine under test."""

    sources: RecordedSources | None = None
    """The sources that the engine was built from, or None if the race did not build it."""

    environment: Environment = field(default_factory=Environment)
    """The host of the driver."""

    client: RecordedClient = field(default_factory=RecordedClient)
    """The driver's connection to the cluster."""

    other_clients: Mapping[str, RecordedClient] = field(default_factory=dict)
    """The driver's connections to further clusters, by name."""

    options: RecordedOptions = field(default_factory=RecordedOptions)
    """Further options that may affect the results."""

    given_options: Mapping[str, object] | None = None
    """The options that the user has given, by name, as experiments have them, secrets redacted; None if they
    are not known, as for imported races.
    """

    seed: Seed = 42
    """The seed of the race."""

    pacing: PacingOptions = field(default_factory=PacingOptions)
    """The pacing of tasks with a target rate."""

    max_error_rate: Number = 0.01
    """The error rate above which the race is void, as a fraction from 0 to 1."""

    targets: Mapping[Name, TargetRate] = field(default_factory=dict)
    """The target rates of tasks, by name of the task."""

    max_shortfall: Number = MAX_SHORTFALL
    """By how much a task may miss its target rate before the race is suspect, as a fraction from 0 to 1."""

    corpora: tuple[RecordedCorpus, ...] = ()
    """The data of the race."""

    plan: PlanFile | None = None
    """The plan that was run, None before it is stored."""

    tasks: tuple[TaskResult, ...] = ()
    """Results of the finished tasks."""

    steps: Mapping[Name, tuple[Name, ...]] = field(default_factory=dict)
    """The tasks of steps that have several, by name of the step."""

    task_meta: Mapping[Name, Mapping[str, object]] = field(default_factory=dict)
    """Metadata of the tasks that have any (Rally's `meta`), by name of the task."""

    unreported: tuple[Name, ...] = ()
    """Tasks that reports leave out unless they had errors (Rally's `include-in-reporting`)."""

    system: SystemMetrics = field(default_factory=SystemMetrics)
    """System metrics of the engine during the race."""

    documents: tuple[DocumentCheck, ...] = ()
    """Documents by index, acknowledged and counted."""

    unchecked_documents: tuple[UncheckedDocuments, ...] = ()
    """Documents that are not among `documents`, by task."""

    unsent_documents: tuple[UnsentDocuments, ...] = ()
    """Tasks that their iterations ended before they had sent all documents."""

    driver: Mapping[str, object] = field(default_factory=dict)
    """What the driver reports about itself, its clocks and its host."""

    telemetry: Mapping[str, object] = field(default_factory=dict)
    """Facts of the telemetry devices."""

    telemetry_errors: tuple[str, ...] = ()
    """Errors of telemetry devices, one sentence each."""

    verdict: Verdict = field(default_factory=lambda: Verdict("void", (NOT_FINISHED,)))
    """Whether the results may be used."""

    saturation: RecordedSaturation | None = None
    """The answer of `pacenote saturate`, or None for other races."""

    starting_state: StartingState | None = None
    """The state in which the first task found the data of the engine, or None before that."""

    snapshot: RecordedSnapshot | None = None
    """The stored configuration of the engine and the machine, or None if there is none."""

    imported: ImportedResults | None = None
    """The figures of a race that another tool ran, or None for a race of Pacenote."""

    aborted: str = ""
    """What ended the race early, or empty if it was not aborted."""

    interrupted: bool = False
    """Whether the user interrupted the race."""

    complete: bool = False
    """Whether the race ran to its end."""

    def __post_init__(self) -> None:
        """Redacts secrets, so that records never contain them."""
        force_setattr(self, "car_params", redact_params(self.car_params))
        force_setattr(self, "user_tags", redact_params(self.user_tags))
        check_seed(self.seed)

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready `race.json`."""
        version = self.environment.pacenote
        document: dict[str, Any] = {
            "format": FORMAT_VERSION,
            "@timestamp": round(self.timestamp.timestamp() * 1000),
            # At the beginning: it is also needed of a file that is cut off.
            "track": self.track.name,
            **{key: encode(getattr(self, name)) for key, name in STORED_FIELDS},
        }
        document |= {
            "rally-version": f"pacenote {version}" if version else None,
            "rally-revision": None,
            "multi-cluster": False,
            "environment": self.environment.name,
            "system": _without_name(self.environment),
            "verdict": self.verdict.to_document(),
            "race-timestamp": self.timestamp.astimezone(UTC).strftime(TIMESTAMP_FORMAT),
            "track-revision": self.track.revision,
            "track-params": encode(self.track.params),
            "plugin-params": encode(self.options.plugin_params) or None,
            "cluster": {
                "revision": self.cluster.build_hash,
                "distribution-version": self.cluster.version,
                "distribution-flavor": self.cluster.flavor,
                "team-revision": self.options.team_revision,
                "distribution": self.cluster.distribution,
                "name": self.cluster.name,
                "nodes": encode(self.cluster.nodes),
                "title": self.cluster.title,
                "absent_modules": encode(self.cluster.absent_modules),
                "archive": encode(self.cluster.archive),
                "started_nodes": encode(self.cluster.started_nodes),
            },
            "results": encode(self.system),
        }
        if self.challenge is None:
            # Rally omits a challenge that it created from a bare schedule.
            del document["challenge"]
        return document if self.imported is None else without_unknown(document, self.imported)

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> RaceRecord:
        """Restores a record from `race.json`. Raises PacenoteError with the invalid field."""
        if not isinstance(document, Mapping):
            raise PacenoteError("a race must be a JSON object")
        if "format" not in document:
            raise PacenoteError(
                "it is not a race of Pacenote; one of Rally or OpenSearch Benchmark: import it first",
                hint="`pacenote import` stores it, and prints its id",
            )
        if document.get("format") not in range(1, FORMAT_VERSION + 1):
            raise PacenoteError(
                f"race has format {document.get('format')!r}, "
                f"but this version of Pacenote reads formats up to {FORMAT_VERSION}",
                hint="use the version of Pacenote that wrote it, or a newer one",
            )
        stored = {key: document[key] for key, _ in STORED_FIELDS if key in document}
        stored |= {
            "race-timestamp": _read_timestamp(document.get("race-timestamp")),
            "track": {name: document[key] for name, key in _TRACK_KEYS.items() if key in document},
            "cluster": _stored_cluster(document),
            "system": _stored_environment(document),
            "results": _stored_system(document),
        }
        if "verdict" in document:
            stored["verdict"] = Verdict.from_document(document["verdict"])
        record = decode(RaceRecord, stored, "race")
        for number, task in enumerate(record.tasks):
            check_result(task, f"race.tasks[{number}]")
        return record


def _read_timestamp(value: object) -> datetime:
    try:
        return parse_timestamp(str(value))
    except ValueError:
        raise PacenoteError(
            f"race.race-timestamp must be a time of the form 20250131T235959Z, not {str(value)[:40]!r}"
        ) from None


def _stored_cluster(document: Mapping[str, object]) -> dict[str, object]:
    stored = decode(dict[str, object], document.get("cluster", {}), "race.cluster")
    cluster = {
        _CLUSTER_NAMES.get(key, key): value for key, value in stored.items() if key != "team-revision"
    }  # It is one of the options; this key is written for readers of Rally's documents.
    if "nodes" in cluster:
        cluster["nodes"] = recorded_nodes(cluster["nodes"])
    return cluster


def _stored_environment(document: Mapping[str, object]) -> Mapping[str, object]:
    """Returns the driver's host; in format 1, it is below `environment`."""
    name = document.get("environment", {})
    if isinstance(name, Mapping):
        return name
    return {**decode(dict[str, object], document.get("system", {}), "race.system"), "name": name}


def _without_name(environment: Environment) -> dict[str, Any]:
    return {key: value for key, value in encode(environment).items() if key != "name"}


def _stored_system(document: Mapping[str, object]) -> dict[str, object]:
    results = decode(dict[str, object], document.get("results", {}), "race.results")
    return {key: value for key, value in results.items() if key != "op_metrics"}
