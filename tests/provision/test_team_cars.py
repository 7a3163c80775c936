"""Nodes are configured by the templates of a team repository."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError, UsageError
from pacenote.model.team_options import LocatedTeam
from pacenote.provision.cars import Car, compose_car
from pacenote.provision.distributions.parts import NodePaths
from pacenote.provision.engine_program import AssembledProgram, NodePorts, NodeSetup
from pacenote.provision.java import JavaRuntime
from pacenote.provision.team_cars import (
    RunnableEngine,
    apply_car,
    compose_team_car,
    has_settings_to_check,
    jvm_options_of,
    portable_options,
)
from pacenote.teams.composition import CompositionRequest
from provision.conftest import FakeEngine, write_jar
from teams.repositories import write_team

JAVA = JavaRuntime(Path("/java"), "17.0.1", "", frozenset({"java.base"}), "test")


@pytest.fixture
def engine(tmp_path: Path) -> RunnableEngine:
    home = tmp_path / "engine"
    write_jar(home / "lib", "server.jar", "indices.memory.index_buffer_size", "xpack.ml.enabled")
    return RunnableEngine("fake 1", AssembledProgram(FakeEngine("healthy"), home, JAVA), JAVA)


@pytest.fixture
def setup(tmp_path: Path, engine: RunnableEngine) -> NodeSetup:
    folder = tmp_path / "node"
    own = [folder / name for name in ("config", "data", "logs", "tmp")]
    for path in own:
        path.mkdir(parents=True)
    settings = {"cluster.name": "race", "node.name": "n-1"}
    return NodeSetup(NodePaths(engine.program.home, *own), NodePorts(9, 10), 1 << 28, settings=settings)


def car(root: Path, *names: str, changes: dict[str, str] | None = None) -> Car:
    team = LocatedTeam(write_team(root / "team", changes), "mine")
    return compose_team_car(team, CompositionRequest(cars=names))


@pytest.mark.parametrize("name", ["cluster_name", "node_name"])
def test_parameters_of_plugins_do_not_give_names_that_lead_elsewhere(tmp_path: Path, name: str) -> None:
    team = LocatedTeam(write_team(tmp_path / "team"), "mine")
    with pytest.raises(UsageError, match=f"{name} in --plugin-params cannot be '../x'"):
        compose_team_car(team, CompositionRequest(cars=("small",), plugin_params={name: "../x"}))


def test_a_node_gets_the_values_of_its_own_folders(
    tmp_path: Path, engine: RunnableEngine, setup: NodeSetup
) -> None:
    path = "cars/v1/plain/templates/config/jvm.options"
    text = "-XX:HeapDumpPath={{ heap_dump_path }}\n-Dport={{ http_port }}\n-Djava.io.tmpdir=${ES_TMPDIR}\n"
    common, program = apply_car(car(tmp_path, "small", "buffers", changes={path: text}), engine)
    assert common.settings == {}
    command = program.command(replace(setup, settings={**setup.settings, **common.settings}))
    assert f"-XX:HeapDumpPath={setup.paths.logs}" in command.arguments
    assert "-Dport=9" in command.arguments
    assert not any("nonexistent" in argument for argument in command.arguments)
    settings = program.settings(setup)
    assert settings["indices.memory.index_buffer_size"] == "30%"
    assert settings["node.name"] == "n-1"


def test_templates_know_all_nodes_and_all_data_paths(
    tmp_path: Path, engine: RunnableEngine, setup: NodeSetup
) -> None:
    path = "cars/v1/plain/templates/config/jvm.options"
    text = (
        "-Dnodes={{ all_node_names }}\n-Dcount={{ all_node_ips_count }}\n-Ddata={{ data_paths|join(',') }}\n"
    )
    _, program = apply_car(car(tmp_path, "small", changes={path: text}), engine)
    paths = replace(setup.paths, data=Path("/a"), more_data=(Path("/b"),))
    arguments = program.command(replace(setup, paths=paths, all_node_names=("n-0", "n-1"))).arguments
    assert {'-Dnodes=["n-0","n-1"]', "-Dcount=2", "-Ddata=/a,/b"} <= set(arguments)


def test_other_files_are_written_into_the_config_folder(
    tmp_path: Path, engine: RunnableEngine, setup: NodeSetup
) -> None:
    _, program = apply_car(car(tmp_path, "small", "buffers"), engine)
    program.complete(setup)
    assert (setup.paths.config / "words" / "stop.txt").read_text() == "the n-1\n"
    assert (setup.paths.config / "users").read_text() == "{{ not rendered }}\n"


def test_the_unpacked_archive_is_not_changed_through_its_links(
    tmp_path: Path, engine: RunnableEngine, setup: NodeSetup
) -> None:
    home, shared = setup.paths.config.parent / "home", tmp_path / "shared"
    files = ("words.txt", "plain.sh")
    for name in files:
        for folder in (home / "modules", shared):
            folder.mkdir(parents=True, exist_ok=True)
        (shared / name).write_text("of all nodes")
        (home / "modules" / name).hardlink_to(shared / name)
    changes = {f"cars/v1/plain/templates/modules/{name}": "of one node" for name in files}
    _, program = apply_car(car(tmp_path, "small", changes=changes), engine)
    program.complete(replace(setup, paths=replace(setup.paths, home=home)))
    assert [(home / "modules" / name).read_text().strip() for name in files] == ["of one node"] * 2
    assert [(shared / name).read_text() for name in files] == ["of all nodes"] * 2


@pytest.mark.process
def test_hooks_run_when_the_files_are_written(
    tmp_path: Path, engine: RunnableEngine, setup: NodeSetup
) -> None:
    hook = (
        "import os\n"
        "def hook(config_names, variables, env):\n"
        '    root = variables["install_root_path"]\n'
        '    text = open(os.path.join(root, "config", "words", "stop.txt")).read()\n'
        '    open(os.path.join(root, "config", "seen"), "w").write(text + config_names + env["JAVA_HOME"])\n'
        "def register(handler):\n"
        '    handler.register("post_install", hook)\n'
    )
    _, program = apply_car(car(tmp_path, "small", changes={"cars/v1/plain/config.py": hook}), engine)
    program.complete(setup)
    assert (setup.paths.config / "seen").read_text() == "the n-1\nsmall/java"


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "refused"), [("http: {host: 0.0.0.0}", True), ("http.compression: true", False)]
)
def test_hooks_do_not_open_a_node_to_the_network(
    tmp_path: Path, engine: RunnableEngine, setup: NodeSetup, line: str, refused: bool
) -> None:
    settings = setup.paths.config / "elasticsearch.yml"
    settings.write_text('network.host: "127.0.0.1"\n')
    hook = (
        "def hook(config_names, variables, env):\n"
        f"    open({str(settings)!r}, 'a').write({line!r})\n"
        "def register(handler):\n"
        '    handler.register("post_install", hook)\n'
    )
    _, program = apply_car(car(tmp_path, "small", changes={"cars/v1/plain/config.py": hook}), engine)
    expected = pytest.raises(EngineError, match=r"hooks have changed settings .*: http\.host")
    with expected if refused else nullcontext():
        program.complete(setup)


def test_what_was_added_to_a_composed_car_is_kept(tmp_path: Path, engine: RunnableEngine) -> None:
    composed = car(tmp_path, "small")
    fixed = replace(composed, settings={**composed.settings, "http.port": 9200})
    common, _ = apply_car(fixed, engine)
    assert common.settings == {"http.port": 9200}
    assert common.heap_size == "300m"


def test_options_are_those_for_the_java_that_runs_the_engine(tmp_path: Path) -> None:
    path = "cars/v1/plain/templates/config/jvm.options"
    text = (
        "8-16:-a\n17:-b\n18-:-c\n--add-modules=jdk.incubator.vector\n--add-modules=java.base\n-XX:+UseG1GC\n"
    )
    options = jvm_options_of(car(tmp_path, "small", changes={path: text}), JAVA)
    assert options[:2] == ("-b", "--add-modules=java.base")
    # As in the official archives.
    assert options[-2:] == ("-XX:G1ReservePercent=25", "-XX:InitiatingHeapOccupancyPercent=30")
    assert jvm_options_of(compose_car(["zgc"]), JAVA) == ("-XX:+UseZGC",)


def test_options_for_a_container_name_no_folder_of_this_host(tmp_path: Path) -> None:
    assert portable_options(car(tmp_path, "small")) == (
        "-XX:+UseG1GC",
        "-XX:G1ReservePercent=25",
        "-XX:InitiatingHeapOccupancyPercent=30",
    )
    assert portable_options(compose_car(["verbose-gc", "ea"])) == ("-ea",)


def test_watermarks_of_a_car_take_effect(tmp_path: Path) -> None:
    path = "cars/v1/plain/templates/config/elasticsearch.yml"
    composed = car(tmp_path, "small", changes={path: "cluster.routing.allocation.disk.watermark.low: 1gb\n"})
    assert composed.settings["cluster.routing.allocation.disk.threshold_enabled"] == "true"


def test_misspelt_settings_of_a_built_in_car_are_found(engine: RunnableEngine) -> None:
    given = {"additional_cluster_settings": {"indices.memory.index_bufer_size": "1%"}}
    with pytest.raises(UsageError, match="fake 1 has no setting indices"):
        apply_car(compose_car([], given), engine)


def test_misspelt_settings_of_indices_are_found(tmp_path: Path, engine: RunnableEngine) -> None:
    write_jar(tmp_path / "engine" / "lib", "indices.jar", "index.codec")
    with pytest.raises(UsageError, match=r"fake 1 has no setting index\.codc") as caught:
        apply_car(replace(compose_car([]), index_settings={"index.codc": "x"}), engine)
    assert caught.value.hint == "did you mean index.codec?"


def test_jars_are_only_read_for_settings_that_an_engine_may_lack(tmp_path: Path) -> None:
    ports = replace(compose_car(["http-compression"]), settings={"http.port": 9200, "http.compression": "x"})
    assert not has_settings_to_check(ports)
    assert not has_settings_to_check(compose_car(["4gheap", "lean-watermarks", "index-buffer-25"]))
    assert not has_settings_to_check(compose_car(["best-compression"]))
    assert has_settings_to_check(compose_car(["basic-license"]))
    assert has_settings_to_check(compose_car([], {"additional_cluster_settings": {"a.b": 1}}))
    assert has_settings_to_check(car(tmp_path, "small"))


def test_settings_that_are_left_out_are_reported(engine: RunnableEngine) -> None:
    lines: list[str] = []
    common, _ = apply_car(compose_car(["trial-license"]), engine, lambda text, *_: lines.append(text))
    assert common.settings == {}
    assert lines == ["fake 1 has no such settings of the car: xpack.license.self_generated.type=trial"]


def test_a_template_that_needs_an_absent_module_is_refused(tmp_path: Path, engine: RunnableEngine) -> None:
    path = "cars/v1/plain/templates/config/elasticsearch.yml"
    on, off = "xpack.security.enabled: true\n", "xpack.security.enabled: false\nxpack.ml.enabled: false\n"
    with pytest.raises(EngineError, match=r"fake 1 has no setting xpack\.security\.enabled, .* to true"):
        apply_car(car(tmp_path, "small", changes={path: on}), engine)
    _, program = apply_car(car(tmp_path, "small", changes={path: off}), engine)
    assert program.home == engine.program.home


def test_settings_name_files_in_the_config_folder_that_the_engine_knows(
    tmp_path: Path, engine: RunnableEngine, setup: NodeSetup
) -> None:
    path = "cars/v1/plain/templates/config/elasticsearch.yml"
    text = "own.files:\n- {{install_root_path}}/config/x.p12\n- {{install_root_path}}/x.p12\n"
    _, program = apply_car(car(tmp_path, "small", changes={path: text}), engine)
    home = setup.paths.config.parent / "home"
    settings = program.settings(replace(setup, paths=replace(setup.paths, home=home)))
    assert settings["own.files"] == [f"{setup.paths.config}/x.p12", f"{home}/x.p12"]
