"""Races engines in the layout of the official archives, made of assembled ones and served over HTTP."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.official import OFFICIAL_ARCHIVES
from pacenote.provision.distributions.parts import NodePaths
from pacenote.provision.distributions.registry import DISTRIBUTIONS
from pacenote.provision.engine_installation import install_engine
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.layout import create_layout
from support.http_server import HttpRequest, HttpResponse, http_server
from support.official_archive import sha512_line
from teams.repositories import write_team

from .test_distributions import write_track

pytestmark = pytest.mark.engine

# As in the official scripts: options are read from the config folder, those for certain versions of Java are
# left out, and the engine replaces the script.
_SCRIPT = """\
#!/usr/bin/env bash
set -e -o pipefail
cd "$(dirname "$0")/.."
HOME_FOLDER=$PWD
CONFIG=${{{prefix}_PATH_CONF:-$HOME_FOLDER/config}}
JAVA=${{{prefix}_JAVA_HOME:-$HOME_FOLDER/jdk}}/bin/java
OPTIONS=$(cat "$CONFIG/jvm.options" "$CONFIG"/jvm.options.d/*.options | grep '^-' \\
  | sed "s|[$]{{{prefix}_TMPDIR}}|${prefix}_TMPDIR|")
exec "$JAVA" $OPTIONS {arguments}
"""


def start_script(distribution: Distribution, program: AssembledProgram) -> str:
    paths = NodePaths(*map(Path, ("$HOME_FOLDER", "$CONFIG", "data", "logs", "tmp")))
    arguments = distribution.main_arguments(paths, program.java)
    prefix = OFFICIAL_ARCHIVES[distribution.name].variables
    return _SCRIPT.format(prefix=prefix, arguments=" ".join(f'"{each}"' for each in arguments))


def build_archive(distribution: Distribution, program: AssembledProgram, folder: Path) -> Path:
    """Builds the archive of the default version of an engine below `folder`."""
    name = distribution.name
    prefix = OFFICIAL_ARCHIVES[name].variables
    paths = NodePaths(Path("unused"), *map(Path, ("config", "data", "logs", f"${{{prefix}_TMPDIR}}")))
    options = distribution.jvm_options(256 << 20, paths, program.java)
    top = f"{name}-{distribution.default_version}"
    texts = {
        f"bin/{name}": start_script(distribution, program),
        "config/jvm.options": "\n".join(("## made by a test", "-XX:+UseG1GC", *options, "")),
        "config/log4j2.properties": "status = error\nrootLogger.level = info\n"
        "appender.out.type = Console\nappender.out.name = out\nappender.out.layout.type = PatternLayout\n"
        "rootLogger.appenderRef.out.ref = out\n",
        f"config/{name}.yml": "# nothing is set\n",
    }
    archive = folder / f"{top}-linux.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=0) as packed:
        for part in ("lib", "modules", "locale"):
            packed.add(program.home / part, f"{top}/{part}")
        for empty in ("plugins", "config/jvm.options.d", "logs"):
            member = tarfile.TarInfo(f"{top}/{empty}")
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            packed.addfile(member)
        for path, text in texts.items():
            (folder / "file").write_text(text)
            (folder / "file").chmod(0o755 if path.startswith("bin/") else 0o644)
            packed.add(folder / "file", f"{top}/{path}")
    return archive


@dataclass(frozen=True)
class ServedArchive:
    """An archive on a server, and a home folder that is removed with everything downloaded from there."""

    url: str
    name: str
    home: Path
    java: Path
    """The runtime of the assembled engine, so that none has to be downloaded."""


@pytest.fixture
def served(request: pytest.FixtureRequest, home: Path, tmp_path: Path) -> Iterator[ServedArchive]:
    """Serves the archive of the engine that the test names, with its checksum."""
    distribution = DISTRIBUTIONS[request.param]
    program = install_engine(EngineRequest(home, tmp_path, distribution=request.param)).program
    assert isinstance(program, AssembledProgram)
    archive = build_archive(distribution, program, tmp_path)
    content = archive.read_bytes()
    own = tmp_path / "home"

    def respond(asked: HttpRequest) -> HttpResponse:
        if asked.path.endswith(".sha512"):
            return HttpResponse(body=sha512_line(content, archive.name))
        return HttpResponse(body=content)

    with http_server(respond) as server:
        yield ServedArchive(f"{server.url}/downloads", archive.name, own, program.java.home)
    # For root, the engine may be outside the home folder, where pytest does not clean up.
    shutil.rmtree(create_layout(own).root, ignore_errors=True)


def race(served: ServedArchive, folder: Path, *options: str) -> tuple[dict[str, Any], Path]:
    """Runs a race in a folder, and returns its record and its folder."""
    race_id = uuid.uuid4().hex
    command = [
        *(sys.executable, "-m", "pacenote", "race", f"--race-id={race_id}", "--car-params=heap_size:512m"),
        *(f"--track-path={folder / 'notes'}", f"--runtime-jdk={served.java}", *options),
    ]
    environment = {**os.environ, "PACENOTE_HOME": str(served.home)}
    run = partial(subprocess.run, env=environment, cwd=folder, text=True, capture_output=True, timeout=300)
    done = run(command, check=False)
    assert done.returncode == 0, done.stderr
    race_folder = served.home / "races" / race_id
    return json.loads((race_folder / "race.json").read_text()), race_folder


@pytest.mark.parametrize("served", ["opensearch"], indirect=True)
def test_an_archive_is_raced_by_its_url(served: ServedArchive, tmp_path: Path) -> None:
    write_track(tmp_path / "notes", scripts=True)
    url = f"{served.url}/{served.name}"
    record, race_folder = race(served, tmp_path, f"--distribution-archive={url}", "--car=parallelgc")
    cluster = record["cluster"]
    assert cluster["distribution-version"] == "3.3.0"
    assert cluster["archive"]["address"] == url
    assert cluster["archive"]["verified"]
    assert cluster["title"] is None
    assert cluster["absent_modules"] is None
    # The collector of the car replaces that in the file of the archive.
    assert "Using Parallel" in (race_folder / "artifacts" / "gc.log").read_text()


@pytest.mark.parametrize("served", ["elasticsearch"], indirect=True)
def test_an_archive_of_a_configured_repository_is_raced_with_a_team_car(
    served: ServedArchive, tmp_path: Path
) -> None:
    write_track(tmp_path / "notes")
    write_team(tmp_path / "team")
    template = f"{served.url}/elasticsearch-{{{{VERSION}}}}-{{{{OSNAME}}}}.tar.gz"
    (tmp_path / "pacenote.toml").write_text(f'[distributions]\nmine.url = "{template}"\n')
    options = ("--trust", "--distribution-repository=mine", "--distribution-version=7.17.28")
    team = (f"--team-path={tmp_path / 'team'}", "--car=small,buffers")
    record, race_folder = race(served, tmp_path, *options, *team)
    assert record["cluster"]["archive"]["address"] == f"{served.url}/elasticsearch-7.17.28-linux.tar.gz"
    assert record["options"]["distribution_repository"] == "mine"
    facts = json.loads((race_folder / "snapshot.json").read_text())["before"]["facts"]
    assert facts["setting.indices.memory.index_buffer_size"] == "30%"
    assert facts["node.rally-node-0.jvm.flag.MaxHeapSize"] == str(512 << 20)
