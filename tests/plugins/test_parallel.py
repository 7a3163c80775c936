"""Functions in parallel processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pacenote

PARENT = """
    import os, signal, time
    from pathlib import Path
    from pacenote.plugins.parallel import run_in_parallel

    def forever():
        print(os.getpid(), flush=True)
        time.sleep(60)

    reader, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup)
    run_in_parallel("p", [(forever, {})], Path("."), lambda *_: None)
    """


@pytest.mark.process
def test_a_process_ends_silently_when_its_parent_is_killed():
    environment = os.environ | {"PYTHONPATH": str(Path(pacenote.__file__).parents[1])}
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PARENT)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline().strip().isdigit()
    parent.send_signal(signal.SIGKILL)
    # The outputs end when the copy has ended too.
    _, errors = parent.communicate(timeout=10)
    assert errors == ""
