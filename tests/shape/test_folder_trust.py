"""Every option is either harmless in a folder of someone else, or needs trust there."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys

from pacenote.cli.console import Console
from pacenote.cli.main import COMMANDS, add_general_options, command_module
from pacenote.cli.options.configuration import read_configuration
from pacenote.cli.options.folder_trust import HARMLESS
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from shape.sources import ROOT

NEED_TRUST = frozenset({
    # Programs and code that are run, and what is given to them.
    *("car", "car-params", "distribution", "distribution-archive", "distribution-repository"),
    *("distribution-version", "elasticsearch-plugins", "env", "jvm", "opensearch-plugins", "plugin-params"),
    *("revision", "runtime-jdk", "set", "source-build-release", "source-cache-days", "source-path"),
    *("source-repository", "team-path", "team-repository", "team-revision", "telemetry", "telemetry-params"),
    *("track", "track-params", "track-path", "track-repository", "track-revision", "baseline", "contender"),
    *("corpus", "serverless-operator", "allow-outside-paths", "change-durability", "caches", "data"),
    # Addresses, and credentials for them.
    *("archive-mirror", "client-options", "corpus-mirror", "host", "http-port", "maven-mirror"),
    *("network-host", "port", "seed-hosts", "target-hosts", "to-store", "configuration-name"),
    # Paths that are read or written.
    *("data-paths", "dataset-cache", "flame-graph", "folded", "html", "knobs", "output", "output-path"),
    *("report-file", "rules", "speedscope", "write-experiment"),
    # What is selected, changed or removed in the home or in a cluster, and the machine's resources.
    *(
        "baseline-race",
        "data-streams",
        "driver-cpus",
        "driver-scheduling",
        "id",
        "indices",
        "installation-id",
        "kill-running-processes",
        "master-nodes",
    ),
    *("message", "node", "node-cpu-limit", "node-cpus", "node-memory", "node-name", "nodes", "only"),
    *("pipeline", "prepare", "race", "race-id", "race-timestamp"),
    # Of a command, not of a file.
    *("adopt", "help", "list", "revoke", "trust"),
})


def _option_names() -> set[str]:
    names: set[str] = set()
    for command in COMMANDS:
        module = command_module(command)
        parser = Parser(command, "", Console(), module.UNAVAILABLE_OPTIONS)
        module.add_options(parser)
        names |= set(parser.option_names())
        flags = {
            name.removeprefix("--")
            for action in parser._actions
            if type(action) is not argparse._StoreTrueAction
            for name in action.option_strings
            if name.startswith("--no-") and f"--{name.removeprefix('--no-')}" in action.option_strings
        }
        names -= flags
    return names | {"debug", "configuration-name", "trust"}


def test_every_option_is_classified():
    names = _option_names()
    assert len(names) > 150
    assert HARMLESS.isdisjoint(NEED_TRUST)
    assert names - HARMLESS - NEED_TRUST == set(), "decide whether a folder of someone else may set it"
    assert (HARMLESS | NEED_TRUST) - names == set()


def test_the_reference_lists_the_harmless_options():
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text("utf-8")
    _, _, rest = page.partition("<!-- harmless -->\n")
    text, _, _ = rest.partition("<!-- end -->")
    assert text.strip().replace("`", "").replace("\n", " ").split(", ") == sorted(HARMLESS)


def test_no_harmless_option_reads_a_file(tmp_path):
    files = (tmp_path / "trap", tmp_path / "trap.json")
    for file in files:
        file.write_text('{"read": "yes"}')
    opened, watched = [], str(files[0])

    def watch(event, arguments):
        if watched and event == "open" and str(arguments[0]).startswith(watched):
            opened.append(arguments[0])

    sys.addaudithook(watch)
    for file in files:
        lines = [f"{option} = {json.dumps(str(file))}\n" for option in sorted(HARMLESS)]
        for command in COMMANDS:
            (tmp_path / "pacenote.toml").write_text("".join((f"[{command}]\n", *lines)))
            configuration = read_configuration(command, COMMANDS, tmp_path / "home", folder=tmp_path)
            parser = Parser(command, "", Console(), command_module(command).UNAVAILABLE_OPTIONS)
            command_module(command).add_options(parser)
            add_general_options(parser)
            for option, setting in configuration.options.items():
                if parser.has_option(f"--{option}"):
                    with contextlib.suppress(UsageError):
                        parser.configure(f"--{option}", setting.value, setting.origin)
    watched = ""
    assert opened == []
    # Some options are only parsed by their commands.
    assert configuration.options == {}
    assert configuration.ignored.keys() >= {"user-tags", "include-tasks", "exclude-tasks"}
