"""Fixtures that need no engine: a scripted Maven repository, and a Python script in place of Java."""

from __future__ import annotations

import hashlib
import json
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision import engine, engine_checks, engine_installation, engine_selection
from pacenote.provision.distributions.parts import AssemblyStep, ModuleDefinition, NodePaths, RootArtifact
from pacenote.provision.engine_lock import EngineModule
from pacenote.provision.engine_program import AssembledProgram, EngineProgram
from pacenote.provision.fleet import LocalFleet
from pacenote.provision.java import JavaRange, JavaRuntime
from pacenote.provision.layout import EngineLayout, create_layout, plan_layout
from pacenote.provision.maven import MavenArtifact
from pacenote.provision.node import Node
from pacenote.provision.node_spec import NodeSpec
from support.http_server import ScriptedServer
from support.official_archive import jar_with


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer().running() as running:
        yield running


def jar(name: str, content: bytes) -> MavenArtifact:
    """Returns an artifact whose lock entry matches `content`."""
    return MavenArtifact("org.example", name, "1.0", hashlib.sha256(content).hexdigest(), len(content))


def put_in_cache(artifact: MavenArtifact, cache: Path, content: bytes) -> Path:
    """Writes a file in the place of a cached jar, whether it has its checksum or not."""
    path = artifact.path_in(cache)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def write_jar(folder: Path, name: str, *texts: str) -> None:
    """Writes a jar with one class whose constant pool has these texts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(jar_with(*texts))


# This script runs in place of Java; its last argument selects its behaviour. It reads requests itself because
# importing `http.server` would take up most of its startup time.
_ENGINE = """\
import json, os, signal, socket, sys
mode, config = sys.argv[-1], json.load(open(sys.argv[-2]))
print("engine says", mode, os.getpid(), flush=True)
open("gc.log", "w").write("gc line\\n")
if mode == "dies":
    print("[ERROR] java.lang.IllegalStateException: failed", flush=True)
    print("Caused by: java.nio.file.NoSuchFileException: /missing\\n\\tat x.y(Z)", flush=True)
    sys.exit(3)
if mode == "crash":
    print("# A fatal error has been detected by the Java Runtime Environment:\\n#", flush=True)
    print("#  SIGSEGV (0xb) at pc=0x1\\n#\\n# Problematic frame:\\n# C  [libzstd.so]", flush=True)
    os.abort()
if mode == "port":
    print("java.net.BindException: Address already in use", flush=True)
    sys.exit(1)
if mode == "symlink":
    os.unlink(sys.argv[-2])
    os.symlink(os.path.join(os.path.dirname(sys.argv[0]), "victim"), sys.argv[-2])
    print("java.net.BindException: Address already in use", flush=True)
    sys.exit(1)
if mode == "leaves" and os.fork() == 0:
    import time
    os.setsid()
    os.mkdir("left")
    open("left/pid", "w").write(str(os.getpid()))
    for number in range(600):
        print("written later", number, flush=True)
        if number % 20 == 19: os.ftruncate(1, 0)
        time.sleep(0.05)
    os._exit(0)
if mode == "reads":
    import select
    assert os.read(0, 100) == b"started"
    assert select.select([0], [], [], 0.2)[0] == [], "standard input is closed"
if mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
managers = "cluster.initial_master_nodes"
nodes = {"n": {"process": {"id": os.getpid()}}}
status, joined = "red" if mode == "red" else "green", 1 if mode == "alone" else len(config.get(managers, "1"))
body = json.dumps({"status": status, "nodes": nodes, "number_of_nodes": joined}).encode()
close = b"" if mode == "red" else b"connection: close\\r\\n"
head = b"HTTP/1.1 200 OK\\r\\n%bcontent-length: %d\\r\\n\\r\\n" % (close, len(body))
server = socket.create_server(("127.0.0.1", config["http.port"]))
while True:
    connection, _ = server.accept()
    with connection:
        while True:
            request = b""
            while not request.endswith(b"\\r\\n\\r\\n"):
                received = connection.recv(4096)
                if not received: break
                request += received
            if request: connection.sendall(head + body)
            if close or not request: break
    if mode == "greedy" and request.startswith(b"GET /die"):
        bytearray(1 << 29)
    if mode == "oom" and request.startswith(b"GET /die"):
        print("fatal error: java.lang.OutOfMemoryError: Java heap space", flush=True); os._exit(127)
"""


@dataclass
class FakeEngine:
    """A distribution whose engine is a Python script; `mode` selects the script's behaviour."""

    mode: str = "healthy"
    name: str = "fake"
    default_version: str = "1.0"
    modules_describe_themselves: bool = False
    steps: tuple[AssemblyStep, ...] = ()

    def supports(self, version: str) -> bool:
        return True

    def supported_versions(self) -> str:
        return "1.0"

    def java_range(self, version: str) -> JavaRange:
        return JavaRange(21)

    def root_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        return ()

    def locale_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        return ()

    def module_definitions(self, version: str) -> tuple[ModuleDefinition, ...]:
        return ()

    def unpublished_modules(self, version: str) -> tuple[str, ...]:
        return ()

    def assembly_artifacts(self, version: str) -> tuple[RootArtifact, ...]:
        return ()

    def assembly_steps(self, version: str) -> tuple[AssemblyStep, ...]:
        return self.steps

    def title(self, version: str) -> str:
        return ""

    def standard_input(self, paths: NodePaths, settings: Mapping[str, object]) -> bytes:
        return b"started" if self.mode == "reads" else b""

    def module_files(self, version: str, module: EngineModule) -> Mapping[str, str]:
        return {"descriptor": f"{module.name} {version}"}

    def config_files(self, paths: NodePaths, settings: Mapping[str, object]) -> Mapping[str, str]:
        return {"engine.json": json.dumps(dict(settings))}

    def settings(self, http_port: int, transport_port: int) -> Mapping[str, object]:
        return {"http.port": http_port}

    def jvm_options(self, heap: int, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        return (f"-Xmx{heap}",)

    def environment(self, paths: NodePaths) -> Mapping[str, str]:
        return {}

    def main_arguments(self, paths: NodePaths, java: JavaRuntime) -> tuple[str, ...]:
        return (str(paths.config / "engine.json"), self.mode)


def write_fake_java(home: Path) -> JavaRuntime:
    """Writes a Java home whose `java` runs the script above with the interpreter that runs the tests."""
    script = home / "engine.py"
    (home / "bin").mkdir(parents=True)
    script.write_text(_ENGINE)
    java = home / "bin" / "java"
    java.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{script}" "$@"\n')
    java.chmod(java.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return JavaRuntime(home, "21.0.1", "Fake", frozenset(), "test")


def use_own_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has nothing created outside the home folder of the test, even if root runs it."""
    for module in (engine, engine_checks, engine_installation, engine_selection):
        for function in (create_layout, plan_layout):
            if hasattr(module, function.__name__):
                monkeypatch.setattr(module, function.__name__, partial(function, root=False))


@pytest.fixture
def layout(tmp_path: Path) -> EngineLayout:
    return create_layout(tmp_path / "home", root=False)


@pytest.fixture
def fake(tmp_path: Path) -> Callable[[str], AssembledProgram]:
    java = write_fake_java(tmp_path / "java")
    return lambda mode: AssembledProgram(FakeEngine(mode), tmp_path, java)


@pytest.fixture
def spec() -> NodeSpec:
    return NodeSpec("fake", "1.0", heap="128m", start_timeout_s=5)


def start_node(
    spec: NodeSpec,
    program: EngineProgram,
    layout: EngineLayout,
    artifacts: Path,
    progress: ProgressCallback = no_progress,
) -> Node:
    """Starts one node, whose output goes to `engine.log` in `artifacts`."""
    fleet = LocalFleet(program, layout, artifacts)
    fleet.start([spec], progress)
    (node,) = fleet.nodes
    return node
