"""The options that configure the engine, and the lists of cars and plugins."""

from __future__ import annotations

import json

import pytest

from pacenote.cli import race
from pacenote.cli.console import Console
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from teams.repositories import write_team


def build(*arguments: str):
    parser = Parser("race", "", Console(), {})
    race.add_options(parser)
    parser.set_defaults(owns_process=False, repository_urls={})
    return race.build_request(parser.parse(["--track=x", *arguments]))


def test_single_settings_can_be_repeated():
    request = build(
        *("--set", "engine.a.b=1=2", "--set=index.codec=best_compression", '--set={"engine.c": true}'),
        *("--jvm=-Xa", "--jvm", '["-Xb", "-Xc"]', "--env=A=1", "--env", "B="),
    )
    assert request.engine.overrides.settings == {"a.b": "1=2", "c": "true"}
    assert request.engine.overrides.jvm_options == ("-Xa", "-Xb", "-Xc")
    assert request.engine.overrides.environment == {"A": "1", "B": ""}
    assert request.index_settings == {"index.codec": "best_compression"}


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--set=a.b=1", "a.b is a setting of neither the engine nor indices"),
        ("--set=engine.=1", "is a setting of neither"),
        ("--set=engine.a", "--set must be a name, = and a value"),
        ("--env=A", "--env must be a name, = and a value"),
    ],
)
def test_malformed_settings_are_reported(argument, message):
    with pytest.raises(UsageError, match=message):
        build(argument)


def test_a_setting_without_its_prefix_gets_the_one_that_it_can_have():
    with pytest.raises(UsageError) as caught:
        build("--set=indices.memory.index_buffer_size=25%")
    assert caught.value.hint == "write engine.indices.memory.index_buffer_size"
    with pytest.raises(UsageError) as caught:
        build("--set=codec=default")
    assert caught.value.hint == "write engine.codec, or index.codec for a setting of indices"


def test_settings_of_an_existing_cluster_are_not_changed_but_those_of_its_indices():
    existing = "--target-hosts=127.0.0.1:9200"
    with pytest.raises(UsageError, match=r"--set engine\.a needs an engine that the race starts"):
        build(existing, "--set=engine.a=1")
    assert build(existing, "--set=index.a=1").index_settings == {"index.a": "1"}


def test_a_team_repository_is_configured_in_files(home, run, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "pacenote.cli.lists.cars.locate_team", lambda request, *_: seen.append(request) or 1 / 0
    )
    home.mkdir()
    (home / "pacenote.toml").write_text('[teams]\nmine.url = "https://example.org/a"\n')
    folder = tmp_path / "rally" / ".rally"
    folder.mkdir(parents=True)
    (folder / "rally.ini").write_text("[teams]\ndefault.url = https://example.org/b\n")
    run("list", "cars", "--team-repository=mine")
    (request,) = seen
    assert request.options.urls == {"default": "https://example.org/b", "mine": "https://example.org/a"}


def test_cars_and_plugins_of_a_team_repository_are_listed(run, tmp_path):
    path = f"--team-path={write_team(tmp_path / 'team')}"
    code, out, err = run("list", "cars", path, "--format=json")
    assert (code, err) == (0, f"from {tmp_path / 'team'}\n")
    assert json.loads(out)[0] == {"name": "large", "type": "car", "description": "A large heap"}
    code, out, _ = run("list", "elasticsearch-plugins", path)
    assert code == 0
    assert [line.split() for line in out.splitlines()][-1] == ["my-plugin", "fast"]


def test_a_folder_without_cars_is_reported(run, tmp_path):
    code, out, err = run("list", "cars", f"--team-path={tmp_path}")
    assert (code, out) == (64, "")
    assert f"{tmp_path} is not a team repository: it has no folder cars/v1" in err
