"""Exit codes, messages, and the modules that the command line imports at startup."""

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pacenote.cli import main as main_module
from pacenote.cli.commands import COMMANDS
from pacenote.cli.console import Console
from pacenote.errors import EngineError, TrackError
from support.records import record

PYTHON = Path(main_module.__file__).parents[2]
HEAVY = ("rich", "jinja2", "urllib3", "sqlite3", "yaml", "numpy", "asyncio", "inspect", "importlib.metadata")


def python(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": str(PYTHON)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=20, **options
    )


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["-m", "pacenote", "--help"], ["-c", "import pacenote"]])
def test_start_up_imports_little(arguments):
    done = python("-X", "importtime", *arguments)
    assert done.returncode == 0
    imported = {
        line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")
    }
    assert "encodings" in imported, "no imports were parsed: has the format changed?"
    assert sorted(imported.intersection(HEAVY)) == []
    if "pacenote" in arguments:
        assert "pacenote.cli.main" in imported
        assert not any(name.startswith("pacenote.cli.race") for name in imported)


def test_help_lists_every_command(run):
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    for name in COMMANDS:
        assert f"  {name} " in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(run, name):
    code, out, _ = run(name, "--help")
    assert code == 0
    assert f"usage: pacenote {name}" in out


def test_help_is_a_command(run):
    assert run("help") == run("--help")
    assert run("help", "report") == run("report", "--help")


def test_the_version_is_printed(run):
    code, out, _ = run("--version")
    assert code == 0
    assert out.startswith("pacenote ")


def test_no_command_is_a_usage_error(run):
    code, out, _ = run()
    assert code == 2
    assert "usage: pacenote COMMAND" in out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["rase"], "error: unknown command 'rase'\nhint: did you mean race?\n"),
        (["xyz"], "error: unknown command 'xyz'\nhint: see `pacenote --help`\n"),
        (
            ["--quiet", "race"],
            "error: expected a command, not '--quiet'\nhint: pacenote COMMAND [options]\n",
        ),
        (["race", "--trak=x"], "error: `pacenote race` has no option --trak\nhint: did you mean --track"),
        (
            ["race", "--target-throughput=5"],
            "error: `pacenote race` has no option --target-throughput\n"
            "hint: a parameter of a track is given as --track-params=target_throughput:VALUE\n",
        ),
        (
            ["race", "--zzzz"],
            "error: `pacenote race` has no option --zzzz\nhint: see `pacenote race --help`\n",
        ),
        (
            ["race", "--source-build-method", "docker"],
            "error: --source-build-method is not available in Pacenote yet\n"
            "hint: builds run on this host, with a JDK of the environment\n",
        ),
        (
            ["start", "--telemetry=jfr"],
            "error: --telemetry is not available in Pacenote yet\nhint: devices run with a race; ",
        ),
        (["race", "--on-error", "explode"], "error: --on-error cannot be 'explode'\nhint: one of continue, "),
        (
            ["race", "--driver-threads=-1"],
            "error: --driver-threads: must be a whole number above 0, not '-1'\n",
        ),
        (
            ["race", "stray"],
            "error: unrecognized arguments: stray\nhint: a track is given as --track=stray\n",
        ),
        (
            ["race", "--track=x", "–track-params=a:1"],
            "error: unrecognized arguments: –track-params=a:1\n"
            "hint: an option begins with two hyphens, not with a dash: --track-params\n",
        ),
        (
            ["race", "--jvm", "--track=x"],
            "error: --jvm: expected one argument\n"
            "hint: write --jvm=VALUE; after a space, VALUE cannot begin with -\n",
        ),
        (["race", "me:pw@h:1"], "error: unrecognized arguments: <hidden>@h:1\n"),
        (["report"], "error: the following arguments are required: RACE\n"),
        (["list", "race"], "error: cannot list 'race'\nhint: did you mean races?\n"),
        (["trakc"], "error: unknown command 'trakc'\nhint: did you mean list tracks?\n"),
        (["help", "rase"], "error: unknown command 'rase'\nhint: did you mean race?\n"),
    ],
)
def test_usage_errors(run, arguments, error):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(error)


def test_errors_have_an_exit_code_and_a_hint(run, fake_race):
    def fail(request, listener):
        raise EngineError("port 39200 is in use", hint="stop the process on it")

    fake_race(fail)
    code, _, err = run("race", "--track=x")
    assert code == 64
    assert err == "error: port 39200 is in use\nhint: stop the process on it\n"


def test_all_problems_of_a_track_are_shown(run, fake_race):
    def fail(request, listener):
        raise TrackError(
            "track.json has 2 problems", problems=("indices is missing", "corpora[0].name is missing")
        )

    fake_race(fail)
    code, _, err = run("race", "--track=x")
    assert code == 64
    assert err == "error: track.json has 2 problems\n  - indices is missing\n  - corpora[0].name is missing\n"


def test_a_single_problem_is_shown_once(run, fake_race):
    def fail(request, listener):
        raise TrackError('track "x": indices is missing', problems=("indices is missing",), hint="add it")

    fake_race(fail)
    code, _, err = run("race", "--track=x")
    assert (code, err) == (64, 'error: track "x": indices is missing\nhint: add it\n')


def test_a_bug_is_reported_in_one_line_with_its_file_and_line(run, fake_race):
    fake_race(lambda request, listener: {}["nothing"])
    code, _, err = run("race", "--track=x")
    assert code == 64
    first, second = err.splitlines()
    assert first.startswith("error: KeyError in pacenote/cli/race.py:")
    assert first.endswith(": 'nothing'")
    assert second == "hint: this is a bug in Pacenote; run again with --debug"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), "error: the memory is not sufficient\nhint: free memory, or raise the limit"),
        (
            PermissionError(errno.EACCES, "Permission denied", "/x/y"),
            "error: /x/y: Permission denied\nhint: Pacenote needs this in pacenote/cli/race.py:",
        ),
        (
            OSError(errno.EMFILE, "Too many open files"),
            "error: Too many open files\nhint: raise the limit of open files (`ulimit -n`)",
        ),
        (
            RuntimeError("can't start new thread"),
            "error: this user cannot start another thread or process\nhint: end processes, or raise",
        ),
        (
            ImportError("/x/y.so: failed to map segment from shared object"),
            "error: the memory is not sufficient\nhint: free memory, or raise the limit",
        ),
    ],
)
def test_limits_and_permissions_of_the_host_are_no_bugs(run, fake_race, error, expected):
    def fail(request, listener):
        raise error

    fake_race(fail)
    code, _, err = run("race", "--track=x")
    assert code == 64
    assert err.startswith(expected)
    assert "bug" not in err


def test_a_removed_current_folder_is_a_usage_error(run, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for arguments in (("race", "--track=x"), ("report", "latest"), ("list", "races")):
        assert run(*arguments) == (
            2,
            "",
            "error: the current folder cannot be used: No such file or directory\n"
            "hint: change to a folder that exists\n",
        )


def test_a_home_whose_races_cannot_be_read_is_an_error(run, home):
    home.mkdir()
    # Not even root can follow it.
    (home / "races").symlink_to("x" * 300)
    for arguments in (("race", "--track=x"), ("list", "races"), ("report", "r"), ("report", "latest")):
        code, _, err = run(*arguments)
        assert code == 64
        assert err.startswith(f"error: cannot read races from {home / 'races'}: File name too long\n")


def test_debug_shows_the_trace(run, fake_race):
    fake_race(lambda request, listener: {}["nothing"])
    code, _, err = run("race", "--track=x", "--debug")
    assert code == 64
    assert "Traceback (most recent call last)" in err


def test_ctrl_c_exits_with_130(run, fake_race):
    def interrupt(request, listener):
        raise KeyboardInterrupt

    fake_race(interrupt)
    code, _, err = run("race", "--track=x")
    assert (code, err) == (130, "error: interrupted\n")


@pytest.mark.parametrize(
    ("left", "hint"),
    [
        ("race.json", "hint: results so far are kept: see `pacenote list races`\n"),
        (".race.json.reserved", ""),
    ],
)
def test_ctrl_c_reports_that_results_are_kept_if_there_is_a_record(run, fake_race, home, left, hint):
    def interrupt(request, listener):
        folder = home / "races" / request.race_id
        folder.mkdir(parents=True)
        (folder / left).touch()
        raise KeyboardInterrupt

    fake_race(interrupt)
    code, _, err = run("race", "--track=x")
    assert (code, err) == (130, f"error: interrupted\n{hint}")


@pytest.mark.process
def test_ctrl_c_while_the_program_is_loaded_exits_with_130():
    program = """
import sys, types
import pacenote.__main__

class Interrupting(types.ModuleType):
    @property
    def main(self):
        exec("raise KeyboardInterrupt")

sys.modules["pacenote.cli.main"] = Interrupting("pacenote.cli.main")
sys.exit(pacenote.__main__.main())
"""
    ended = python("-c", program)
    assert (ended.returncode, ended.stderr) == (130, "")


@pytest.mark.process
def test_ctrl_c_in_a_command_that_is_loaded_exits_with_130():
    program = """
import sys
import pacenote.cli.main as program

def interrupt():
    exec("raise KeyboardInterrupt")

program._check_current_folder = interrupt
sys.exit(program.main())
"""
    ended = python("-c", program, "list", "races")
    assert (ended.returncode, ended.stderr) == (130, "error: interrupted\n")


def test_an_error_before_the_command_is_no_stack_trace(monkeypatch):
    def fail():
        raise MemoryError

    monkeypatch.setattr(main_module, "Console", fail)
    assert main_module.main(["--version"]) == 64


@pytest.mark.process
@pytest.mark.parametrize("fails", ["pass", "raise MemoryError", "raise KeyboardInterrupt"])
def test_the_exit_code_of_a_command_that_has_ended_is_final(fails):
    program = f"""
import atexit, os, signal, sys
import pacenote.cli.main as program

def leave(code, console, leave=program._leave_threads):
    {fails}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(os.getpid(), number)
    leave(code, console)

program._leave_threads = leave
sys.exit(program.main())
"""
    ended = python("-c", program, "unknown")
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("words", [("import", "--", "-h"), ("delete", "race", "--id=x", "--", "--help")])
def test_the_home_is_checked_although_an_argument_looks_like_help(home, monkeypatch, words):
    checked = []
    monkeypatch.setattr(main_module, "_claim_home", lambda: checked.append(True))
    main_module.main(words)
    assert checked == [True]
    main_module.main((words[0], "--help"))
    assert checked == [True]


@pytest.mark.process
def test_a_closed_pipe_is_not_an_error():
    program = (
        "import os, sys; from pacenote.cli.main import main; os.close(0); sys.exit(main(['race', '--help']))"
    )
    read, write = os.pipe()
    os.close(read)
    environment = os.environ | {"PYTHONPATH": str(PYTHON)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=20,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_characters_outside_the_encoding_are_not_an_error():
    environment = os.environ | {"PYTHONPATH": str(PYTHON), "PYTHONIOENCODING": "ascii"}
    program = "from pacenote.cli.console import Console; Console().result('12 × error…\\n')"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=20
    )
    assert (done.stdout, done.stderr) == ("12 x error.\n", "")


def shell(line):
    """Runs a shell line in which `$P` is pacenote; returns exit code, standard output and standard error."""
    environment = os.environ | {"PYTHONPATH": str(PYTHON), "P": f"{sys.executable} -m pacenote"}
    done = subprocess.run(
        ["bash", "-c", line], env=environment, capture_output=True, text=True, timeout=20, check=False
    )
    return done.returncode, done.stdout, done.stderr


LOST = "error: results cannot be written to standard output: "


_NO_PLUGINS = (
    "No plugins of the engine come with Pacenote; --team-repository=default lists those of Rally's "
    "repository.\n"
)


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("$P --help >/dev/full", (64, "", f"{LOST}No space left on device\n")),
        ("$P --help >&-", (64, "", f"{LOST}it is closed\n")),
        ("$P --help >/dev/full 2>/dev/full", (64, "", "")),
        ("$P --help >&- 2>&-", (64, "", "")),
        ("$P rase 2>/dev/full", (2, "", "")),
        ("$P rase 2>&-", (2, "", "")),
        ("$P rase >&-", (2, "", "error: unknown command 'rase'\nhint: did you mean race?\n")),
        ("$P list elasticsearch-plugins 2>&- <&-", (0, _NO_PLUGINS, "")),
        ("$P race --track=x --debug --zzz 2>/dev/full", (2, "", "")),
    ],
)
def test_output_that_cannot_be_written_shows_no_stack_trace(line, expected):
    assert shell(line) == expected


@pytest.mark.process
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_results_that_the_system_takes_in_part_are_not_complete(tmp_path, unbuffered):
    line = f"ulimit -f 1; PYTHONUNBUFFERED={unbuffered} $P --help >{tmp_path}/out"
    assert shell(line) == (64, "", f"{LOST}File too large\n")
    assert (tmp_path / "out").stat().st_size == 1024


@pytest.mark.process
def test_results_without_a_buffer_are_whole_after_a_signal(tmp_path):
    """The signal comes when the pipe is full, and the reader begins when the signal has been handled."""
    (tmp_path / "program.py").write_text("""
import pathlib, select, signal, sys, threading, time
from pacenote.cli.console import Console

def interrupt():
    while select.select([], [1], [], 0)[1]:
        time.sleep(0.01)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

signal.signal(signal.SIGUSR1, lambda *_: pathlib.Path(sys.argv[1]).touch())
threading.Thread(target=interrupt).start()
console = Console()
console.result("x" * 5_000_000)
assert console.close()
""")
    handled = tmp_path / "handled"
    reader = f"until [ -e {handled} ]; do sleep 0.01; done; wc -c"
    line = f"PYTHONUNBUFFERED=1 {sys.executable} {tmp_path}/program.py {handled} | ({reader})"
    assert shell(line) == (0, "5000000\n", "")


def test_files_do_not_get_descriptors_of_closed_streams():
    program = (
        "import os; from pacenote.cli.console import Console; Console();"
        "assert os.open(os.devnull, os.O_RDONLY) > 2, 'taken'"
    )
    assert shell(f'{sys.executable} -c "{program}" >&- <&-') == (0, "", "")


def test_a_race_continues_if_progress_cannot_be_shown(fake_race, monkeypatch, capsys):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    def race(request, listener):
        for _ in range(2):
            listener.warning("careful")
        return record(request.race_id)

    fake_race(race)
    monkeypatch.setattr(sys, "stderr", Full())
    assert main_module.main(["race", "--track=x"]) == 0
    assert capsys.readouterr().out


def test_rich_does_not_fail_on_a_closed_stream():
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    console = Console(Full(), io.StringIO())
    console.rich_results().print("table")
    assert not console.close()


@pytest.mark.process
@pytest.mark.parametrize("command", ["info", "validate-track", "render-track", "race"])
def test_help_imports_no_slow_modules(command):
    """Modules that read tracks or store races take longer to import than the help should take in total."""
    program = (
        "import sys; from pacenote.cli.main import main; main(sys.argv[1:]); "
        "print([name for name in ('jinja2', 'sqlite3', 'pacenote.report') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, command, "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("\n[]\n")


@pytest.mark.process
def test_others_cannot_write_to_what_a_command_creates(tmp_path):
    """A container may run it with a umask of 0."""
    code = (
        "import os, sys; os.umask(0); sys.argv = ['pacenote', 'trust']; "
        "from pacenote.cli.main import main; main()"
    )
    (tmp_path / "pacenote.toml").write_text("offline = true")
    home = tmp_path / "above" / "home"
    environment = os.environ | {"PYTHONPATH": str(PYTHON), "PACENOTE_HOME": str(home)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, timeout=20)
    created = [home.parent, home, *home.rglob("*")]
    assert len(created) > 2
    assert [path for path in created if path.stat().st_mode & 0o002] == []
