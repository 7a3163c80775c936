"""The noise of races on a host: how much races of one configuration differ, and what that allows to see."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

from msgspec import Struct

from pacenote.compare.metrics import Datum, expanded_primary, race_metrics
from pacenote.compare.race_findings import RaceDoubts
from pacenote.lab.experiment.options import arguments
from pacenote.lab.experiment.primary import chosen_primary
from pacenote.lab.experiment.progress import MAX_LOST_SHARE
from pacenote.model.codec import encode
from pacenote.model.comparison import MetricId
from pacenote.model.driver_scheduling import obtained_scheduling
from pacenote.model.experiment import Options
from pacenote.model.experiment_result import NoiseValue
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_record import RaceRecord
from pacenote.model.recorded_options import RecordedOptions
from pacenote.stats.blocks import detectable_effect
from pacenote.stats.noise_floor import MIN_RACES, noise_floor, noise_to_plan_with

BLOCKS = (5, 8, 10, 15, 20)
"""Numbers of blocks for which the effect is stated that an experiment will see."""

_WORKLOAD = (
    *("track", "track-path", "track-repository", "track-revision", "track-params", "challenge"),
    *("include-tasks", "exclude-tasks", "test-mode"),
)
"""Options that select what is raced, not what with."""

_ERROR_RATE = "error-rate"
"""How labels of error rates begin, whose noise is not used: their changes are not relative."""


class StoredNoise(Struct, frozen=True):
    """The noise of a metric that an experiment has measured."""

    label: str
    """The metric, as in options."""

    races: int
    """Number of races with a value."""

    block_spread: float
    """The noise of a block."""

    block_interval: tuple[float, float]
    """The 95 % interval of the noise of a block."""

    has_same_options: bool
    """Whether the races had the same options, not only the same workload."""

    @property
    def planned_with(self) -> float:
        """The noise of a block with which blocks are planned."""
        return noise_to_plan_with(self.races, self.block_spread, self.block_interval[1])


def noise_values(races: Sequence[RaceRecord | None]) -> tuple[NoiseValue, ...]:
    """Returns the spread of each metric of a task that all races have, without those that make it doubtful;
    none if too many races are lost for it. The races are in their order; None is one that failed, is void or
    cannot be read.
    """
    metrics = [(RaceDoubts(record), race_metrics(record)) if record else None for record in races]
    counted = [pair[1] for pair in metrics if pair]
    noise_of_metrics = []
    for metric in counted[0] if counted else ():
        values = [
            pair[1][metric].value if pair and _counts(pair[0], pair[1].get(metric), metric) else None
            for pair in metrics
        ]
        known = [value for value in values if value is not None]
        is_known = all(metric in metrics_of_race for metrics_of_race in counted) and len(known) >= max(
            MIN_RACES, (1 - MAX_LOST_SHARE) * len(races)
        )
        floor = noise_floor(values) if is_known else None
        if metric.task and floor is not None:
            noise = floor.block.deviation
            planned = noise_to_plan_with(len(known), noise, floor.block.high)
            effects = tuple((blocks, detectable_effect(planned, blocks) or math.inf) for blocks in BLOCKS)
            value = NoiseValue(
                metric,
                len(known),
                fmean(known),
                floor.race.deviation,
                effects,
                noise,
                (floor.block.low, floor.block.high),
            )
            noise_of_metrics.append(value)
    return tuple(noise_of_metrics)


def _counts(doubts: RaceDoubts, datum: Datum | None, metric: MetricId) -> bool:
    """Returns whether a race has a metric with enough samples, and does not make it doubtful."""
    return datum is not None and datum.is_usable and not doubts.is_doubtful(metric)


_CONDITIONS: Mapping[str, object] = {
    "data": "fresh",
    "caches": None,
    "cooldown_s": 0.0,
    "corpus": None,
    "corpus_documents": None,
    "on_error": None,
    "driver_threads": 0,
    "driver_cpus": None,
    "samples": "auto",
    "telemetry": (),
}
"""Options that change how much races vary, with their usual values. As long as all options have these, noises
that earlier versions stored keep their keys.
"""


def noise_key(record: RaceRecord) -> str:
    """Returns the key of a noise: that of the host, the workload, its pacing and conditions, the engine and
    its configuration. What counts of the driver's scheduling is what its threads had: `auto` may get any.
    """
    options = record.options
    is_recorded = "scheduling" in record.driver
    parts = (
        *(record.environment.host_name, record.track.name, record.challenge, record.track.params),
        *(options.include_tasks, options.exclude_tasks, options.test_mode, options.nodes),
        *(record.cluster.distribution, record.cluster.version, record.car, record.car_params),
        *(options.plugins, options.settings, options.jvm_options, options.engine_variables),
        *(record.client.tls, record.client.compress, record.client.accept_encoding),
        # Without it, noises that earlier versions stored keep their keys.
        *(() if record.pacing == PacingOptions() else (record.pacing,)),
        *(({"conditions": conditions},) if (conditions := _unusual(options)) else ()),
        *(({"scheduling": obtained_scheduling(record.driver, record.tasks)},) if is_recorded else ()),
    )
    return _digest(json.dumps(encode(parts), sort_keys=True, default=str))


def _unusual(options: RecordedOptions) -> dict[str, object]:
    """Returns the conditions of a race that are not usual. Races of an existing cluster, and those of earlier
    versions, have None where nothing was selected.
    """
    values = {name: getattr(options, name) for name in _CONDITIONS}
    return {name: value for name, value in values.items() if value not in (None, _CONDITIONS[name])}


def noise_document(
    stored: Mapping[str, object],
    records: Sequence[RaceRecord],
    values: Sequence[NoiseValue],
    experiment_id: str,
    options: Options,
) -> Mapping[str, Any]:
    """Returns the document of all noises with this one added. It replaces one with the same key, unless that
    has more races. `records` are those of the races that count, `options` are those of all of them.
    """
    record = records[-1]
    key = noise_key(record)
    before = stored.get(key)
    if isinstance(before, Mapping) and _count(before) > len(records):
        return stored
    entry = {
        "experiment": experiment_id,
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": record.environment.host_name or "",
        "track": record.track.name,
        "challenge": record.challenge or "",
        "workload": workload_digest(options),
        "options": _digest(*arguments(options)),
        "races": len(records),
        "primary": sorted(chosen_primary((), [record], race_metrics(record))[0]),
        "metrics": {
            noise.metric.label: {
                "races": noise.races,
                "spread": noise.spread,
                "block_spread": noise.block_spread,
                "block_interval": noise.block_interval,
                "mean": noise.mean,
            }
            for noise in values
        },
    }
    return {**stored, key: encode(entry)}


def workload_digest(options: Options) -> str:
    """Returns a digest of the options that select what is raced."""
    return _digest(*arguments({name: value for name, value in options.items() if name in _WORKLOAD}))


def stored_noise(
    stored: Mapping[str, object], options: Options, primary: Sequence[str], host: str
) -> StoredNoise | None:
    """Returns the noise of that primary metric that varies most, for races with this workload on this host;
    without names, of those that decide by default. None if that of one of them was not measured. Races with
    the same options are preferred, and then the largest number of races.
    """
    workload, options_digest = workload_digest(options), _digest(*arguments(options))
    candidates = []
    for entry in stored.values():
        if isinstance(entry, Mapping) and (entry.get("workload"), entry.get("host")) == (workload, host):
            values = _primary_values(entry, primary, has_same_options=entry.get("options") == options_digest)
            if values:
                candidates.append(max(values, key=lambda candidate: candidate.planned_with))
    return max(candidates, key=lambda candidate: (candidate.has_same_options, candidate.races), default=None)


def _primary_values(
    entry: Mapping[str, Any], primary: Sequence[str], *, has_same_options: bool
) -> list[StoredNoise]:
    """Returns the noise of each primary metric; empty if one was not measured, but for error rates, whose
    noise is not known.
    """
    metrics = entry.get("metrics")
    if not isinstance(metrics, Mapping):
        return []
    defaults = entry.get("primary", [label for label in metrics if label.startswith("throughput:")])
    labels, unknown = expanded_primary(primary or defaults, map(_metric_of, metrics))
    if any(not name.startswith(_ERROR_RATE) for name in unknown):
        return []
    noises = []
    for label in (label for label in labels if not label.startswith(_ERROR_RATE)):
        try:
            stored = metrics[label]
            low, high = map(float, stored["block_interval"])
            races, spread = int(stored.get("races", _count(entry))), float(stored["block_spread"])
            noises.append(StoredNoise(label, races, spread, (low, high), has_same_options))
        except (AttributeError, LookupError, TypeError, ValueError):
            return []
    return noises


def _metric_of(label: str) -> MetricId:
    """Returns what a stored label says about its metric."""
    key, _, task = label.partition(":")
    return MetricId(task, "", "", key, "percentile" if key[1:2].isdigit() else "throughput")


def _count(entry: Mapping[str, object]) -> int:
    races = entry.get("races")
    return races if isinstance(races, int) else 0


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(sorted(texts)).encode()).hexdigest()[:16]
