"""`pacenote list races|tracks`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from pacenote.cli import values
from pacenote.cli.console import Console
from pacenote.cli.parser import Parser, one_of
from pacenote.errors import UsageError
from pacenote.model.codec import encode
from pacenote.report.notes import clean
from pacenote.store.index import RaceFilter, RaceSummary
from pacenote.store.local import RaceStore, check_home

LATER = {
    "--track-repository": "tracks come with Pacenote or from --track-path",
    "--track-revision": "",
    "--team-path": "",
    "--team-repository": "",
    "--team-revision": "",
    "--distribution-version": "",
}

_WHAT = ("races", "tracks")
_WHAT_LATER = ("telemetry", "pipelines", "cars", "elasticsearch-plugins", "annotations")
_RACE_COLUMNS = (
    *("Race ID", "Race Timestamp", "Track", "Challenge", "Car", "Engine", "Revision", "Track Revision"),
    *("User Tags", "Verdict", "State"),
)


def add_options(parser: Parser) -> None:
    """Rally's filters."""
    parser.add_argument("what", metavar="races|tracks", help="what to list")
    parser.add_argument("--limit", type=values.count, default=10, help="at most so many races (default: 10)")
    parser.add_argument("--track", help="only races of this track")
    parser.add_argument("--challenge", help="only races of this challenge")
    parser.add_argument("--benchmark-name", help="only races with this user tag 'name' or 'benchmark-name'")
    parser.add_argument("--from-date", type=values.day, help="only races since this day (yyyyMMdd)")
    parser.add_argument("--to-date", type=values.day, help="only races up to this day (yyyyMMdd)")
    parser.add_argument(
        "--user-tags", type=values.tags, default={}, help="only races with these tags (k:v,k2:v2)"
    )
    parser.add_argument(
        "--track-path", type=Path, help="list the tracks in this folder, not those that come along"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--quiet", action="store_true", help="accepted for Rally's sake")
    parser.add_argument("--offline", action="store_true", help="accepted for Rally's sake")


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the list. Raises UsageError and StoreError."""
    if one_of(options.what, "list", _WHAT, _WHAT_LATER) == "races":
        console.result(_races(options))
    else:
        console.result(_tracks(options))
    return 0


def _races(options: argparse.Namespace) -> str:
    wanted = RaceFilter(
        limit=options.limit,
        track=options.track,
        challenge=options.challenge,
        benchmark_name=options.benchmark_name,
        from_date=options.from_date,
        to_date=options.to_date,
        user_tags=options.user_tags,
    )
    store = RaceStore()
    check_home(store.home)
    races = store.list(wanted)
    if options.format == "json":
        return json.dumps([encode(race) for race in races], ensure_ascii=False, indent=2) + "\n"
    return _table(_RACE_COLUMNS, [_race_cells(race) for race in races]) if races else "No races found.\n"


def _race_cells(race: RaceSummary) -> list[str]:
    tags = ", ".join(f"{name}={value}" for name, value in race.user_tags.items())
    return [
        *(race.race_id, race.timestamp, race.track, race.challenge, race.car),
        *(f"{race.distribution} {race.version}".strip(), race.revision, race.track_revision),
        *(tags, race.verdict, race.state),
    ]


def _tracks(options: argparse.Namespace) -> str:
    from pacenote.track.source import BUNDLED, FolderRepository

    if options.track_path and not options.track_path.is_dir():
        what = "is no folder" if options.track_path.exists() else "does not exist"
        raise UsageError(
            f"--track-path {options.track_path} {what}", hint="name the folder that holds tracks"
        )
    repository = FolderRepository(options.track_path) if options.track_path else BUNDLED
    names = list(repository.names())
    if options.format == "json":
        return json.dumps(names, ensure_ascii=False, indent=2) + "\n"
    return "".join(f"{name}\n" for name in names) if names else "No tracks found.\n"


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under their headers; texts come from race files, so they are cleaned."""
    cells = [list(headers), *([clean(cell) for cell in row] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(headers))]
    cells.insert(1, ["-" * width for width in widths])
    return "".join("  ".join(map(str.ljust, line, widths)).rstrip() + "\n" for line in cells)
