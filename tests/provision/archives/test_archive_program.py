"""A node of an official archive is started with the scripts of the archive, in a copy of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.net.rest import RestClient
from pacenote.provision.archives.archive_program import ArchiveProgram
from pacenote.provision.archives.engine_tree import read_tree
from pacenote.provision.distributions.parts import NodePaths
from pacenote.provision.engine_program import NodePorts, NodeSetup
from pacenote.provision.java import read_java
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_registry import cleanup_orphans
from pacenote.provision.node_spec import NodeSpec
from pacenote.system.process import is_running, kill_process, process_identity
from provision.conftest import start_node
from support.official_archive import official_files, write_tree

JAVA = "jdk/bin/java"


def program_in(folder: Path, **options: object) -> ArchiveProgram:
    more = {JAVA: "#!/bin/sh\n", "jdk/release": 'JAVA_VERSION="21.0.1"\n', **options.pop("more", {})}
    tree = read_tree(write_tree(folder, official_files(**options, more=more)), "it")
    assert tree.bundled_java is not None
    return ArchiveProgram(tree, read_java(tree.bundled_java, "archive"))


def setup_in(folder: Path, home: Path, **options: object) -> NodeSetup:
    paths = NodePaths(home, *(folder / name for name in ("config", "data", "logs", "tmp")))
    return NodeSetup(paths, NodePorts(39200, 39300), heap=512 << 20, **options)


@pytest.fixture
def node_folder(tmp_path: Path) -> Path:
    for name in ("config", "data", "logs", "tmp"):
        (tmp_path / "node" / name).mkdir(parents=True)
    return tmp_path / "node"


def test_a_node_gets_a_copy_whose_large_files_are_links(tmp_path: Path, node_folder: Path) -> None:
    program = program_in(tmp_path / "tree")
    home = program.install(node_folder)
    jar = "lib/elasticsearch-8.17.0.jar"
    assert (home / jar).samefile(program.home / jar)
    assert not (home / "bin" / "elasticsearch").samefile(program.home / "bin" / "elasticsearch")
    assert os.access(home / "bin" / "elasticsearch", os.X_OK)
    for name in ("config", "data", "logs"):
        assert (home / name).samefile(node_folder / name)
    (home / "bin" / "elasticsearch").write_text("changed by a hook")
    assert "exec" in (program.home / "bin" / "elasticsearch").read_text()


def test_settings_of_parts_are_only_set_if_the_archive_has_them(tmp_path: Path, node_folder: Path) -> None:
    plain = program_in(tmp_path / "plain")
    setup = setup_in(node_folder, plain.home, settings={"cluster.name": "c"})
    assert plain.settings(setup)["http.port"] == 39200
    assert not [key for key in plain.settings(setup) if key.startswith("xpack.")]
    full = program_in(tmp_path / "full", more={"modules/x-pack-security/": "", "modules/ingest-geoip/": ""})
    assert full.settings(setup)["xpack.security.enabled"] is False
    assert full.settings(setup)["ingest.geoip.downloader.enabled"] is False
    assert "xpack.ml.enabled" not in full.settings(setup)
    own = replace(setup, settings={"xpack.security.enabled": True})
    assert full.settings(own)["xpack.security.enabled"] is True
    bundle = program_in(
        tmp_path / "bundle", name="opensearch", version="3.3.0", more={"plugins/opensearch-security/": ""}
    )
    assert bundle.settings(setup)["plugins.security.disabled"] is True


def test_heap_and_options_are_in_the_folder_for_options(tmp_path: Path, node_folder: Path) -> None:
    program = program_in(tmp_path / "tree")
    setup = setup_in(node_folder, program.home, jvm_options=("-XX:+UseParallelGC",))
    files = program.config_files(setup)
    options = files["jvm.options.d/pacenote.options"].splitlines()
    assert options[:2] == ["-Xms536870912", "-Xmx536870912"]
    # The file of the archive selects another collector, and Java would refuse two.
    assert options[-2:] == ["-XX:-UseG1GC", "-XX:+UseParallelGC"]
    # Two GC logs would be written to the same file.
    assert "-Xlog:gc" not in files["jvm.options"]
    assert "-Djava.io.tmpdir=${ES_TMPDIR}" in files["jvm.options"]
    assert f'path.logs: "{node_folder}/logs"' in files["elasticsearch.yml"]
    plain = replace(setup, jvm_options=("-XX:+UseG1GC",))
    assert "-XX:-UseG1GC" not in program.config_files(plain)["jvm.options.d/pacenote.options"]


def test_options_follow_those_of_an_old_version_that_reads_one_file(
    tmp_path: Path, node_folder: Path
) -> None:
    program = program_in(tmp_path / "tree", version="7.6.2")
    (program.home / "config" / "jvm.options.d").rmdir()
    files = program.config_files(setup_in(node_folder, program.home))
    assert files["jvm.options"].startswith("## the options of the archive\n-XX:+UseG1GC\n")
    assert "\n-Xms536870912\n-Xmx536870912\n" in files["jvm.options"]


def test_the_other_config_files_are_copied_as_they_are(tmp_path: Path, node_folder: Path) -> None:
    program = program_in(
        tmp_path / "tree", more={"config/security/roles.yml": "", "config/opensearch.yml": "x"}
    )
    config, copy = program.home / "config", node_folder / "config"
    content = b"\xff\r\n" + bytes(1 << 16)
    (config / "security" / "keys").write_bytes(content)
    (config / "link").symlink_to("log4j2.properties")
    (config / "loop").symlink_to("loop")
    os.truncate(config / "security" / "roles.yml", 512 << 20)
    program.complete(setup_in(node_folder, program.home))
    assert {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()} == {
        *("log4j2.properties", "security/keys", "security/roles.yml")
    }
    assert (copy / "security" / "keys").read_bytes() == content
    sparse = (copy / "security" / "roles.yml").stat()
    assert (sparse.st_size, sparse.st_blocks, sparse.st_mode & 0o777) == (512 << 20, 0, 0o644)


def test_config_files_that_are_too_large_are_refused(tmp_path: Path, node_folder: Path) -> None:
    program = program_in(tmp_path / "tree", more={"config/jvm.options": "\n" * (2 << 20), "config/holes": ""})
    setup = setup_in(node_folder, program.home)
    with pytest.raises(EngineError, match=r"jvm\.options cannot be read: it is larger than 1.0 MiB"):
        program.config_files(setup)
    os.truncate(program.home / "config" / "holes", 2 << 30)
    with pytest.raises(EngineError, match=r"config has more than 10,000 files or 1\.0 GiB"):
        program.complete(setup)


def test_links_in_an_archive_do_no_harm(tmp_path: Path, node_folder: Path) -> None:
    program = program_in(tmp_path / "tree", name="opensearch", version="3.3.0", more={"plugins/": ""})
    home = program.home
    for name, target in (
        ("plugins/opensearch-security", "a" * 300),
        ("modules", "modules"),
        ("config/l", "l"),
    ):
        (home / name).symlink_to(target)
    assert "plugins.security.disabled" not in program.settings(setup_in(node_folder, home))
    assert (program.install(node_folder) / "modules").readlink() == Path("modules")
    assert read_tree(home, "it").version == "3.3.0"
    (home / "jdk" / "bin" / "java").unlink()
    (home / "jdk" / "bin" / "java").symlink_to("a" * 300)
    assert read_tree(home, "it").bundled_java is None
    chained = home / "chain0"
    for number in range(1500):
        (home / f"chain{number}").symlink_to(f"chain{number + 1}")
    assert replace(program.tree, folder=chained).bundled_java is None


def test_the_script_gets_the_folders_and_the_java_of_the_node(tmp_path: Path, node_folder: Path) -> None:
    program = program_in(tmp_path / "tree", name="opensearch", version="3.3.0")
    setup = setup_in(node_folder, tmp_path / "home", environment={"OPENSEARCH_JAVA_OPTS": "-ea"})
    command = program.command(setup)
    assert command.arguments == (str(tmp_path / "home" / "bin" / "opensearch"),)
    assert command.environment["OPENSEARCH_PATH_CONF"] == str(node_folder / "config")
    assert command.environment["OPENSEARCH_TMPDIR"] == str(node_folder / "tmp")
    assert command.environment["OPENSEARCH_JAVA_OPTS"] == "-ea"
    assert "JAVA_HOME" not in command.environment
    java = replace(program.java, home=tmp_path / "other")
    other = replace(program, java=java).command(setup)
    assert other.environment["OPENSEARCH_JAVA_HOME"] == other.environment["JAVA_HOME"] == str(java.home)


@pytest.mark.process
@pytest.mark.parametrize("launcher", [True, False])
def test_a_node_is_started_and_stopped(layout: EngineLayout, tmp_path: Path, *, launcher: bool) -> None:
    program = program_in(tmp_path / "tree", launcher=launcher)
    spec = NodeSpec("elasticsearch", "8.17.0", heap="128m", start_timeout_s=5)
    with start_node(spec, program, layout, tmp_path / "race") as node:
        report = json.loads((node.folder / "logs" / "report.json").read_text())
        # The process that is measured is the engine, not its launcher.
        assert report["pid"] == node.pid
        assert RestClient([node.host]).get("/")["status"] == "green"
        assert report["folder"] == str(node.folder / "home")
        engine = process_identity(node.pid)
    assert engine is not None
    assert not is_running(engine)
    assert not list(layout.nodes.iterdir())
    # It is not the name of a log.
    assert {path.name for path in (tmp_path / "race").iterdir()} == {"engine.log"}
    assert "report.json" in node.log_problem


_OWNER = """\
import os, sys
from pathlib import Path
from pacenote.provision.archives.archive_program import ArchiveProgram
from pacenote.provision.archives.engine_tree import read_tree
from pacenote.provision.fleet import LocalFleet
from pacenote.provision.java import read_java
from pacenote.provision.layout import create_layout
from pacenote.provision.node_spec import NodeSpec
tree = read_tree(Path(sys.argv[1]), "it")
program = ArchiveProgram(tree, read_java(tree.bundled_java, "archive"))
spec = NodeSpec("elasticsearch", "8.17.0", heap="128m", start_timeout_s=5)
fleet = LocalFleet(program, create_layout(Path(sys.argv[2]), root=False), Path(sys.argv[3]))
fleet.start([spec])
print(fleet.nodes[0].pid, flush=True)
os.read(0, 1)
"""


@pytest.mark.process
def test_the_next_command_kills_an_engine_whose_launcher_was_killed_with_its_owner(
    layout: EngineLayout, tmp_path: Path
) -> None:
    program = program_in(tmp_path / "tree", watches=False)
    arguments = [sys.executable, "-c", _OWNER, program.home, layout.home, tmp_path / "logs"]
    owner = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdin is not None
    engine = process_identity(int(owner.stdout.readline()))
    assert engine is not None
    owner.kill()
    owner.wait()
    owner.stdin.close()
    owner.stdout.close()
    try:
        assert is_running(engine)
        assert len(cleanup_orphans(layout)) == 1
        assert not is_running(engine)
    finally:
        kill_process(engine, lambda _: True)
    assert not list(layout.nodes.iterdir())
