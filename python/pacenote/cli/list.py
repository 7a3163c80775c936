"""`pacenote list`: races, tracks, telemetry devices, pipelines, cars and engine plugins."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from pacenote.cli import values
from pacenote.cli.console import Console
from pacenote.cli.parser import Parser, validate_choice
from pacenote.cli.tables import json_text, table
from pacenote.model.codec import encode
from pacenote.store.race_index import RaceFilter, RaceSummary
from pacenote.store.race_store import RaceStore, check_home

UNAVAILABLE_OPTIONS = {
    "--team-path": "",
    "--team-repository": "",
    "--team-revision": "",
}

_RACE_COLUMNS = (
    *("Race ID", "Race Timestamp", "Track", "Challenge", "Car", "Engine", "Revision", "Track Revision"),
    *("User Tags", "Verdict", "State"),
)


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `list`."""
    parser.add_argument("what", metavar="WHAT", help=f"what to list: {', '.join(_LISTS)}")
    parser.add_argument(
        "--limit", type=values.count, default=10, help="maximum number of races (default: 10)"
    )
    parser.add_argument("--track", help="list only races of this track")
    parser.add_argument("--challenge", help="list only races of this challenge")
    parser.add_argument(
        "--benchmark-name", help="list only races with this user tag 'name' or 'benchmark-name'"
    )
    parser.add_argument("--from-date", type=values.day, help="list only races since this day (yyyyMMdd)")
    parser.add_argument("--to-date", type=values.day, help="list only races up to this day (yyyyMMdd)")
    parser.add_argument(
        "--user-tags", type=values.tags, default={}, help="list only races with these tags (k:v,k2:v2)"
    )
    parser.add_argument(
        "--track-path", type=values.path, help="list the tracks in this folder in place of the bundled ones"
    )
    parser.add_argument("--track-repository", metavar="NAME", help="list the tracks of this git repository")
    parser.add_argument("--track-revision", help="list tracks at this revision: a commit, branch or tag")
    parser.add_argument("--distribution-version", help="list tracks for this version of Elasticsearch")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="format of the list (default: text)"
    )
    parser.add_flag("--quiet", help="print nothing but the list")
    parser.add_flag("--offline", help="download nothing")


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the list. Raises UsageError, StoreError and TrackError."""
    what = validate_choice(options.what, "list", tuple(_LISTS), ("annotations",))
    console.result(_LISTS[what](options, console))
    return 0


def _races(options: argparse.Namespace, console: Console) -> str:  # noqa: ARG001  # all lists have one signature
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
        return json_text([encode(race) for race in races])
    return table(_RACE_COLUMNS, [_race_cells(race) for race in races]) if races else "No races found.\n"


def _race_cells(race: RaceSummary) -> list[str]:
    tags = ", ".join(f"{name}={value}" for name, value in race.user_tags.items())
    return [
        *(race.race_id, race.timestamp, race.track, race.challenge, race.car),
        *(f"{race.distribution} {race.version}".strip(), race.revision, race.track_revision),
        *(tags, race.verdict, race.state),
    ]


def _tracks(options: argparse.Namespace, console: Console) -> str:
    from pacenote.cli.list_tracks import list_tracks

    return list_tracks(options, console)


def _telemetry(options: argparse.Namespace, console: Console) -> str:  # noqa: ARG001  # all lists have one signature
    from pacenote.telemetry.devices import DEVICES

    rows = [(device.name, f"{device.description} Always on.") for device in DEVICES]
    return _named(options, "telemetry devices", rows)


def _pipelines(options: argparse.Namespace, console: Console) -> str:  # noqa: ARG001
    from pacenote.cli.engine_options import PIPELINES

    return _named(options, "pipelines", list(PIPELINES.items()))


def _cars(options: argparse.Namespace, console: Console) -> str:  # noqa: ARG001
    from pacenote.provision.cars import CARS

    return _named(options, "cars", [(car.name, car.description) for car in CARS.values()])


def _plugins(options: argparse.Namespace, console: Console) -> str:  # noqa: ARG001
    return _named(options, "plugins of the engine", [])


def _named(options: argparse.Namespace, what: str, rows: list[tuple[str, str]]) -> str:
    if options.format == "json":
        return json_text([{"name": name, "description": text} for name, text in rows])
    return table(("Name", "Description"), rows) if rows else f"No {what} are available.\n"


_LISTS: Mapping[str, Callable[[argparse.Namespace, Console], str]] = {
    "races": _races,
    "tracks": _tracks,
    "telemetry": _telemetry,
    "pipelines": _pipelines,
    "cars": _cars,
    "elasticsearch-plugins": _plugins,
}
