"""`pacenote generate`: writes a generated corpus without running a race."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.output.plain_progress import PlainListener
from pacenote.cli.parser import Parser
from pacenote.model.shell_command import shell_command
from pacenote.system.paths import real_path
from pacenote.units import format_count

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}


def add_options(parser: Parser) -> None:
    """Adds the options of `generate`."""
    parser.add_argument(
        "name",
        metavar="NAME",
        help="name of the corpus, for example http_logs; an unknown name lists all",
    )
    parser.add_argument(
        "--documents",
        "--docs",
        dest="documents",
        type=values.positive,
        required=True,
        help="total number of documents in all files",
        harmless=True,
    )
    parser.add_argument(
        "--seed",
        type=values.seed,
        default=42,
        help="seed of the random numbers; equal seeds give equal documents (default: 42)",
        harmless=True,
    )
    parser.add_argument(
        "--output-path",
        type=values.path,
        default=Path(),
        help="folder to write to (default: the current one)",
    )
    parser.add_flag("--quiet", help="show no progress", harmless=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Generates the corpus. Raises CorpusError."""
    generated = importlib.import_module("pacenote.race.generated_corpora")
    listener = PlainListener(console)
    generated.generate(options.name, options.documents, options.seed, options.output_path, listener.preparing)
    folder = real_path(options.output_path)
    console.progress(f"{format_count(options.documents, 'document')} of {options.name} in {folder}")
    console.progress(_usage(options.name, folder))
    return 0


def _usage(name: str, folder: Path) -> str:
    """Returns how a race uses the corpus in a folder."""
    use = f"race with {shell_command(f'--dataset-cache={folder.parent}')} --corpus=as-is"
    return use if folder.name == name else f"to use it, rename the folder to {name} and {use}"
