"""The event loop of runners: what is prepared before a step, and tasks that end it."""

from __future__ import annotations

import pytest

from python_tasks.racing import race_track, serving, start_race, stored_race

SLOW_IMPORT_S = 1.0

SLOW = f"""
    import sys
    import time

    class Slow:
        # Makes the import of the client slow, whatever the machine.
        def find_spec(self, name, path=None, target=None):
            if name == "elasticsearch":
                time.sleep({SLOW_IMPORT_S})
            return None

    sys.meta_path.insert(0, Slow())

    async def run(es, params):
        await es.search(index="x")

    def register(registry):
        registry.register_runner("run", run, async_runner=True)
    """


@pytest.mark.process
def test_the_first_operation_of_a_runner_does_not_wait_for_its_client(tmp_path):
    schedule = [{"name": "paced", "operation": "run", "iterations": 2, "target-throughput": 100}]
    with serving() as server, start_race(tmp_path, SLOW, schedule, server.address) as process:
        output = process.communicate(timeout=60)
    assert process.returncode == 0, output
    (task,) = stored_race(tmp_path).tasks
    assert task.accounting.succeeded == 2
    assert task.latency is not None
    assert task.latency.max_ms < SLOW_IMPORT_S * 1e3 / 2


EXITING = """
    import asyncio
    import sys

    async def ending():
        sys.exit(3)

    async def awaited(es, params):
        await asyncio.gather(ending(), es.info())

    async def forgotten(es, params):
        task = asyncio.create_task(ending())
        await es.info()

    def register(registry):
        registry.register_runner("awaited", awaited, async_runner=True)
        registry.register_runner("forgotten", forgotten, async_runner=True)
    """


def test_an_exit_in_a_task_of_a_runner_does_not_stop_other_operations(tmp_path):
    schedule = [{"operation": name, "iterations": 2} for name in ("awaited", "forgotten")]
    with serving() as server:
        raced = race_track(tmp_path, EXITING, schedule, server.address)
    assert raced.reason("awaited") == "plugin: track.py:6: SystemExit: 3"
    assert raced.task("awaited").accounting.failed == 2
    assert raced.task("forgotten").accounting.succeeded == 2
    (warning,) = [text for text in raced.warnings if "background" in text]
    assert warning.endswith("an error in the background: track.py:6: SystemExit: 3")
