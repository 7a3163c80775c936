"""Commands reach only the JVM that they are for, which is a Python program here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.net import jvm_attach
from pacenote.net.jvm_attach import AttachLimits, AttachReply, execute
from support.fake_jvm import FAKE_JVM, running, running_jvm

pytestmark = pytest.mark.process

LIMITS = AttachLimits(listen_s=20.0, reply_s=20.0, reply_bytes=100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "jvm"
    path.mkdir()
    return path


def ask(pid: int, limits: AttachLimits = LIMITS) -> AttachReply:
    return execute(pid, "help", ("a",), limits)


def test_a_jvm_executes_a_command(folder: Path) -> None:
    with running_jvm(folder, "0\nyes\nno") as pid:
        assert ask(pid) == AttachReply(succeeded=True, text="yes\nno")
        assert not Path(f"/tmp/.attach_pid{pid}").exists()
    assert (folder / "asked").read_bytes() == b"1\0help\0a\0\0\0"
    assert [path.name for path in folder.iterdir()] == ["asked"]


def test_a_jvm_reports_an_error(folder: Path) -> None:
    with running_jvm(folder, "1\nno") as pid:
        assert ask(pid) == AttachReply(succeeded=False, text="no")


def test_a_reply_is_read_up_to_a_limit(folder: Path) -> None:
    with running_jvm(folder, f"0\n{'x' * 1000}") as pid:
        text = ask(pid, AttachLimits(20.0, 20.0, 1)).text
    assert set(text) == {"x"}


def test_a_link_in_the_folder_of_the_jvm_is_not_followed(folder: Path, tmp_path: Path) -> None:
    code = FAKE_JVM.replace("os.path.exists(", "os.path.lexists(")
    with running_jvm(folder, "0\n", code=code) as pid:
        (folder / f".attach_pid{pid}").symlink_to(tmp_path / "created")
        assert ask(pid).succeeded
        assert not Path(f"/tmp/.attach_pid{pid}").exists()
    assert not (tmp_path / "created").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create files in folders of others")
def test_no_file_is_created_in_a_folder_that_the_user_of_the_jvm_cannot_write(
    folder: Path,
) -> None:
    """The JVM of another user may work in a folder of root whose files root runs."""
    listed = 'open("seen", "w").write(str(os.listdir("."))) and os.path.exists(f"/tmp/.attach'
    code = FAKE_JVM.replace('os.path.exists(f".attach', listed)
    with running_jvm(folder, "0\n", code=code) as pid:
        # The program runs as root; its folder is that of another user.
        os.chown(folder, 54321, 54321)
        folder.chmod(0o755)
        assert ask(pid).succeeded
    assert f".attach_pid{pid}" not in (folder / "seen").read_text()


def test_the_file_is_removed_also_if_the_jvm_changes_its_folder(folder: Path) -> None:
    code = FAKE_JVM.replace("    with socket", "    os.chdir('/')\n    with socket", 1)
    code = code.replace('open("asked"', f"open({str(folder / 'asked')!r}")
    with running_jvm(folder, "0\n", code=code) as pid:
        assert ask(pid).succeeded
    assert [path.name for path in folder.iterdir()] == ["asked"]


@pytest.mark.parametrize("kind", ["a file", "a link", "a socket for all"])
def test_only_the_socket_of_the_jvm_is_asked(folder: Path, tmp_path: Path, kind: str) -> None:
    with running_jvm(folder, "0\n") as pid, socket.socket(socket.AF_UNIX) as other:
        path = Path(f"/tmp/.java_pid{pid}")
        other.bind(str(path if kind == "a socket for all" else tmp_path / "s"))
        if kind == "a file":
            path.touch(0o600)
        elif kind == "a link":
            path.symlink_to(tmp_path / "s")
        else:
            path.chmod(0o666)
        try:
            with pytest.raises(EngineError, match="is not a socket that only the JVM's user can use"):
                ask(pid)
        finally:
            path.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket to another user")
def test_the_socket_of_another_user_is_not_asked(folder: Path) -> None:
    with running_jvm(folder, "0\n") as pid, socket.socket(socket.AF_UNIX) as other:
        path = Path(f"/tmp/.java_pid{pid}")
        # That of a JVM that was killed, and had the same process id.
        path.unlink(missing_ok=True)
        other.bind(str(path))
        try:
            path.chmod(0o600)
            os.chown(path, 65534, 65534)
            with pytest.raises(EngineError, match="is not a socket that only the JVM's user can use"):
                ask(pid)
        finally:
            path.unlink()


def test_another_process_does_not_answer_for_the_jvm(folder: Path) -> None:
    """Its socket looks like that of the JVM: it has the same name, user and permissions."""
    with running_jvm(folder, "0\n") as pid, socket.socket(socket.AF_UNIX) as other:
        path = Path(f"/tmp/.java_pid{pid}")
        # That of a JVM that was killed, and had the same process id.
        path.unlink(missing_ok=True)
        other.bind(str(path))
        path.chmod(0o600)
        other.listen()
        other.settimeout(20)
        try:
            with pytest.raises(EngineError, match=f"the process {os.getpid()} of user .*, not the JVM {pid}"):
                ask(pid)
            client, _ = other.accept()
            with client:
                assert client.recv(100) == b""
        finally:
            path.unlink()


def test_a_jvm_that_does_not_answer_is_an_error(folder: Path) -> None:
    deaf = FAKE_JVM.replace("def serve(*_):", "def serve(*_):\n    return")
    with running_jvm(folder, "0", code=deaf) as pid:
        with pytest.raises(EngineError, match="it does not listen within"):
            ask(pid, AttachLimits(0.02, 20.0, 100))
        assert list(folder.iterdir()) == []


def test_a_jvm_without_the_handler_or_with_an_option_against_it_gets_no_signal(folder: Path) -> None:
    with running_jvm(folder) as pid, pytest.raises(EngineError, match="does not handle SIGQUIT"):
        ask(pid)
    arguments = ("0", "-XX:+DisableAttachMechanism")
    with running_jvm(folder, *arguments) as pid, pytest.raises(EngineError, match="DisableAttach"):
        ask(pid)


def test_a_process_that_is_not_hotspot_gets_no_signal(folder: Path) -> None:
    code = "import sys; print(flush=True); sys.stdin.read()"
    with running(code, folder) as pid, pytest.raises(EngineError, match="only HotSpot"):
        ask(pid)


def test_a_process_that_has_ended_is_an_error() -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", ""]) as process:
        process.wait()
    with pytest.raises(EngineError, match="does not run"):
        ask(process.pid)


def test_a_process_with_endless_arguments_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process can state that its arguments are all of its memory."""
    monkeypatch.setattr(jvm_attach, "_MAX_PROC_BYTES", 100_000)
    arguments = ("0", "x" * 100_000)
    with running_jvm(folder, *arguments) as pid, pytest.raises(EngineError, match="cmdline is longer than"):
        ask(pid)
