"""Races that begin their first tasks together."""

import fcntl
import os

import pytest

from pacenote.errors import EngineError
from pacenote.race.start_gate import hold_gate, pass_gate


@pytest.fixture
def locked(tmp_path):
    """Opens the gate with a shared lock, as the process that starts a race does."""
    opened = []

    def opens():
        descriptor = os.open(tmp_path / "gate", os.O_RDWR | os.O_CREAT)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        opened.append(descriptor)
        return descriptor

    return opens


def shows_nothing(label, done, of):
    pass


def test_a_race_waits_until_the_other_one_is_ready(locked):
    other = locked()
    hold_gate(locked())
    polls = []

    def exit_reason():
        polls.append("waits")
        if len(polls) == 2:
            fcntl.flock(other, fcntl.LOCK_UN)

    pass_gate(exit_reason, shows_nothing)
    assert len(polls) == 2


def test_a_race_does_not_wait_for_one_that_has_ended(locked):
    other = locked()
    hold_gate(locked())
    os.close(other)
    pass_gate(None, shows_nothing)


def test_a_race_whose_engine_ends_while_it_waits_says_so(locked):
    locked()
    hold_gate(locked())
    with pytest.raises(EngineError, match="out of memory"):
        pass_gate(lambda: "out of memory", shows_nothing)


def test_a_race_that_runs_alone_does_not_wait():
    pass_gate(lambda: pytest.fail("it waits"), shows_nothing)
