"""`pacenote trust`: uses all settings of the `pacenote.toml` of a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from pacenote.cli.console import Console
from pacenote.cli.options.command_trust import FILE, folder_path
from pacenote.cli.options.configured import read_configuration_file
from pacenote.cli.options.folder_trust import read_folder_file
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.model.printable import whole_line
from pacenote.store.home import default_home
from pacenote.store.trusted_files import TrustedFiles

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}


def add_options(parser: Parser) -> None:
    """Adds the options of `trust`."""
    parser.add_argument(
        "where",
        nargs="?",
        default=".",
        metavar="FOLDER",
        help="the folder whose pacenote.toml is trusted until it changes (default: this folder)",
    )
    parser.add_argument("--list", action="store_true", help="list the files that are trusted")
    parser.add_argument("--revoke", action="store_true", help="trust the folder's file no longer")


def run(options: argparse.Namespace, console: Console) -> int:
    """Trusts the file of a folder, lists what is trusted, or revokes trust. Raises PacenoteError."""
    trusted = TrustedFiles(default_home())
    if options.list:
        for path in sorted(trusted.hashes()):
            console.result(f"{whole_line(str(path))}{_state(trusted, path)}\n")
        return 0
    folder = Path(options.where)
    path = folder_path(folder.parent if folder.name == FILE else folder)
    if options.revoke:
        if not trusted.remove(path):
            raise UsageError(f"{path} is not trusted", hint="see `pacenote trust --list`")
        console.result(f"{whole_line(str(path))} is no longer trusted\n")
        return 0
    file = read_folder_file(path.parent, default_home())
    if file is None:
        raise UsageError(f"there is no {path}")
    if file.trust == "refused":
        raise UsageError(f"{path} cannot be trusted: {file.refusal}")
    trusted.add(path, file.content)
    console.result(f"{whole_line(str(path))} is trusted until it changes\n")
    return 0


def _state(trusted: TrustedFiles, path: Path) -> str:
    """Returns what has happened to a trusted file since, or empty text."""
    try:
        content = read_configuration_file(path)
    except UsageError:
        return " (cannot be read)"
    if content is None:
        return " (removed)"
    return "" if trusted.trust_in(path, content) == "trusted" else " (changed since, not trusted)"
