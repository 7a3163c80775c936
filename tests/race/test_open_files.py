"""The number of open files that a race needs is known before it begins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pacenote.model.work import CallSequence, Composite, OperationStream, PythonRunner, Request, SubOperation
from pacenote.plan.document import (
    ClientAllocation,
    Deterministic,
    DriverSettings,
    Iterations,
    OnError,
    Plan,
    PlannedTask,
    Step,
    Target,
    TargetHost,
    TaskAllocation,
    TaskPacing,
    TaskWork,
    Unpaced,
)
from pacenote.race.drive import drive
from pacenote.race.open_files import required_open_files
from pacenote.store.race_folder import RaceFolder
from support.http_server import HttpRequest, HttpResponse, http_server

UNPACED = Unpaced()
SEARCH = CallSequence((Request("GET", "/"),))


def plan(
    clients: int, *ports: int, work: TaskWork = SEARCH, pacing: TaskPacing = UNPACED, steps: int = 1
) -> Plan:
    task = PlannedTask(
        name="task",
        operation="op",
        operation_type="raw-request",
        clients=clients,
        pacing=pacing,
        bound=Iterations(0, 3),
        ramp_up_s=0.0,
        unit="ops",
        tolerates_errors=False,
        work=work,
    )
    allocations = tuple(ClientAllocation(client, (TaskAllocation(0, client),)) for client in range(clients))
    target = Target(tuple(TargetHost("http", "127.0.0.1", port) for port in ports), (), 5_000)
    return Plan(
        "r",
        1,
        target,
        DriverSettings(2, OnError.CONTINUE),
        (task,),
        (Step("task", allocations, None),) * steps,
    )


def needed(clients: int, hosts: tuple[int, ...] = (1,), **changes: Any) -> int:
    return required_open_files(plan(clients, **changes), hosts)


def test_connections_and_timers_of_clients_are_counted() -> None:
    none = needed(0)
    assert needed(1_000) - none == 1_000
    assert needed(1_000, steps=3) == needed(1_000)
    assert needed(1_000, (3, 2)) - none == 3_000
    assert needed(1_000, pacing=Deterministic(1.0)) - none == 2_000
    # A worker and the thread for runners have separate connections.
    assert needed(10, (3, 2), work=PythonRunner()) - none == 10 * 3 + 10 * (3 + 2)


@pytest.mark.parametrize(("max_connections", "at_once"), [(None, 3), (2, 2)])
def test_concurrent_requests_of_a_composite_operation_are_counted(
    max_connections: int | None, at_once: int
) -> None:
    operation = SubOperation("s", "search", SEARCH.calls)
    streams = (OperationStream((operation, operation)),) * 3
    composite = Composite((operation, *streams, operation, *streams[:2]), max_connections)
    work = CallSequence((composite,))
    assert needed(100, (2,), work=work) - needed(0) == 100 * 2 * at_once


def test_a_race_does_not_open_more_files_than_it_says(tmp_path: Path) -> None:
    most = 0

    def respond(_: HttpRequest) -> HttpResponse:
        nonlocal most
        # The sockets of this server are open in the same process.
        most = max(most, sum(1 for _ in Path("/proc/self/fd").iterdir()))
        return HttpResponse(body=b"{}")

    with http_server(respond) as first, http_server(respond) as second:
        before = sum(1 for _ in Path("/proc/self/fd").iterdir())
        paced = plan(30, first.port, second.port, pacing=Deterministic(0.002))
        driven = drive(paced.to_json(), RaceFolder(tmp_path), None, Listener())
    assert driven.completed
    of_server = 2 * 30
    opened = most - before - of_server
    assert 2 * 30 < opened <= required_open_files(paced, (2,))


class Listener:
    """Ignores all calls."""

    def __getattr__(self, _: str) -> Any:
        return lambda *_: None


_UNDER_LIMIT = """
import resource, sys
# The soft limit does not matter: the driver raises it.
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 256))
from pacenote.errors import DriverError
from pacenote.race.open_files import check_open_files
from race.test_open_files import plan
check_open_files(plan(100, 1), (1,))
try:
    check_open_files(plan(100, 1, 2, 3), (3,))
except DriverError as error:
    print(error.message, "|", error.hint)
"""


def test_a_limit_that_is_too_small_is_an_error_with_the_number_needed() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _UNDER_LIMIT],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    number = 300 + needed(0)
    message, _, hint = ran.stdout.partition(" | ")
    assert message.endswith("but the system allows 256"), ran
    said = int(message.removeprefix("the race needs ").partition(" ")[0].replace(",", ""))
    assert number <= said < number + 32
    assert f"ulimit -n {said}" in hint
