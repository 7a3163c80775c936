"""Code of plug-ins that disturbs other operations, or the event loop on which all runners are executed."""

from __future__ import annotations

import pytest

from pacenote.python_tasks.delays import ReplyWaits
from python_tasks.racing import race_track, serving

pytestmark = pytest.mark.process

DISTURBING = """
    import asyncio
    import time

    started = []

    class Slow:
        infinite = True

        def __init__(self, track, params, **kwargs):
            pass

        def partition(self, index, total):
            return self

        def params(self):
            time.sleep(0.01)
            return {}

    class Fast(Slow):
        def params(self):
            return {}

    class Unsplit(Fast):
        def partition(self, index, total):
            return None

    async def ask(es, params):
        await es.info()

    async def compute(es, params):
        await es.info()
        time.sleep(0.002)

    async def flood(es):
        while True:
            await es.perform_request("GET", "/flood", headers={})

    async def start_flood(es, params):
        if not started:
            started.append(asyncio.ensure_future(flood(es)))
        await es.info()
        await asyncio.sleep(0.01)

    async def cancel(es, params):
        await es.info()
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    async def cancel_all(es, params):
        await es.info()
        for task in asyncio.all_tasks():
            task.cancel()
        await asyncio.sleep(0)

    async def stop(es, params):
        await es.info()
        asyncio.get_running_loop().stop()
        await es.info()

    async def remove_reader(es, params):
        loop = asyncio.get_running_loop()
        for key in list(loop._selector.get_map().values()):
            if key.fd != loop._ssock.fileno():
                loop.remove_reader(key.fd)
        await es.info()

    async def gather(es, params):
        await asyncio.gather(*(compute(es, params) for _ in range(3)))

    async def list_ids(es, params):
        await es.info()
        return {"ids": ["https://user@host/?" + str(number) for number in range(1000)]}

    def register(registry):
        for runner in (ask, list_ids, compute, gather, start_flood, cancel, cancel_all, stop, remove_reader):
            registry.register_runner(runner.__name__, runner, async_runner=True)
        for source in (Slow, Fast, Unsplit):
            registry.register_param_source(source.__name__, source)

        def broken(value):
            return lambda current: value

        registry.register_scheduler("nan", broken(float("nan")))
        registry.register_scheduler("huge", broken(1e300))
        registry.register_scheduler("nothing", broken(None))
    """


def test_a_runner_that_waits_for_its_source_has_underruns(tmp_path):
    schedule = [
        {"name": source, "operation": {"operation-type": "ask", "param-source": source}, "iterations": 4}
        for source in ("Slow", "Fast")
    ]
    with serving() as server:
        raced = race_track(tmp_path, DISTURBING, schedule, server.address)
    slow, fast = raced.task("Slow"), raced.task("Fast")
    # The first operation is supplied before the task begins.
    assert 0 < slow.underruns <= 3
    assert slow.underrun_s > 0.005
    assert fast.underrun_s < slow.underrun_s
    assert any(reason.startswith("Slow: clients waited") for reason in raced.record.verdict.reasons)


def test_computing_runners_delay_the_operations_of_other_clients(tmp_path):
    schedule = [{"name": "t", "operation": "compute", "clients": 4, "iterations": 26}]
    with serving() as server:
        raced = race_track(tmp_path, DISTURBING, schedule, server.address)
    delay = raced.task("t").python_delay
    assert delay is not None
    assert delay.operations == 104
    # Each operation waits for the code of the three others.
    assert delay.mean_ms > 1
    assert any("waited" in reason for reason in raced.record.verdict.reasons)


def test_work_on_what_a_runner_returned_is_the_drivers_own(tmp_path):
    schedule = [{"name": name, "operation": name, "iterations": 5} for name in ("list_ids", "ask")]
    schedule[0] |= {"iterations": 4, "warmup-iterations": 1}
    with serving() as server:
        raced = race_track(tmp_path, DISTURBING, schedule, server.address)
    long, short = (raced.task(name).driver_time for name in ("list_ids", "ask"))
    assert long is not None
    assert short is not None
    assert (long.operations, short.operations) == (4, 5)
    assert long.mean_ms > short.mean_ms > 0.0
    processing, service = raced.task("list_ids").processing_time, raced.task("list_ids").service_time
    assert processing is not None
    assert service is not None
    assert (long.service_ms, long.share) == (service.mean_ms, long.mean_ms / service.mean_ms)
    # The client waits for this work.
    assert processing.mean_ms - service.mean_ms > long.mean_ms


def test_an_operation_does_not_wait_for_its_own_code(tmp_path):
    schedule = [
        {"name": "alone", "operation": "gather", "iterations": 3},
        {"name": "together", "operation": "gather", "clients": 2, "iterations": 2},
    ]
    with serving() as server:
        raced = race_track(tmp_path, DISTURBING, schedule, server.address)
    alone, together = raced.task("alone").python_delay, raced.task("together").python_delay
    assert alone is not None
    assert together is not None
    assert (alone.operations, alone.mean_ms) == (3, 0.0)
    assert together.mean_ms > 0.0


def test_waits_of_replies_that_overlap_count_once():
    waits = ReplyWaits()
    for from_s, until_s in ((1.0, 2.0), (1.5, 3.0), (2.0, 2.5), (4.0, 4.5)):
        waits.add(from_s, until_s)
    assert waits.total_s == 2.5


def test_requests_outside_operations_are_counted_and_end_with_their_step(tmp_path):
    schedule = [
        {
            "parallel": {
                "tasks": [
                    {"name": "a", "operation": "start_flood", "iterations": 1},
                    {"name": "b", "operation": {"operation-type": "sleep", "duration": 0.1}},
                ]
            }
        },
        {"name": "c", "operation": {"operation-type": "sleep", "duration": 0.1}},
        {"name": "d", "operation": "ask", "iterations": 1},
    ]
    with serving() as server:
        raced = race_track(tmp_path, DISTURBING, schedule, server.address)
        floods = len(server.lines("GET /flood"))
    outside = raced.record.driver["outside_requests"]
    assert isinstance(outside, list)
    counted = sum(step["requests"] for step in outside)
    inside = sum(task.accounting.requests for task in raced.record.tasks if task.task == "a")
    assert 0 < counted <= floods
    assert counted + inside >= floods
    # It ended with its step, so at most a few were sent before Python knew that the next step had begun.
    assert outside[0]["requests"] > sum(step["requests"] for step in outside[1:])
    assert raced.record.verdict.state == "suspect"


def test_code_that_disturbs_the_event_loop_does_not_stop_the_race(tmp_path):
    names = ("cancel", "cancel_all", "stop", "ask")
    schedule = [{"name": name, "operation": name, "iterations": 2} for name in names]
    with serving() as server:
        raced = race_track(tmp_path, DISTURBING, schedule, server.address)
    for name, line in (("cancel", 48), ("cancel_all", 54)):
        assert raced.task(name).accounting.failed == 2
        assert raced.reason(name) == f"plugin: track.py:{line}: CancelledError"
    assert raced.task("stop").accounting.succeeded == 2
    assert raced.task("ask").accounting.succeeded == 2


def test_a_reader_that_was_removed_is_added_again(tmp_path):
    schedule = [{"name": "t", "operation": "remove_reader", "iterations": 1}]
    with serving() as server:
        raced = race_track(tmp_path, DISTURBING, schedule, server.address)
    assert raced.task("t").accounting.succeeded == 1


def test_messages_name_the_function_that_returned_a_wrong_value(tmp_path):
    ping = {"operation-type": "raw-request", "path": "/p"}
    schedule = [
        {"name": name, "operation": ping, "schedule": name, "iterations": 1}
        for name in ("nan", "huge", "nothing")
    ]
    schedule.append({"name": "part", "operation": {"operation-type": "ask", "param-source": "Unsplit"}})
    with serving() as server:
        raced = race_track(tmp_path, DISTURBING, schedule, server.address)
    for name, value in (
        ("nan", "a value of type float (NaN)"),
        ("huge", "a value of type float (1e+300)"),
        ("nothing", "nothing"),
    ):
        assert raced.reason(name) == (
            f'plugin: scheduler "{name}" returned {value} from next(), but must return the seconds from the '
            "start of the task to the next operation"
        )
    assert raced.reason("part") == (
        'plugin: parameter source "Unsplit" returned nothing from partition(), but must return a source with '
        "params()"
    )
