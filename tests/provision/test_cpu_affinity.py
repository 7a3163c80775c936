"""CPUs of nodes and the driver: checked, compared, and applied to all threads."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator

import pytest

from pacenote.errors import UsageError
from pacenote.model.node_options import NodeOptions
from pacenote.provision import cpu_affinity
from pacenote.provision.cpu_affinity import check_cpus, on_cpus, overlap_warnings, usable_cpus


@pytest.fixture
def other_thread() -> Iterator[int]:
    """The id of another thread of this process."""
    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: (ready.set(), done.wait()))
    thread.start()
    ready.wait()
    assert thread.native_id is not None
    yield thread.native_id
    done.set()
    thread.join()


def test_all_threads_use_the_cpus_until_the_end(other_thread: int) -> None:
    before = usable_cpus()
    cpu = min(before)
    seen: list[set[int]] = []
    with on_cpus((cpu,)):
        assert os.sched_getaffinity(0) == os.sched_getaffinity(other_thread) == {cpu}
        later = threading.Thread(target=lambda: seen.append(os.sched_getaffinity(0)))
        later.start()
        later.join()
    assert seen == [{cpu}]
    assert os.sched_getaffinity(0) == os.sched_getaffinity(other_thread) == before


def test_without_cpus_nothing_changes() -> None:
    before = usable_cpus()
    with on_cpus(()):
        assert usable_cpus() == before


def test_cpus_that_may_not_be_used_are_rejected() -> None:
    check_cpus(usable_cpus(), "--node-cpus")
    with pytest.raises(
        UsageError, match="--driver-cpus: CPUs 8190-8191 do not exist or may not be used here"
    ):
        check_cpus((min(usable_cpus()), 8190, 8191), "--driver-cpus")


@pytest.mark.parametrize(
    ("nodes", "driver", "expected"),
    [
        ((), (), None),
        (((0,), (1,)), (2, 3), None),
        (((0, 1),), (), "share CPU 0-1, .* --driver-cpus=2-3 separates them"),
        ((), (0,), "share CPU 0, .* --node-cpus=1-3 separates them"),
        (((0, 1), (2, 3)), (3,), "share CPU 3, so each slows the other down$"),
    ],
)
def test_shared_cpus_are_warned_about(
    nodes: tuple[tuple[int, ...], ...],
    driver: tuple[int, ...],
    expected: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cpu_affinity, "usable_cpus", lambda: frozenset(range(4)))
    warnings = overlap_warnings(NodeOptions(cpus=nodes), driver)
    if expected is None:
        assert warnings == ()
    else:
        (warning,) = warnings
        assert re.search(expected, warning)
