"""The spread from race to race, and what it allows to see."""

from typing import Any

import pytest
from msgspec.structs import replace

from compare.races import index, race, search
from lab.experiment.experiments import Lab, pair
from pacenote.compare.metrics import race_metrics
from pacenote.lab.experiment.noise import noise_document, noise_key, noise_values, stored_noise
from pacenote.model.experiment import Experiment, Variant
from pacenote.model.experiment_result import NoiseValue
from pacenote.model.pacing_options import PacingOptions
from pacenote.stats.blocks import detectable_effect
from pacenote.store.experiment_store import ExperimentStore
from pacenote.store.file_lock import is_file_locked
from support.records import times


def test_the_spread_is_that_of_the_logarithms():
    records = [
        race(f"r{at}", at, tasks=(index(10_000 * factor),)) for at, factor in enumerate((0.99, 1, 1.01))
    ]
    values = {one.metric.label: one for one in noise_values(records)}
    assert values["throughput:index-append"].spread == pytest.approx(0.01, rel=0.01)
    assert values["throughput:index-append"].races == 3
    assert noise_values(records[:2]) == ()


def test_races_that_were_not_neighbours_have_no_difference():
    records = [race(f"r{at}", at, tasks=(index(10_000 * 1.02**at),)) for at in range(7)]
    values = {one.metric.label: one for one in noise_values([*records[:3], None, *records[4:]])}
    assert values["throughput:index-append"].races == 6
    assert values["throughput:index-append"].block_spread == pytest.approx(0.0, abs=1e-9)


def test_a_drift_is_not_noise_of_a_block():
    records = [
        race(f"r{at}", at, tasks=(index(10_000 * 1.02**at * factor),))
        for at, factor in enumerate((1, 1.01, 1, 1.01, 1, 1.01))
    ]
    (value, *_) = (one for one in noise_values(records) if one.metric.label == "throughput:index-append")
    assert value.spread > 0.03
    assert value.block_spread == pytest.approx(0.011, abs=0.001)


@pytest.mark.parametrize("count", [9, 10])
def test_what_few_races_allow_to_see_is_that_of_the_upper_end_of_their_noise(count):
    records = [race(f"r{at}", at, tasks=(index(10_000 + 100 * (at % 2)),)) for at in range(count)]
    (value, *_) = (one for one in noise_values(records) if one.metric.label == "throughput:index-append")
    planned = value.block_spread if count == 10 else value.block_interval[1]
    assert dict(value.detectable)[10] == pytest.approx(detectable_effect(planned, 10))
    document = noise_document({}, records, [value], "noise-1", OPTIONS)
    noise = stored_noise(document, OPTIONS, ("throughput",), records[0].environment.host_name or "")
    assert (noise.races, noise.planned_with) == (count, planned)


def test_more_blocks_see_smaller_effects():
    effects = [detectable_effect(0.014 * 2**0.5, blocks) for blocks in (5, 8, 10, 20)]
    assert effects == sorted(effects, reverse=True)
    # 1.4 % of noise in either race are 2 % in their difference, which is about what ten blocks see.
    assert effects[2] == pytest.approx(0.0205, abs=0.002)


OPTIONS = {"track": "http_logs", "challenge": "append-no-conflicts", "car": "1gheap"}


def noise_lab(home, blocks=4):
    variants = (Variant("one", {"car": "1gheap"}),)
    race = {name: value for name, value in OPTIONS.items() if name != "car"}
    lab = Lab.of(home, Experiment(name="noise", design="noise", blocks=blocks, race=race, variants=variants))
    lab.runner.rate = lambda _call: 10_000 + 50 * (len(lab.runner.calls) % 2)
    return lab


def test_a_noise_experiment_is_stored_for_its_workload_and_host(tmp_path):
    lab = noise_lab(tmp_path)
    progress = lab.run().progress
    assert lab.evaluation.result(progress).noise[0].races == 4
    store = ExperimentStore(tmp_path)
    lab.evaluation.store_noise(progress, store)
    noise = stored_noise(store.noise(), OPTIONS, (), "")
    assert (noise.label, noise.races, noise.has_same_options) == ("throughput:index-append", 4, True)
    assert 0 < noise.block_interval[0] < noise.block_spread < noise.block_interval[1] < 0.1
    assert stored_noise(store.noise(), OPTIONS, (), "another") is None
    assert stored_noise(store.noise(), OPTIONS | {"challenge": "other"}, (), "") is None
    assert stored_noise(store.noise(), OPTIONS | {"track-params": {"docs": 5}}, (), "") is None
    assert not stored_noise(store.noise(), OPTIONS | {"car": "8gheap"}, (), "").has_same_options


@pytest.mark.parametrize(
    ("primary", "label"),
    [
        ((), "p90-latency:term"),
        (("throughput:index-append",), "throughput:index-append"),
        (("p90:term",), "p90-latency:term"),
        (("p90-service-time",), "p90-service-time:term"),
        (("throughput:index-append", "p50:term", "error-rate"), "throughput:index-append"),
        (("throughput:index-append", "p99:other"), None),
    ],
)
def test_the_noise_is_that_of_the_primary_metric_that_varies_most(primary, label):
    record = race("a", tasks=(index(), search()))
    spreads = {
        "throughput:index-append": 0.02,
        "p50-latency:term": 0.01,
        "p90-latency:term": 0.08,
        "p90-service-time:term": 0.05,
        "error-rate:index-append": 2.5,
    }
    values = [
        NoiseValue(metric, 10, 1.0, 0.1, (), spreads[metric.label], (0.01, 0.2))
        for metric in race_metrics(record)
        if metric.label in spreads
    ]
    document = noise_document({}, [record], values, "noise-1", OPTIONS)
    noise = stored_noise(document, OPTIONS, primary, record.environment.host_name or "")
    assert (noise and noise.label) == label
    assert noise is None or noise.block_spread == spreads[label]


def test_a_spread_is_not_replaced_by_one_of_fewer_races(tmp_path):
    store = ExperimentStore(tmp_path)
    for blocks, expected in ((4, 4), (3, 4), (5, 5)):
        lab = noise_lab(tmp_path, blocks)
        lab.evaluation.store_noise(lab.run().progress, store)
        (entry,) = store.noise().values()
        assert entry["races"] == expected


def test_all_races_that_count_are_those_of_a_spread_although_some_lack_a_metric():
    records = [race(f"r{at}", at) for at in range(10)]
    metric = next(iter(race_metrics(records[0])))
    values = [NoiseValue(metric, 8, 1.0, 0.1, (), 0.01, (0.01, 0.2))]
    before = {noise_key(records[0]): {"races": 9}}
    (entry,) = noise_document(before, records, values, "noise-1", OPTIONS).values()
    assert entry["races"] == 10


def test_processes_that_store_a_spread_wait_for_each_other(tmp_path):
    store = ExperimentStore(tmp_path)

    def change(stored):
        assert is_file_locked(tmp_path / ".noise.json.lock")
        return {**stored, "a": 1}

    store.update_noise(change)
    assert not is_file_locked(tmp_path / ".noise.json.lock")
    store.update_noise(lambda stored: {**stored, "b": 2})
    assert store.noise() == {"a": 1, "b": 2}


def test_races_of_another_engine_or_with_other_data_have_another_key():
    record = race("a")
    others = (
        replace(record, car_params={"heap_size": "2g"}),
        replace(record, track=replace(record.track, params={"docs": 5})),
        replace(record, cluster=replace(record.cluster, version="9.9.9")),
        replace(record, options=replace(record.options, settings={"index.codec": "default"})),
        replace(record, pacing=PacingOptions(open_loop=True)),
        replace(record, pacing=PacingOptions(open_loop=True, arrivals="poisson")),
    )
    assert len({noise_key(record), *map(noise_key, others)}) == 7
    assert noise_key(race("b", 3, seed=7)) == noise_key(record)


def test_races_under_other_conditions_have_another_key():
    """Cold caches, or another number of threads, make races vary by another amount."""
    record = race("a")
    changes: tuple[dict[str, Any], ...] = (
        {"caches": "cold"},
        {"caches": "warm"},
        {"cooldown_s": 60.0},
        {"data": "restore:a"},
        {"driver_threads": 2},
        {"driver_cpus": "0"},
        {"corpus_documents": 10},
        {"on_error": "abort"},
        {"telemetry": ("jfr",)},
    )
    others = [replace(record, options=replace(record.options, **change)) for change in changes]
    assert len({noise_key(record), *map(noise_key, others)}) == 1 + len(changes)
    usual = replace(record.options, data="fresh", samples="auto")
    assert noise_key(replace(record, options=usual)) == noise_key(record)


def test_the_scheduling_that_the_driver_had_belongs_to_the_key_not_the_one_it_was_asked_for():
    record = race("a")

    def key(workers, asked, **lost):
        own = replace(record.options, driver_scheduling=asked)
        scheduling = {"asked": asked, "workers": workers, **lost}
        return noise_key(replace(record, options=own, driver={"scheduling": scheduling}))

    assert key("realtime", "auto") == key("realtime", "realtime")
    assert key("normal", "auto") == key("normal", "normal")
    lost = key("realtime", "auto", tasks=[{"index": 0, "share": 0.5}])
    keys = (key("realtime", "auto"), key("short_slice", "auto"), key("normal", "auto"), lost)
    # Noises that a version stored which did not record it are those of none of these.
    assert len({*keys, noise_key(record)}) == 5


def test_other_experiments_store_no_noise(tmp_path):
    lab = Lab.of(tmp_path, pair())
    lab.evaluation.store_noise(lab.run().progress, ExperimentStore(tmp_path))
    assert ExperimentStore(tmp_path).noise() == {}


def test_percentiles_that_the_samples_do_not_carry_have_no_noise():
    races = [
        race(f"r{at}", at, tasks=(index(), search(latency=times(1_500, 20.0, 80.0 + at)))) for at in range(8)
    ]
    labels = {value.metric.label for value in noise_values(races)}
    assert {"p50-latency:term", "p99-latency:term"} <= labels
    assert "p99.9-latency:term" in {metric.label for metric in race_metrics(races[0])}
    assert "p99.9-latency:term" not in labels
