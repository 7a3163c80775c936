"""The `pacenote.toml` of a folder that someone else has written."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path

import pytest

from pacenote.cli.options.command_trust import trusted_for_command
from pacenote.cli.options.folder_trust import read_folder_file
from pacenote.lab.child_command import child_environment
from support.descriptors import unchanged_descriptors
from support.records import record


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "theirs"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


@pytest.fixture
def race(run, fake_race):
    requests = fake_race(lambda request, listener: record(request.race_id))

    def race(*arguments):
        code, _, err = run("race", "--track=x", *arguments)
        assert code == 0, err
        return requests[-1], [line for line in err.splitlines() if "pacenote.toml" in line]

    return race


def test_what_could_do_harm_is_not_used_from_a_folder_of_someone_else(folder, race):
    file = folder / "pacenote.toml"
    file.write_text(
        'runtime-jdk = "/tmp/evil"\ntarget-hosts = "evil:1"\nseed = 7\n[race]\ntest-mode = true\n'
        'plugin-params = "a:b"\nset = "engine.a=b"\njvm = "-javaagent:x"\n'
        '[tracks]\ndefault.url = "https://evil/tracks"\n[reporting]\ndatastore.type = "elasticsearch"\n'
        'datastore.host = "evil"\ndatastore.port = 1\n'
    )
    request, lines = race()
    assert (request.engine.runtime_jdk, request.target_hosts) == (None, ())
    assert (request.seed, request.test_mode) == (7, True)
    assert request.repository_urls == {}
    assert lines == [
        f"settings of {file}",
        f"warning: {file} is not trusted; ignored: runtime-jdk, target-hosts, plugin-params and 4 more; to "
        "use all of it, read it and run `pacenote trust`",
    ]
    _, lines = race("--runtime-jdk=17", "--quiet")
    assert lines == [lines[0]]
    assert "ignored: target-hosts, plugin-params, set and 3 more" in lines[0]


@pytest.mark.parametrize("key", ["user-tag", "user-tags", "include-tasks", "exclude-tasks"])
def test_a_file_of_someone_else_reads_no_other_file(folder, race, key):
    secret = folder.parent / "key.json"
    secret.write_text('{"private": "secret"}' if key.startswith("user") else '["secret"]')
    file = folder / "pacenote.toml"
    file.write_text(f'[race]\n{key} = " {secret} "\n')
    request, lines = race()
    assert (request.user_tags, request.include_tasks, request.exclude_tasks) == ({}, (), ())
    assert lines == [
        f"warning: {file} is not trusted; ignored: {key}; to use all of it, read it and run `pacenote trust`"
    ]
    request, _ = race("--trust")
    assert "secret" in str((request.user_tags, request.include_tasks, request.exclude_tasks))


def test_tags_and_tasks_without_files_need_no_trust(folder, race):
    (folder / "pacenote.toml").write_text('[race]\nuser-tags = {a = 1}\ninclude-tasks = "x"\n')
    request, _ = race()
    assert (request.user_tags, request.include_tasks) == ({"a": 1}, ("x",))


def test_a_file_that_is_trusted_is_used_until_it_changes(folder, race, run):
    file = folder / "pacenote.toml"
    file.write_text('runtime-jdk = "17"\n')
    assert run("trust") == (0, f"{file} is trusted until it changes\n", "")
    request, lines = race()
    assert (request.engine.runtime_jdk, lines) == (17, [f"settings of {file}"])
    assert race("--runtime-jdk=21")[1] == []
    file.write_text('runtime-jdk = "/tmp/evil"\n')
    request, lines = race()
    assert request.engine.runtime_jdk is None
    assert lines == [
        f"warning: {file} has changed since it was trusted; ignored: runtime-jdk; to use all of it, read it "
        "and run `pacenote trust`"
    ]


def test_trust_is_that_of_one_folder(folder, race, run, monkeypatch):
    (folder / "pacenote.toml").write_text('runtime-jdk = "17"\n')
    run("trust")
    below = folder / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert race()[0].engine.runtime_jdk is None
    (below / "pacenote.toml").write_text('runtime-jdk = "17"\n')
    assert race()[0].engine.runtime_jdk is None
    link = folder.parent / "link"
    link.symlink_to(folder)
    monkeypatch.chdir(link)
    assert race()[0].engine.runtime_jdk == 17


def test_one_command_can_trust_what_it_is_given(folder, race, run, monkeypatch):
    (folder / "pacenote.toml").write_text('[race]\nruntime-jdk = "17"\n')
    assert race("--trust")[0].engine.runtime_jdk == 17
    assert race()[0].engine.runtime_jdk is None
    for value, jdk in (("1", 17), ("true", 17), ("0", None), ("", None)):
        monkeypatch.setenv("PACENOTE_TRUST", value)
        assert race()[0].engine.runtime_jdk == jdk
    monkeypatch.setenv("PACENOTE_TRUST", "maybe")
    assert run("race", "--track=x")[2] == "error: PACENOTE_TRUST must be 1 or 0, not 'maybe'\n"


def test_races_that_a_command_starts_inherit_its_trust(run, fake_race, folder, monkeypatch):
    inherited = []

    def race(request, listener):
        inherited.append(child_environment().get("PACENOTE_TRUST"))
        return record(request.race_id)

    fake_race(race)
    run("race", "--track=x", "--trust")
    run("race", "--track=x")
    file = folder / "pacenote.toml"
    file.write_bytes(b"seed = 7\n")
    run("race", "--track=x", "--trust")
    monkeypatch.setenv("PACENOTE_TRUST", "1")
    run("race", "--track=x")
    assert os.environ["PACENOTE_TRUST"] == "1"
    one_file = f"{hashlib.sha256(file.read_bytes()).hexdigest()}:{file}"
    assert inherited == ["", None, one_file, one_file]


def test_trust_that_is_inherited_is_that_of_one_file(folder, race, monkeypatch):
    file = folder / "pacenote.toml"
    file.write_text('runtime-jdk = "17"\n')
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    for value, jdk in (
        (f"{digest}:{file}", 17),
        (f"{digest}:{folder.parent / 'pacenote.toml'}", None),
        (f"{'0' * 64}:{file}", None),
    ):
        monkeypatch.setenv("PACENOTE_TRUST", value)
        assert race()[0].engine.runtime_jdk == jdk


@pytest.mark.parametrize("value", ["1", ""])
def test_the_folder_of_an_experiment_is_not_trusted_with_that_of_the_command(folder, monkeypatch, value):
    (folder / "pacenote.toml").write_text("seed = 1\n")
    other = folder.parent / "other"
    other.mkdir()
    (other / "pacenote.toml").write_text('[race]\nruntime-jdk = "/tmp/evil"\n')
    monkeypatch.setenv("PACENOTE_TRUST", value)
    with trusted_for_command(["--trust"]):
        assert read_folder_file(folder, folder.parent).trust == "trusted"
        assert read_folder_file(other, folder.parent).trust == "unknown"


@pytest.mark.parametrize("text", ["trust = true\n", "[race]\ntrust = true\n", "[list]\ntrust = true\n"])
def test_a_file_cannot_trust_itself(folder, run, fake_race, text):
    requests = fake_race(lambda request, listener: record(request.race_id))
    (folder / "pacenote.toml").write_text(f'runtime-jdk = "17"\n{text}')
    run("race", "--track=x")
    assert all(request.engine.runtime_jdk is None for request in requests)


def test_the_file_cannot_hide_that_it_is_used(folder, race):
    file = folder / "pacenote.toml"
    file.write_text("quiet = true\nseed = 2\n")
    assert race()[1] == [f"settings of {file}"]
    assert race("--quiet")[1] == []


@pytest.mark.parametrize("mode", [0o666, 0o646])
def test_a_file_that_others_may_write_to_is_not_used_at_all(folder, race, run, mode):
    file = folder / "pacenote.toml"
    file.write_text('seed = 7\nruntime-jdk = "17"\n')
    file.chmod(mode)
    request, lines = race("--trust")
    assert (request.seed, request.engine.runtime_jdk) == (42, None)
    assert lines == [f"warning: {file} is not used: all users may write to it (`chmod o-w`)"]
    code, _, err = run("trust")
    assert code == 2
    assert "cannot be trusted: all users may write to it" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_of_another_user_is_not_used_at_all(folder, race):
    file = folder / "pacenote.toml"
    file.write_text("seed = 7\n")
    os.chown(file, 54321, -1)
    request, lines = race("--trust")
    assert request.seed == 42
    assert lines == [f"warning: {file} is not used: it belongs to another user (uid 54321)"]


def _sparse(path):
    with path.open("wb") as file:
        file.truncate(65 << 20)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)  # The working folder; an address is short.


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        Path.mkdir,
        _socket,
        _sparse,
        lambda path: path.symlink_to(path.name),
        lambda path: path.symlink_to("/etc/shadow"),
        lambda path: path.symlink_to("/etc"),
        lambda path: path.symlink_to("missing"),
    ],
)
def test_whatever_another_user_puts_there_has_no_effect_at_all(folder, race, run, make):
    file = folder / "pacenote.toml"
    make(file)
    os.chown(file, 54321, -1, follow_symlinks=False)
    with unchanged_descriptors():
        _, lines = race("--trust")
    assert lines == [f"warning: {file} is not used: it belongs to another user (uid 54321)"]
    assert run("list", "races")[0] == 0
    assert "cannot be trusted: it belongs to another user" in run("trust")[2]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, os.mkfifo, _sparse])
def test_a_link_of_ones_own_leads_only_to_what_is_ones_own(folder, race, make):
    file, target = folder / "pacenote.toml", folder / "target"
    file.symlink_to(target)
    target.write_text("seed = 7\n")
    assert race()[0].seed == 7
    target.unlink()
    make(target)
    os.chown(target, 54321, -1)
    _, lines = race()
    assert lines == [f"warning: {file} is not used: it belongs to another user (uid 54321)"]


def test_the_home_needs_no_trust(home, race, monkeypatch):
    home.mkdir()
    (home / "pacenote.toml").write_text('runtime-jdk = "17"\n')
    monkeypatch.chdir(home)
    request, lines = race()
    assert (request.engine.runtime_jdk, lines) == (17, [])


def test_options_of_races_need_trust_in_an_experiment(folder, run, books):
    file = folder / "pacenote.toml"
    file.write_text('[race]\nruntime-jdk = "/tmp/evil"\n')
    (folder / "e.toml").write_text("nonsense = 1\n")
    assert f"warning: {file} is not trusted; ignored: runtime-jdk" in run("experiment", "run", "e.toml")[2]
