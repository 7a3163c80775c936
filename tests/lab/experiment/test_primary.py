"""Which metrics decide an experiment."""

from compare.races import index, race, search, unserved
from pacenote.compare.metrics import race_metrics
from pacenote.lab.experiment.primary import MAX_DEFAULT_TASKS, chosen_primary, leading_metric, usable_metrics
from pacenote.model.race_record import Verdict
from pacenote.model.result import WarmupBacklog
from support.records import times


def chosen(names, *tasks, **changes):
    record = race("r", tasks=tasks, **changes)
    return chosen_primary(names, [record], race_metrics(record))


def test_a_few_metrics_decide_by_default():
    labels, notes = chosen((), index(), search())
    assert labels == {
        "throughput:index-append", "error-rate:index-append", "p90-latency:term", "error-rate:term",
    }  # fmt: skip
    assert notes == ()


def test_many_searches_do_not_make_every_interval_wide():
    tasks = [search(task=f"s{number}") for number in range(20)]
    labels, notes = chosen((), index(), *tasks)
    assert sum(not label.startswith("error-rate") for label in labels) == MAX_DEFAULT_TASKS
    assert {"throughput:index-append", "p90-latency:s4"} <= labels
    assert notes == ("6 tasks decide, and 15 more do not; primary in the file names others",)


def test_the_track_and_the_file_name_others():
    meta = {"term": {"primary-metrics": ["p50", "p99"]}}
    assert chosen((), index(), search(), task_meta=meta)[0] == {"p50-latency:term", "p99-latency:term"}
    assert chosen(("p50:term",), index(), search(), task_meta=meta) == ({"p50-latency:term"}, ())


def test_what_no_race_has_is_noted():
    labels, notes = chosen(("throughput", "p99:trem"), index())
    assert labels == {"throughput:index-append"}
    assert notes == ("no race has the metric 'p99:trem', which the file names in primary",)


def test_what_may_decide():
    tasks = (index(error_rate=0.02), search(service_time=times(100), latency=times(100)))
    record = race("r", tasks=tasks, verdict=Verdict("valid"))
    labels = {metric.label for metric in usable_metrics(record, race_metrics(record))}
    assert "p50-latency:term" in labels
    assert not labels & {"p99-latency:term", "throughput:index-append"}


def test_latency_with_the_backlog_of_a_warm_up_does_not_decide():
    backlog = WarmupBacklog(135, 4.2, marked=True)
    record = race("r", tasks=(search(warmup_backlog=backlog),), verdict=Verdict("valid"))
    labels = {metric.label for metric in usable_metrics(record, race_metrics(record))}
    assert "p99-service-time:term" in labels
    assert "p99-latency:term" not in labels


def test_a_percentile_of_latency_that_is_one_of_operations_without_reply_does_not_decide():
    record = race("r", tasks=(unserved(0.05),), verdict=Verdict("valid"))
    labels = {metric.label for metric in usable_metrics(record, race_metrics(record))}
    assert "p90-latency:term" in labels
    assert "p99-latency:term" not in labels


def test_throughput_stands_for_the_others():
    record = race("r", tasks=(search(), index()))
    metrics = [
        metric for metric in race_metrics(record) if metric.key in ("throughput", "p90-latency", "error-rate")
    ]
    assert leading_metric(metrics).label == "throughput:term"
    assert leading_metric(one for one in metrics if one.kind == "percentile").label == "p90-latency:term"
    assert leading_metric(one for one in metrics if one.kind == "error rate") is None
