"""A stored race has the options that were given, and the command made of them requests the same race."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cli.test_race_recorded_options import RECORDED, WITHOUT_EFFECT, track
from pacenote.cli import race, saturate
from pacenote.cli.console import Console
from pacenote.cli.options.configured import ConfiguredOption
from pacenote.cli.options.given import given_options
from pacenote.cli.options.rally_ini import RallySettings
from pacenote.cli.output.race_command import race_command
from pacenote.cli.output.race_options import NOT_REPEATED, race_options
from pacenote.cli.parser import Parser
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.model.redaction import redact_given_options, redact_record
from pacenote.model.secrets import REDACTED
from pacenote.race.corpora import PreparedCorpora
from pacenote.race.race_secrets import race_secrets
from pacenote.race.record import initial_record
from pacenote.track.prepare import prepare_track
from support.records import record

EXAMPLES = {
    **{name: option for name, (option, _) in RECORDED.items() if name not in ("race_id", "seed")},
    "seed": "--seed=7",
    "track": "--track=other",
    "offline": "--offline",
    "allow_outside_paths": "--allow-outside-paths",
    "ignore_unused_track_params": "--ignore-unused-track-params",
    "corpus_mirror": "--corpus-mirror=https://example.org/data",
    "maven_mirror": "--maven-mirror=https://example.org/maven2",
    "archive_mirror": "--archive-mirror=https://example.org/archives",
    "source_repository": "--source-repository=https://example.org/es.git",
    "source_cache_days": "--source-cache-days=3",
    "preserve_install": "--preserve-install",
    "cluster_name": "--cluster-name=mine",
}
"""An example of each option that is repeated."""

FURTHER = (
    "--jvm=-XX:+UseZGC --jvm=-Xss2m",
    "--set=engine.node.attr.zone=a=b --set=index.number_of_replicas=0",
    '--set={"engine.action.auto_create_index": "false"}',
    "--env=A=1 --env=B=x=y",
    "--nodes=master:1,data:2 --node-cpus=0;0;0",
    "--data-paths=a,b",
    "--track-path=TRACK/folder",
    "--dataset-cache=data",
    "--runtime-jdk=./jdk",
    "--no-default-telemetry --telemetry=gc --telemetry=jfr,node-stats",
    "--no-html --quiet --report=short",
    "--track-params=a:1 --track-params=b:2",
    '--track-params={"a":{"b":[1,2.5,null,true,"é"]}}',
    "--user-tags=a:b,c:1",
    "--target-hosts=a:1,http://b:2/x --client-options=timeout:7,http_compress:false",
    "--on-error=abort --max-error-rate=2.5 --max-shortfall=7.5",
    "--include-tasks=type:search,tag:slow",
    "--open-loop --max-connections=3 --arrivals=poisson --spin=0",
)
"""Options of other forms."""

IGNORED: dict[str, Any] = {"race_id": "", "given_options": {}}
"""Fields that differ between races, or in form only."""


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def parser(command: Any = race) -> Parser:
    built = Parser("race", "", Console(), {})
    command.add_options(built)
    built.set_defaults(owns_process=False, repository_urls={}, rally=RallySettings())
    return built


def requested(arguments: list[str], built: Parser | None = None) -> RaceRequest:
    return race.build_request((built or parser()).parse(arguments))


def stored(request: RaceRequest, folder: Path) -> RaceRecord:
    """Returns the record of a race as it is read again."""
    track(folder)
    prepared = prepare_track(
        RaceRequest(race_id="r", home=folder, track_path=folder).track_request(),
    )
    record = initial_record(dataclasses.replace(request, challenge=None), prepared, PreparedCorpora(()))
    record = redact_record(record, race_secrets(request))
    return RaceRecord.from_document(json.loads(json.dumps(record.to_document())))


def comparable(request: RaceRequest) -> RaceRequest:
    """Returns a request without what repeating a race does not keep."""
    return dataclasses.replace(request, **IGNORED)


def words(command: str) -> list[str]:
    return shlex.split(command.replace(" \\\n", ""))[2:]


def test_each_option_is_repeated_or_has_a_reason_not_to_be() -> None:
    options = {action.dest for action in parser()._actions}
    of_output = {name.replace("-", "_") for name in NOT_REPEATED} | {"help", "report_numbers_align"}
    assert options - EXAMPLES.keys() - of_output == set()
    assert EXAMPLES.keys() <= options
    assert EXAMPLES.keys() <= RECORDED.keys() | WITHOUT_EFFECT.keys()


@pytest.mark.parametrize("given", [*EXAMPLES.values(), *FURTHER])
def test_the_command_of_a_stored_race_requests_the_same_race(given: str, tmp_path: Path) -> None:
    arguments = given.replace("TRACK", str(tmp_path)).split(" --")
    arguments = [arguments[0], *(f"--{argument}" for argument in arguments[1:])]
    if given.startswith("--source-path"):
        arguments.append("--pipeline=from-sources")
    if given.startswith("--max-connections"):
        arguments.append("--open-loop")
    if given.startswith(("--target-hosts", "--client-options")) and '"default"' not in given:
        arguments.append("--pipeline=benchmark-only")
    if not given.startswith(("--track=", "--track-path=")):
        arguments.append("--track=t")
    request = requested(arguments)
    command, notes = race_command(stored(request, tmp_path / "track"), "pacenote")
    if "token" in given or "password" in given:
        assert REDACTED in command
        assert "token" not in command
        assert "password@" not in command
        assert any(REDACTED in note for note in notes)
    else:
        assert comparable(requested(words(command))) == comparable(request)


def test_configured_options_are_repeated_and_overridden_ones_are_not(tmp_path: Path) -> None:
    built = parser()
    for name, value in (("driver-threads", 3), ("car", "4gheap"), ("html", False), ("jvm", "-Xss2m")):
        setting = ConfiguredOption(value, "pacenote.toml")
        built.configure(f"--{name}", setting.value, setting.origin)
    request = requested(["--track=t", "--car=defaults", "--jvm=-XX:+UseZGC", "--test-mode"], built)
    command, _ = race_command(stored(request, tmp_path / "track"), "pacenote")
    assert words(command) == [
        *("--driver-threads=3", "--jvm=-Xss2m", "--jvm=-XX:+UseZGC", "--track=t", "--test-mode", "--seed=42"),
    ]
    assert comparable(requested(words(command))) == comparable(request)


def test_a_search_is_repeated_with_its_own_options(tmp_path: Path) -> None:
    built = parser(saturate)
    options = built.parse(["--track=t", "--max-rate=500", "--sweep-time=2", "--objective=p99:20ms"])
    record = stored(race.build_request(options), tmp_path / "track")
    repeated = race_options(record)
    assert repeated == {"track": "t", "max-rate": "500", "sweep-time": "2", "objective": "p99:20ms"}


def test_secrets_of_client_options_are_not_stored(tmp_path: Path) -> None:
    given = {
        "basic_auth_user": "elastic",
        "basic_auth_password": "hunter2222",
        "headers": {"X-Key": "k3yk3yk3y"},
        "timeout": 7,
    }
    request = requested(["--track=t", "--target-hosts=a:1", f"--client-options={json.dumps(given)}"])
    document = json.dumps(stored(request, tmp_path / "track").to_document())
    assert "hunter2222" not in document
    assert "k3yk3yk3y" not in document
    assert '"timeout": 7' in document


def test_secrets_that_are_short_and_headers_of_any_name_are_not_stored() -> None:
    arguments = [
        *("--track=t", "--env=DB_PASSWORD=abc", "--env=LOGIN_SECRET=none", "--env=A=1"),
        *("--set=engine.some.password=xyz", "--target-hosts=me:pw@a:1"),
    ]
    client = {"headers": {"X-Pin": "4711"}, "opaque_id": "me", "create_api_key_per_client": True}
    given = given_options(parser().parse(arguments)) | {"client-options": {"default": client}}
    redacted: dict[str, Any] = redact_given_options(given)
    assert redacted["env"] == [f"DB_PASSWORD={REDACTED}", f"LOGIN_SECRET={REDACTED}", "A=1"]
    assert redacted["set"] == [f"engine.some.password={REDACTED}"]
    assert redacted["target-hosts"] == {"default": [f"{REDACTED}@a:1"]}
    assert redacted["client-options"] == {
        "default": {**client, "headers": {"X-Pin": REDACTED}, "opaque_id": REDACTED}
    }


def test_files_are_named_by_absolute_paths(tmp_path: Path) -> None:
    """The race can be repeated from another folder."""
    (tmp_path / "ca.pem").touch()
    arguments = ["--track=t", "--elasticsearch-plugins=analysis-icu,./mine.zip,https://example.org/p.zip"]
    given = given_options(parser().parse(arguments))
    expected = ["analysis-icu", str(tmp_path / "mine.zip"), "https://example.org/p.zip"]
    assert given["elasticsearch-plugins"] == expected
    arguments = ["--track=t", "--target-hosts=https://a:1", "--client-options=ca_certs:ca.pem"]
    given = given_options(parser().parse(arguments))
    assert given["client-options"] == {"ca_certs": str(tmp_path / "ca.pem")}


def test_a_simple_table_is_not_read_from_a_file_of_its_name(tmp_path: Path) -> None:
    """It may be a pipe, for which the report of a race of others would wait."""
    table = {str(tmp_path / "a"): "b.json"}
    (tmp_path / "a:b.json").write_text(json.dumps(table))
    race_of_others = replace(record(), given_options={"track": "t", "track-params": table})
    command, _ = race_command(race_of_others, "pacenote")
    assert f"--track-params={json.dumps(table)}" in words(command)
