"""Simulates tasks with a warm-up, and counts those whose latency is marked with its backlog.

The printed tables are those of docs/measuring.md. The simulations need no engine and take some minutes. The
rule is that of crates/record/src/warmup_backlog.rs.
"""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from simulations import Rows, print_tables

LOADS = (0.5, 0.7, 0.8, 0.9)
"""Shares of time for which a client is busy."""

BURN_IN = 1_000
"""Operations of each queue before those that are stored: its length then does not depend on its begin."""

TAIL = 200
"""Last operations of the warm-up of each queue; they contain its stall."""

QUANTILES = (0.5, 0.9, 0.99)
"""Quantiles on which delayed operations may have an effect."""

Numbers = Any
"""An array of numbers."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task on an engine that is always equally fast, except for a stall at the end of the warm-up."""

    clients: int = 1
    """Number of clients."""
    schedule: str = "Poisson"
    """`even`, or a Poisson process: `Poisson` for each client, or `open loop` for all."""
    variation: float = 1.0
    """Coefficient of variation of the service times: 1 for exponential, otherwise lognormal ones."""
    load: float = 0.0
    """Share of time for which a client is busy."""
    measured: int = 0
    """Measured operations of all clients."""

    @property
    def queues(self) -> int:
        """Number of queues: one of each client or, in an open loop, one."""
        return 1 if self.schedule == "open loop" else self.clients

    @property
    def servers(self) -> int:
        """Number of clients of each queue."""
        return self.clients // self.queues

    @property
    def each(self) -> int:
        """Measured operations of each queue."""
        return self.measured // self.queues

    def intervals(self, shape: tuple[int, ...], random: np.random.Generator) -> Numbers:
        """Returns times between operations of a queue, with a mean of 1."""
        return np.ones(shape) if self.schedule == "even" else random.exponential(1.0, shape)

    def service(self, shape: tuple[int, ...], random: np.random.Generator) -> Numbers:
        """Returns service times in mean intervals of a queue."""
        mean = self.load * self.servers
        if self.variation == 1.0:
            return random.exponential(mean, shape)
        sigma = np.sqrt(np.log(1 + self.variation**2))
        return random.lognormal(np.log(mean) - sigma**2 / 2, sigma, shape)


@dataclass(frozen=True, slots=True)
class Races:
    """The measured operations of races: one row for each race."""

    latency: Numbers
    """Latency in mean intervals of a queue."""
    waited: Numbers
    """Which were due before a client was free."""
    delayed: Numbers
    """Which the warm-up delayed."""
    load: Numbers
    """Share of the window for which the clients were busy."""


def _warmed_up(task: Task, rows: int, random: np.random.Generator) -> Numbers:
    """Returns when the clients of queues are free, after many operations; the next interval begins at 0."""
    free = np.zeros((rows, task.servers))
    all_rows = np.arange(rows)
    for _ in range(BURN_IN):
        due = task.intervals((rows,), random)
        free -= due[:, None]
        client = free.argmin(axis=1)
        free[all_rows, client] = np.maximum(free[all_rows, client], 0.0) + task.service((rows,), random)
    return free


def simulate(task: Task, stalls: tuple[float, ...], races: int, random: np.random.Generator) -> list[Races]:
    """Returns the same races, in which the engine begins nothing for these mean intervals of all clients
    together before the warm-up ends.
    """
    rows, count = races * task.queues, TAIL + task.each
    free = _warmed_up(task, rows, random)
    due = task.intervals((rows, count), random).cumsum(axis=1)
    service = task.service((rows, count), random)
    begin = due[:, TAIL]
    busy = service[:, TAIL:].sum(axis=1).reshape(races, -1).sum(axis=1)
    window = (due[:, -1] - due[:, TAIL - 1]).reshape(races, -1).mean(axis=1)
    every = []
    for stall in stalls:
        latency, waited = _run(due, service, free.copy(), (begin - stall / task.queues, begin))
        latency, waited = latency[:, TAIL:], waited[:, TAIL:]
        first = np.where(waited.all(axis=1), task.each, waited.argmin(axis=1))
        delayed = np.arange(task.each) < first[:, None]
        latency, waited, delayed = (values.reshape(races, -1) for values in (latency, waited, delayed))
        every.append(Races(latency, waited, delayed, busy / (window * task.clients)))
    return every


def _run(due: Numbers, service: Numbers, free: Numbers, stall: tuple[Numbers, Numbers]) -> tuple[Any, Any]:
    """Returns the latencies, and which operations were due while no client was free."""
    latency, waited = np.zeros(due.shape), np.zeros(due.shape, bool)
    rows = np.arange(len(due))
    for number in range(due.shape[1]):
        client = free.argmin(axis=1)
        waited[:, number] = free[rows, client] > due[:, number]
        start = np.maximum(free[rows, client], due[:, number])
        start = np.where((stall[0] < start) & (start < stall[1]), stall[1], start)
        free[rows, client] = start + service[:, number]
        latency[:, number] = free[rows, client] - due[:, number]
    return latency, waited


def _figures(latency: Numbers, chosen: Numbers) -> Numbers:
    """Returns the quantiles and the mean of the chosen latencies of each race."""
    count = chosen.sum(axis=1)
    ordered = np.sort(np.where(chosen, latency, np.inf), axis=1)
    ranks = [np.clip(np.ceil(q * count).astype(int) - 1, 0, None) for q in QUANTILES]
    quantiles = [ordered[np.arange(len(latency)), rank] for rank in ranks]
    return np.array([*quantiles, np.where(chosen, latency, 0.0).sum(axis=1) / np.maximum(count, 1)])


def judge(task: Task, races: Races) -> tuple[Numbers, Numbers]:
    """Returns in which races more than 1 % of the operations are delayed, and in which latency is marked."""
    others = ~races.delayed
    count, measured = races.delayed.sum(axis=1), races.latency.shape[1]
    all_figures = _figures(races.latency, np.ones_like(others))
    of_others, of_delayed = _figures(races.latency, others), _figures(races.latency, races.delayed)
    has_effect = (all_figures > 1.1 * of_others).any(axis=0)
    longest = [np.where(chosen, races.latency, 0.0).max(axis=1) for chosen in (races.delayed, others)]
    shares = (races.waited & others).sum(axis=1) / np.maximum(others.sum(axis=1), 1)
    busy = np.minimum(races.load, shares)
    explained = task.queues * (busy / np.maximum(1 - busy, 1e-9)) ** 2
    are_unlike = (of_delayed[0] > of_others[2]) | (longest[0] > 1.5 * longest[1]) | (count > 10 * explained)
    many = count > 0.01 * measured
    is_marked = ~others.any(axis=1) | (has_effect & are_unlike)
    return many, many & (count >= 5) & is_marked


def raised(slow: Races, usual: Races) -> Numbers:
    """Returns in which races a figure of latency is more than 10 % higher than in usual ones."""
    figures = [_figures(races.latency, np.ones_like(races.delayed)) for races in (slow, usual)]
    return (figures[0] > 1.1 * figures[1]).any(axis=0)


KINDS = (
    *(Task(clients) for clients in (1, 8, 32)),
    *(Task(clients, "even") for clients in (1, 8, 32)),
    *(Task(clients, "even", 0.3) for clients in (1, 8, 32)),
    *(Task(clients, "open loop") for clients in (8, 32)),
)
"""The tasks of the tables."""


def _rows(options: argparse.Namespace, stall: float) -> Rows:
    random = np.random.default_rng(options.seed)
    rows = [("clients, schedule", "measured", *(f"load {100 * load:.0f} %" for load in LOADS))]
    for kind in KINDS:
        regular = "" if kind.variation == 1.0 else ", regular"
        for measured in (200, 1_000):
            cells = []
            for load in LOADS:
                task = dataclasses.replace(kind, load=load, measured=measured)
                every = simulate(task, (stall, 0.0)[: 2 if stall else 1], options.experiments, random)
                many, marked = judge(task, every[0])
                shown = raised(*every) if stall else many
                cells.append(f"{100 * marked.mean():.0f} % ({100 * shown.mean():.0f} %)")
            rows.append((f"{kind.clients}, {kind.schedule}{regular}", f"{measured:,}", *cells))
    return rows


def false_marks(options: argparse.Namespace) -> Rows:
    """Returns how often an engine that is always equally fast is marked, and how often more than 1 % of the
    operations are delayed.
    """
    return _rows(options, 0.0)


def true_marks(options: argparse.Namespace) -> Rows:
    """Returns how often an engine that stalls for 100 intervals before the window is marked, and how often a
    figure of latency is more than 10 % higher than without the stall.
    """
    return _rows(options, 100.0)


SIMULATIONS = {"false-marks": false_marks, "true-marks": true_marks}


if __name__ == "__main__":
    print_tables(SIMULATIONS, __doc__ or "", 500, Path(__file__))
