"""Rally's metrics documents: one for each figure of an operation, and for each value of engine and nodes.

A document is yielded with an id that depends only on the race and on what the document is about, so that
writing it again replaces it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from pacenote.figures.of_race import Figure, engine_figures
from pacenote.metrics_store.document_ids import DocumentIds, race_key
from pacenote.metrics_store.race_documents import AUTO_GENERATED, node_name, race_timestamp
from pacenote.metrics_store.samples import StoredSample
from pacenote.metrics_store.settings import DEFAULT_SAMPLES
from pacenote.model.codec import encode
from pacenote.model.driver_facts import started_ns
from pacenote.model.one_of_many import OneOfMany
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_timeline import RaceTimeline
from pacenote.model.result import TaskResult
from pacenote.model.telemetry_sample import TelemetrySample
from pacenote.model.user_tags import tag_texts

_MS = 1e6
"""Nanoseconds in a millisecond."""

_TRANSPORT = frozenset({"connect", "tls", "reset", "timeout", "protocol"})
"""Error classes that Rally calls errors of the transport; the others are those of the API."""

DEVICES = (
    *("node-stats", "recovery-stats", "ccr-stats", "transform-stats", "searchable-snapshots-stats"),
    *("shard-stats", "data-stream-stats", "blob-store-stats", "master-node-stats"),
)
"""Devices whose values over time Rally stores, too."""


class Document(NamedTuple):
    """A document that is ready to be written."""

    id: str
    """Its id."""

    text: bytes
    """The document as JSON."""


class MetricSources(Struct, frozen=True):
    """What a race measured, from its folder."""

    samples: Iterable[StoredSample] = ()
    """The samples of operations."""

    timeline: RaceTimeline | None = None
    """The operations over time, or None if they are not known."""

    telemetry: Iterable[TelemetrySample] = ()
    """Values over time of `DEVICES`; those with the same time and labels follow one another."""


class MetricsDocuments:
    """The metrics documents of one race."""

    def __init__(self, record: RaceRecord, every_nth_sample: int | None) -> None:
        """`every_nth_sample` is of how many samples one is stored; None limits their number."""
        self._record = record
        self._every = every_nth_sample
        self._key = race_key(record)
        self._began_ms = record.timestamp.timestamp() * 1000
        started = started_ns(record.driver)
        self._first_task_ms = self._began_ms if started is None else started / _MS
        self._common = _common(record)
        self._meta = _cluster_meta(record)
        self._tasks = {task.task: task for task in record.tasks}
        self._encoder = json_encoder()

    def all(self, sources: MetricSources) -> Iterator[Document]:
        """Yields all documents: of samples, of throughput, of the engine, and of telemetry."""
        yield from self.of_samples(sources.samples)
        yield from self.of_throughput(sources.timeline)
        yield from self.of_engine()
        yield from self.of_telemetry(sources.telemetry)

    def steps(self) -> Mapping[str, int]:
        """Returns of how many samples of each task one is stored."""
        if self._every is not None:
            return dict.fromkeys(self._tasks, self._every)
        kept = {name: task.samples.kept for name, task in self._tasks.items()}
        return {name: max(1, math.ceil(count / DEFAULT_SAMPLES)) for name, count in kept.items()}

    def of_samples(self, samples: Iterable[StoredSample]) -> Iterator[Document]:
        """Yields three documents for each stored sample, and one for each of its sub-operations."""
        steps, drawn = self.steps(), dict[tuple[str, str, str, bool], OneOfMany]()
        forms: dict[tuple[str, str, str, str], bytes] = {}
        outcomes: dict[tuple[str, bool, str, int], bytes] = {}
        for row, sample in enumerate(samples):
            # Each operation is represented, also if several take turns in one task.
            counted = sample.task, sample.operation, sample.operation_type, sample.part
            if counted not in drawn:
                drawn[counted] = OneOfMany(steps.get(sample.task, 1), f"{self._record.race_id} {counted}")
            if not drawn[counted].takes_next():
                continue
            # Most of a document is the same for many samples, and encoded once.
            form = sample.task, sample.operation, sample.operation_type, sample.sample_type
            if form not in forms:
                forms[form] = self._sample_form(sample)
            outcome = sample.task, sample.success, sample.error_class, sample.status
            if sample.details is not None or outcome not in outcomes:
                outcomes[outcome] = self._outcome_form(sample)
            yield from self._of_sample(row, sample, forms[form], outcomes[outcome])
            if sample.details is not None:
                del outcomes[outcome]

    def _sample_form(self, sample: StoredSample) -> bytes:
        """Returns the fields that samples of an operation have in common, as the beginning of an object."""
        document = {
            **self._common,
            "unit": "ms",
            "sample-type": sample.sample_type,
            "task": sample.task,
            "operation": sample.operation,
            "operation-type": sample.operation_type,
        }
        encoded: bytes = self._encoder(document)
        return encoded[:-1]

    def _outcome_form(self, sample: StoredSample) -> bytes:
        """Returns the metadata of a sample without its client, as the beginning of an object."""
        task_meta = self._record.task_meta.get(sample.task, {})
        encoded: bytes = self._encoder({**self._meta, **task_meta, **_outcome(sample)})
        return encoded[:-1]

    def _of_sample(self, row: int, sample: StoredSample, form: bytes, outcome: bytes) -> Iterator[Document]:
        task = self._tasks.get(sample.task)
        started_ms = self._first_task_ms + (task.started_s * 1000 if task else 0.0)
        relative_ms = sample.sent_ns / _MS
        own = b'"@timestamp":%d,"relative-time":%r,"meta":%b,"client_id":%d}}' % (
            *(round(started_ms + relative_ms), relative_ms),
            *(outcome, sample.client),
        )
        service_ms = (sample.done_ns - sample.sent_ns) / _MS
        times = [(b"service_time", service_ms)]
        if not sample.part:
            times.append((b"latency", (sample.done_ns - sample.due_ns) / _MS))
            times.append((b"processing_time", sample.processing_ns / _MS))
        for name, value in times:
            text = b'%b,"name":"%b","value":%r,%b' % (form, name, value, own)
            yield Document(f"{self._key}s{row}{name[:1].decode()}", text)

    def of_throughput(self, timeline: RaceTimeline | None) -> Iterator[Document]:
        """Yields one document for each whole part of the time of a task, as Rally does for each second."""
        for position, task in enumerate(self._record.tasks):
            rates = _rates(task, timeline)
            for number, (end_s, rate, sample_type) in enumerate(rates):
                at_ms = self._first_task_ms + (task.started_s + end_s) * 1000
                document = {
                    "@timestamp": round(at_ms),
                    "relative-time": end_s * 1000,
                    **self._common,
                    "name": "throughput",
                    "value": rate,
                    "unit": f"{task.unit}/s",
                    "sample-type": sample_type,
                    "meta": {**self._meta, **self._record.task_meta.get(task.task, {})},
                    "task": task.task,
                    "operation": task.operation,
                    "operation-type": task.operation_type,
                }
                yield Document(f"{self._key}t{position}-{number}", self._encoder(document))

    def of_engine(self) -> Iterator[Document]:
        """Yields the figures of the engine, all with the time when the last task ended."""
        ends = (task.started_s + task.duration_s for task in self._record.tasks)
        end_ms = self._first_task_ms + max(ends, default=0.0) * 1000
        common = {
            "@timestamp": round(end_ms),
            "relative-time": end_ms - self._began_ms,
            **self._common,
        }
        ids = DocumentIds(self._record)
        for figure in _engine_figures(self._record):
            about = figure.pop("meta", {})
            document = {**common, **figure, "meta": {**self._meta, **about}}
            own = ids.of("e", figure["name"], figure.get("job"), about)
            yield Document(own, self._encoder(document))

    def of_telemetry(self, samples: Iterable[TelemetrySample]) -> Iterator[Document]:
        """Yields one document for the values that a device read at the same time about the same thing."""
        ids = DocumentIds(self._record)
        for first, values in _readings(samples):
            labels = {key: value for key, value in first.labels.items() if key != "node"}
            meta = {**self._meta, "cluster": "default", **labels}
            node = first.labels.get("node")
            if node is not None:
                meta["node_name"] = node
            if first.source == "master-node-stats":
                values = {"node": node}
            document = {
                **values,
                "name": first.source,
                "@timestamp": round(first.time_ns / _MS),
                "relative-time": first.time_ns / _MS - self._began_ms,
                **self._common,
                "meta": meta,
            }
            own = ids.of("d", first.source, first.time_ns, dict(first.labels))
            yield Document(own, self._encoder(document))


def json_encoder() -> Any:
    """Returns a function that encodes JSON as UTF-8; numbers that are not finite become null."""
    import msgspec  # Slow to import, and not needed for `--help`.

    return msgspec.json.Encoder(enc_hook=dict).encode


def _common(record: RaceRecord) -> dict[str, Any]:
    document: dict[str, Any] = {
        "race-id": record.race_id,
        "race-timestamp": race_timestamp(record),
        "environment": record.environment.name,
        "track": record.track.name,
        "challenge": record.challenge or AUTO_GENERATED,
        "car": "+".join(record.car),
    }
    if record.track.params:
        document["track-params"] = encode(record.track.params)
    return document


def _cluster_meta(record: RaceRecord) -> dict[str, object]:
    cluster = record.cluster
    known = {
        "source_revision": cluster.build_hash,
        "distribution_version": cluster.version,
        "distribution_flavor": cluster.flavor,
    }
    tags = {f"tag_{name}": text for name, text in tag_texts(record.user_tags).items()}
    return {**{key: value for key, value in known.items() if value}, **tags}


def _outcome(sample: StoredSample) -> dict[str, Any]:
    """Returns what Rally states about an operation: whether it succeeded, why not, and its details."""
    outcome: dict[str, Any] = {}
    if sample.details:
        try:
            details = json.loads(sample.details)
        except ValueError:
            details = None
        outcome = details if isinstance(details, dict) else {}
    outcome["success"] = sample.success
    if not sample.success:
        outcome["error-type"] = "transport" if sample.error_class in _TRANSPORT else "api"
        outcome["error-description"] = sample.error_class
        if sample.status:
            outcome["http-status"] = sample.status
    return outcome


def _rates(task: TaskResult, timeline: RaceTimeline | None) -> Sequence[tuple[float, float, str]]:
    """Returns the throughput of a task over time: seconds since it began, work per second, sample type. Parts
    without an operation have 0, so that the mean of all is that of the task.

    A task shorter than a part, or one whose throughput the engine or a runner reports, has one value.
    """
    own = timeline.tasks.get(task.task) if timeline else None
    rates = []
    if timeline is not None and own is not None and task.reported_s is None:
        length_s = timeline.length_s
        measured_s = own.measured_from_s
        work = {point.from_s: point.work for point in own.points}
        end_s = min(max(work, default=-length_s) + length_s, int(task.duration_s))
        for from_s in range(0, end_s - length_s + 1, length_s):
            is_warmup = measured_s is None or from_s < measured_s
            rate = work.get(from_s, 0) / length_s
            rates.append((float(from_s + length_s), rate, "warmup" if is_warmup else "normal"))
    if not any(kind == "normal" for _, _, kind in rates) and task.throughput is not None:
        rates.append((task.duration_s, task.throughput.mean, "normal"))
    return rates


def _engine_figures(record: RaceRecord) -> Iterator[dict[str, Any]]:
    node = node_name(record)
    about = {"node_name": node} if node else {}
    figures = [figure for figure in engine_figures(record.system) if figure.value is not None]
    spreads: dict[str, list[float | None]] = {}
    for figure in figures:
        spreads.setdefault(figure.metric.key, []).append(figure.value)
    for figure in figures:
        stored = figure.metric.stored
        if stored is None:
            continue
        if stored.is_sampled:
            unit = figure.unit if stored.unit is None else stored.unit
            yield _value(
                stored.name, figure.value, unit, about if figure.metric.is_of_node else _meta(figure)
            )
        else:
            shards = spreads.get(f"{figure.metric.key}_per_shard", [])
            of_time = {"unit": stored.unit, "per-shard": shards} if stored.unit else {}
            yield {"name": stored.name, "value": figure.value, **of_time}
    started = record.telemetry.get("node_startup_time")
    if isinstance(started, int | float):
        yield _value("node_startup_time", started, "s", about)
    for job in record.system.ml_processing_time:
        yield {"name": "ml_processing_time", **encode(job)}


def _meta(figure: Figure) -> dict[str, object]:
    """Returns what a figure of a transform or of a field is about."""
    if figure.metric.part == "transform":
        return {"transform_id": figure.part}
    index, _, field = figure.part.partition("/")
    return {"index": index, "field": field} if figure.part else {}


def _value(name: str, value: object, unit: str, meta: Mapping[str, object] | None = None) -> dict[str, Any]:
    document = {"name": name, "value": value, "unit": unit or None, "sample-type": "normal"}
    return {**document, "meta": meta} if meta else document


def _readings(
    samples: Iterable[TelemetrySample],
) -> Iterator[tuple[TelemetrySample, dict[str, object]]]:
    """Yields the first sample of each reading, and all its values by name."""
    first: TelemetrySample | None = None
    values: dict[str, object] = {}
    for sample in samples:
        key = (sample.source, sample.time_ns, sample.labels)
        if first is None or key != (first.source, first.time_ns, first.labels):
            if first is not None and values:
                yield first, values
            first, values = sample, {}
        if sample.value is not None:
            values[sample.name] = sample.value
    if first is not None and values:
        yield first, values
