"""The figures of a race: only those of the metrics that are asked for are made."""

from pacenote.figures.catalogue import ENGINE, METRICS
from pacenote.figures.of_race import race_figures
from pacenote.model.imported import ImportedResults, ImportedValue
from pacenote.model.result import ValueSummary
from pacenote.model.saturation_answer import RecordedSaturation
from pacenote.model.target_rate import TargetRate
from support.records import bulk, paced, part, record

MEASURED = record(
    tasks=(
        bulk(parts=(part("search"),), values={"recall": ValueSummary(10, 0.9, 0.8, 1.0)}),
        paced("term"),
    ),
    targets={"term": TargetRate(1_000.0, "ops", 1_000.0)},
    saturation=RecordedSaturation("term", "between 10 ops/s and 20 ops/s", 10.0, 20.0, "engine"),
)
IMPORTED = record(
    tasks=(),
    imported=ImportedResults(
        *("rally", "summary", "report.csv", "0" * 64),
        values=(
            ImportedValue("99th percentile service time", "term", 4.0, "ms"),
            ImportedValue("Mean Throughput", "term", 800.0, "ops/s"),
            ImportedValue("error rate", "term", 0.5, "%"),
            ImportedValue("Store size", "", 3.0, "GB"),
        ),
    ),
)


def test_each_metric_can_be_asked_for_alone():
    for race in (MEASURED, IMPORTED):
        every = list(race_figures(race))
        for metric in METRICS.values():
            own = [figure for figure in every if figure.metric is metric]
            assert list(race_figures(race, {metric})) == own, metric.key
        assert list(race_figures(race, ())) == []


def test_the_races_of_this_test_have_figures_of_all_metrics():
    of_lists = {metric for metric in ENGINE if metric.part}
    known = {figure.metric for race in (MEASURED, IMPORTED) for figure in race_figures(race)}
    assert set(METRICS.values()) - known == of_lists
