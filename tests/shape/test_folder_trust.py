"""The options that are declared to be harmless in a folder of someone else are so, and the reference lists
them.
"""

from __future__ import annotations

import contextlib
import json
import sys

from pacenote.cli.commands import COMMANDS, command_parser
from pacenote.cli.console import Console
from pacenote.cli.options.configuration import read_configuration
from pacenote.cli.options.folder_trust import harmless_options
from pacenote.errors import UsageError
from shape.sources import ROOT

HARMLESS = frozenset().union(*map(harmless_options, COMMANDS))


def test_an_option_needs_trust_in_all_commands_or_in_none():
    for command in COMMANDS:
        names = set(command_parser(command, Console()).option_names())
        assert names & HARMLESS == harmless_options(command)


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
            parser = command_parser(command, Console())
            for option, setting in configuration.options.items():
                if parser.has_option(f"--{option}"):
                    with contextlib.suppress(UsageError):
                        parser.configure(f"--{option}", setting.value, setting.origin)
    watched = ""
    assert opened == []
    # Some options are only parsed by their commands.
    assert configuration.options == {}
    assert configuration.ignored.keys() >= {"user-tags", "include-tasks", "exclude-tasks"}
