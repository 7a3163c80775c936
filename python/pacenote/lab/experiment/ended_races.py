"""The races of an experiment that have ended, with their values of the metrics that decide."""

from __future__ import annotations

from pacenote.lab.experiment.evaluate import Evaluation
from pacenote.lab.experiment.primary import Metrics, by_variant, chosen_primary
from pacenote.lab.experiment.progress import ExperimentProgress
from pacenote.model.comparison import MetricId
from pacenote.model.experiment_result import ExperimentRace


def ended_races(evaluation: Evaluation, progress: ExperimentProgress) -> tuple[ExperimentRace, ...]:
    """Returns the planned races that have ended, in their order, without those that were left out. Only races
    that the evaluation has read have values.
    """
    metrics: dict[str, Metrics] = {
        race_id: evaluation.metrics_of(race) for race_id, race in evaluation.read.items()
    }
    primary = _primary(evaluation, metrics)
    ended = []
    for race in progress.plan.races:
        end = progress.ends.get(race.number)
        if end is None or end.outcome is None or end.outcome == "skipped":
            continue
        race_metrics = metrics.get(end.race_id, {})
        values = {metric: race_metrics[metric].value for metric in primary if metric in race_metrics}
        ended.append(ExperimentRace(end.race_id, race.variant, race.block, end.outcome, end.verdict, values))
    return tuple(ended)


def _primary(evaluation: Evaluation, metrics: dict[str, Metrics]) -> list[MetricId]:
    """Returns the metrics that decide, in the order of tables."""
    known = dict.fromkeys(metric for race_metrics in metrics.values() for metric in race_metrics)
    if not evaluation.read:
        return []
    variants = by_variant(race.record for race in evaluation.read.values())
    first = [records[0] for records in variants]
    labels, _ = chosen_primary(evaluation.experiment.primary, first, known)
    return [metric for metric in known if metric.label in labels]
