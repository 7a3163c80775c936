"""What is prepared before the clock of a step starts."""

from __future__ import annotations

from python_tasks.racing import serving, start_race, stored_race

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


def test_the_first_operation_of_a_runner_does_not_wait_for_its_client(tmp_path):
    schedule = [{"name": "paced", "operation": "run", "iterations": 2, "target-throughput": 100}]
    with serving() as server, start_race(tmp_path, SLOW, schedule, server.address) as process:
        output = process.communicate(timeout=60)
    assert process.returncode == 0, output
    (task,) = stored_race(tmp_path).tasks
    assert task.accounting.succeeded == 2
    assert task.latency is not None
    assert task.latency.max_ms < SLOW_IMPORT_S * 1e3 / 2
