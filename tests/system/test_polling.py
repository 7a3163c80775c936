"""Descriptors can be waited for whatever their numbers are."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Iterator

import pytest

from pacenote.system.polling import can_read, can_write

HIGH = 1500
"""A number that `select` does not accept."""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe with high numbers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < 2 * HIGH:
        resource.setrlimit(resource.RLIMIT_NOFILE, (2 * HIGH, hard))
    low = os.pipe()
    high = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, HIGH) for number in low]
    for number in low:
        os.close(number)
    yield high[0], high[1]
    for number in high:
        os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_descriptor_above_1023_can_be_waited_for(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    assert min(pipe) >= HIGH
    assert not can_read(reader, 0.0)
    assert can_write(writer)
    os.write(writer, b"x")
    assert can_read(reader, 10.0)
    os.set_blocking(writer, False)
    # Takes as much as there is room for.
    os.write(writer, bytes(1 << 24))
    assert not can_write(writer)
