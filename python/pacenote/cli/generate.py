"""`pacenote generate NAME`: writes a generated corpus without racing."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from pacenote.cli import values
from pacenote.cli.console import Console
from pacenote.cli.parser import Parser
from pacenote.cli.plain_progress import PlainListener
from pacenote.units import format_count

LATER: dict[str, str] = {}


def add_options(parser: Parser) -> None:
    """What to generate, how much of it, and where to."""
    parser.add_argument(
        "name",
        metavar="NAME",
        help="what to generate, named like its corpus, for example http_logs; a wrong name lists them all",
    )
    parser.add_argument(
        "--documents",
        "--docs",
        dest="documents",
        type=values.positive,
        required=True,
        help="how many documents, in all files together",
    )
    parser.add_argument(
        "--seed", type=values.seed, default=42, help="same seed, same documents (default: 42)"
    )
    parser.add_argument(
        "--output-path", type=values.path, default=Path(), help="folder to write to (default: here)"
    )
    parser.add_flag("--quiet", help="show no progress")


def run(options: argparse.Namespace, console: Console) -> int:
    """Generates the corpus. Raises CorpusError."""
    generated = importlib.import_module("pacenote.race.generated_corpora")
    listener = PlainListener(console)
    generated.generate(options.name, options.documents, options.seed, options.output_path, listener.preparing)
    console.progress(
        f"{format_count(options.documents, 'document')} of {options.name} in {options.output_path.resolve()}"
    )
    return 0
