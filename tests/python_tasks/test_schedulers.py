"""Schedulers with each of Rally's three interfaces, in races."""

import itertools
import time
from itertools import pairwise

import pyarrow.parquet
import pytest

from python_tasks.racing import race_track, serving

pytestmark = pytest.mark.process

SCHEDULERS = """
    SEEN = []

    def function(current):
        return current + 0.01

    class Legacy:
        def __init__(self, params, clock=None):
            self.wait = params["wait-for"]
        def next(self, current):
            return current + self.wait

    class Simple:
        def __init__(self, task, target_throughput):
            self.wait = 1 / target_throughput
        def next(self, current):
            return current + self.wait

    class Full:
        def __init__(self, task):
            self.parameter_source = None
            self.requests = 0
            assert task.operation.params["bulk-size"] == 1
        def before_request(self, now):
            self.before = now
        def after_request(self, now, weight, unit, request_meta_data):
            SEEN.append((weight, unit, request_meta_data["success"], now >= self.before))
            self.requests += 1
            self.parameter_source.size = self.requests + 1
        def next(self, current):
            return 0 if self.requests < 2 else current + 0.01

    class Ending(Legacy):
        def next(self, current):
            if current > 0.025:
                raise StopIteration()
            return super().next(current)

    class Raising(Full):
        def next(self, current):
            raise ValueError("no idea when")

    class Source:
        infinite = False
        def __init__(self, track, params, **kwargs):
            self.size, self.left = 1, 4
        def partition(self, index, total):
            return self
        def params(self):
            self.left -= 1
            if self.left < 0:
                raise StopIteration()
            lines = ['{"index":{"_index":"a"}}', "{}"] * self.size
            return {"body": lines, "bulk-size": self.size, "unit": "docs", "action-metadata-present": True}

    def growing(track, params, **kwargs):
        return {"bulk-size": 10}

    async def run(es, params):
        return params["bulk-size"], "docs"

    async def seen(es, params):
        return {str(index): weight for index, (weight, unit, success, later) in enumerate(SEEN)
                if unit == "docs" and success and later}

    def register(registry):
        for one in (function, Legacy, Simple, Full, Ending, Raising):
            registry.register_scheduler(one.__name__, one)
        registry.register_param_source("source", Source)
        registry.register_param_source("growing", growing)
        registry.register_runner("run", run, async_runner=True)
        registry.register_runner("seen", seen, async_runner=True)
    """


def ping(schedule, **more):
    return {
        "name": schedule,
        "operation": {"operation-type": "raw-request", "path": "/p"},
        "schedule": schedule,
        **more,
    }


def test_simple_schedulers_decide_when_operations_are_due(tmp_path):
    schedule = [
        ping("function", iterations=5),
        ping("Legacy", iterations=5, **{"wait-for": 0.01}),
        ping("Simple", iterations=5, **{"target-throughput": 200}, clients=2),
    ]
    with serving() as server:
        raced = race_track(tmp_path, SCHEDULERS, schedule, server.address)
    assert not any(task.errors for task in raced.record.tasks)
    for task in raced.record.tasks:
        assert task.paced
        # The first operation is due after one interval of 10 ms, the fifth after five.
        assert task.duration_s >= 0.05
    assert raced.task("Simple").accounting.operations == 10


def test_a_scheduler_may_end_its_task(tmp_path):
    with serving() as server:
        raced = race_track(
            tmp_path, SCHEDULERS, [ping("Ending", iterations=9, **{"wait-for": 0.01})], server.address
        )
    task = raced.task("Ending")
    assert (task.errors, task.accounting.operations) == ((), 3)
    assert (task.ended_by, task.accounting.unsent, task.failed_sources) == ("source", 0, 0)


OWN_UNIFORM = """
    class Three:
        def __init__(self, task, target_throughput):
            self.left = 3

        def next(self, current):
            if self.left == 0:
                raise StopIteration()
            self.left -= 1
            return current + 0.001

    def register(registry):
        registry.register_scheduler("uniform", Three)
    """


def test_a_plug_in_may_have_a_scheduler_of_the_name_uniform(tmp_path):
    task = ping("uniform", iterations=9, **{"target-throughput": 100})
    with serving() as server:
        raced = race_track(tmp_path, OWN_UNIFORM, [task], server.address)
    assert raced.task("uniform").accounting.operations == 3


@pytest.mark.parametrize("spacing", ["deterministic", "poisson", "uniform"])
def test_rates_refer_to_the_work_that_runners_report(tmp_path, spacing):
    operation = {"operation-type": "run", "param-source": "growing"}
    task = {"name": "paced", "operation": operation, "schedule": spacing, "target-throughput": "500 docs/s"}
    with serving() as server:
        raced = race_track(tmp_path, SCHEDULERS, [{**task, "iterations": 6}], server.address)
    paced = raced.task("paced")
    assert (paced.errors, paced.work.done, paced.unit, paced.paced) == ((), 60, "docs", True)
    # The first operation is sent immediately; the others follow at (mean) intervals of 20 ms.
    assert paced.duration_s >= (0.1 if spacing == "deterministic" else 0.02)


@pytest.mark.parametrize("spacing", ["poisson", "uniform"])
def test_the_seed_determines_random_intervals_whose_rate_depends_on_the_work(tmp_path, spacing):
    operation = {"operation-type": "run", "param-source": "growing"}
    task = {"name": "paced", "operation": operation, "schedule": spacing, "target-throughput": "2000 docs/s"}

    def intervals(run, seed):
        folder = tmp_path / run
        race_track(folder, SCHEDULERS, [{**task, "iterations": 4}], server.address, seed=seed)
        samples = pyarrow.parquet.read_table(folder / "home" / "races" / "r" / "samples.parquet")
        # The first operation is due when its work, which determines the rate, is known.
        due = samples.sort_by("sent_ns")["due_ns"].to_pylist()[1:]
        return [after - before for before, after in pairwise(due)]

    with serving() as server:
        first, again, other = intervals("a", 7), intervals("b", 7), intervals("c", 8)
    assert first == again
    assert first != other


@pytest.mark.parametrize("kind", ["bulk", "run"])
def test_a_full_scheduler_receives_results_and_controls_the_source(tmp_path, kind):
    operation = {"operation-type": kind, "param-source": "source", "bulk-size": 1}
    schedule = [{"name": "steered", "operation": operation, "schedule": "Full"}, {"operation": "seen"}]
    with serving() as server:
        raced = race_track(tmp_path, SCHEDULERS, schedule, server.address)
    assert raced.task("steered").errors == ()
    # Each operation is created only after the scheduler has received the result of the previous one.
    assert raced.task("steered").work.done == 1 + 2 + 3 + 4
    values = raced.task("seen").values
    assert [values[str(index)].mean for index in range(4)] == [1, 2, 3, 4]


def test_a_scheduler_that_fails_ends_only_its_task(tmp_path):
    operation = {"operation-type": "bulk", "param-source": "source", "bulk-size": 1}
    schedule = [
        {"name": "raising", "operation": operation, "schedule": "Raising"},
        ping("Simple", iterations=2),
        ping("function", iterations=1),
    ]
    with serving() as server:
        raced = race_track(tmp_path, SCHEDULERS, schedule, server.address)
    assert raced.reason("raising").endswith("failed: track.py:41: ValueError: no idea when")
    assert 'scheduler "Simple" needs a target-throughput' in raced.reason("Simple")
    assert raced.task("function").errors == ()


BACKLOGS = """
    import itertools

    CALLS = itertools.count()

    def bursts(current):
        return current + (0 if next(CALLS) % 5 else 0.05)

    def backwards(current):
        return current + 0.01 if current < 0.04 else 0.02

    def backwards_once(current):
        return 0.02 if current == 0.03 else 0.03 if not current else current + 0.02

    def every_10_ms(current):
        return current + 0.01

    def at_once(current):
        return 0

    def endless(current):
        return 0.001

    def fast(current):
        return current + 1e-9

    def register(registry):
        for one in (every_10_ms, at_once, bursts, backwards, backwards_once, endless, fast):
            registry.register_scheduler(one.__name__, one)
    """


def slow_requests(line, _body):
    if line.startswith("GET /p"):
        time.sleep(0.03)
    elif line.startswith("GET /other"):
        time.sleep(0.15)


def test_what_was_due_and_did_not_begin_is_unsent_however_the_task_ends(tmp_path):
    other = {"name": "other", "operation": {"operation-type": "raw-request", "path": "/other"}}
    completed = {"tasks": [ping("every_10_ms", **{"time-period": 60}), other], "completed-by": "other"}
    schedule = [
        {**ping("every_10_ms", **{"time-period": 0.15}), "name": "time"},
        {"parallel": completed},
        ping("at_once", **{"time-period": 0.05}),
        ping("bursts", **{"time-period": 0.15}),
    ]
    with serving(slow_requests) as server:
        raced = race_track(tmp_path, BACKLOGS, schedule, server.address)
    assert not any(task.errors for task in raced.record.tasks)
    for name in ("time", "every_10_ms"):
        accounting = raced.task(name).accounting
        # One each 10 ms, of which the engine keeps one each 30 ms.
        assert accounting.unsent > accounting.operations
        findings = raced.record.verdict.findings
        assert any(name in finding.tasks and "were not sent" in finding.text for finding in findings)
    planned = raced.task("time").accounting.operations + raced.task("time").accounting.unsent
    assert planned == 14
    assert raced.task("at_once").accounting.unsent == 0
    bursts = raced.task("bursts").accounting
    assert bursts.unsent > 0
    assert bursts.operations + bursts.unsent == 10
    assert not any(task.unsent_is_least for task in raced.record.tasks)


def test_more_operations_are_unsent_than_a_scheduler_could_be_asked_for(tmp_path):
    schedule = [ping(name, **{"time-period": 0.05}) for name in ("fast", "endless", "backwards")]
    with serving(slow_requests) as server:
        raced = race_track(tmp_path, BACKLOGS, schedule, server.address)
    for name in ("fast", "endless"):
        assert 1000 < raced.task(name).accounting.unsent <= 100_000
    assert all(task.unsent_is_least for task in raced.record.tasks)


def test_a_scheduler_that_goes_back_in_time_makes_the_unsent_operations_unknown(tmp_path):
    timed = {**ping("backwards_once", **{"time-period": 0.12}), "name": "timed"}
    counted = {**ping("backwards_once", iterations=4), "name": "counted"}
    with serving(slow_requests) as server:
        raced = race_track(tmp_path, BACKLOGS, [timed, counted], server.address)
    assert raced.task("timed").unsent_is_least
    # All of its operations were sent.
    assert not raced.task("counted").unsent_is_least


def test_unsent_operations_that_were_due_in_the_warm_up_are_not_measured_ones(tmp_path):
    requests = itertools.count()

    def hold_the_first(line, _body):
        if line.startswith("GET /p") and next(requests) == 0:
            time.sleep(0.7)

    task = ping("every_10_ms", **{"clients": 3, "warmup-time-period": 0.15, "time-period": 0.4})
    with serving(hold_the_first) as server:
        raced = race_track(tmp_path, BACKLOGS, [task], server.address)
    result = raced.task("every_10_ms")
    # One of three clients sends only its first operation: 13 of its warm-up and 40 measured ones are unsent.
    assert result.accounting.unsent >= 53
    median = next(percentile for percentile in result.latency_with_failures if percentile.q == 50)
    # Of the 120 measured operations, 80 have a latency.
    assert median.ms is not None


SLOW_SCHEDULER = """
    import time

    def slow(current):
        time.sleep(0.02)
        return current + 0.01

    def early(current):
        time.sleep(0.01)
        return current + 0.05

    def register(registry):
        registry.register_scheduler("slow", slow)
        registry.register_scheduler("early", early)
    """


def test_a_slow_scheduler_is_named_as_the_cause_of_late_and_unsent_operations(tmp_path):
    ping = {"operation-type": "raw-request", "path": "/p"}
    schedule = [
        {"name": "slow", "operation": ping, "schedule": "slow", "time-period": 0.1},
        {"name": "early", "operation": ping, "schedule": "early", "iterations": 3},
    ]
    with serving() as server:
        raced = race_track(tmp_path, SLOW_SCHEDULER, schedule, server.address)
    slow, early = raced.task("slow"), raced.task("early")
    # The first operation is due 10 ms after the start, and known after 20 ms; the second waits 20 ms.
    assert slow.scheduler_delay_s >= 0.019
    assert early.scheduler_delay_s < slow.scheduler_delay_s
    reasons = [reason for reason in raced.record.verdict.reasons if reason.startswith("slow: ")]
    assert any("were not sent: the track's Python code was too slow" in reason for reason in reasons)
    assert not any("saturated" in reason for reason in reasons)
