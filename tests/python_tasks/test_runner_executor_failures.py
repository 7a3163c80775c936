"""Operations in Python that fail: the class of each failure, and whether the client goes on."""

from __future__ import annotations

from python_tasks.racing import race_track, serving
from support.http_server import HttpResponse

SEARCHING = """
    async def run(es, params):
        await es.search(index="x")

    async def calling(es, params):
        from esrally.driver.runner import runner_for
        await runner_for("refresh")(es, {"index": "x"})

    def register(registry):
        registry.register_runner("run", run, async_runner=True)
        registry.register_runner("calling", calling, async_runner=True)
    """

TORN = HttpResponse(200, b"{", (("content-length", "9"), ("content-type", "application/json")), close=True)
"""A response whose connection is closed before its end."""

WAITING = {
    "operation-type": "wait-for-current-snapshots-create",
    "repository": "r",
    "retry-on-timeout": False,
}


def test_a_connection_that_breaks_is_a_reset_and_the_race_goes_on(tmp_path):
    torn = {"/_search": [TORN], "/_refresh": [TORN], "/_snapshot/": [TORN]}

    def answer(line, _body):
        for part, replies in torn.items():
            if part in line:
                return replies.pop() if replies else {"snapshots": []}
        return None

    schedule = [
        {"name": "plug-in", "operation": "run", "iterations": 3},
        {"name": "called", "operation": "calling", "iterations": 3},
        {"name": "built-in", "operation": WAITING, "iterations": 3},
    ]
    with serving(answer) as server:
        raced = race_track(tmp_path, SEARCHING, schedule, server.address)
    assert raced.record.aborted == ""
    for name in ("plug-in", "called", "built-in"):
        assert raced.reason(name).startswith("reset: "), name
        assert (raced.task(name).accounting.succeeded, raced.task(name).accounting.failed) == (2, 1), name
