"""Hooks of a team repository run in a process of their own."""

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.teams.hooks import Hook, HookRun, run_hooks

pytestmark = pytest.mark.process


def write_hook(folder: Path, body: str, names: tuple[str, ...] | None = ("a", "b")) -> Hook:
    """A hook of a car whose function has this body."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "config.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    script.write_text(
        "import os\n"
        "from esrally import exceptions\n"
        "from esrally.utils import io, process\n"
        f"def hook(config_names, variables, **kwargs):\n{lines}"
        'def register(handler):\n    handler.register("post_install", hook)\n'
    )
    return Hook("car a,b", (script,), names)


def run(hook: Hook, tmp_path: Path, **variables: object) -> None:
    environment = {"PATH": os.environ["PATH"], "TOKEN": "t"}
    run_hooks(hook, HookRun({"out": str(tmp_path / "out"), **variables}, environment, tmp_path / "log"))


def test_a_hook_gets_names_variables_and_environment(tmp_path: Path) -> None:
    body = (
        'with open(variables["out"], "w") as file:\n'
        "    file.write(f\"{config_names} {variables['n']}\")\n"
        'status = process.run_subprocess_with_logging("sh -c \'echo said $TOKEN\'", env=kwargs["env"])\n'
        "assert status == 0\n"
        'print("printed")'
    )
    run(write_hook(tmp_path / "base", body), tmp_path, n=1)
    # Rally passes the names of cars as one text.
    assert (tmp_path / "out").read_text() == "a+b 1"
    log = (tmp_path / "log").read_text()
    assert "said t" in log
    assert "printed" in log


def test_a_hook_can_import_what_is_beside_it(tmp_path: Path) -> None:
    hook = write_hook(tmp_path / "base", 'from base import helper\nhelper.write(variables["out"])')
    (tmp_path / "base" / "helper.py").write_text('def write(path):\n    open(path, "w").write("helped")\n')
    run(hook, tmp_path)
    assert (tmp_path / "out").read_text() == "helped"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            'raise exceptions.SystemSetupError("no certificate")',
            "config.py:5: SystemSetupError: no certificate",
        ),
        ('variables["missing"]', "config.py:5: KeyError: 'missing'"),
        ("os._exit(7)", "their process ended with status 7"),
        ("raise SystemExit(1)", "SystemExit"),
    ],
)
def test_a_failed_hook_is_reported_in_one_line(tmp_path: Path, body: str, reason: str) -> None:
    with pytest.raises(EngineError) as caught:
        run(write_hook(tmp_path / "base", body), tmp_path)
    assert "the hooks of car a,b failed: " in caught.value.message
    assert reason in caught.value.message
    assert caught.value.hint.startswith("read log among the logs of the engine, and /")


def test_an_unknown_phase_is_reported(tmp_path: Path) -> None:
    hook = write_hook(tmp_path / "base", "pass")
    script = hook.scripts[0]
    script.write_text(script.read_text().replace("post_install", "post_instal"))
    with pytest.raises(EngineError, match='Unknown bootstrap phase "post_instal"'):
        run(hook, tmp_path)


def test_a_hook_that_does_not_end_is_stopped_with_its_children(tmp_path: Path) -> None:
    body = (
        "import subprocess\n"
        'child = subprocess.Popen(["sleep", "60"])\n'
        'open(variables["out"], "w").write(str(child.pid))\n'
        "child.wait()"
    )
    hook = write_hook(tmp_path / "base", body)
    with pytest.raises(EngineError, match="they have not ended after 3 s"):
        run_hooks(hook, HookRun({"out": str(tmp_path / "out")}, {}, tmp_path / "log"), timeout_s=3.0)
    assert_ended(int((tmp_path / "out").read_text()))


def test_hooks_end_with_pacenote(tmp_path: Path) -> None:
    body = 'import time\nopen(variables["out"], "w").write(str(os.getpid()))\ntime.sleep(60)'
    write_hook(tmp_path / "base", body)
    program = (
        "from pathlib import Path\n"
        "from pacenote.teams.hooks import *\n"
        f"root = Path({str(tmp_path)!r})\n"
        "hook = Hook('car a', (root / 'base/config.py',), ('a',))\n"
        "run_hooks(hook, HookRun({'out': str(root / 'out')}, {}, root / 'log'))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program])
    out = tmp_path / "out"
    while not (out.exists() and out.read_text()):
        time.sleep(0.01)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert_ended(int(out.read_text()))


def assert_ended(pid: int) -> None:
    """Waits until a process has ended; its status may not be collected yet."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} still runs")


def test_a_hook_unpacks_what_a_tool_of_the_engine_has_made(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "made.zip", "w") as archive:
        archive.writestr("n/n.p12", "keys")
        archive.writestr("n/more.txt", "text")
    hook = write_hook(tmp_path / "base", 'io.decompress(variables["made"], variables["out"])')
    run(hook, tmp_path, made=str(tmp_path / "made.zip"))
    assert (tmp_path / "out" / "n" / "n.p12").read_text() == "keys"
    assert (tmp_path / "out" / "n" / "more.txt").read_text() == "text"


def test_modules_in_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('not the module of Python')")
    monkeypatch.chdir(tmp_path)
    run(write_hook(tmp_path / "base", 'open(variables["out"], "w").close()'), tmp_path)
    assert (tmp_path / "out").exists()


@pytest.mark.parametrize("body", ["pass", "os.kill(os.getpid(), 9)"])
def test_the_group_is_ended_while_its_id_cannot_be_that_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    ended: list[bool] = []
    killpg = os.killpg

    def noted(group: int, number: int) -> None:
        ended.append(Path(f"/proc/{group}").exists())
        killpg(group, number)

    monkeypatch.setattr(os, "killpg", noted)
    hook = write_hook(tmp_path / "base", body)
    if body == "pass":
        run(hook, tmp_path)
    else:
        with pytest.raises(EngineError, match="their process ended with status -9"):
            run(hook, tmp_path)
    assert ended == [True]
