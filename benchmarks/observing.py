"""Measures what observing costs: races with everything that is on by default, and races without it.

All races use one engine that is kept. Without: `--no-default-telemetry`, and the JVM is told to write no GC
log.
The effect on the rate of indexing and of searches, with its interval, is that of `pacenote compare`.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines import started_engine
from machine import PACENOTE, run, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote.cluster.cluster import EmbeddedCluster
from pacenote.net.jvm_attach import AttachLimits, execute
from pacenote.provision.jvm_options import GC_LOG_DECORATIONS, GC_LOG_ROTATION

_BLOCKS, _QUICK_BLOCKS = 16, 2
_WARM_UPS = 2
_ATTACH_LIMITS = AttachLimits(listen_s=20.0, reply_s=60.0, reply_bytes=64 * 1024)
_DOCUMENTS, _QUICK_DOCUMENTS = 300_000, 20_000
_SEARCHES, _QUICK_SEARCHES = 12_000, 1_000
_LIMIT_PERCENT = 0.5
"""Largest loss of throughput with everything that is on by default."""

_TASKS = ("index-append", "default")
_EXPERIMENT = "observing"
_GC_LOG = (
    f"what=gc*=info,gc+age*=trace,safepoint=info decorators={GC_LOG_DECORATIONS} "
    f"output_options={GC_LOG_ROTATION}"
)
"""What the log of an engine has, in the form of the JVM's command."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """What all races have in common."""

    options: Options
    """The options of the benchmark."""

    cluster: EmbeddedCluster
    """The engine."""

    folder: Path
    """The temporary folder of the benchmark."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of the commands."""
        return {"PACENOTE_HOME": str(self.folder / "home")}


def measure(options: Options) -> Outcome:
    """Races with and without observation in blocks; every second block has the opposite order of the one
    before, which is drawn.
    """
    blocks = options.blocks or options.choose(_BLOCKS, _QUICK_BLOCKS)
    with temporary_folder() as folder, started_engine(options, folder, "opensearch") as cluster:
        setting = _Setting(options, cluster, folder)
        for number in range(_WARM_UPS):
            _race(setting, "warm-up", f"warm-up-{number}", observed=True)
        draw, order = random.Random(1), [True, False]
        for block in range(blocks):
            order = order[::-1] if block % 2 else draw.sample(order, 2)
            for observed in order:
                _race(setting, "with" if observed else "without", str(block), observed=observed)
        comparison = _comparison(setting)
    return _outcome(comparison, blocks)


def _race(setting: _Setting, variant: str, block: str, *, observed: bool) -> None:
    """Indexes and searches as fast as the engine can."""
    options = setting.options
    _switch_gc_log(setting, on=observed)
    documents = options.choose(_DOCUMENTS, _QUICK_DOCUMENTS)
    searches = options.choose(_SEARCHES, _QUICK_SEARCHES)
    tags = f"experiment:{_EXPERIMENT},variant:{variant},block:{block}"
    command = (
        *(PACENOTE, "race", "--pipeline=benchmark-only", "--seed=1", "--quiet"),
        f"--target-hosts={setting.cluster.hosts[0].address}",
        *("--track=http_logs", "--track-repository=bundled", "--challenge=append-no-conflicts"),
        "--include-tasks=delete-index,create-index,check-cluster-health,index-append,refresh-after-index,default",
        f"--track-params=docs:{documents},search_clients:2,target_throughput:0,"
        f"warmup_iterations:{searches // 10},iterations:{searches}",
        f"--user-tags={tags}",
        *(() if observed else ("--no-default-telemetry",)),
    )
    before = _gc_log(setting).stat().st_size
    run(command, setting.environment)
    if not observed and _gc_log(setting).stat().st_size != before:
        raise BenchmarkError("the JVM has written a GC log although it was told to write none")


def _switch_gc_log(setting: _Setting, *, on: bool) -> None:
    """Has the JVM of the engine write a GC log like that of every engine, or none."""
    (node,) = setting.cluster.local_nodes()
    command = f"VM.log output=file={_gc_log(setting)} {_GC_LOG}" if on else "VM.log disable"
    reply = execute(node.pid, "jcmd", (command,), _ATTACH_LIMITS)
    if not reply.succeeded:
        raise BenchmarkError(f"the JVM does not accept '{command}': {reply.text.strip()}")


def _gc_log(setting: _Setting) -> Path:
    (node,) = setting.cluster.local_nodes()
    return node.folder / "logs" / "gc.log"


def _comparison(setting: _Setting) -> Mapping[str, Any]:
    command = (
        *(PACENOTE, "compare", "--baseline=tag:variant=without", "--contender=tag:variant=with"),
        f"--primary={','.join(f'throughput:{task}' for task in _TASKS)}",
        *(f"--smallest-effect={_LIMIT_PERCENT}", "--report-format=json"),
    )
    environment = {**os.environ, **setting.environment}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 3):
        raise BenchmarkError(f"pacenote compare ended with exit code {done.returncode}")
    return dict(json.loads(done.stdout))


def _outcome(comparison: Mapping[str, Any], blocks: int) -> Outcome:
    figures, notes = [], []
    for task in _TASKS:
        label = f"throughput:{task}"
        metrics = comparison["metrics"]
        metric = next((one for one in metrics if one["metric"]["label"] == label), None)
        if metric is None:
            raise BenchmarkError(f"{label} was not measured in all races")
        pairs = zip(metric["contender"], metric["baseline"], strict=True)
        lost = tuple(100 * (1 - observed / alone) for observed, alone in pairs)
        figures.append(Figure(f"throughput lost by observing, {task}", "%", lost))
        notes.append(f"{label}: {_sentence(metric)}")
    return Outcome(
        figures=tuple(figures),
        targets=tuple(Target(figure, _LIMIT_PERCENT, at_most=True) for figure in figures),
        notes=(f"{blocks} blocks of two races on one engine, in turns", *notes),
    )


def _sentence(metric: Mapping[str, Any]) -> str:
    """Returns the word, the change and the interval of a metric, as `pacenote compare` has them."""
    change = metric["change"]
    if change is None:
        return f"{metric['word']}, without an interval"
    low, value, high = (100.0 * change[part] for part in ("low", "value", "high"))
    return f"{metric['word']}, {value:+.2f} % ({low:+.2f} % to {high:+.2f} %)"
