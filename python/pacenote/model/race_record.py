"""The record of one race: everything that was asked for, measured and noticed.

`to_document` is `race.json`: Rally's race and results document, so that tools made for Rally can read it,
plus what Rally does not keep. `from_document` restores the record from our own parts of it; Rally's
`op_metrics` are derived from `tasks` and are not read back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_type_hints

from pacenote.errors import PacenoteError
from pacenote.model.codec import decode, encode
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.rally_results import op_metrics, unmeasured_results
from pacenote.model.result import TaskResult
from pacenote.model.secrets import redact_params
from pacenote.model.system_metrics import SystemMetrics

FORMAT_VERSION = 1
"""Version of `race.json`; a higher one was written by a newer Pacenote."""

TIMESTAMP_FORMAT = "%Y%m%dT%H%M%SZ"
"""Rally's form of a race's timestamp, always UTC."""

CorpusOrigin = Literal["declared", "excerpt", "as-is", "generated"]
"""Where a corpus came from: what the track declares, the first documents of that (test mode), files found as
they are, or our seeded generator.
"""

Authentication = Literal["none", "basic", "api-key", "bearer", "other"]
"""Which kind of credentials the driver sent."""

VerdictState = Literal["valid", "suspect", "void"]


@dataclass(frozen=True, slots=True)
class RecordedTrack:
    """The track of a race; `revision` is a git revision or None. Secret parameters are hidden on
    construction.
    """

    name: str
    revision: str | None = None
    params: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Makes sure that no record ever holds a secret."""
        object.__setattr__(self, "params", redact_params(self.params))


@dataclass(frozen=True, slots=True)
class RecordedCluster:
    """The engine that was measured; what could not be found out is None. `nodes` as the engine described
    them.
    """

    distribution: str | None = None
    version: str | None = None
    flavor: str | None = None
    build_hash: str | None = None
    name: str | None = None
    nodes: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Environment:
    """The driver's host. What could not be read is None, never a guess. `name` is Rally's `env.name`.
    `load_average` is that of the last 1, 5 and 15 minutes before the engine was started.
    """

    name: str = "local"
    host_name: str | None = None
    os_name: str | None = None
    kernel: str | None = None
    architecture: str | None = None
    cpu_model: str | None = None
    cpu_logical_cores: int | None = None
    cpu_physical_cores: int | None = None
    cpu_usable_cores: int | None = None
    memory_bytes: int | None = None
    load_average: tuple[float, ...] | None = None
    python: str | None = None
    pacenote: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedClient:
    """How the driver talked to the cluster; no secret. `hosts` are URLs, `proxies` those between, by the
    address of the host. What is verified of certificates is None without TLS. `timeout_s` is that of requests
    without their own.
    """

    hosts: tuple[str, ...] = ()
    proxies: Mapping[str, str] = field(default_factory=dict)
    tls: bool = False
    certificates_verified: bool | None = None
    host_names_verified: bool | None = None
    client_certificate: bool = False
    authentication: Authentication = "none"
    compress: bool = False
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class RecordedCorpus:
    """The data of a race. `seed` is the generator's, None for a corpus that was not generated."""

    name: str
    origin: CorpusOrigin
    documents: int
    bytes: int
    files: tuple[str, ...] = ()
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class DocumentCheck:
    """Documents of one index: acknowledged by the engine to us, and counted by the engine afterwards.

    Only new documents count as acknowledged. `difference_expected` says why the two need not be equal, for
    example because the track updates documents or deletes the index; when it is empty a difference makes the
    race suspect.
    """

    index: str
    acknowledged: int | None
    counted: int | None
    difference_expected: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the numbers may be used, and why not: one sentence per reason, naming the task and the
    figure.
    """

    state: VerdictState
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanFile:
    """The plan that was driven, kept in the race folder."""

    file: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceRecord:
    """One race. A record grows by `dataclasses.replace`; it is `complete` when its race ran to its end.

    `challenge` is None for one that was made of a bare schedule. `max_error_rate` is a share (0 to 1).
    `aborted` says what ended the race early ("" if nothing did), `interrupted` that the user did.
    `unreported` names tasks that the report leaves out unless they had errors (Rally's
    `include-in-reporting`).
    `telemetry_errors` are sentences about what could not be read.
    """

    race_id: str
    timestamp: datetime
    track: RecordedTrack
    challenge: str | None = None
    pipeline: str = "benchmark-only"
    car: tuple[str, ...] = ("external",)
    car_params: Mapping[str, object] = field(default_factory=dict)
    user_tags: Mapping[str, str] = field(default_factory=dict)
    cluster: RecordedCluster = field(default_factory=RecordedCluster)
    environment: Environment = field(default_factory=Environment)
    client: RecordedClient = field(default_factory=RecordedClient)
    seed: int = 42
    pacing: PacingOptions = field(default_factory=PacingOptions)
    max_error_rate: float = 0.01
    corpora: tuple[RecordedCorpus, ...] = ()
    plan: PlanFile | None = None
    tasks: tuple[TaskResult, ...] = ()
    unreported: tuple[str, ...] = ()
    system: SystemMetrics = field(default_factory=SystemMetrics)
    documents: tuple[DocumentCheck, ...] = ()
    driver: Mapping[str, object] = field(default_factory=dict)
    telemetry: Mapping[str, object] = field(default_factory=dict)
    telemetry_errors: tuple[str, ...] = ()
    verdict: Verdict = field(default_factory=lambda: Verdict("void", ("the race has not finished",)))
    aborted: str = ""
    interrupted: bool = False
    complete: bool = False

    def __post_init__(self) -> None:
        """Makes sure that no record ever holds a secret."""
        object.__setattr__(self, "car_params", redact_params(self.car_params))

    def to_document(self) -> dict[str, Any]:
        """The JSON-ready `race.json`."""
        version = self.environment.pacenote
        document: dict[str, Any] = {
            "format": FORMAT_VERSION,
            **{key: encode(getattr(self, name)) for key, name in _OURS},
        }
        document |= {
            "rally-version": f"pacenote {version}" if version else None,
            "rally-revision": None,
            "multi-cluster": False,
            "race-timestamp": self.timestamp.astimezone(UTC).strftime(TIMESTAMP_FORMAT),
            "track": self.track.name,
            "track-revision": self.track.revision,
            "track-params": encode(self.track.params),
            "plugin-params": None,
            "cluster": {
                "revision": self.cluster.build_hash,
                "distribution-version": self.cluster.version,
                "distribution-flavor": self.cluster.flavor,
                "team-revision": None,
                "distribution": self.cluster.distribution,
                "name": self.cluster.name,
                "nodes": encode(self.cluster.nodes),
            },
            "results": {"op_metrics": op_metrics(self.tasks), **encode(self.system), **unmeasured_results()},
        }
        if self.challenge is None:
            # Rally leaves out a challenge that it made of a bare schedule.
            del document["challenge"]
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> RaceRecord:
        """Restores a record from `race.json`; raises PacenoteError naming the bad field."""
        if not isinstance(document, Mapping):
            raise PacenoteError("a race must be a JSON object")
        if document.get("format") != FORMAT_VERSION:
            raise PacenoteError(
                f"race has format {document.get('format')!r}, this Pacenote reads format {FORMAT_VERSION}",
                hint="read it with the Pacenote that wrote it, or a newer one",
            )
        types, values = get_type_hints(RaceRecord), dict[str, Any]()
        for key, name in _OURS:
            if key in document:
                values[name] = decode(types[name], document[key], f"race.{key}")
        values["timestamp"] = _timestamp(document.get("race-timestamp"))
        values["track"] = _track(document)
        values["cluster"] = _cluster(document)
        values["system"] = _system(document)
        if "race_id" not in values:
            raise PacenoteError("race lacks the field 'race-id'")
        return cls(**values)


_OURS = (
    ("race-id", "race_id"),
    ("pipeline", "pipeline"),
    ("user-tags", "user_tags"),
    ("challenge", "challenge"),
    ("car", "car"),
    ("car-params", "car_params"),
    ("environment", "environment"),
    ("client", "client"),
    ("seed", "seed"),
    ("pacing", "pacing"),
    ("max-error-rate", "max_error_rate"),
    ("corpora", "corpora"),
    ("plan", "plan"),
    ("tasks", "tasks"),
    ("unreported", "unreported"),
    ("documents", "documents"),
    ("driver", "driver"),
    ("telemetry", "telemetry"),
    ("telemetry-errors", "telemetry_errors"),
    ("verdict", "verdict"),
    ("aborted", "aborted"),
    ("interrupted", "interrupted"),
    ("complete", "complete"),
)
"""Key in `race.json` and field of the record, for what is stored one to one. Where Rally has the key, it is
Rally's.
"""


def _timestamp(value: object) -> datetime:
    try:
        return datetime.strptime(str(value), TIMESTAMP_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        raise PacenoteError(
            f"race.race-timestamp must be like 20250131T235959Z, not {str(value)[:40]!r}"
        ) from None


def _track(document: Mapping[str, object]) -> RecordedTrack:
    keys = {"name": "track", "revision": "track-revision", "params": "track-params"}
    found: RecordedTrack = decode(
        RecordedTrack, {name: document[key] for name, key in keys.items() if key in document}, "race.track"
    )
    return found


def _cluster(document: Mapping[str, object]) -> RecordedCluster:
    stored = decode(dict[str, object], document.get("cluster", {}), "race.cluster")
    renamed = {"distribution-version": "version", "distribution-flavor": "flavor", "revision": "build_hash"}
    known = {
        renamed.get(key, key): value for key, value in stored.items() if key != "team-revision"
    }  # Rally's teams do not exist here; the key is written for its readers.
    found: RecordedCluster = decode(RecordedCluster, known, "race.cluster")
    return found


def _system(document: Mapping[str, object]) -> SystemMetrics:
    results = decode(dict[str, object], document.get("results", {}), "race.results")
    derived = {"op_metrics", *unmeasured_results()}
    found: SystemMetrics = decode(
        SystemMetrics, {key: value for key, value in results.items() if key not in derived}, "race.results"
    )
    return found
