"""Checks the data paths that an experiment compares: they must be on different disks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.options.nodes import data_paths
from pacenote.errors import UsageError
from pacenote.host.disks import read_disks
from pacenote.host.facts import Facts
from pacenote.lab.experiment.design import all_variants
from pacenote.lab.experiment.options import joined
from pacenote.system.paths import is_dir

if TYPE_CHECKING:
    from pacenote.model.experiment import Experiment

_OPTION = "data-paths"
_IN_MEMORY = ("tmpfs", "ramfs")


def check_compared_paths(
    experiment: Experiment, proc: Path = Path("/proc"), sys: Path = Path("/sys")
) -> None:
    """Raises UsageError if an experiment compares folders for data that are not on different disks."""
    compared = _compared(experiment)
    if len(compared) < 2:
        return
    paths = list(dict.fromkeys(itertools.chain(*compared)))
    for path in paths:
        if not is_dir(path):
            raise UsageError(
                f"{_OPTION}: {path} is not a folder",
                hint="give a folder on each disk that is compared; `pacenote experiment init` writes a "
                "recipe to a file, which can be edited",
            )
    disk_facts = Facts()
    read_disks(disk_facts, proc, sys, {str(at): path for at, path in enumerate(paths)})
    facts = disk_facts.snapshot().facts
    disks = {path: _disk(facts, path, f"disk.{at}") for at, path in enumerate(paths)}
    for folder, other in itertools.chain(
        *(itertools.product(*two) for two in itertools.combinations(compared, 2))
    ):
        if disks[folder] == disks[other]:
            raise UsageError(
                f"{_OPTION}: {folder} and {other} are on the same disk, so that nothing is compared",
                hint="give folders on different disks; `findmnt` shows them",
            )


def _compared(experiment: Experiment) -> list[tuple[Path, ...]]:
    """Returns the different lists of folders of the configurations."""
    options = (joined(experiment.race, one.options).get(_OPTION) for one in all_variants(experiment))
    texts = (",".join(map(str, one)) if isinstance(one, list | tuple) else str(one) for one in options if one)
    return list(dict.fromkeys(tuple(itertools.chain(*data_paths(text))) for text in texts))


def _disk(facts: Mapping[str, str], path: Path, key: str) -> str:
    """Returns the disk of a folder: its whole device, or its file system where that is not visible."""
    if facts.get(f"{key}.file_system") in _IN_MEMORY:
        raise UsageError(
            f"{_OPTION}: {path} is in memory, not on a disk",
            hint="give folders on disks; `findmnt` shows them",
        )
    return facts.get(f"{key}.device") or str(path.stat().st_dev)
