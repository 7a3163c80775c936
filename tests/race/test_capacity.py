"""What a race needs of the machine is known before it begins."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import DriverError
from pacenote.model.work import (
    ActionInFile,
    BulkFile,
    BulkWork,
    CallSequence,
    Composite,
    IngestShare,
    OperationStream,
    PythonRunner,
    Request,
    SubOperation,
)
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
from pacenote.race.capacity import check_capacity, required_open_files
from pacenote.race.drive import drive
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
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 384))
from pacenote.errors import DriverError
from pacenote.race.capacity import check_capacity
from race.test_capacity import plan
check_capacity(plan(100, 1), (1,))
try:
    check_capacity(plan(100, 1, 2, 3), (3,))
except DriverError as error:
    print(error.message, "|", error.hint)
"""


@pytest.mark.process
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
    assert message.endswith("but the system allows 384"), ran
    assert hint.endswith("; or use fewer clients\n")
    said = int(message.removeprefix("the race needs ").partition(" ")[0].replace(",", ""))
    assert number <= said < number + 64
    assert f"ulimit -n {said}" in hint


def machine(root: Path, ports: str = "32768 60999", free_kilobytes: int = 1 << 30) -> Path:
    """Writes what the kernel reports about a machine."""
    range_file = root / "proc/sys/net/ipv4/ip_local_port_range"
    range_file.parent.mkdir(parents=True)
    range_file.write_text(ports)
    (root / "proc/meminfo").write_text(f"MemAvailable: {free_kilobytes} kB\n")
    return root


def test_too_few_local_ports_are_an_error_with_the_number_needed(tmp_path: Path) -> None:
    root = machine(tmp_path, "40000 40999")
    check_capacity(plan(1_000, 1), (1,), root)
    # Each host has its own ports, unless all are reached through the same address.
    check_capacity(plan(1_000, 1, 2), (2,), root)
    for too_many, hosts in [(plan(1_001, 1), 1), (plan(501, 1, 1), 2)]:
        with pytest.raises(DriverError) as caught:
            check_capacity(too_many, (hosts,), root)
        number = 1_001 if hosts == 1 else 1_002
        assert caught.value.message == (
            f"the race needs {number:,} local ports for connections to one address, but the system has 1,000"
        )
        assert "net.ipv4.ip_local_port_range" in str(caught.value.hint)
    with pytest.raises(DriverError, match="1,002 local ports"):
        check_capacity(plan(501, 1, work=PythonRunner()), (1,), root)


def test_too_little_memory_is_an_error_with_the_amount_needed(tmp_path: Path) -> None:
    root = machine(tmp_path, free_kilobytes=24 * 100)
    check_capacity(plan(100, 1), (1,), root)
    with pytest.raises(DriverError) as caught:
        check_capacity(plan(101, 1), (1,), root)
    assert caught.value.message.startswith("the race needs 2.")
    assert "of memory for its clients, but only 2." in caught.value.message


def test_each_client_needs_memory_for_a_bulk(tmp_path: Path) -> None:
    data = tmp_path / "docs.json"
    data.write_text("x" * 100_000)
    root = machine(tmp_path / "root", free_kilobytes=24 * 100 + 100)

    def bulks(size: int) -> BulkWork:
        file = BulkFile(str(data), documents=1_000, action=ActionInFile())
        return BulkWork("/_bulk", (), (file,), size, IngestShare(1.0), False, None, 0, None)

    # A document has 100 bytes, and each client has 10 of them.
    check_capacity(plan(100, 1, work=bulks(5_000)), (1,), root)
    with pytest.raises(DriverError, match="of memory for its clients"):
        check_capacity(plan(102, 1, work=bulks(5_000)), (1,), root)
    check_capacity(plan(102, 1, work=bulks(1)), (1,), root)


def test_everything_that_is_missing_is_one_line(tmp_path: Path) -> None:
    root = machine(tmp_path, free_kilobytes=400 << 10)
    with pytest.raises(DriverError) as caught:
        check_capacity(plan(30_000, 1), (1,), root)
    message = caught.value.message
    assert "30,000 local ports for connections to one address, but the system has 28,232" in message
    assert message.endswith("703.1 MiB of memory for its clients, but only 400.0 MiB is free")
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert ("open files" in message) == (0 <= allowed < 30_000)
    assert "\n" not in message


def test_a_system_that_reports_no_limits_is_not_checked(tmp_path: Path) -> None:
    check_capacity(plan(150, 1), (1,), tmp_path)
