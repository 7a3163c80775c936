"""The target rates of a challenge are recorded as the track asks for them."""

import pytest
from msgspec.structs import replace

from pacenote.model.pacing_options import PacingOptions
from pacenote.model.plugin_names import PluginNames
from pacenote.model.target_rate import TargetRate
from pacenote.model.track import Operation
from pacenote.plan.build import PlanContext, build_plan
from pacenote.race.target_rates import target_rates
from pacenote.units import Rate
from plan.planning import BULK, SEARCH, SETTINGS, task, track

PLUGINS = PluginNames(
    runners=frozenset({"put-elser"}), param_sources=frozenset({"lines"}), schedulers=frozenset({"daily"})
)
SUPPLIED_BULK = Operation("l", "bulk", {"param-source": "lines"})
SIZED_BULK = Operation("l", "bulk", {"param-source": "lines", "bulk-size": 500})
SIZED_RUNNER = Operation("p", "put-elser", {"bulk-size": 500})


@pytest.mark.parametrize(
    ("operation", "fields", "rate"),
    [
        (SEARCH, {}, None),
        (SEARCH, {"target_throughput": Rate(50)}, TargetRate(50.0, "ops", 50.0)),
        (SEARCH, {"target_interval": 4.0}, TargetRate(0.25, "ops", 0.25)),
        (SEARCH, {"target_throughput": Rate(4), "schedule": "poisson"}, TargetRate(4, "ops", 4.0, "poisson")),
        # Each client waits for as long as the documents of its bulk ask for.
        (BULK, {"target_throughput": Rate(1000, "docs")}, TargetRate(1000, "docs")),
        (SIZED_BULK, {"target_throughput": Rate(1000, "docs")}, TargetRate(1000, "docs")),
        # The documents of a runner are known too late.
        (SIZED_RUNNER, {"target_throughput": Rate(1000, "docs")}, TargetRate(1000, "docs", 2.0)),
        (BULK, {"target_throughput": Rate(10)}, TargetRate(10, "ops", 10.0)),
        # A plug-in determines the rate.
        (SEARCH, {"target_throughput": Rate(50), "schedule": "daily"}, None),
        # Only the plug-in knows how many documents are in a bulk.
        (SUPPLIED_BULK, {"target_throughput": Rate(1000, "docs")}, TargetRate(1000, "docs")),
    ],
)
def test_the_rate_of_a_task(operation, fields, rate):
    small_track = track(task("t", operation, **fields))
    plan = build_plan(small_track, None, SETTINGS, PlanContext(plugins=PLUGINS))
    rates = target_rates(small_track.challenge(None), plan)
    assert list(rates.values()) == ([] if rate is None else [rate])


def test_the_rate_of_a_task_whose_clients_share_a_schedule_counts_operations():
    small_track = track(task("t", BULK, target_throughput=Rate(1000, "docs"), clients=4))
    settings = replace(SETTINGS, pacing=PacingOptions(open_loop=True))
    plan = build_plan(small_track, None, settings, PlanContext())
    # Of its 250 documents, each client sends 100, 100 and 50.
    (rate,) = target_rates(small_track.challenge(None), plan).values()
    assert (rate.value, rate.unit, rate.operations) == (1000, "docs", pytest.approx(12))
