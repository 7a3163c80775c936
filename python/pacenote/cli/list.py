"""`pacenote list`: races, running nodes, data sets, tracks, telemetry devices, rules, cars and more."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from msgspec import to_builtins

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.cars import add_team_options
from pacenote.cli.options.metrics_store import add_store_option
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.output.tables import Fit, table
from pacenote.cli.parser import Parser, validate_choice
from pacenote.model.output_text import json_text
from pacenote.store.annotations import AnnotationStore
from pacenote.store.home import default_home

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

_ANNOTATION_COLUMNS = ("Annotation Id", "Timestamp", "Track", "Chart Type", "Chart Name", "Message")


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `list`."""
    parser.add_argument("what", metavar="WHAT", help=f"what to list: {', '.join(LISTS)}")
    parser.add_argument(
        "--limit",
        type=values.count,
        default=10,
        help="maximum number of races or annotations (default: 10)",
        harmless=True,
    )
    parser.add_argument("--track", help="list only races or annotations of this track")
    parser.add_argument("--challenge", help="list only races of this challenge", harmless=True)
    parser.add_argument(
        "--benchmark-name",
        help="list only races with this user tag 'name' or 'benchmark-name'",
        harmless=True,
    )
    parser.add_argument(
        "--from-date", type=values.day, help="list nothing from before this day (yyyyMMdd)", harmless=True
    )
    parser.add_argument(
        "--to-date", type=values.day, help="list nothing from after this day (yyyyMMdd)", harmless=True
    )
    parser.add_argument(
        *("--user-tags", "--user-tag"),
        dest="user_tags",
        type=values.tags,
        default={},
        help="list only races with these tags (k:v,k2:v2)",
        harmless=True,
    )
    parser.add_argument(
        "--track-path",
        type=values.path,
        help="list the tracks in this folder, or this track, in place of the bundled ones",
    )
    parser.add_argument(
        "--track-repository",
        help="list the tracks of this git repository, or `bundled` (default: default, then bundled)",
    )
    parser.add_argument("--track-revision", help="list tracks at this revision: a commit, branch or tag")
    add_team_options(parser)
    parser.add_argument(
        "--distribution-version", help="list tracks, cars or plugins for this version of Elasticsearch"
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="format of the list (default: text)",
        harmless=True,
    )
    parser.add_argument("--rules", type=values.path, help="list the rules in this folder, too")
    add_store_option(parser)
    parser.add_flag("--quiet", help="print nothing but the list", harmless=True)
    parser.add_flag("--offline", help="download nothing", harmless=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the list. Raises UsageError, StoreError and TrackError."""
    what = validate_choice(options.what, "list", tuple(LISTS))
    console.result(LISTS[what](options, console))
    return 0


def _races(options: argparse.Namespace, console: Console) -> str:
    from pacenote.cli.lists.races import list_races

    return list_races(options, console)


def _annotations(options: argparse.Namespace, console: Console) -> str:
    from pacenote.cli.metrics_store.listing import merged_annotations

    first, last = (day and day.strftime("%Y%m%d") for day in (options.from_date, options.to_date))
    own = AnnotationStore(default_home()).list(console.warning)
    placed = [
        (one, place)
        for one, place in merged_annotations(own, options, console)
        if (options.track is None or one.track == options.track)
        and (not first or one.day >= first)
        and (not last or "" < one.day <= last)
    ][: options.limit]
    if options.format == "json":
        from pacenote.model.codec import encode

        return json_text([
            encode(one) | ({"stored_in": place.split(", ")} if place else {}) for one, place in placed
        ])
    rows = [
        (one.annotation_id, one.race_timestamp, one.track, one.chart_type, one.chart_name, one.message)
        for one, _ in placed
    ]
    cells = [[cell or "" for cell in row] for row in rows]
    if not cells:
        return "No annotations found.\n"
    columns: tuple[str, ...] = _ANNOTATION_COLUMNS
    if any(place for _, place in placed):
        columns = (*columns[:5], "Where", columns[5])
        cells = [[*row[:5], place, row[5]] for row, (_, place) in zip(cells, placed, strict=True)]
    last = len(columns) - 1
    return table(columns, cells, Fit(console.result_width, ((last, 20),), (3, 4, 2), wraps_last=True))


def _tracks(options: argparse.Namespace, console: Console) -> str:
    from pacenote.cli.lists.tracks import list_tracks

    return list_tracks(options, console)


def _data(options: argparse.Namespace, console: Console) -> str:
    from pacenote.cli.lists.data_sets import list_data

    return list_data(options, console)


def _nodes(options: argparse.Namespace, console: Console) -> str:
    from pacenote.cli.output import node_text
    from pacenote.provision.containers.engine_container import running_containers
    from pacenote.race.lifecycle import running_nodes

    nodes, containers = running_nodes(default_home()), running_containers(default_home())
    if options.format == "json":
        documents = [node_text.node_document(entry) for entry in nodes]
        return json_text([*documents, *map(node_text.container_document, containers)])
    rows = [*map(node_text.node_row, nodes), *map(node_text.container_row, containers)]
    fit = Fit(console.result_width, ((6, 20), (1, 30)), (7, 4, 6))
    return table(node_text.NODE_COLUMNS, rows, fit) if rows else "No nodes run.\n"


def _telemetry(options: argparse.Namespace, console: Console) -> str:
    from pacenote.telemetry.devices import ALWAYS_ON, OPTIONAL

    devices = (*OPTIONAL, *ALWAYS_ON)
    if options.format == "json":
        return json_text([
            {
                "name": device.name,
                "description": device.description,
                "always_on": device.always_on,
                "parameters": [to_builtins(parameter) for parameter in device.parameters],
            }
            for device in devices
        ])
    rows = []
    for device in devices:
        parameters = ", ".join(f"{each.name} ({each.default_text})" for each in device.parameters)
        always = " Always on." if device.always_on else ""
        rows.append((
            device.name,
            f"{device.description}{always}{f' Parameters: {parameters}.' if parameters else ''}",
        ))
    return _named(options, console, "telemetry devices", rows)


def _pipelines(options: argparse.Namespace, console: Console) -> str:
    from pacenote.cli.options.engine import PIPELINES

    return _named(options, console, "pipelines", list(PIPELINES.items()))


def _cars(options: argparse.Namespace, console: Console) -> str:
    from pacenote.cli.lists.cars import list_cars

    return list_cars(options, console)


def _plugins(options: argparse.Namespace, console: Console) -> str:
    from pacenote.cli.lists.cars import list_plugins

    return list_plugins(options, console)


def _rules(options: argparse.Namespace, console: Console) -> str:
    from pacenote.cli.lists.rules import list_rules

    return list_rules(options, console)


def _figures(options: argparse.Namespace, console: Console) -> str:
    from pacenote.cli.lists.rules import list_figures

    return list_figures(options, console)


def _named(options: argparse.Namespace, console: Console, what: str, rows: list[tuple[str, str]]) -> str:
    if options.format == "json":
        return json_text([{"name": name, "description": text} for name, text in rows])
    fit = Fit(console.result_width, ((1, 20),), wraps_last=True)
    return table(("Name", "Description"), rows, fit) if rows else f"No {what} are available.\n"


LISTS: Mapping[str, Callable[[argparse.Namespace, Console], str]] = {
    "races": _races,
    "nodes": _nodes,
    "data": _data,
    "annotations": _annotations,
    "tracks": _tracks,
    "telemetry": _telemetry,
    "rules": _rules,
    "figures": _figures,
    "pipelines": _pipelines,
    "cars": _cars,
    "elasticsearch-plugins": _plugins,
}
"""Subjects of `list` with the functions that return their text."""
