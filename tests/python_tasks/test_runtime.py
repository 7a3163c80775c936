"""The event loop of runners: what is prepared before a step, and tasks that end it."""

from __future__ import annotations

import pytest

from python_tasks.racing import race_track, serving, start_race

PREPARED = """
    import sys
    from pathlib import Path

    STEPS = Path(__file__).with_name("steps")

    def note(step):
        with STEPS.open("a") as file:
            file.write(f"{step}\\n")

    class Finder:
        # Notes the import of the client, which is made only once.
        def find_spec(self, name, path=None, target=None):
            if name == "pacenote.python_tasks.client":
                note("client")
            return None

    sys.meta_path.insert(0, Finder())

    class Source:
        def __init__(self, track, params, **kwargs):
            note("source")
        def partition(self, index, total):
            return self
        def params(self):
            note("params")
            return {}

    async def run(es, params):
        note(f"run {es.pacenote_cluster}")

    def register(registry):
        registry.register_param_source("source", Source)
        registry.register_runner("run", run, async_runner=True)
    """


@pytest.mark.process
def test_the_client_of_a_runner_is_made_before_the_clock_of_its_step_starts(tmp_path):
    """The clock starts when the sources of the step are built and queues are full."""
    operation = {"operation-type": "run", "param-source": "source"}
    schedule = [{"name": "paced", "operation": operation, "iterations": 2, "target-throughput": 1000}]
    with serving() as server, start_race(tmp_path, PREPARED, schedule, server.address) as process:
        output = process.communicate(timeout=60)
    assert process.returncode == 0, output
    steps = (tmp_path / "tour" / "steps").read_text().splitlines()
    assert steps == ["client", "source", "params", "run default", "params", "run default"]


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


@pytest.mark.process
def test_an_exit_in_a_task_of_a_runner_does_not_stop_other_operations(tmp_path):
    schedule = [{"operation": name, "iterations": 2} for name in ("awaited", "forgotten")]
    with serving() as server:
        raced = race_track(tmp_path, EXITING, schedule, server.address)
    assert raced.reason("awaited") == "plugin: track.py:6: SystemExit: 3"
    assert raced.task("awaited").accounting.failed == 2
    assert raced.task("forgotten").accounting.succeeded == 2
    (warning,) = [text for text in raced.warnings if "background" in text]
    assert warning.endswith("an error in the background: track.py:6: SystemExit: 3")
