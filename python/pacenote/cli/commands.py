"""The commands of the command line, and the parser of each."""

from __future__ import annotations

import argparse
import importlib
from types import ModuleType

from pacenote.cli.console import Console
from pacenote.cli.options.command_trust import FLAG
from pacenote.cli.parser import Parser

COMMANDS = {
    "race": "run a race: start an engine or use a cluster, put load on it, report",
    "list": "list races, running nodes, tracks, cars and more",
    "info": "show a track: its data, challenges and tasks",
    "validate-track": "check a track without running it",
    "render-track": "print the JSON that the templates of a track render to",
    "download": "download an engine or the data of a track before a race",
    "build": "build an engine from its sources",
    "install": "install an engine that `pacenote start` starts",
    "start": "start an engine that keeps running",
    "stop": "stop an engine that `pacenote start` started",
    "create-track": "create a track from indices or data streams of a cluster",
    "saturate": "find the highest rate at which a task meets an objective",
    "experiment": "race several configurations by a design, and answer one question",
    "tune": "search for better settings, and confirm what is found",
    "report": "print the report of a stored race",
    "compare": "is the contender better than the baseline, by how much, and how sure is that",
    "trend": "find where the metrics of a track changed over its races, and fail on a regression",
    "diagnose": "say what made a race slow, from its evidence, and what to try",
    "diff": "compare the configuration of two races: engine, JVM, machine, options",
    "export": "write races as JSON, CSV, Parquet or OpenMetrics text, for other programs",
    "import": "store races of Rally or OpenSearch Benchmark, to judge and compare them",
    "gc": "print the statistics of GC logs: pauses, stops, allocation, several side by side",
    "jfr": "show recordings of the JVM's Flight Recorder: allocation, methods, locks, flame graphs",
    "host": "print and check this machine: what hurts an engine, and how to change it",
    "trust": "use all settings of a folder's pacenote.toml, which are code and addresses",
    "serve": "show the stored races in a browser: reports, comparisons, running races",
    "delete": "delete stored races or annotations",
    "add": "add an annotation to the results of a day",
    "generate": "generate the documents of a track's corpus",
}
"""Commands with their purpose. The module of a command has its name, unless `_MODULES` has another one, and
defines `UNAVAILABLE_OPTIONS`, `add_options` and `run`.
"""

_MODULES = {"import": "import_races"}
"""Commands whose names are words of Python, with their modules."""


def command_module(name: str) -> ModuleType:
    """Returns the module of a command, one of `COMMANDS`."""
    return importlib.import_module(f"pacenote.cli.{_MODULES.get(name) or name.replace('-', '_')}")


def command_parser(name: str, console: Console) -> Parser:
    """Returns the parser of a command, one of `COMMANDS`, with its options."""
    command = command_module(name)
    parser = Parser(name, COMMANDS[name], console, command.UNAVAILABLE_OPTIONS)
    command.add_options(parser)
    _add_general_options(parser)
    return parser


def _add_general_options(parser: Parser) -> None:
    """Adds the options that every command has."""
    with parser.group("advanced"):
        parser.add_argument("--configuration-name", help="read Rally's rally-NAME.ini instead of rally.ini")
        parser.add_argument("--debug", action="store_true", help="show stack traces of errors", harmless=True)
        # In the reference only: it would lengthen the help of all commands.
        parser.add_argument(FLAG, action="store_true", help=argparse.SUPPRESS)
        for flag in ("--quiet", "--offline"):  # Rally has them for every command.
            if not parser.has_option(flag):
                parser.add_flag(flag, help=argparse.SUPPRESS, harmless=True)
