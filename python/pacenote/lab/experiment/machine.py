"""The machine of an experiment, which should be the same for all of its races."""

from __future__ import annotations

from pacenote.model.experiment import MachineFacts
from pacenote.race.environment import read_environment


def read_machine() -> MachineFacts:
    """Returns the facts of this machine. Never raises."""
    found = read_environment()
    return MachineFacts(
        host=found.host_name,
        kernel=found.kernel,
        cpu=found.cpu_model,
        cores=found.cpu_usable_cores,
        memory_bytes=found.memory_bytes,
    )
