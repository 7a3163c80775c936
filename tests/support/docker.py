"""A program in place of docker: notes its arguments, and runs a small engine in place of a container."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

_DOCKER = """\
#!{python} -IS
import json, os, signal, subprocess, sys, time
state = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
arguments = sys.argv[1:]
with open(os.path.join(state, "calls"), "a") as calls:
    calls.write(" ".join(arguments) + "\\n")
mode = open(os.path.join(state, "mode")).read()
if mode == "no daemon" and arguments[0] == "version":
    sys.exit("Cannot connect to the Docker daemon")
if mode == "no compose":
    sys.exit("docker: 'compose' is not a docker command\\n\\nRun 'docker --help' for more information")
if mode == "hangs":
    time.sleep(60)
if arguments[:2] == ["compose", "version"] or arguments[0] == "version":
    print("v2"); sys.exit()
def alive(name):
    try:
        status = open("/proc/" + open(os.path.join(state, name + ".pid")).read() + "/stat").read()
        return status.rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
if arguments[0] == "wait":
    while alive(arguments[1]):
        time.sleep(0.02)
    sys.exit()
project, file, (verb, *rest) = arguments[2], arguments[4], arguments[5:]
pid_file = os.path.join(state, project + ".pid")
if verb == "config":
    json.load(open(file))
    if mode == "invalid":
        sys.exit("services.engine additional properties 'x' not allowed")
elif verb == "up":
    open(os.path.join(state, "compose.json"), "w").write(open(file).read())
    if mode == "no image":
        sys.exit("Error response from daemon: manifest unknown")
    (address,) = json.load(open(file))["services"]["engine"]["ports"]
    engine = [sys.executable, "-IS", os.path.join(state, "engine.py"), address.split(":")[1]]
    if mode != "dies":
        null = subprocess.DEVNULL
        child = subprocess.Popen(engine, stdin=null, stdout=null, stderr=null, start_new_session=True)
        open(pid_file, "w").write(str(child.pid))
elif verb == "down":
    if alive(project):
        os.kill(int(open(pid_file).read()), signal.SIGKILL)
    open(os.path.join(state, project + ".down"), "w").close()
elif verb == "ps":
    print(project if alive(project) else "", end="")
elif verb == "logs":
    print("[INFO] the engine says hello\\nfatal: out of luck")
"""

_ENGINE = """\
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = json.dumps({"status": "green", "version": {"number": "3.3.0", "distribution": "opensearch"}})
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


class FakeDocker:
    """The state of the program in place of docker."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        program = folder / "bin" / "docker"
        program.write_text(_DOCKER.replace("{python}", sys.executable))
        program.chmod(0o755)
        (folder / "engine.py").write_text(_ENGINE)
        self.mode("works")
        monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")

    def mode(self, mode: str) -> None:
        """Selects what happens: `works`, `no daemon`, `no compose`, `invalid`, `no image`, `dies` or
        `hangs`.
        """
        (self.folder / "mode").write_text(mode)

    @property
    def calls(self) -> list[str]:
        """The arguments of all calls, without the options of the project."""
        lines = (self.folder / "calls").read_text().splitlines()
        return [" ".join(line.split()[5:]) if "--file" in line else line for line in lines]

    def is_down(self, project: str) -> bool:
        """Returns whether a project was stopped."""
        return (self.folder / f"{project}.down").exists()
