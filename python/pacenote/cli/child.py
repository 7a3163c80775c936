"""A process that runs a command for another process of Pacenote, and ends with it.

Its arguments come through standard input instead of the command line, which other users can read.
"""

from __future__ import annotations

import json
import os
import sys

from pacenote.race.start_gate import hold_gate
from pacenote.system.descendants import terminate_with_parent


def take_arguments() -> bool:
    """Makes the arguments in standard input those of this process, which ends with its parent from now on.

    Returns whether the parent still runs.
    """
    request = json.load(sys.stdin.buffer)
    terminate_with_parent()
    if request["lock"] is not None:
        # It is held until this process has ended, but not by an engine that goes on.
        os.set_inheritable(request["lock"], False)
    if request["gate"] is not None:
        hold_gate(request["gate"])
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, sys.stdin.fileno())
    os.close(null)
    sys.argv = [request["program"], *request["arguments"]]
    # It may have ended before this process asked to end with it.
    parent: int = request["parent"]
    return os.getppid() == parent
