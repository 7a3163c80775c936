"""Exported races as data: what is known of a race, its figures and its files. `EXPORT_FORMAT` is the version
of it.

docs/reference/export.schema.json is the JSON schema of `ExportDocument`; it is made of these types.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from pacenote.errors import StoreError
from pacenote.export.figures import ExportedFigure, exported_figures
from pacenote.model.codec import encode
from pacenote.model.printable import encodable_value, shortened
from pacenote.model.race_record import RaceRecord, VerdictState
from pacenote.model.race_state import RaceState
from pacenote.model.result import EndedBy, SteadyState
from pacenote.model.user_tags import tag_texts
from pacenote.system.paths import is_file

EXPORT_FORMAT = 1
"""Version of the JSON document: it grows when a field changes or goes, not when one or a metric is added."""


class ExportedVerdict(Struct, frozen=True):
    """Whether the figures of a race may be used."""

    state: VerdictState
    """`valid`, `suspect` or `void`."""

    reasons: tuple[str, ...] = ()
    """Why the race is not valid, one sentence each."""


class ExportedEngine(Struct, frozen=True):
    """The engine of a race; unknown values are null."""

    distribution: str | None = None
    """`elasticsearch` or `opensearch`."""

    version: str | None = None
    """The version of the engine."""

    flavor: str | None = None
    """The build flavor, such as `default`."""

    revision: str | None = None
    """The revision that the engine was built from."""

    nodes: int = 0
    """Number of nodes; 0 if it is not known."""


class ExportedHost(Struct, frozen=True):
    """The host of the load driver; unknown values are null."""

    name: str | None = None
    """The name of the host."""

    cpu: str | None = None
    """The model of the processor."""

    cores: int | None = None
    """Hardware threads."""

    memory: int | None = None
    """Memory in bytes."""

    kernel: str | None = None
    """The version of the kernel."""


class ExportedTask(Struct, frozen=True):
    """A task that has ended, in the order of the plan."""

    task: str
    """Name of the task."""

    operation: str
    """Name of its operation."""

    operation_type: str
    """Type of its operation, such as `search`."""

    unit: str
    """Unit of its work, such as `docs`."""

    clients: int
    """Number of its clients."""

    ended_by: EndedBy
    """Why it ended."""

    steady: SteadyState
    """Whether it became faster or slower while it was measured."""

    meta: Mapping[str, object] = field(default_factory=dict)
    """Metadata of the track about the task."""


class ExportedFiles(Struct, frozen=True):
    """Where the files of a race are; null stands for a file that does not exist."""

    folder: str
    """The folder of the race, which has more files than these."""

    samples: str | None = None
    """`samples.parquet`: every request."""

    series: str | None = None
    """`series.parquet`: the operations of each second."""

    telemetry: str | None = None
    """`telemetry.parquet`: values of the engine and the host over time."""


class ExportedRace(Struct, frozen=True):
    """One race with all its figures."""

    race_id: str
    """The id of the race."""

    timestamp: str
    """When the race began: RFC 3339, in UTC."""

    state: RaceState
    """How far the race is, or how it ended."""

    verdict: ExportedVerdict
    """Whether the figures may be used."""

    track: str
    """The name of the track."""

    files: ExportedFiles
    """Where its files are."""

    challenge: str | None = None
    """The name of the challenge, or null if the track has none."""

    track_revision: str | None = None
    """The git revision of the track, or null if it is not from a repository."""

    track_params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of the track, without secrets."""

    pipeline: str = ""
    """Rally's pipeline."""

    car: tuple[str, ...] = ()
    """Names of the cars."""

    car_params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of the cars, without secrets."""

    user_tags: Mapping[str, object] = field(default_factory=dict)
    """Tags of the user."""

    environment: str = ""
    """Rally's name of the environment."""

    engine: ExportedEngine = field(default_factory=ExportedEngine)
    """The engine."""

    host: ExportedHost = field(default_factory=ExportedHost)
    """The host of the load driver."""

    pacenote: str | None = None
    """Version of the Pacenote that ran the race, or null if it is not known."""

    imported_from: str | None = None
    """The tool that ran the race, or null for a race of Pacenote."""

    tasks: tuple[ExportedTask, ...] = ()
    """Its tasks; empty for an imported race, whose figures name them."""

    figures: tuple[ExportedFigure, ...] = ()
    """Its figures."""


class ExportDocument(Struct, frozen=True):
    """Races that `pacenote export` has exported."""

    format: Literal[1]
    """Version of this form."""

    races: tuple[ExportedRace, ...]
    """The races."""


MOST_IDENTITY = 1 << 14
"""Characters that the tags and names of a race may have together if they are repeated with each figure."""


def check_identity(record: RaceRecord) -> None:
    """Raises StoreError if the tags and names of a race are too long to be repeated with each figure. Those
    of the figures themselves are short: `model.codec.MAX_NAME`.
    """
    cluster, host = record.cluster, record.environment
    names = (record.race_id, record.track.name, record.challenge, record.pipeline, host.name, host.host_name)
    engine = (cluster.name, cluster.distribution, cluster.version, host.pacenote, *record.car)
    tags = (text for pair in tag_texts(record.user_tags).items() for text in pair)
    length = sum(len(text) for text in (*names, *engine, *tags) if text)
    if length > MOST_IDENTITY:
        raise StoreError(
            f"the tags and names of race {shortened(record.race_id, 80)} have {length:,} characters, which "
            f"are repeated with each figure: at most {MOST_IDENTITY:,} can be",
            hint="`pacenote export --format=json` has them once",
        )


def exported_race(record: RaceRecord, state: RaceState, folder: Path) -> ExportedRace:
    """Returns the race in `folder` with its figures."""
    cluster, host = record.cluster, record.environment
    return ExportedRace(
        race_id=record.race_id,
        timestamp=record.timestamp.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        state=state,
        verdict=ExportedVerdict(record.verdict.state, record.verdict.reasons),
        track=record.track.name,
        files=_files(folder),
        challenge=record.challenge,
        track_revision=record.track.revision,
        track_params=_plain(record.track.params),
        pipeline=record.pipeline,
        car=record.car,
        car_params=_plain(record.car_params),
        user_tags=_plain(record.user_tags),
        environment=host.name,
        engine=ExportedEngine(
            cluster.distribution, cluster.version, cluster.flavor, cluster.build_hash, len(cluster.nodes)
        ),
        host=ExportedHost(
            host.host_name, host.cpu_model, host.cpu_logical_cores, host.memory_bytes, host.kernel
        ),
        pacenote=host.pacenote,
        imported_from=record.imported.tool if record.imported is not None else None,
        tasks=_tasks(record),
        figures=exported_figures(record),
    )


def _tasks(record: RaceRecord) -> tuple[ExportedTask, ...]:
    return tuple(
        ExportedTask(
            task=task.task,
            operation=task.operation,
            operation_type=task.operation_type,
            unit=task.unit,
            clients=task.clients,
            ended_by=task.ended_by,
            steady=task.steady.state,
            meta=_plain(record.task_meta.get(task.task, {})),
        )
        for task in record.tasks
    )


def _plain(values: Mapping[str, object]) -> Mapping[str, object]:
    plain: Mapping[str, object] = encodable_value(encode(values))
    return plain


def _files(folder: Path) -> ExportedFiles:
    def found(name: str) -> str | None:
        path = folder / f"{name}.parquet"
        return str(path) if is_file(path) else None

    return ExportedFiles(str(folder), found("samples"), found("series"), found("telemetry"))
