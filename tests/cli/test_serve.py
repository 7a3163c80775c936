"""`pacenote serve` prints its address, answers, and ends with Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from urllib.request import urlopen

import pytest

from pacenote.store.race_store import RaceStore
from support.records import record


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_until_a_signal_ends_it(home, number):
    RaceStore(home).create(record())
    command = [sys.executable, "-m", "pacenote", "serve", "--port=0"]
    environment = {**os.environ, "PACENOTE_HOME": str(home)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with urlopen(address, timeout=10) as response:
            assert response.headers["Set-Cookie"].startswith("pacenote=")
        process.send_signal(number)
        out, errors = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "")
    assert errors.splitlines() == [
        f"shows the races in {home / 'races'} to everyone who has this address; Ctrl-C stops it"
    ]


def test_a_port_that_is_in_use_is_one_line(run):
    with socket.create_server(("127.0.0.1", 0)) as other:
        code, out, errors = run("serve", f"--port={other.getsockname()[1]}")
    assert (code, out) == (64, "")
    assert "is in use" in errors
    assert "hint: choose another with --port=N, or --port=0 for one that is free" in errors


@pytest.mark.parametrize(
    "option", ["--host=0.0.0.0", "--host=192.168.1.2", "--host=::", "--port=65536", "--port=x"]
)
def test_it_listens_for_this_machine_only(run, option):
    code, out, errors = run("serve", option)
    assert (code, out) == (2, "")
    assert option.partition("=")[0] in errors
    assert "host" not in option or "ssh -L" in errors
