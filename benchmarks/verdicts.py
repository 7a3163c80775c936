"""Runs experiments on a real engine whose answers are known: no difference, more heap; less CPU time.

The races of the experiment without a difference are compared again and again with their variants exchanged at
random within the blocks, as often as `_RESAMPLINGS` says: such a comparison must not say better or worse more
often than in one of twenty cases.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from machine import PACENOTE, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

_BLOCKS, _QUICK_BLOCKS = 10, 3
_RESAMPLINGS = 40
_DOCUMENTS, _QUICK_DOCUMENTS = 1_000_000, 20_000
_SLOW_BLOCKS, _SLOW_DOCUMENTS = 16, 300_000
"""More blocks, because a limited engine varies more: 10 blocks were *probably worse*."""

_DECIDED = ("better", "probably better", "probably worse", "worse")
_METRIC = "throughput:index-append"
_FILE = """\
design = "pair"
blocks = {blocks}
primary = ["{metric}"]

[race]
track = "http_logs"
track-repository = "bundled"
challenge = "append-no-conflicts-index-only"
track-params = {{docs = {documents}}}

[variants.baseline]
{baseline}

[variants.contender]
{contender}
"""


def measure(options: Options) -> Outcome:
    """Runs the experiments of equal variants and of heaps, and the comparisons with exchanged variants."""
    blocks = options.choose(_BLOCKS, _QUICK_BLOCKS)
    documents = options.choose(_DOCUMENTS, _QUICK_DOCUMENTS)
    with temporary_folder() as folder:
        runs = _Runs(options, folder)
        same = runs.answer("equal", _Pair(blocks, documents, "car = '1gheap'", "car = '1gheap'"))
        small = "car-params = {heap_size = '256m'}"
        heap = runs.answer("heap", _Pair(blocks, documents, small, "car = '1gheap'"))
        decided = runs.resampled(same)
    exchanged = Figure("comparisons of equal races, better or worse", "%", (100.0 * decided / _RESAMPLINGS,))
    return Outcome(
        figures=(
            _ratios("throughput of equal variants", same),
            _ratios("throughput with 1 GB of heap / with 256 MB", heap),
            exchanged,
        ),
        targets=(Target(exchanged, 5.0, at_most=True),),
        notes=(
            _sentence("equal", same),
            _sentence("heap", heap),
            f"{decided} of {_RESAMPLINGS} comparisons with exchanged variants said better or worse",
        ),
    )


def measure_slowdown(options: Options) -> Outcome:
    """Runs the experiment in which the contender has nine tenths of the CPU time."""
    pair = _Pair(
        options.choose(_SLOW_BLOCKS, _QUICK_BLOCKS),
        options.choose(_SLOW_DOCUMENTS, _QUICK_DOCUMENTS),
        "node-cpu-limit = '1.0'",
        "node-cpu-limit = '0.9'",
    )
    with temporary_folder() as folder:
        slow = _Runs(options, folder).answer("slow", pair)
    slower = _ratios("throughput with 0.9 CPUs / with 1.0", slow)
    return Outcome(
        figures=(slower,), targets=(Target(slower, 0.95, at_most=True),), notes=(_sentence("slow", slow),)
    )


@dataclass(frozen=True)
class _Pair:
    """Two variants, and how often they race."""

    blocks: int
    documents: int
    baseline: str
    contender: str


class _Runs:
    """Runs experiments in one home folder."""

    def __init__(self, options: Options, folder: Path) -> None:
        self._environment = {"PACENOTE_HOME": str(options.engines)}
        self._folder = folder

    def answer(self, name: str, pair: _Pair) -> Mapping[str, Any]:
        """Runs an experiment of two variants, and returns the comparison of them."""
        file = self._folder / f"{name}.toml"
        file.write_text(_FILE.format(metric=_METRIC, **asdict(pair)))
        document = self._json(["experiment", "run", str(file), "--quiet"])
        (comparison,) = [one["comparison"] for one in document["variants"] if one["comparison"]]
        if not comparison["metrics"]:
            raise BenchmarkError(f"experiment {document['experiment_id']} has no races to compare")
        return dict(comparison)

    def resampled(self, same: Mapping[str, Any]) -> int:
        """Returns how many comparisons with variants exchanged within blocks said better or worse."""
        sides = (_ids(same, "baseline"), _ids(same, "contender"))
        draw, decided = random.Random(1), 0
        for _ in range(_RESAMPLINGS):
            pairs = [draw.sample(pair, 2) for pair in zip(*sides, strict=True)]
            first, second = (",".join(ids) for ids in zip(*pairs, strict=True))
            command = ["compare", f"--baseline={first}", f"--contender={second}", f"--primary={_METRIC}"]
            decided += self._json(command)["answer"] in _DECIDED
        return decided

    def _json(self, command: Sequence[str]) -> Any:
        finished = subprocess.run(
            [PACENOTE, *command, "--report-format=json"],
            env={**os.environ, **self._environment},
            stdout=subprocess.PIPE,
            check=False,
        )
        if finished.returncode not in (0, 3):
            raise BenchmarkError(f"pacenote {command[0]} ended with exit code {finished.returncode}")
        return json.loads(finished.stdout)


def _ids(comparison: Mapping[str, Any], side: str) -> list[str]:
    return [race["race_id"] for race in comparison[side]["races"]]


def _metric(comparison: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the metric that decides: the throughput of the task that indexes."""
    primary = [one for one in comparison["metrics"] if one["role"] == "primary"]
    if len(primary) != 1:
        raise BenchmarkError(f"{_METRIC} was not measured in all races")
    return dict(primary[0])


def _ratios(name: str, comparison: Mapping[str, Any]) -> Figure:
    """Returns the ratio of the throughputs of each block."""
    metric = _metric(comparison)
    pairs = zip(metric["contender"], metric["baseline"], strict=True)
    return Figure(name, "x", tuple(contender / baseline for contender, baseline in pairs))


def _sentence(name: str, comparison: Mapping[str, Any]) -> str:
    """Returns the answer of an experiment with its interval."""
    change = _metric(comparison)["change"]
    if change is None:
        return f"{name}: {comparison['answer']}, without an interval"
    low, value, high = (100.0 * change[part] for part in ("low", "value", "high"))
    return f"{name}: {comparison['answer']}, {value:+.1f} % ({low:+.1f} % to {high:+.1f} %)"
