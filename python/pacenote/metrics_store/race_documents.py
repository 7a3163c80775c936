"""Rally's documents about a race and about its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Any

from pacenote.figures.catalogue import ENGINE, TASK
from pacenote.figures.metric import VALUE, Metric
from pacenote.figures.of_race import origin_value
from pacenote.figures.rally_results import op_metrics
from pacenote.model.codec import encode
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_time import TIMESTAMP_FORMAT
from pacenote.model.result import TaskResult
from pacenote.model.user_tags import tag_texts
from pacenote.units import whole_number

AUTO_GENERATED = "default"
"""How Rally names a challenge that it creates from a bare schedule."""

RESULT_IS_ABOUT = ("name", "task", "operation", "job", "id", "index", "field", "node")
"""The fields of a document of results that say what it is about, of which it has some."""

_OF_RACE = tuple(metric for metric in ENGINE if metric.result and not metric.is_of_node)
"""The metrics of the engine that Rally stores for a race."""


def race_timestamp(record: RaceRecord) -> str:
    """Returns when a race began, as Rally writes it: in UTC, to the second."""
    return record.timestamp.astimezone(UTC).strftime(TIMESTAMP_FORMAT)


def race_document(record: RaceRecord) -> dict[str, Any]:
    """Returns Rally's document of a race: what `list races`, `compare` and Rally itself read."""
    document: dict[str, Any] = {
        **_common(record),
        "pipeline": record.pipeline,
        "multi-cluster": False,
        "car": list(record.car),
        "cluster": {
            "revision": record.cluster.build_hash,
            "distribution-version": record.cluster.version,
            "distribution-flavor": record.cluster.flavor,
            "team-revision": record.options.team_revision,
        },
        "results": race_results(record),
    }
    if record.challenge is not None:
        document["challenge"] = record.challenge
    return document


def race_results(record: RaceRecord) -> dict[str, Any]:
    """Returns Rally's results of a race. Tasks that reports leave out are included only if they failed."""
    tasks = [task for task in record.tasks if _is_reported(task, record)]
    metrics = op_metrics(tasks, record.task_meta)
    for entry in metrics:
        # Rally writes metadata only of tasks that have any, and a rate of 0 if nothing was measured.
        entry["error_rate"] = entry["error_rate"] or 0.0
        if not entry["meta"]:
            del entry["meta"]
    system = {metric.result: _engine_result(metric, record) for metric in _OF_RACE}
    return {"cluster_name": None, "op_metrics": metrics, **system}


def _engine_result(metric: Metric, record: RaceRecord) -> Any:
    value = encode(origin_value(metric.origin, record.system))
    return {} if value is None and metric.statistics != (VALUE,) else value


def result_documents(record: RaceRecord) -> Iterator[dict[str, Any]]:
    """Yields Rally's documents of results: one for each figure of the race, and of its nodes."""
    cluster = record.cluster
    common = {
        **_common(record),
        "distribution-version": cluster.version,
        "distribution-flavor": cluster.flavor,
        "challenge": record.challenge or AUTO_GENERATED,
        "car": "+".join(record.car),
        "active": True,
    }
    major = whole_number((cluster.version or "").partition(".")[0])
    if major is not None:
        common["distribution-major-version"] = major
    if record.options.team_revision:
        common["team-revision"] = record.options.team_revision
    figures = [*_figures(race_results(record)), *_node_figures(record)]
    yield from ({**common, **figure} for figure in sorted(figures, key=lambda figure: str(figure["name"])))


def node_name(record: RaceRecord) -> str | None:
    """Returns the name of the node that the race started, or None if there are several or none."""
    nodes = record.cluster.started_nodes
    return nodes[0].name if len(nodes) == 1 else None


def _common(record: RaceRecord) -> dict[str, Any]:
    """Returns the fields that documents about the race and about its results share."""
    version = record.environment.pacenote
    document: dict[str, Any] = {
        "@timestamp": round(record.timestamp.timestamp() * 1000),
        "rally-version": f"pacenote {version}" if version else "pacenote",
        "rally-revision": None,
        "environment": record.environment.name,
        "race-id": record.race_id,
        "race-timestamp": race_timestamp(record),
        "user-tags": tag_texts(record.user_tags),
        "track": record.track.name,
    }
    for key, value in (
        ("track-revision", record.track.revision),
        ("track-params", encode(record.track.params)),
        ("car-params", encode(record.car_params)),
        ("plugin-params", encode(record.options.plugin_params)),
        # Rally does not have it: it tells the race from others with the same id and time.
        ("plan-sha256", record.plan.sha256 if record.plan is not None else None),
    ):
        if value:
            document[key] = value
    return document


def _is_reported(task: TaskResult, record: RaceRecord) -> bool:
    return task.task not in record.unreported or bool(task.error_rate)


def _figures(results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the figures of the whole race and of its tasks: name, value and what they are about."""
    for entry in results["op_metrics"]:
        about = {key: entry[key] for key in ("task", "operation", "meta") if key in entry}
        for metric in TASK:
            if metric.result:
                yield {**about, "name": metric.result, "value": _stored_value(entry[metric.result])}
    for metric in _OF_RACE:
        value = results[metric.result]
        for item in value if isinstance(value, list | tuple) else ():
            about = {key: item[key] for key in ("job", "id", "index", "field") if key in item}
            single = item.get("mean", item.get("value"))
            several = {which: item.get(which) for which in metric.statistics}
            own = _stored_value(single if metric.statistics == (VALUE,) else several)
            yield {"name": metric.result, **about, "value": own}
        if not isinstance(value, list | tuple) and value is not None and value != {}:
            yield {"name": metric.result, "value": _stored_value(value)}


def _stored_value(value: object) -> object:
    return value if isinstance(value, dict) else {"single": value}


def _node_figures(record: RaceRecord) -> Iterator[dict[str, Any]]:
    """Yields the figures of the node that the race started; those of several are only known together."""
    node = node_name(record)
    if node is None:
        return
    of_node = (metric for metric in ENGINE if metric.is_of_node)
    values = {metric.result: origin_value(metric.origin, record.system) for metric in of_node}
    values["startup_time"] = record.telemetry.get("node_startup_time")
    for name, value in values.items():
        if isinstance(value, int | float):
            yield {"name": name, "node": node, "value": {"single": value}}
