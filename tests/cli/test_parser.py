"""Options: abbreviations, Rally's options that Pacenote does not have, and the help."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.cli import list as list_command
from pacenote.cli import race
from pacenote.cli.commands import COMMANDS, command_module
from pacenote.cli.console import Console
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from support.records import record

UNAVAILABLE = {
    "--hosts": UnavailableOption("use this host", ("localhost", "")),
    "--many": UnavailableOption("use one"),
}


@pytest.fixture
def parser() -> Parser:
    built = Parser("try", "", Console(), UNAVAILABLE)
    built.add_argument("--track")
    built.add_argument("--track-path")
    built.add_argument("--track-params")
    built.add_argument("--user-tags", "--user-tag", dest="user_tags")
    built.add_flag("--quiet", help="say little")
    return built


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["--track-pat=a"], ["--track-path=a"]),
        (["--track-pat", "a"], ["--track-path", "a"]),
        (["--track", "--q"], ["--track", "--quiet"]),
        (["--user=a:b"], ["--user-tags=a:b"]),
        (["--no-q"], ["--no-quiet"]),
        (["--qui", "--", "--qui"], ["--quiet", "--", "--qui"]),
        (["-h", "a=b"], ["-h", "a=b"]),
        (["--track", "-Xss=1m", "-x"], ["--track=-Xss=1m", "-x"]),
        (["--track=a", "-x"], ["--track=a", "-x"]),
        (["--quiet", "-x"], ["--quiet", "-x"]),
        (["--track", "-h"], ["--track", "-h"]),
    ],
)
def test_options_may_be_abbreviated(parser: Parser, given: list[str], meant: list[str]) -> None:
    assert parser.expanded(given) == meant


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--track-pa=x", "--track-pa is ambiguous: it may be --track-path or --track-params"),
        ("--trak=x", "`pacenote try` has no option --trak"),
        ("--many", "--many is not available in Pacenote yet"),
        ("--man=2", "--many is not available in Pacenote yet"),
        ("--hosts=a,b", "--hosts is not available in Pacenote yet"),
        ("--hosts", "--hosts is not available in Pacenote yet"),
    ],
)
def test_unknown_ambiguous_and_unavailable_options_are_rejected(
    parser: Parser, given: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        parser.parse([given])
    assert caught.value.message == message


@pytest.mark.parametrize("given", [["--hosts=localhost"], ["--hosts", "localhost"], ["--hosts="], ["--ho="]])
def test_a_value_that_asks_for_what_happens_anyway_is_accepted(parser: Parser, given: list[str]) -> None:
    assert "hosts" not in vars(parser.parse(given))


def test_configured_values_of_unavailable_options_are_treated_alike(parser: Parser) -> None:
    parser.configure("--hosts", "localhost", "pacenote.toml: hosts")
    with pytest.raises(UsageError, match=r"pacenote\.toml: hosts: --hosts is not available"):
        parser.configure("--hosts", "a,b", "pacenote.toml: hosts")
    assert parser.option_names().count("hosts") == 0


@pytest.mark.parametrize(
    "option",
    [
        *("--load-driver-hosts=localhost", "--distribution-repository=release", "--team-repository=default"),
        *("--telemetry=", "--telemetry-params=", "--elasticsearch-plugins=", "--plugin-params="),
        *("--source-build-method=default", "--cluster-name=rally-benchmark", "--cluster=mine", "--test"),
    ],
)
def test_defaults_of_rally_are_accepted_by_a_race(run, fake_race, option) -> None:
    requests = fake_race(lambda request, listener: record(request.race_id))
    assert run("race", "--track=http_logs", option)[0::2] == (0, "")
    assert len(requests) == 1


def test_rallys_abbreviations_select_the_same_options(run, fake_race) -> None:
    requests = fake_race(lambda request, listener: record(request.race_id))
    code, _, err = run(
        *("race", "--track=x", "--target-host=h:1", "--pipe=benchmark-only", "--client=timeout:5"),
        *("--include-task=a", "--user=a:b", "--race=r1", "--chall=c", "--enable-ass", "--on=abort"),
    )
    assert (code, err) == (0, "")
    (request,) = requests
    assert (request.target_hosts, request.client.timeout_s, request.race_id) == (("h:1",), 5.0, "r1")
    assert (request.include_tasks, request.user_tags, request.challenge) == (("a",), {"a": "b"}, "c")
    assert (request.enable_assertions, request.on_error) == (True, "abort")


def test_an_abbreviated_option_overrides_the_configuration(run, fake_race, home) -> None:
    home.mkdir()
    (home / "pacenote.toml").write_text('track = "books"\n')
    requests = fake_race(lambda request, listener: record(request.race_id))
    assert run("race", "--track-pat=elsewhere")[0] == 0
    assert requests[0].track is None


@pytest.mark.parametrize("command", COMMANDS)
def test_each_unavailable_option_has_a_way_out(command: str) -> None:
    module = command_module(command)
    assert all(option.hint for option in module.UNAVAILABLE_OPTIONS.values())


GROUPS = ("track:", "cluster:", "nodes:", "load:", "report:", "telemetry:", "advanced:")


def _entries(text: str) -> list[tuple[str, list[str]]]:
    """Returns the options of a help text, each with its lines."""
    entries: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("  --"):
            entries.append((line.split()[0], [line]))
        elif line.startswith("   ") and entries:
            entries[-1][1].append(line)
    return entries


def test_the_help_of_a_race_is_in_groups(run, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    code, out, _ = run("race", "--help")
    assert code == 0
    assert out.startswith("usage: pacenote race [options]\n")
    headings = [line for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert tuple(headings) == GROUPS
    track, rest = out.split("\ncluster:\n")
    cluster, rest = rest.split("\nnodes:\n")
    nodes, rest = rest.split("\nload:\n")
    load, rest = rest.split("\nreport:\n")
    report, rest = rest.split("\ntelemetry:\n")
    telemetry, advanced = rest.split("\nadvanced:\n")
    for text, option in (
        *((track, "--challenge NAME"), (cluster, "--target-hosts HOSTS"), (nodes, "--nodes N")),
        (load, "--on-error ACTION"),
        (telemetry, "--telemetry DEVICES"),
        *((report, "--report-file FILE"), (advanced, "--debug"), (advanced, "--samples WHICH")),
    ):
        assert f"\n  {option} " in f"\n{text}"


def test_each_option_of_a_race_has_at_most_two_lines_and_shows_its_default(run, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    entries = _entries(run("race", "--help")[1])
    assert len(entries) > 45
    assert [name for name, lines in entries if len(lines) > 2] == []
    without_default = {name for name, lines in entries if "default" not in " ".join(lines)}
    # Either a track or a path is required; the others are flags, which are off by default.
    values = {name for name, lines in entries if len(lines[0].split()) > 1 and lines[0].split()[1].isupper()}
    assert without_default & values == {
        *("--track", "--track-path", "--configuration-name"),
    }


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("list", "usage: pacenote list WHAT [options]\n"),
        ("delete", "usage: pacenote delete WHAT --id ID,… [options]\n"),
        ("create-track", "usage: pacenote create-track --track TRACK [options]\n"),
    ],
)
def test_the_usage_names_what_is_required(run, command, usage) -> None:
    assert run(command, "--help")[1].startswith(usage)


def test_the_help_of_a_saturation_begins_with_its_own_options(run) -> None:
    _, out, _ = run("saturate", "--help")
    assert out.index("\nsearch:\n") < out.index("--probe-time") < out.index("\ntrack:\n")


def test_an_option_that_saturate_refuses_is_not_in_its_help(run) -> None:
    assert "--dry-run" in run("race", "--help")[1]
    assert "--dry-run" not in run("saturate", "--help")[1]
    assert run("saturate", "--track=x", "--dry-run")[2].startswith("error: saturate has no dry run\n")


def test_the_readme_names_everything_that_is_refused() -> None:
    page = (Path(race.__file__).parents[3] / "README.md").read_text("utf-8")
    section = page.partition("## What it does not do yet")[2].partition("\n## ")[0]
    refused = {*race.UNAVAILABLE_OPTIONS, *list_command.UNAVAILABLE_OPTIONS}
    assert len(refused) > 3
    assert [name for name in sorted(refused) if f"`{name}`" not in section] == []
