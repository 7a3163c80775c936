"""What races of an experiment take from the configuration."""

from pathlib import Path

import pytest

from pacenote.cli.console import Console
from pacenote.cli.lab.experiment_check import RaceOptionCheck
from pacenote.cli.lab.experiment_plan_check import check_plans
from pacenote.model.experiment import Experiment, Variant
from pacenote.store.home import default_home
from pacenote.store.trusted_files import TrustedFiles


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PACENOTE_TRUST", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("text", "folder"), [("", "home/corpora"), ('dataset-cache = "~/data"\n', "data")])
def test_data_files_are_where_races_look_for_them(work: Path, text, folder):
    (work / "pacenote.toml").write_text(text)
    check = RaceOptionCheck(Console())
    assert check.data_root({"track": "http_logs", "dataset-cache": "own"}) == work / folder
    assert check.data_root({"track": "http_logs", "clients": "many"}) is None


def test_the_configuration_is_that_of_the_folder_in_which_races_run(work: Path):
    (work / "started").mkdir()
    file = work / "started" / "pacenote.toml"
    file.write_text('dataset-cache = "own"\n')
    TrustedFiles(default_home()).add(file, file.read_bytes())
    (work / "pacenote.toml").write_text('dataset-cache = "/other"\n')
    check = RaceOptionCheck(Console(), work / "started")
    assert check.data_root({"track": "http_logs"}) == work / "started" / "own"


def test_an_engine_of_an_official_archive_is_planned_without_a_download(work: Path):
    versions = ("8.17.0", "8.18.0")
    variants = tuple(Variant(version, {"distribution-version": version}) for version in versions)
    race = {"track": "http_logs", "distribution": "elasticsearch"}
    experiment = Experiment(name="upgrade", race=race, variants=variants)
    assert check_plans(experiment, "upgrade.toml", RaceOptionCheck(Console())) == ()
    assert not (work / "home").exists()
