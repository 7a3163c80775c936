"""The machine of an experiment, which should be the same for all of its races."""

from __future__ import annotations

from pacenote.model.experiment import MachineFacts
from pacenote.race.environment import read_environment


def read_machine() -> MachineFacts:
    """Returns the facts of this machine. Never raises."""
    environment = read_environment()
    return MachineFacts(
        host=environment.host_name,
        kernel=environment.kernel,
        cpu=environment.cpu_model,
        cores=environment.cpu_usable_cores,
        memory_bytes=environment.memory_bytes,
    )
