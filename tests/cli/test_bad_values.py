"""Hostile values of all options of all commands: each is refused in one line, and none is called a bug."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator

import pytest

from pacenote.cli.commands import COMMANDS, command_parser
from pacenote.cli.console import Console
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.errors import PacenoteError, UsageError
from pacenote.store.race_store import RaceStore
from support.records import record
from track.builders import document

HOSTILE = {
    "thirty digits": "9" * 30,
    "5,000 digits": "9" * 5000,
    "a trillion and more": str(10**12 + 1),
    "a trillion": str(10**12),
    "1e308": "1e308",
    "1e-308": "1e-308",
    "nan": "nan",
    "infinity": "inf",
    "negative": "-1",
    "another digit": "²",
    "empty": "",
    "end of options": "--",
    "NUL": "a\0b",
    "half a character": "\udc80",
    "100 kB": "x" * 100_000,
    "deep list": "[" * 100_000,
    "deep object": '{"a":' * 100_000,
    "numbers that JSON lacks": '{"a":1e999,"b":NaN}',
    "digits in JSON": f'{{"a":{"9" * 5000}}}',
    "surrogates in JSON": '["\\ud800", "\\u0000"]',
    "digits in pairs": f"a:1e999,b:{'9' * 5000}",
    "file that is no folder": "/dev/null/x.json",
    "the first year": "00010101",
    "the last year": "99991231",
    "CPUs": "0-99999999999",
    "limits": "p99:1e308ms",
    "address": "http://[::1",
}

MESSAGE_CHARS = 17_000
"""More than an error and its hint have."""

EXIT_CODES = (0, 2, 3, 64)

INCLUDES = {"saturate": "race", "tune": "race", "start": "install"}
"""Commands that have all options of another one, whose tests suffice for these."""

HISTORIC = (
    ("list", "races", f"--limit={'9' * 30}"),
    ("list", "races", "--track=\udc80"),
    ("race", "--distribution-version=²"),
    ("race", f"--distribution-version={'9' * 5000}"),
    ("race", "--report-file=a\0b", "--dry-run"),
    ("render-track", "--output-path=a\0b", "--track-path=track"),
    ("info", "--configuration-name=a\0b", "--track-path=track"),
    ("info", "--track-params=" + "[" * 100_000, "--track-path=track"),
    ("generate", "geonames", f"--documents={'9' * 30}"),
    ("gc", ""),
    ("jfr", "--from=1e308", "x.jfr"),
    ("trend", f"--races={'9' * 30}", "--track=t"),
    ("race", "--track-path=track", "--dry-run", "--open-loop", "--max-connections=1000001"),
    ("saturate", "--track-path=track", "--dry-run", "--task=search", "--sweep-clients=1000001"),
    ("diagnose", "--rules=--", "x"),
    ("delete", "race", "--id=--"),
    ("compare", "--baseline=--", "--contender=--"),
    ("list", "races", "--limit=--"),
    ("info", "--track-path=--"),
    ("report", "--report-numbers-align=--", "x"),
    ("add", "annotation", "--race-timestamp=--", "--track=t", "--message=m"),
)
"""Command lines that were called a bug once."""


def options_of(command: str) -> list[str]:
    """Returns the options of a command that take a value."""
    parser = command_parser(command, Console())
    return [f"--{name}" for name in parser.option_names() if parser.takes_value(f"--{name}")]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_accepts_or_refuses_every_value(command: str) -> None:
    parser = command_parser(command, Console())
    names = options_of(command)
    assert names
    for name in names:
        for value in HOSTILE.values():
            with contextlib.suppress(PacenoteError):
                parser.configure(name, value, "pacenote.toml: x")


@pytest.mark.parametrize("command", COMMANDS)
def test_two_hyphens_are_the_value_that_they_are_in_a_configuration(command: str) -> None:
    """Before Python 3.13, argparse takes those of `--name=--` for the end of the options."""
    parser = command_parser(command, Console())
    for part in (*parser._actions, *parser._mutually_exclusive_groups):
        part.required = False
    for name in options_of(command):
        attribute = parser._option_string_actions[name].dest
        try:
            given = getattr(parser.parse([f"{name}=--"]), attribute)
        except PacenoteError:
            with pytest.raises(PacenoteError):
                parser.configure(name, "--", "pacenote.toml: x")
            continue
        parser.configure(name, "--", "pacenote.toml: x")
        assert given == parser.get_default(attribute), name
        assert given, name


def test_two_hyphens_are_refused_like_other_values_that_an_option_cannot_have() -> None:
    parser = Parser("try", "", Console(), {"--hosts": UnavailableOption("use this host")})
    parser.add_argument("--color", choices=("red", "green"))
    parser.add_argument("--number", type=int)
    parser.add_argument("--text")
    parser.add_argument("--text-or-not", nargs="?")
    options = parser.parse(["--text=--", "--text-or-not=--"])
    assert (options.text, options.text_or_not) == ("--", "--")
    for name, message in (
        ("--color", "--color cannot be '--'"),
        ("--number", "--number: invalid int value: '--'"),
        ("--hosts", "--hosts is not available in Pacenote yet"),
    ):
        with pytest.raises(UsageError) as caught:
            parser.parse([f"{name}=--"])
        assert caught.value.message == message


@pytest.mark.parametrize("arguments", HISTORIC)
def test_a_value_is_refused_in_one_line(run, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "track").mkdir()
    (tmp_path / "track" / "track.json").write_text(json.dumps(document()))
    code, out, err = run(*arguments)
    assert (code, out) in ((2, ""), (64, ""))
    check(arguments, code, err)


def test_a_configuration_is_refused_in_one_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in (
        "a = " + "[" * 100_000,
        f"limit = {'9' * 5000}",
        "limit = 1e999",
        "[[" * 5000,
        "a" + ".a" * 500,
    ):
        (tmp_path / "pacenote.toml").write_text(text)
        code, _, err = run("list", "races")
        assert code == 2
        assert str(tmp_path / "pacenote.toml") in err
        check((text[:40],), code, err)


def check(arguments: object, code: int, err: str) -> None:
    """Asserts that a command ended as a command may, and says why in one line."""
    shown = repr(arguments)[:300]
    assert code in EXIT_CODES, f"{shown}: {code}"
    assert "bug in Pacenote" not in err, f"{shown}: {err[:2000]}"
    if code in (2, 64):
        assert [line[:7] for line in err.splitlines()].count("error: ") == 1, f"{shown}: {err[:2000]}"
        assert len(err) < MESSAGE_CHARS, shown


@pytest.fixture
def places(tmp_path, monkeypatch) -> Iterator[dict[str, list[str]]]:
    """Arguments with which each command does something that ends at once."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "track"
    folder.mkdir()
    (folder / "track.json").write_text(json.dumps(document()))
    (tmp_path / "gc.log").write_text("[0.1s][info][gc] Using G1\n")
    track = f"--track-path={folder}"
    race = "a-race"
    RaceStore().create(record(race)).finish(record(race))
    with socket.socket() as closed, socket.socket() as taken:
        closed.bind(("127.0.0.1", 0))
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        hosts = f"--target-hosts=127.0.0.1:{closed.getsockname()[1]}"
        cluster = [hosts, "--pipeline=benchmark-only", track, "--offline"]
        yield {
            **{name: ["--offline"] for name in ("build", "install", "start")},
            **{name: [track] for name in ("info", "validate-track", "render-track", "generate")},
            **{name: [race] for name in ("report", "diagnose", "export")},
            "race": [*cluster, "--dry-run"],
            "saturate": cluster,
            "tune": [*cluster, "--dry-run"],
            "list": ["races"],
            "download": ["--offline", track],
            "stop": ["--installation-id=x"],
            "create-track": [hosts, "--indices=x", "--track=x", "--output-path=out"],
            "experiment": ["list"],
            "compare": [f"--baseline={race}", f"--contender={race}"],
            "trend": ["--track=unittest"],
            "diff": [race, race],
            "import": [str(tmp_path / "gc.log")],
            "gc": [str(tmp_path / "gc.log")],
            "jfr": [str(tmp_path / "gc.log")],
            "host": [],
            "trust": ["--list"],
            "serve": ["--host=127.0.0.1", f"--port={taken.getsockname()[1]}"],
            "delete": ["race", "--id=x"],
            "add": ["annotation", "--race-timestamp=20260101", "--track=t", "--message=m"],
        }


def values_to_run(command: str, name: str) -> list[str]:
    """Returns the values that the parser accepts, which the command has to check, and one
    of those that the parser refuses before the command begins.
    """
    parser = command_parser(command, Console())
    accepted, refused = [], []
    for value in HOSTILE.values():
        try:
            parser.configure(name, value, "pacenote.toml: x")
            accepted.append(value)
        except PacenoteError:
            refused.append(value)
    return [*accepted, *refused[:1]]


@pytest.mark.process  # It runs thousands of commands.
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_with_any_value_is_no_bug(run, places, command):
    tested_before = options_of(INCLUDES[command]) if command in INCLUDES else ()
    names = options_of(command)
    assert names
    for name in set(names).difference(tested_before):
        others = [argument for argument in places[command] if not argument.startswith(f"{name}=")]
        for value in values_to_run(command, name):
            if name == "--port" and value in ("00010101",):
                continue  # The server would run.
            arguments = (command, *others, f"{name}={value}")
            code, _, err = run(*arguments)
            check(arguments, code, err)
