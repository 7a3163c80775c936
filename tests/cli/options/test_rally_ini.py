"""What `rally.ini` and Rally's folder change, and how a race names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.records import record

STOCK = """
[system]
env.name = local
[node]
root.dir = ${CONFIG_DIR}/benchmarks
[reporting]
datastore.type = in-memory
[defaults]
preserve_benchmark_candidate = false
"""


@pytest.fixture
def rally_ini(tmp_path):
    """Returns a function that writes `rally.ini` and returns its path."""

    def write(text):
        folder = tmp_path / "rally" / ".rally"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "rally.ini").write_text(text)
        return folder / "rally.ini"

    return write


@pytest.fixture
def race(run, fake_race):
    requests = fake_race(lambda request, listener: record(request.race_id))

    def race(*arguments):
        code, _, err = run("race", *arguments)
        assert code == 0, err
        return requests[-1], err

    return race


def test_a_race_names_in_one_line_what_rally_configures(rally_ini, race):
    file = rally_ini(
        f"{STOCK}[benchmarks]\nlocal.dataset.cache = /data\n"
        "[tracks]\ndefault.url = https://rally/default\nmine.url = https://rally/mine\n"
        "[driver]\nserverless.mode = true\n"
    )
    used = "--build-flavor=serverless, --dataset-cache=/data, track repository 'default'"
    line = f"settings of {file}: {used}\n"
    assert race("--track=x")[1] == line
    assert race("--track=x", "--quiet")[1] == ""
    options = ("--track-repository=mine", "--dataset-cache=/d", "--build-flavor=default")
    assert race("--track=x", *options)[1] == (f"settings of {file}: track repository 'mine'\n")
    assert "repository" not in race("--track-path=elsewhere")[1]
    assert "repository" not in race("--track=http_logs", "--track-repository=bundled")[1]
    with file.open("a") as lines:
        lines.write("[teams]\ndefault.url=https://example.org/teams.git\n")
    options = (
        "--track-repository=mine",
        "--team-repository=default",
        "--build-flavor=default",
        "--dataset-cache=/d",
    )
    shown = f"settings of {file}: track repository 'mine', team repository 'default'\n"
    assert race("--track=x", *options)[1] == shown


def test_settings_are_named_in_a_fixed_order_and_as_they_are_typed(rally_ini, race):
    driver = "[driver]\nserverless.operator = false\nserverless.mode = true\n"
    system = "[system]\nenv.name = nightly\n"
    used = "--build-flavor=serverless, --environment-name=nightly, --no-serverless-operator"
    for text in (driver + system, system + driver):
        file = rally_ini(text)
        assert race("--track=x")[1] == f"settings of {file}: {used}\n"
    assert race("--track=x", "--no-serverless-operator")[0].serverless_operator is False


def test_a_race_does_not_name_a_rally_ini_that_changes_nothing(rally_ini, race):
    rally_ini(STOCK)
    assert race("--track=x")[1] == ""


def test_the_sources_are_named_only_if_they_are_built_and_without_secrets(rally_ini, race):
    file = rally_ini(f"{STOCK}[source]\nremote.repo.url = https://me:hunter2hunter2@host/es.git\n")
    assert race("--track=x")[1] == ""
    request, err = race("--track=x", "--revision=latest")
    assert err == f"settings of {file}: --source-repository=https://<hidden>@host/es.git\n"
    assert request.engine.source.source_path == "https://me:hunter2hunter2@host/es.git"
    assert "hunter2" not in repr(request)


def test_settings_that_pacenotes_own_configuration_overrides_are_not_named(rally_ini, race, home):
    rally_ini("[benchmarks]\nlocal.dataset.cache = /data\n[tracks]\ndefault.url = https://rally/default\n")
    home.mkdir()
    (home / "pacenote.toml").write_text('dataset-cache = "/own"\n[tracks]\ndefault.url = "https://own"\n')
    assert race("--track=x")[1] == ""


def test_the_name_of_the_environment_is_taken_over(rally_ini, race):
    assert race("--track=x")[0].environment_name == "local"
    rally_ini("[system]\nenv.name = nightly\n")
    request, err = race("--track=x")
    assert request.environment_name == "nightly"
    assert err.endswith("rally.ini: --environment-name=nightly\n")
    assert race("--track=x", "--environment-name=mine")[0].environment_name == "mine"


@pytest.mark.parametrize(
    ("text", "root"),
    [
        (None, "rally/.rally/benchmarks"),
        (STOCK, "rally/.rally/benchmarks"),
        ("[node]\nroot.dir = ROOT\n", "own"),
    ],
)
def test_the_folder_of_rallys_clones_is_found(rally_ini, race, tmp_path, text, root):
    assert race("--track=x")[0].rally_tracks is None
    if text is not None:
        rally_ini(text.replace("ROOT", str(tmp_path / "own")))
    (tmp_path / root / "tracks").mkdir(parents=True)
    assert race("--track=x")[0].rally_tracks == tmp_path / root / "tracks"


def test_rallys_data_files_are_used_without_a_setting(rally_ini, race, tmp_path):
    folder = tmp_path / "rally" / ".rally" / "benchmarks" / "data"
    assert race("--track=x")[0].dataset_cache is None
    folder.mkdir(parents=True)
    request, err = race("--track=x")
    assert request.dataset_cache == folder
    assert err == f"found in {tmp_path / 'rally' / '.rally'}: --dataset-cache={folder}\n"
    assert race("--track=x", "--dataset-cache=/d")[0].dataset_cache == Path("/d")
    (tmp_path / "own" / "data").mkdir(parents=True)
    file = rally_ini(f"[node]\nroot.dir = {tmp_path / 'own'}\n")
    request, err = race("--track=x")
    assert request.dataset_cache == tmp_path / "own" / "data"
    assert err == f"settings of {file}: --dataset-cache={tmp_path / 'own' / 'data'}\n"
    file.write_text(f"{file.read_text()}[benchmarks]\nlocal.dataset.cache = /data\n")
    assert race("--track=x")[0].dataset_cache == Path("/data")


def test_a_data_folder_of_rally_that_cannot_be_written_is_not_the_default(race, tmp_path, monkeypatch):
    folder = tmp_path / "rally" / ".rally" / "benchmarks" / "data"
    folder.mkdir(parents=True)
    # root may write everywhere
    monkeypatch.setattr("pacenote.cli.options.rally_ini.os.access", lambda path, _mode: path != folder)
    assert race("--track=x")[0].dataset_cache is None


def test_the_addresses_of_archives_are_those_of_both_files(rally_ini, race, tmp_path, monkeypatch):
    monkeypatch.setenv("PACENOTE_TRUST", "1")
    rally_ini(
        f"{STOCK}[distributions]\nrelease.cache = false\nmine.url = https://user:word@rally/a-{{{{VERSION}}}}\n"
        "plugin.own.mine.url = https://rally/own.zip\n"
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pacenote.toml").write_text(
        '[distributions]\nmine.url = "https://toml/b"\nmine.cache = true\ncache.days = 3\n'
    )
    request, said = race("--track=x", "--distribution-repository=mine", "--distribution-version=8.17.0")
    archive = request.engine.archive
    assert archive.repository == "mine"
    assert archive.distributions == {
        "release.cache": "false",
        "mine.url": "https://toml/b",
        "plugin.own.mine.url": "https://rally/own.zip",
        "mine.cache": "true",
        "cache.days": "3",
    }
    assert "no counterpart" not in said


def test_a_value_that_is_not_an_address_is_reported(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pacenote.toml").write_text("[distributions]\nmine.url = [1]\n")
    code, _, err = run("race", "--track=x")
    assert code == 2
    assert "[distributions] mine.url is not a text, a number, true or false" in err
