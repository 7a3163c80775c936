"""Engines are installed, started and stopped outside of races; in these tests, the engine is a script.

Ports are below those that the kernel chooses for connections, of which other tests have some.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.cli.main import main
from pacenote.errors import EngineError, StoreError
from pacenote.model.engine import FIRST_HTTP_PORT, TRANSPORT_OFFSET, EngineInfo
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.fleet import LocalFleet
from pacenote.provision.layout import EngineLayout, create_layout
from pacenote.provision.node_facts import NodePurpose
from pacenote.provision.node_plan import plan_nodes
from pacenote.provision.node_registry import registered_nodes
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.ports import is_taken, reserve_ports
from pacenote.race import lifecycle
from pacenote.store.installation_store import InstallationStore, InstalledEngine
from pacenote.system.process import kill_process
from provision.conftest import FakeEngine, write_fake_java

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineLayout]:
    """A home in which a script is started in place of any engine."""
    home = tmp_path / "home"
    monkeypatch.setenv("PACENOTE_HOME", str(home))
    monkeypatch.setenv("RALLY_HOME", str(tmp_path / "rally"))
    made = create_layout(home, root=False)
    program = AssembledProgram(FakeEngine(), tmp_path, write_fake_java(tmp_path / "java"))

    def start(request: EngineRequest, progress: Callable[[str, int, int], None]) -> LocalFleet:
        template = NodeSpec("opensearch", "3.3.0", name=request.node_name, heap="128m", start_timeout_s=5)
        planned = plan_nodes(
            request.nodes, replace(template, purpose=request.purpose), EngineInfo("elasticsearch", "8.19.21")
        )
        pairs = zip(planned, request.ports, strict=True)
        fleet = LocalFleet(program, made, request.logs or request.artifacts)
        fleet.start([replace(spec, ports=ports) for spec, ports in pairs], progress)
        return fleet

    monkeypatch.setattr(lifecycle, "plan_layout", lambda _: made)
    monkeypatch.setattr(lifecycle, "start_engine", start)
    monkeypatch.setattr(lifecycle, "check_engine_request", lambda request: request)
    monkeypatch.setattr(lifecycle, "install_engine", lambda *_: None)
    yield made
    for entry in registered_nodes(made):
        if entry.process is not None:
            kill_process(entry.process, entry.is_node)


@pytest.fixture
def run(layout: EngineLayout, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.mark.process
def test_an_engine_is_started_listed_and_stopped(run: Run, layout: EngineLayout) -> None:
    code, out, _ = run("start", "--format=json")
    assert code == 0
    started = json.loads(out)
    (node,) = started["nodes"]
    address = node["address"]
    host, _, port = address.partition(":")
    assert (host, int(port) >= FIRST_HTTP_PORT) == ("127.0.0.1", True)
    assert (node["name"], node["distribution"], node["heap"]) == ("rally-node-0", "opensearch", "128m")

    code, out, err = run("start")
    assert code == 64
    assert out == ""
    assert f"node rally-node-0 already runs at {address} (installation {started['installation-id']})" in err

    code, out, _ = run("start", "--node-name=second")
    assert f"pacenote stop --installation-id={json_ids(run)['second']}" in out
    assert "second (opensearch 3.3.0, 128m of heap) runs at 127.0.0.1:39" in out

    assert run("list", "nodes")[1].count(f" installation {started['installation-id']}") == 1
    code, _, err = run("stop")
    assert code == 2
    assert "several engines run: " in err

    code, out, _ = run("stop", f"--installation-id={json_ids(run)['second']}")
    assert out.startswith("second (opensearch 3.3.0) was stopped.\n")
    code, out, _ = run("stop", "--format=json")
    stopped = json.loads(out)
    assert (stopped["installation-id"], stopped["removed"]) == (started["installation-id"], True)
    assert [each["pid"] for each in stopped["stopped"]] == [node["pid"]]
    assert run("list", "nodes")[1] == "No nodes run.\n"
    assert run("stop")[0] == 2
    assert not list(layout.nodes.iterdir())
    assert InstallationStore(layout.home).ids() == []


def json_ids(run: Run) -> dict[str, str]:
    return {
        each["name"]: each["installation-id"] for each in json.loads(run("list", "nodes", "--format=json")[1])
    }


@pytest.mark.process
def test_an_installation_keeps_its_port_and_its_data(run: Run, layout: EngineLayout) -> None:
    race = layout.home / "races" / "r1" / "artifacts"
    race.mkdir(parents=True)
    command = ("install", "--distribution-version=3.3.0", "--node-name=n", "--http-port=29251")
    cluster = ("--master-nodes=n", "--seed-hosts=127.0.0.1:39351", "--network-host=127.0.0.1")
    code, out, _ = run(*command, *cluster)
    assert code == 0
    installed = json.loads(out)["installation-id"]
    assert list(json.loads(out)) == ["installation-id"]
    assert run("list", "nodes")[1] == "No nodes run.\n"

    code, out, err = run("start", f"--installation-id={installed}", "--race-id=r1")
    assert (code, "n (opensearch 3.3.0, 128m of heap) runs at 127.0.0.1:29251" in out) == (0, True), err
    code, _, err = run("start", f"--installation-id={installed}")
    assert (code, f"installation {installed} already runs at 127.0.0.1:29251" in err) == (64, True)
    data = layout.nodes / f"n-{installed}" / "data"
    (data / "index").write_text("documents")

    code, out, _ = run("stop", f"--installation-id={installed}", "--preserve-install", "--skip-telemetry")
    assert out == f"n (opensearch 3.3.0) was stopped.\nInstallation {installed} and its data are kept.\n"
    assert {"engine.log", "gc.log"} == {each.name for each in race.iterdir()}
    assert (data / "index").read_text() == "documents"

    assert run("start", f"--installation-id={installed}")[0] == 0
    assert (data / "index").read_text() == "documents"
    assert run("stop", f"--installation-id={installed}")[0] == 0
    assert not data.parent.exists()
    assert f"there is no installation '{installed}'" in run("start", f"--installation-id={installed}")[2]


@pytest.mark.process
@pytest.mark.parametrize("preserve", [(), ("--preserve-install",)])
def test_logs_get_into_the_folder_of_a_race_without_the_secrets_of_their_installation(
    run: Run, layout: EngineLayout, preserve: tuple[str, ...]
) -> None:
    artifacts = layout.home / "races" / "rr1" / "artifacts"
    artifacts.mkdir(parents=True)
    secret = "Hunter2SecretXyz"
    params = json.dumps({"additional_cluster_settings": {"some.client.secret_key": "Other3SecretXyz"}})
    options = (f"--jvm=-Dmy.password={secret}", f"--car-params={params}", "--installation-id=i")
    assert run("install", "--http-port=29261", *options)[0] == 0
    assert run("start", "--race-id=rr1", "--installation-id=i")[0] == 0
    log = layout.home / "installations" / "i" / "logs" / "1" / "engine.log"
    with log.open("a") as file:
        file.write(f"JVM arguments [-Dx={secret}] and Other3SecretXyz\n")
    code, _, err = run("stop", *preserve)
    assert (code, err) == (0, "")
    copy = (artifacts / "engine.log").read_text()
    assert "JVM arguments [-Dx=<hidden>] and <hidden>\n" in copy
    assert [path.name for path in artifacts.iterdir() if secret.encode() in path.read_bytes()] == []


@pytest.mark.process
def test_logs_get_into_the_folder_of_a_race_only_as_far_as_their_secrets_are_replaced(
    run: Run, layout: EngineLayout
) -> None:
    artifacts = layout.home / "races" / "rr1" / "artifacts"
    artifacts.mkdir(parents=True)
    # What stands in the way of a copy that is made later, as a kill does.
    (artifacts / f".engine.log.{os.getpid()}.tmp").mkdir()
    secret = "Hunter2SecretXyz"
    options = (f"--jvm=-Dmy.password={secret}", "--installation-id=i")
    assert run("install", "--http-port=29264", *options)[0] == 0
    assert run("start", "--race-id=rr1", "--installation-id=i")[0] == 0
    log = layout.home / "installations" / "i" / "logs" / "1" / "engine.log"
    with log.open("a") as file:
        file.write(f"JVM arguments [-Dx={secret}]\n")
    code, _, err = run("stop")
    assert (code, err) == (0, "")
    assert "JVM arguments [-Dx=<hidden>]\n" in (artifacts / "engine.log").read_text()


@pytest.mark.process
@pytest.mark.parametrize("link", ["nightly", "artifacts"])
def test_logs_are_not_copied_through_a_link_in_a_copied_race(
    run: Run, layout: EngineLayout, tmp_path: Path, link: str
) -> None:
    other, race = tmp_path / "other", layout.home / "races" / "nightly"
    (other / "artifacts").mkdir(parents=True)
    race.parent.mkdir(parents=True)
    if link == "nightly":
        race.symlink_to(other)
    else:
        race.mkdir()
        (race / "artifacts").symlink_to(other / "artifacts")
    assert run("install", "--installation-id=i", "--http-port=29265")[0] == 0
    assert run("start", "--race-id=nightly", "--installation-id=i")[0] == 0
    code, _, err = run("stop")
    assert code == 0
    assert f"the logs of node rally-node-0 are not in {race / 'artifacts'}: {link} is a link" in err
    assert list((other / "artifacts").iterdir()) == []


@pytest.mark.process
@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_logs_whose_secrets_are_not_known_are_not_copied(run: Run, layout: EngineLayout, damage: str) -> None:
    artifacts = layout.home / "races" / "rr1" / "artifacts"
    artifacts.mkdir(parents=True)
    assert run("install", "--installation-id=i", "--http-port=29262")[0] == 0
    assert run("start", "--race-id=rr1", "--installation-id=i")[0] == 0
    folder = layout.home / "installations" / "i"
    if damage == "missing":
        (folder / "installation.json").unlink()
    else:
        (folder / "installation.json").write_text("{")
    code, _, err = run("stop", "--preserve-install")
    assert code == 0
    assert f"the logs of node rally-node-0 are not in {artifacts}, as secrets of its options" in err
    problem = "there is no installation 'i'" if damage == "missing" else "installation.json cannot be read"
    assert problem in err
    assert not list(artifacts.iterdir())


@pytest.mark.process
def test_a_node_cannot_change_the_installation_that_it_belongs_to(run: Run, layout: EngineLayout) -> None:
    installed = json.loads(run("install", "--node-name=n", "--http-port=29287")[1])["installation-id"]
    folder = InstallationStore(layout.home).folder(installed)
    folder.parent.chmod(0o755)
    folder.chmod(0o755)
    for number in ("1", "2"):
        code, _, err = run("start", f"--installation-id={installed}")
        assert code == 0, err
        state = (folder / "installation.json").read_text()
        written = layout.nodes / f"n-{installed}" / "logs"
        (written / "installation.json").write_text(state.replace("opensearch", "elasticsearch"))
        (written / "engine.log").write_text("not the output of the engine")
        code, _, err = run("stop", f"--installation-id={installed}", "--preserve-install")
        assert (code, "installation.json (its name is not that of a log)" in err) == (0, True), err
        assert (folder / "installation.json").read_text() == state
        logs = folder / "logs" / number
        assert {path.name for path in logs.iterdir()} == {"engine.log", "engine-2.log", "gc.log"}
        assert "engine says" in (logs / "engine.log").read_text()
    # Settings and logs may contain secrets.
    for private in (folder.parent, folder, logs):
        assert private.stat().st_mode & 0o777 == 0o700
    assert (logs / "engine.log").stat().st_mode & 0o777 == 0o600


@pytest.mark.process
def test_the_data_of_an_engine_that_ended_by_itself_is_kept(run: Run, layout: EngineLayout) -> None:
    assert run("start")[0] == 0
    (entry,) = registered_nodes(layout)
    assert entry.process is not None
    assert entry.facts is not None
    (entry.folder / "data" / "index").write_text("documents")
    kill_process(entry.process, entry.is_node)
    assert run("list", "nodes")[1] == "No nodes run.\n"
    assert (entry.folder / "data" / "index").read_text() == "documents"
    installed = entry.facts.installation_id
    assert f"--installation-id removes an installation: {installed}" in run("stop")[2]
    _, out, _ = run("stop", f"--installation-id={installed}")
    assert out == f"No engine of the installation ran.\nInstallation {installed} was removed.\n"
    assert not entry.folder.exists()


def test_a_port_in_use_is_reported_before_the_engine_starts(run: Run, layout: EngineLayout) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = run("start", f"--http-port={port}")
    assert code == 64
    assert f"port {port} is used by another process" in err
    assert "or install the engine with another --http-port" in err
    assert InstallationStore(layout.home).ids() == []


@pytest.mark.process
def test_a_port_that_was_taken_meanwhile_is_replaced(
    run: Run, layout: EngineLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter((taken.getsockname()[1], lifecycle._free_ports(InstallationStore(layout.home), 1)))
        monkeypatch.setattr(lifecycle, "_free_ports", lambda *_: next(ports))
        code, out, err = run("start", "--format=json")
    assert code == 0, err
    assert json.loads(out)["nodes"][0]["address"].startswith("127.0.0.1:39")
    assert next(ports, None) is None
    assert run("stop")[0] == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("install", "--network-host=0.0.0.0"), "--network-host cannot be 0.0.0.0: engines that"),
        (("install", "--master-nodes=a,b"), "but an installation is a cluster of its own"),
        (("install", "--installation-id=a/b"), "--installation-id cannot be 'a/b'"),
        (("install", "--http-port=70000"), "from 1 to 65535"),
        (("install", "--cluster-name=../../docs/precious"), "--cluster-name cannot be '../../docs/precious'"),
        (("start", "--nodes=2", "--node-name=../x"), "--node-name cannot be '../x': engines write to files"),
        (("start", "--set=engine.node.name=../x"), "node.name in --set cannot be '../x'"),
        (("start", "--installation-id=x", "--car=4gheap"), "--car has no effect on an installation"),
        (("start", "--installation-id=x"), "there is no installation 'x'"),
        (("start", "--race-id=a/b"), "--race-id cannot be 'a/b'"),
        (("stop", "--installation-id=../x"), "there is no installation '../x'"),
        (("stop",), "no engine runs that `pacenote start` started"),
    ],
)  # fmt: skip
def test_wrong_options_are_reported_in_one_line(run: Run, command: tuple[str, ...], message: str) -> None:
    code, out, err = run(*command)
    assert (code, out) == (2, "")
    assert message in err.splitlines()[0]


def test_a_folder_of_others_does_not_make_an_engine_write_to_files_of_the_user(
    run: Run, layout: EngineLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pacenote.toml").write_text('cluster-name = "../../docs/precious"\n')
    monkeypatch.chdir(tmp_path)
    code, _, err = run("start")
    assert code == 2
    assert "--cluster-name cannot be '../../docs/precious': engines write to files with this name" in err
    assert not list(layout.nodes.iterdir())


def test_two_installations_get_different_ports(run: Run, layout: EngineLayout) -> None:
    for name in ("a", "b"):
        assert run("install", f"--installation-id={name}")[0] == 0
    store = InstallationStore(layout.home)
    assert store.load("a").http_port != store.load("b").http_port
    assert "installation 'a' already exists" in run("install", "--installation-id=a")[2]


def test_two_that_are_installed_at_once_get_different_ports(
    run: Run, layout: EngineLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    install = lifecycle.install_engine

    def while_another_is_installed(*_: object) -> None:
        monkeypatch.setattr(lifecycle, "install_engine", install)
        assert run("install", "--installation-id=b")[0] == 0

    monkeypatch.setattr(lifecycle, "install_engine", while_another_is_installed)
    assert run("install", "--installation-id=a")[0] == 0
    store = InstallationStore(layout.home)
    assert store.load("a").http_port != store.load("b").http_port


@pytest.mark.process
def test_a_port_that_another_command_has_chosen_is_not_chosen(run: Run, layout: EngineLayout) -> None:
    store = InstallationStore(layout.home)
    code = (
        "import sys; from pathlib import Path; from pacenote.provision.ports import reserve_ports\n"
        "print(reserve_ports(Path(sys.argv[1]), [int(sys.argv[2])]), flush=True); sys.stdin.read()"
    )
    first = FIRST_HTTP_PORT
    while is_taken(first) or is_taken(first + TRANSPORT_OFFSET):
        first += 1
    command = [sys.executable, "-c", code, store.ports, str(first)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert run("install", "--installation-id=a")[0] == 0
        other.kill()
    assert store.load("a").http_port > first
    assert not reserve_ports(store.ports, [store.load("a").http_port])
    assert reserve_ports(store.ports, [first])


def test_an_id_that_a_node_has_already_is_refused(run: Run, layout: EngineLayout) -> None:
    assert run("install", "--installation-id=b-a", "--node-name=n")[0] == 0
    assert "a node with the id n-b-a" in run("install", "--installation-id=a", "--node-name=n-b")[2]
    (layout.nodes / "rally-node-0-12345678").mkdir()
    code, out, err = run("install", "--installation-id=12345678")
    assert (code, out) == (2, "")
    assert err.startswith("error: a node with the id rally-node-0-12345678")
    assert InstallationStore(layout.home).ids() == ["b-a"]


@pytest.mark.process
@pytest.mark.parametrize("change", [{"node_name": "a:b"}, {"engine": {"cluster_name": "a:b"}}])
def test_an_installation_whose_name_is_refused_now_can_be_removed_and_installed_again(
    run: Run, layout: EngineLayout, change: dict[str, Any]
) -> None:
    assert run("install", "--installation-id=i")[0] == 0
    file = InstallationStore(layout.home).folder("i") / "installation.json"
    state = json.loads(file.read_text())
    # An earlier version accepted it.
    file.write_text(
        json.dumps({**state, **change, "engine": {**state["engine"], **change.get("engine", {})}})
    )
    code, out, err = run("start", "--installation-id=i")
    assert (code, out) == (2, "")
    assert err.startswith(
        "error: installation i cannot be started, because it has a name that is refused: --"
    )
    assert not json.loads(file.read_text()).get("used")
    advice = err.strip().rpartition("are removed by: ")[2]
    assert run(*shlex.split(advice)[1:])[0] == 0
    assert InstallationStore(layout.home).ids() == []


@pytest.mark.process
def test_an_engine_whose_state_cannot_be_stored_does_not_run(
    run: Run, layout: EngineLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("no space left")

    monkeypatch.setattr(InstallationStore, "save", full)
    code, out, err = run("start")
    assert (code, out) == (64, "")
    assert "error: no space left" in err
    assert registered_nodes(layout) == ()
    assert not list(layout.nodes.iterdir())


@pytest.mark.process
def test_nodes_outlive_the_command_only_with_a_state(
    run: Run, layout: EngineLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, detached = InstallationStore.save, list[bool]()

    def observed(store: InstallationStore, state: InstalledEngine) -> None:
        # A kill at this moment leaves these nodes.
        detached.extend(entry.detached for entry in registered_nodes(layout))
        save(store, state)

    monkeypatch.setattr(InstallationStore, "save", observed)
    assert run("start")[0] == 0
    assert detached == [False]
    assert run("stop")[0] == 0

    def full(_: LocalFleet) -> None:
        raise EngineError("no space left")

    monkeypatch.setattr(LocalFleet, "detach", full)
    code, out, err = run("start")
    assert (code, out, "error: no space left" in err) == (64, "", True)
    assert (registered_nodes(layout), InstallationStore(layout.home).ids()) == ((), [])


@pytest.mark.process
def test_an_installation_whose_id_ends_like_another_one_is_left_alone(run: Run, layout: EngineLayout) -> None:
    for name in ("a", "b-a"):
        assert run("install", f"--installation-id={name}", f"--node-name=n-{name}")[0] == 0
    assert run("start", "--installation-id=b-a")[0] == 0
    assert run("stop", "--installation-id=a")[0] == 0
    (entry,) = registered_nodes(layout)
    assert (entry.folder / "data").is_dir()
    assert InstallationStore(layout.home).ids() == ["b-a"]
    assert run("stop", "--installation-id=b-a")[0] == 0
    assert not entry.folder.exists()


@pytest.mark.process
def test_an_installation_of_which_a_node_has_ended_must_be_stopped_first(
    run: Run, layout: EngineLayout
) -> None:
    started = json.loads(run("start", "--nodes=2", "--node-name=n", "--format=json")[1])
    ended = registered_nodes(layout)[0]
    assert ended.process is not None
    kill_process(ended.process, ended.is_node)
    chosen = f"--installation-id={started['installation-id']}"
    refused = f"1 of 2 nodes of installation {started['installation-id']} already runs at "
    assert refused + started["nodes"][1]["address"] in run("start", chosen)[2]
    assert run("stop", chosen)[0] == 0


@pytest.mark.process
def test_several_nodes_are_started_and_stopped_together(
    run: Run, layout: EngineLayout, tmp_path: Path
) -> None:
    disk, artifacts = tmp_path / "disk", layout.home / "races" / "r1" / "artifacts"
    disk.mkdir()
    artifacts.mkdir(parents=True)
    code, out, err = run("start", "--nodes=2", "--node-name=many", f"--data-paths={disk}", "--format=json")
    assert code == 0, err
    started = json.loads(out)
    assert [node["name"] for node in started["nodes"]] == ["many-0", "many-1"]
    first, second = (int(node["address"].rpartition(":")[2]) for node in started["nodes"])
    assert second == first + 1
    assert "node many-1 already runs" in run("start", "--node-name=many-1")[2]
    chosen = f"--installation-id={started['installation-id']}"
    assert run("stop", chosen, "--preserve-install")[0] == 0
    assert len(list(disk.iterdir())) == 2
    assert run("start", chosen, "--race-id=r1")[0] == 0
    assert run("stop", chosen)[1].count(" was stopped.\n") == 2
    logs = sorted(str(file.relative_to(artifacts)) for file in artifacts.rglob("*.log"))
    assert logs == [f"many-{node}/{log}.log" for node in (0, 1) for log in ("engine", "gc")]
    assert not list(disk.iterdir())
    assert not list(layout.nodes.iterdir())


@pytest.mark.process
def test_the_nodes_of_a_running_race_are_listed_and_not_stopped(
    run: Run, layout: EngineLayout, tmp_path: Path
) -> None:
    java = write_fake_java(tmp_path / "other-java")
    spec = NodeSpec("opensearch", "3.3.0", heap="128m", start_timeout_s=5)
    fleet = LocalFleet(AssembledProgram(FakeEngine(), tmp_path, java), layout, tmp_path)
    try:
        fleet.start([replace(spec, purpose=NodePurpose(race_id="r7"))])
        (node,) = json.loads(run("list", "nodes", "--format=json")[1])
        assert (node["race-id"], node["installation-id"], node["detached"]) == ("r7", "", False)
        assert node["address"] == fleet.hosts[0].address
        assert " race r7" in run("list", "nodes")[1]
        assert "no engine runs that `pacenote start` started" in run("stop")[2]
        assert fleet.exit_reason() is None
    finally:
        fleet.stop()
    assert run("list", "nodes")[1] == "No nodes run.\n"


def test_configured_options_of_new_installations_do_not_keep_one_from_starting(
    run: Run, layout: EngineLayout
) -> None:
    (layout.home / "pacenote.toml").write_text('jvm = ["-Xss2m"]\n[start]\ncar = "4gheap"\n')
    code, _, err = run("start", "--installation-id=x")
    assert code == 2
    assert "there is no installation 'x'" in err
