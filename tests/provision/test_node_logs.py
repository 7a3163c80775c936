"""The logs of a node are copied as what they are: files that another user has written."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from pacenote.provision import node_logs
from pacenote.provision.node_logs import keep_logs, replace_log


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "node" / "logs"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    return folder


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_logs_and_recordings_are_kept_for_their_owner_only(logs: Path, tmp_path: Path) -> None:
    kept = (
        *("gc.log", "gc.log.0", "gc.log.001", "hs_err_pid7.log", "profile.jfr", "heap.hprof", "jit.log.gz"),
        *("rally-benchmark_server.json", "c_index_search_slowlog.json", "c_deprecation-2026-11-28-1.json.gz"),
    )
    for name in kept:
        (logs / name).write_text(name)
        (logs / name).chmod(0o4777)
    assert keep_logs(logs, tmp_path / "new" / "artifacts") == ""
    assert names(tmp_path / "new" / "artifacts") == set(kept)
    for copy in (tmp_path / "new" / "artifacts").iterdir():
        assert (copy.read_text(), copy.stat().st_mode & 0o7777) == (copy.name, 0o600)


def test_a_node_without_logs_leaves_nothing_out(logs: Path, target: Path, tmp_path: Path) -> None:
    assert keep_logs(logs, target) == ""
    assert keep_logs(tmp_path / "missing", target) == ""


@pytest.mark.parametrize(
    "name",
    [
        "installation.json",
        "http_ca.crt",
        "client-options.json",
        "report.html",
        ".gc.log.7.tmp",
        "a b.log",
        "run",
    ],
)
def test_a_file_with_another_name_is_left_out(logs: Path, target: Path, name: str) -> None:
    (logs / name).write_text("{}")
    (logs / "gc.log").write_text("gc")
    assert f"{name} (its name is not that of a log)" in keep_logs(logs, target)
    assert names(target) == {"gc.log"}


def test_a_file_that_exists_is_not_replaced(logs: Path, target: Path) -> None:
    for name in ("engine.log", "gc.log", "gc.log.0", "gc.log.1"):
        (logs / name).write_text("new")
    for name in ("engine.log", "gc.log.0", "gc-2.log"):
        (target / name).write_text("old")
    assert keep_logs(logs, target) == ""
    assert {path.name for path in target.iterdir() if path.read_text() == "old"} == {
        "engine.log",
        "gc.log.0",
        "gc-2.log",
    }
    # The files of one log stay together.
    assert {path.name for path in target.iterdir() if path.read_text() == "new"} == {
        "engine-2.log",
        "gc-3.log",
        "gc-3.log.0",
        "gc-3.log.1",
    }


def test_nothing_is_written_through_a_link_in_the_target(logs: Path, target: Path, tmp_path: Path) -> None:
    (logs / "gc.log").write_text("new")
    (target / "gc.log").symlink_to(tmp_path / "victim")
    assert keep_logs(logs, target) == ""
    assert not (tmp_path / "victim").exists()
    assert (target / "gc-2.log").read_text() == "new"


def test_only_regular_files_with_one_name_are_kept(
    logs: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (logs / "symbolic.log").symlink_to(secret)
    (logs / "hard.log").hardlink_to(secret)
    (logs / "folder.log").mkdir()
    os.mkfifo(logs / "pipe.log")
    with socket.socket(socket.AF_UNIX) as server:
        # The path of a socket has at most 107 bytes.
        monkeypatch.chdir(logs)
        server.bind("socket.log")
        problem = keep_logs(logs, target)
    assert names(target) == set()
    assert "folder.log (it is not a regular file), hard.log (it has several names (hard links))" in problem
    assert problem.endswith("and 2 more")


def test_a_folder_of_logs_that_is_a_link_is_not_followed(logs: Path, target: Path, tmp_path: Path) -> None:
    (logs / "gc.log").write_text("gc")
    (tmp_path / "link").symlink_to(logs)
    assert "the logs of the node are not in" in keep_logs(tmp_path / "link", target)
    assert names(target) == set()


def test_a_sparse_file_stays_sparse(logs: Path, target: Path) -> None:
    with (logs / "gc.log").open("wb") as file:
        file.write(b"begin")
        file.seek(1 << 32)
        file.write(b"middle")
        file.truncate(1 << 33)
    assert keep_logs(logs, target) == ""
    copy = target / "gc.log"
    assert (copy.stat().st_size, copy.stat().st_blocks < 1024) == (1 << 33, True)
    with copy.open("rb") as file:
        assert file.read(5) == b"begin"
        file.seek(1 << 32)
        assert file.read(6) == b"middle"


def test_the_size_of_all_logs_is_limited(logs: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_logs, "MAX_LOG_BYTES", 1000)
    for name, size in (("a.hprof", 990), ("gc.log", 100), ("holes.log", 1 << 40)):
        (logs / name).touch()
        os.truncate(logs / name, size)
    problem = keep_logs(logs, target)
    assert names(target) == {"gc.log"}
    assert "a.hprof (at most 1000 B are kept of a node), holes.log (at most" in problem


def test_the_number_of_logs_is_limited(logs: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_logs, "MAX_LOG_FILES", 2)
    for number in range(4):
        (logs / f"{number}.log").write_text("x" * number)
    assert keep_logs(logs, target).endswith(
        "2.log (at most 2 files are kept of a node), 3.log (at most 2 files are kept of a node)"
    )
    assert names(target) == {"0.log", "1.log"}


def test_a_folder_of_which_not_all_names_are_read_is_told(
    logs: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_logs, "_MAX_ENTRIES", 3)
    for number in range(3):
        (logs / f"{number}.log").touch()
    assert keep_logs(logs, target) == ""
    (logs / "gc.log").touch()
    assert keep_logs(logs, target).endswith("others (at most 3 names are read)")


def test_names_are_shown_as_one_line(logs: Path, target: Path) -> None:
    (logs / "a\n\x1b[31m.log").touch()
    problem = keep_logs(logs, target)
    assert problem.isprintable()
    assert "(its name is not that of a log)" in problem


_ATTACK = """
ln -s "$0" gc.log
mkfifo gc.log.0
echo '{"runtime_jdk": "/tmp/evil"}' > installation.json
echo forged > engine.log
echo recording > profile.jfr
chmod 6777 profile.jfr
ln "$0" hs_err_pid1.log || true  # Linux forbids it if fs.protected_hardlinks is set.
"""


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a process as another user")
def test_the_user_of_a_node_gets_nothing_of_root_and_changes_nothing_of_root(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        node, target, secret = Path(name), tmp_path / "installation", Path(name) / "secret"
        node.chmod(0o755)
        secret.write_text("secret")
        secret.chmod(0o600)
        (node / "logs").mkdir()
        os.chown(node / "logs", 65534, 65534)
        target.mkdir()
        for own in ("installation.json", "engine.log"):
            (target / own).write_text("root")
        command = ["/bin/sh", "-c", _ATTACK, str(secret)]
        subprocess.run(command, cwd=node / "logs", user=65534, group=65534, extra_groups=[], check=True)
        problem = keep_logs(node / "logs", target)
    assert {path.name: path.read_text() for path in target.iterdir()} == {
        "installation.json": "root",
        "engine.log": "root",
        "engine-2.log": "forged\n",
        "profile.jfr": "recording\n",
    }
    assert {path.stat().st_uid for path in target.iterdir()} == {0}
    assert (target / "profile.jfr").stat().st_mode & 0o7777 == 0o600
    assert "gc.log (it is not a regular file)" in problem


def test_a_log_is_replaced_by_a_copy_that_no_process_has_open(target: Path) -> None:
    log = target / "engine.log"
    log.write_text("line\n")
    # A killed process may have left a copy, and a link may have taken its place.
    (target / ".engine.copy.log").symlink_to(target / "other")
    with log.open("ab") as left:
        assert replace_log(log) == ""
        left.write(b"later")
    assert (log.read_text(), names(target)) == ("line\n", {"engine.log"})
    assert replace_log(target / "missing.log") == replace_log(target) == ""


def test_a_log_that_cannot_be_copied_is_told(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = target / "engine.log"
    log.write_text("line\n")
    monkeypatch.setattr(node_logs, "MAX_LOG_BYTES", 4)
    assert replace_log(log) == (
        f"{log} was not replaced by a copy, so that a process that the engine may have left can still "
        "write to it: it is larger than 4 B"
    )
    assert names(target) == {"engine.log"}
