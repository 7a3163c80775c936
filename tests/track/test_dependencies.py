"""The real pip installs packages for plug-ins from a wheel that the test builds."""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import threading
import time
import zipfile
from pathlib import Path

import pytest

from pacenote.errors import TrackError
from pacenote.track import dependencies
from pacenote.track.dependencies import dependency_folder, install_dependencies


@pytest.fixture
def wheel(tmp_path: Path) -> str:
    path = tmp_path / "helpful-1.0-py3-none-any.whl"
    info = "helpful-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("helpful.py", "ANSWER = 42\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: helpful\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return str(path)


@pytest.mark.process
def test_packages_are_installed_once(wheel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    # Modules in the current folder, which others may have written, are not imported.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pip.py").write_text("raise SystemExit(1)")
    folder = install_dependencies([wheel], tmp_path / "home", False)
    assert folder == dependency_folder([wheel], tmp_path / "home")
    assert (folder / "helpful.py").read_text() == "ANSWER = 42\n"
    assert list(folder.parent.iterdir()) == [folder]
    Path(wheel).unlink()
    assert install_dependencies([wheel], tmp_path / "home", True) == folder


@pytest.mark.process
def test_what_a_killed_process_has_left_is_removed(
    wheel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = dependency_folder([wheel], tmp_path)
    names = (".0123456789abcdef.old", ".0123456789abcdef.new", "0123456789abcdef", ".other")
    for name in names:
        (folder.parent / name / "helpful").mkdir(parents=True)
        if name != ".0123456789abcdef.new":
            os.utime(folder.parent / name, (0, 0))
    install_dependencies([wheel], tmp_path, False)
    assert {path.name for path in folder.parent.iterdir()} == {folder.name, *names[1:]}


@pytest.mark.process
def test_packages_that_cannot_be_installed_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(TrackError) as caught:
        install_dependencies(["no-such-package==1"], tmp_path, False)
    assert caught.value.message.startswith('the Python packages "no-such-package==1" cannot be installed: ')
    assert "no-such-package==1" in caught.value.message.partition("installed: ")[2]
    assert list((tmp_path / "libs").iterdir()) == []


@pytest.mark.process
def test_pip_is_stopped_if_an_index_sends_a_page_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[bytes] = []

    def send(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            pages.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n")
            while True:
                connection.sendall(b" ")
                time.sleep(0.01)

    def serve(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=send, args=(listener.accept()[0],), daemon=True).start()

    monkeypatch.setattr(dependencies, "_TIMEOUT_S", 5.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{listener.getsockname()[1]}/")
        with pytest.raises(TrackError, match="pip has not ended within 5 s"):
            install_dependencies(["helpful"], tmp_path, False)
        listener.shutdown(socket.SHUT_RDWR)
    assert pages
    assert list((tmp_path / "libs").iterdir()) == []


def test_nothing_is_installed_when_offline(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match="--offline forbids downloads"):
        install_dependencies(["numpy"], tmp_path, True)
    assert not (tmp_path / "libs").exists()


@pytest.mark.parametrize("requirement", ["--pre", " "])
def test_pip_options_are_not_accepted_as_packages(tmp_path: Path, requirement: str) -> None:
    with pytest.raises(TrackError, match="is not a package"):
        install_dependencies([requirement], tmp_path, False)


@pytest.mark.process
def test_the_command_in_the_hint_can_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    requirement = "no-such-package>=2; python_version > '3'"
    with pytest.raises(TrackError, match="cannot be installed") as caught:
        install_dependencies([requirement], tmp_path, False)
    command = (caught.value.hint or "").removeprefix("try this command: ")
    assert shlex.split(command)[-2:] == ["install", requirement]


def test_each_list_of_packages_has_its_own_folder(tmp_path: Path) -> None:
    assert dependency_folder(["a", "b"], tmp_path) == dependency_folder(["b", "a"], tmp_path)
    assert dependency_folder(["a"], tmp_path) != dependency_folder(["a", "b"], tmp_path)


@pytest.mark.parametrize(
    "requirement",
    [
        "git+https://s3cr3t-token@example.org/repo.git",
        "mine @ git+https://me:s3cr3t-token@example.org/repo.git@v1",
        "https://me:s3cr3t-token@example.org/mine.whl",
        "http://example.org/mine.whl?token=s3cr3t-token",
        "git+ssh://git:s3cr3t-token@example.org/repo.git",
    ],
)
def test_credentials_in_the_url_of_a_package_are_refused(
    tmp_path: Path, requirement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An earlier version may have installed the package.
    dependency_folder([requirement], tmp_path).mkdir(parents=True)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(TrackError, match=r"use a git credential helper or ~/\.netrc") as caught:
        install_dependencies([requirement], tmp_path, False)
    assert "<hidden>" in caught.value.message
    assert "s3cr3t-token" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    "requirement",
    [
        "git+ssh://git@example.org/repo.git@v1",
        "mine @ git+https://example.org:8443/repo.git@v1#egg=mine",
        "mine @ https://example.org/mine.whl",
    ],
)
def test_urls_without_credentials_are_accepted(tmp_path: Path, requirement: str) -> None:
    with pytest.raises(TrackError, match="--offline forbids downloads"):
        install_dependencies([requirement], tmp_path, True)


def test_packages_that_others_could_replace_are_not_used(tmp_path: Path) -> None:
    folder = dependency_folder(["helpful"], tmp_path)
    folder.mkdir(parents=True)
    assert install_dependencies(["helpful"], tmp_path, True) == folder
    tmp_path.chmod(0o777)
    with pytest.raises(TrackError, match="could be replaced by others"):
        install_dependencies(["helpful"], tmp_path, True)


def test_packages_that_are_gone_after_they_were_found_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user may have put them there, and have removed them before they were checked."""
    folder = dependency_folder(["helpful"], tmp_path)
    folder.mkdir(parents=True)
    check = dependencies.replaceable_folder

    def removed_before(path: Path, *, must_exist: bool) -> str:
        folder.rmdir()
        return check(path, must_exist=must_exist)

    monkeypatch.setattr(dependencies, "replaceable_folder", removed_before)
    with pytest.raises(TrackError, match="is replaced or removed"):
        install_dependencies(["helpful"], tmp_path, True)
