"""`pacenote serve` prints its address, answers, and ends with Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from http.client import HTTPConnection
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from pacenote.errors import StoreError
from pacenote.serve.page_maker import PageRequest
from pacenote.serve.page_processes import PageProcesses
from pacenote.store.race_store import RaceStore
from support.records import bulk, record


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


HANGS = {
    "a page": "if 'pacenote.cli.page_process' in sys.orig_argv:\n"
    "    print('made', file=sys.stderr, flush=True)\n"
    "    while True: pass",
    "reading": "from pacenote.store.race_folder import RaceFolder\n"
    "def read(_):\n"
    "    print('made', file=sys.stderr, flush=True)\n"
    "    time.sleep(1000)\n"
    "RaceFolder.read = read",
}
"""What takes long → what makes it so when Python starts."""


@pytest.mark.process
@pytest.mark.parametrize("what", HANGS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_a_page_is_made(home, tmp_path, number, what):
    RaceStore(home).create(record())
    (tmp_path / "sitecustomize.py").write_text(f"import sys, time\n{HANGS[what]}\n")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PACENOTE_HOME": str(home), "PYTHONPATH": path}
    with subprocess.Popen(
        [sys.executable, "-m", "pacenote", "serve", "--port=0"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = urlsplit(process.stdout.readline().strip())
        process.stderr.readline()
        connection = HTTPConnection(address.netloc, timeout=30)
        connection.request("GET", f"{address.path}?{address.query}")
        response = connection.getresponse()
        cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
        response.read()
        headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
        connection.request("GET", f"{address.path}race/race-1", headers=headers)
        assert process.stderr.readline() == "made\n"
        process.send_signal(number)
        # The output ends when the processes of pages have ended, too.
        out, errors = process.communicate(timeout=30)
        connection.close()
    assert (process.returncode, out, errors) == (0, "", "")


@pytest.mark.process
def test_each_kind_of_page_is_made(home):
    for name in ("race-1", "race-2"):
        RaceStore(home).create(record(name, tasks=(bulk(),)))
    settings = {"program": sys.argv[0], "home": str(home)}
    processes = PageProcesses((sys.executable, "-P", "-m", "pacenote.cli.page_process"), settings)
    requests = (
        PageRequest("race", ("race-2",)),
        PageRequest("trend", ("race-2",)),
        PageRequest("comparison", ("race-2",), ("race-1",)),
    )

    async def make() -> list[bytes]:
        pages = [await processes.make(request) for request in requests]
        with pytest.raises(StoreError, match="no race 'unknown'"):
            await processes.make(PageRequest("race", ("unknown",)))
        await processes.close()
        return pages

    for page, words in zip(asyncio.run(make()), (b"race-2", b"Trend", b"race-1"), strict=True):
        assert page.startswith(b"<!DOCTYPE html>")
        assert words in page


def test_a_port_that_is_in_use_is_one_line(run):
    with socket.create_server(("127.0.0.1", 0)) as other:
        code, out, errors = run("serve", "--host=127.0.0.1", f"--port={other.getsockname()[1]}")
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
