"""What two engines that race at the same time cannot have; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pacenote.model.experiment import Experiment, Options

REFUSED = {
    "target-hosts": "a duet starts both engines, each on a half of this machine",
    "node-cpus": "a duet gives each engine a half of the CPUs",
    "driver-cpus": "a duet gives each driver the half of its engine",
}
"""Options that no variant of a duet can have, with the reasons."""

REFUSED_PIPELINES = ("benchmark-only", "docker")
"""Pipelines that start no engine on a half of this machine."""

_PORT = re.compile(r"engine\.(?:http|transport)\.port\s*=")


def duet_problems(experiment: Experiment) -> Iterator[tuple[int, str]]:
    """Yields what keeps the variants of a duet from racing at the same time, with the line of the variant; 0
    for what is not part of one.
    """
    if experiment.engine == "keep":
        yield 0, 'engine = "keep" cannot be used by a duet: both engines start anew for each block'
    if experiment.warm_up:
        yield 0, "warm-up cannot be used by a duet: no race runs alone"
    yield from ((0, f"[race]: {problem}") for problem in _problems(experiment.race))
    for variant in experiment.variants:
        yield from ((variant.line, f'"{variant.name}": {problem}') for problem in _problems(variant.options))


def _problems(options: Options) -> Iterator[str]:
    yield from (f"{name} cannot be given: {reason}" for name, reason in REFUSED.items() if name in options)
    if (pipeline := options.get("pipeline")) in REFUSED_PIPELINES:
        yield f"pipeline {pipeline} cannot be used: {REFUSED['target-hosts']}"
    if str(options.get("data", "")).startswith("keep"):
        yield "data keep cannot be used: only one engine at a time can have a data set; use restore"
    settings = options.get("set", ())
    if isinstance(settings, Mapping):
        settings = [f"{name}={value}" for name, value in settings.items()]
    for setting in settings if isinstance(settings, list | tuple) else [settings]:
        if _PORT.match(str(setting)):
            yield f"{setting} cannot be used: each of the two engines needs ports of its own"
