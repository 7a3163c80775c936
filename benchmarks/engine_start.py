"""Measures the time from `pacenote start` to a node that answers, compared with the engine alone.

The engine alone is the same command line with the same configuration, started directly; jars and installation
exist in both cases. Both times end when `_cluster/health` answers that the cluster is green.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable

from blocks import figure_by_block, ratio_by_block, run_blocks
from machine import PACENOTE, RunningCommand, run
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote.provision.distributions.parts import NodePaths
from pacenote.provision.distributions.registry import implied_distribution
from pacenote.provision.engine_installation import install_engine
from pacenote.provision.engine_program import EngineProgram, NodePorts, NodeSetup
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.layout import EngineLayout, create_layout
from pacenote.provision.ports import free_ports
from pacenote.system.child_process import ChildCommand, spawn_child

_BLOCKS = 8
_LIMIT = 1.15
_HEAP = 1 << 30
_VERSIONS = ("3.3.0", "9.5.3")
_POLL_S = 0.005
_TIMEOUT_S = 120.0
_NODE = "benchmark"


def measure(options: Options) -> Outcome:
    """Starts each engine directly and with Pacenote, in blocks."""
    figures: list[Figure] = []
    targets: list[Target] = []
    for version in _VERSIONS:
        direct, started, ratio = _compare(options, version)
        figures += (direct, started, ratio)
        targets.append(Target(ratio, _LIMIT, at_most=True))
    return Outcome(
        figures=tuple(figures),
        targets=tuple(targets),
        notes=(
            "heap of 1 GiB, all pages touched; jars and installation are cached; all cores",
            "until the first answer that the cluster is green, asked every 5 ms",
        ),
    )


def _compare(options: Options, version: str) -> tuple[Figure, Figure, Figure]:
    request = EngineRequest(
        home=options.engines,
        artifacts=options.engines,
        distribution=implied_distribution(version),
        version=version,
    )
    program = install_engine(request).program
    layout = create_layout(options.engines)
    ways: dict[str, Callable[[], float]] = {
        "engine": lambda: _directly(program, layout),
        "pacenote": lambda: _with_pacenote(options, version),
    }
    run_blocks(1, ways)
    seconds = run_blocks(options.choose_blocks(_BLOCKS), ways)
    direct = figure_by_block(f"engine alone, {version}", "s", seconds["engine"])
    started = figure_by_block(f"pacenote start, {version}", "s", seconds["pacenote"])
    return direct, started, ratio_by_block(f"pacenote start / engine alone, {version}", started, direct)


def _directly(program: EngineProgram, layout: EngineLayout) -> float:
    """Returns the seconds from the start of the JVM until the cluster is green; leaves no files."""
    folder = layout.nodes / f"{_NODE}-{os.getpid()}-{time.monotonic_ns()}"
    own = tuple(folder / name for name in ("config", "data", "logs", "tmp"))
    for path in (folder, *own):
        path.mkdir()
    ports = NodePorts(*free_ports(2))
    config, data, logs, tmp = own
    paths = NodePaths(program.home, config, data, logs, tmp)
    setup = NodeSetup(paths, ports, _HEAP, settings={"discovery.type": "single-node"})
    for name, text in program.config_files(setup).items():
        (setup.paths.config / name).write_text(text)
    if layout.user is not None:
        for path in own:
            os.chown(path, layout.user.uid, layout.user.gid)
    command = program.command(setup)
    environment = {"PATH": os.environ["PATH"], "HOME": str(setup.paths.tmp), **command.environment}
    with (folder / "output").open("wb") as output:
        began = time.monotonic()
        child = spawn_child(
            ChildCommand(
                command.arguments,
                setup.paths.logs,
                environment,
                output.fileno(),
                layout.user,
                command.standard_input,
            )
        )
        try:
            return _until_green(ports.http, lambda: child.exit_code is None) - began
        finally:
            child.kill()
            child.wait(_TIMEOUT_S)
            shutil.rmtree(folder)


def _with_pacenote(options: Options, version: str) -> float:
    """Returns the seconds from the start of the command until the cluster is green."""
    environment = {"PACENOTE_HOME": str(options.engines)}
    port = free_ports(1)[0]
    arguments = ("start", f"--distribution-version={version}", f"--node-name={_NODE}", f"--http-port={port}")
    began = time.monotonic()
    command = RunningCommand([PACENOTE, *arguments, "--quiet"], environment)
    try:
        return _until_green(port, lambda: True) - began
    finally:
        command.wait()
        run([PACENOTE, "stop"], environment)


def _until_green(port: int, is_running: Callable[[], bool]) -> float:
    """Returns the time of the first answer that the cluster is green. Raises BenchmarkError."""
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline and is_running():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_cluster/health", timeout=1) as reply:
                if json.load(reply).get("status") == "green":
                    return time.monotonic()
        except (urllib.error.URLError, OSError, ValueError):
            pass
        time.sleep(_POLL_S)
    raise BenchmarkError("the engine did not become green")
