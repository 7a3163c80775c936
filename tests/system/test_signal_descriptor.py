"""Signals are taken from a descriptor of the kernel."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from pacenote.system.signal_descriptor import SignalDescriptor, TakenSignal

NUMBERS = frozenset({signal.SIGUSR1, signal.SIGUSR2})


@pytest.fixture
def descriptor() -> Iterator[SignalDescriptor]:
    """Yields a descriptor for one of two signals that this thread blocks."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    with SignalDescriptor([signal.SIGUSR1]) as descriptor:
        yield descriptor
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def send(number: signal.Signals) -> None:
    """Sends a signal to this thread, because other threads of a test process do not block it."""
    signal.pthread_kill(threading.get_ident(), number)


def test_a_signal_is_taken_once(descriptor: SignalDescriptor) -> None:
    send(signal.SIGUSR1)
    assert descriptor.take(10) == TakenSignal(signal.SIGUSR1, is_from_kernel=False)
    assert descriptor.take(0) is None
    assert descriptor.take(0.01) is None


def test_other_signals_are_left(descriptor: SignalDescriptor) -> None:
    send(signal.SIGUSR2)
    assert descriptor.take(0) is None
    assert signal.sigwait(NUMBERS) == signal.SIGUSR2


def test_a_closed_descriptor_leaves_signals_pending(descriptor: SignalDescriptor) -> None:
    descriptor.close()
    send(signal.SIGUSR1)
    assert signal.sigwait(NUMBERS) == signal.SIGUSR1


FROM_KERNEL = """
import signal

from pacenote.system.signal_descriptor import SignalDescriptor

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
with SignalDescriptor([signal.SIGALRM]) as descriptor:
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    print(descriptor.take(10))
"""


@pytest.mark.process
def test_a_signal_of_the_kernel_is_recognized() -> None:
    output = subprocess.run([sys.executable, "-c", FROM_KERNEL], capture_output=True, text=True, timeout=60)
    assert output.stdout == f"TakenSignal(number={int(signal.SIGALRM)}, is_from_kernel=True)\n"
