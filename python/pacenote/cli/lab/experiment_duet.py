"""Checks that both engines of a duet fit into this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pacenote.errors import PacenoteError, UsageError
from pacenote.lab.experiment.design import all_variants
from pacenote.lab.experiment.duet import REFUSED, REFUSED_PIPELINES
from pacenote.lab.experiment.halves import machine_halves
from pacenote.lab.experiment.options import joined
from pacenote.provision.car_selection import select_car
from pacenote.provision.resources import NON_HEAP_BYTES, available_memory, parse_heap
from pacenote.units import format_bytes

if TYPE_CHECKING:
    from pacenote.cli.lab.experiment_check import RaceOptionCheck
    from pacenote.model.experiment import Experiment
    from pacenote.model.race_request import RaceRequest

_PORTS = ("http.port", "transport.port")


def check_duet(experiment: Experiment, check: RaceOptionCheck) -> None:
    """Raises UsageError if an experiment is a duet for which this machine has too few cores or too little
    memory, or whose races have options that two engines at the same time cannot have, also configured ones.
    """
    if experiment.design != "duet":
        return
    machine_halves()
    variants = all_variants(experiment)
    requests = [check.request(joined(experiment.race, one.options)) for one in variants]
    for variant, request in zip(variants, requests, strict=True):
        if problem := request_problem(request):
            raise UsageError(f'"{variant.name}": {problem}', hint="look also into `pacenote.toml`")
    check_memory_of_both(requests, available_memory())


def request_problem(request: RaceRequest) -> str:
    """Returns what keeps a race from running beside another one; empty if nothing does."""
    if request.target_hosts or request.pipeline in REFUSED_PIPELINES:
        named = "target-hosts" if request.target_hosts else f"pipeline {request.pipeline}"
        return f"{named} cannot be used: {REFUSED['target-hosts']}"
    if request.engine.data.mode == "keep":
        return "data keep cannot be used: only one engine at a time can have a data set; use restore"
    additional = request.engine.car_params.get("additional_cluster_settings")
    given = [*request.engine.overrides.settings, *(additional if isinstance(additional, Mapping) else ())]
    for name in given:
        if name in _PORTS:
            return f"{name} cannot be given: each of the two engines needs ports of its own"
    return ""


def check_memory_of_both(requests: Sequence[RaceRequest], available: int | None) -> None:
    """Raises UsageError if engines that run at the same time need more bytes than are available."""
    needed = sum(map(_memory, requests))
    if available is not None and available < needed:
        raise UsageError(
            f"too little memory: both engines of a duet need {format_bytes(needed)}, but only "
            f"{format_bytes(available)} are available",
            hint='choose smaller heaps, or race the variants one after the other, with design = "pair"',
        )


def _memory(request: RaceRequest) -> int:
    """Returns the bytes that the engine of a race needs; without its heap if that is not known yet, as with
    the cars of a repository.
    """
    try:
        heap = parse_heap(select_car(request.engine).heap_size)
    except PacenoteError:
        heap = 0
    return (heap + NON_HEAP_BYTES) * request.engine.nodes.count
