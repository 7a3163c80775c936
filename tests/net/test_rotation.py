"""The order in which requests of control traffic try the hosts."""

from __future__ import annotations

from pacenote.net.hosts import HttpHost
from pacenote.net.rotation import HostRotation

A, B, C = (HttpHost("http", name, 9200) for name in "abc")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def first(rotation: HostRotation, number: int) -> str:
    return "".join(next(rotation.candidates()).host for _ in range(number))


def test_requests_begin_with_the_hosts_in_turn_and_try_all_of_them() -> None:
    rotation = HostRotation((A, B, C), Clock())
    assert [list(rotation.candidates()) for _ in range(4)] == [[A, B, C], [B, C, A], [C, A, B], [A, B, C]]


def test_a_host_that_failed_is_tried_last_until_its_time_has_passed() -> None:
    clock = Clock()
    rotation = HostRotation((A, B, C), clock)
    rotation.failed(B)
    assert first(rotation, 4) == "acac"
    assert list(rotation.candidates())[-1] == B
    clock.now = 1.0
    assert "b" in first(rotation, 3)


def test_each_failure_in_a_row_doubles_the_time_up_to_thirty_seconds() -> None:
    clock = Clock()
    rotation = HostRotation((A, B), clock)
    for seconds in (1, 2, 4, 8, 16, 30, 30):
        rotation.failed(A)
        clock.now += seconds - 0.01
        assert first(rotation, 3) == "bbb"
        clock.now += 0.01
        assert "a" in first(rotation, 2)
    rotation.responded(A)
    rotation.failed(A)
    clock.now += 1.0
    assert "a" in first(rotation, 2)


def test_if_all_hosts_failed_the_one_whose_time_ends_first_is_tried_first() -> None:
    clock = Clock()
    rotation = HostRotation((A, B, C), clock)
    for host in (C, A, B):
        rotation.failed(host)
        clock.now += 0.1
    assert list(rotation.candidates()) == [C, A, B]
