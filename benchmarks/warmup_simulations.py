"""Simulates tasks with a warm-up, and counts those whose latency is marked with its backlog.

The printed tables are those of docs/measuring.md. The simulations need no engine and take about a minute. The
rule is that of crates/record/src/warmup_backlog.rs.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from simulations import print_tables, table

LOADS = (0.5, 0.7, 0.8, 0.9)
"""Shares of time for which a client is busy."""

WARMUP = 1_000
"""Operations of a warm-up."""

Numbers = Any
"""An array of numbers."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task with exponential service times on an engine that is always equally fast."""

    load: float
    """Share of time for which a client is busy."""
    measured: int
    """Measured operations of all clients."""
    clients: int = 1
    """Number of clients."""
    open_loop: bool = False
    """Whether the clients share the schedule."""
    is_even: bool = False
    """Whether the schedule is even; otherwise it is a Poisson process."""
    stall: float = 0.0
    """Mean intervals of a schedule for which the engine begins nothing at the end of the warm-up."""


def marked(task: Task, races: int, random: np.random.Generator) -> tuple[float, float]:
    """Returns the shares of races in which more than 1 % of the operations are delayed, and in which latency
    is marked.
    """
    queues, servers = (1, task.clients) if task.open_loop else (task.clients, 1)
    warmup, measured = WARMUP // queues, task.measured // queues
    shape = (races * queues, warmup + measured)
    intervals = np.ones(shape) if task.is_even else random.exponential(1.0, shape)
    service = random.exponential(task.load * servers, shape)
    due = intervals.cumsum(axis=1)
    waited = _waited(due, service, servers, (due[:, warmup] - task.stall, due[:, warmup]))[:, warmup:]
    delayed = np.where(waited.all(axis=1), measured, waited.argmin(axis=1)).reshape(races, queues).sum(axis=1)
    window = (due[:, -1] - due[:, warmup - 1]).reshape(races, queues).mean(axis=1)
    busy = service[:, warmup:].sum(axis=1).reshape(races, queues).sum(axis=1)
    load = busy / (window * task.clients)
    explained = queues * (load / np.maximum(1.0 - load, 1e-9)) ** 2
    many = delayed > 0.01 * measured * queues
    return float(many.mean()), float((many & (delayed >= 5) & (delayed > 10 * explained)).mean())


def _waited(due: Numbers, service: Numbers, servers: int, pause: tuple[Numbers, Numbers]) -> Numbers:
    """Returns which operations were due while no client was free; none begins while the engine pauses."""
    free = np.zeros((len(due), servers))
    waited = np.zeros(due.shape, bool)
    rows = np.arange(len(due))
    for number in range(due.shape[1]):
        client = free.argmin(axis=1)
        start = np.maximum(free[rows, client], due[:, number])
        waited[:, number] = free[rows, client] > due[:, number]
        start = np.where((pause[0] < start) & (start < pause[1]), pause[1], start)
        free[rows, client] = start + service[:, number]
    return waited


def _rows(options: argparse.Namespace, stall: float) -> None:
    random = np.random.default_rng(options.seed)
    rows = [("clients, schedule", "measured", *(f"load {load:.0%}" for load in LOADS))]
    kinds = (
        ("1, Poisson", Task(0, 0, stall=stall)),
        ("1, even", Task(0, 0, is_even=True, stall=stall)),
        ("8, Poisson", Task(0, 0, clients=8, stall=stall)),
        ("8, open loop", Task(0, 0, clients=8, open_loop=True, stall=stall)),
    )
    for name, kind in kinds:
        for measured in (200, 1_000):
            shares = [
                marked(
                    Task(load, measured, kind.clients, kind.open_loop, kind.is_even, stall),
                    options.experiments,
                    random,
                )
                for load in LOADS
            ]
            rows.append((name, f"{measured:,}", *(f"{many:.0%}, {mark:.1%}" for many, mark in shares)))
    table(*rows)


def false_marks(options: argparse.Namespace) -> None:
    """Prints how often an engine that is always equally fast is marked."""
    _rows(options, 0.0)


def true_marks(options: argparse.Namespace) -> None:
    """Prints how often an engine that pauses at the end of the warm-up is marked."""
    _rows(options, 100.0)


SIMULATIONS = {"false-marks": false_marks, "true-marks": true_marks}


if __name__ == "__main__":
    print_tables(SIMULATIONS, __doc__ or "", 2_000)
