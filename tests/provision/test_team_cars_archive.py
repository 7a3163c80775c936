"""Nodes of an official archive are configured by templates and hooks of a team repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.model.team_options import LocatedTeam
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.team_cars import RunnableEngine, apply_car, compose_team_car
from pacenote.teams.composition import CompositionRequest
from provision.archives.test_archive_program import program_in
from provision.conftest import start_node, write_jar
from teams.repositories import write_team

pytestmark = pytest.mark.process

HOOK = """\
import os
from esrally.utils import process

def hook(config_names, variables, env):
    root = variables["install_root_path"]
    tool = os.path.join(root, "bin", "tool")
    with open(tool, "w") as file:
        file.write("#!/bin/sh\\necho secret > $ES_PATH_CONF/keystore")
    os.chmod(tool, 0o755)
    assert process.run_subprocess_with_logging(tool, env=env) == 0
    assert os.path.exists(os.path.join(root, "config", "keystore"))

def register(handler):
    handler.register("post_install", hook)
"""


def test_a_hook_uses_the_tools_of_the_nodes_own_copy(layout: EngineLayout, tmp_path: Path) -> None:
    program = program_in(tmp_path / "tree")
    write_jar(program.home / "lib", "elasticsearch-8.17.0.jar", "indices.memory.index_buffer_size")
    team = LocatedTeam(write_team(tmp_path / "team", {"cars/v1/plain/config.py": HOOK}), "mine")
    car = compose_team_car(team, CompositionRequest(cars=("small", "buffers")))
    common, configured = apply_car(car, RunnableEngine("it", program, program.java))
    spec = NodeSpec("elasticsearch", "8.17.0", heap="128m", start_timeout_s=5)
    spec = replace(spec, settings=common.settings, jvm_options=common.jvm_options)
    with start_node(spec, configured, layout, tmp_path / "race") as node:
        report = json.loads((node.folder / "logs" / "report.json").read_text())
        assert report["settings"]["indices.memory.index_buffer_size"] == "30%"
        assert (node.folder / "config" / "keystore").read_text() == "secret\n"
        assert (node.folder / "config" / "words" / "stop.txt").read_text() == "the rally-node-0\n"
        options = (node.folder / "config" / "jvm.options.d" / "pacenote.options").read_text()
        assert f"-XX:HeapDumpPath={node.folder / 'logs'}\n" in options
    assert not (program.home / "bin" / "tool").exists()
