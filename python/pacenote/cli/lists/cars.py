"""`pacenote list cars` and `list elasticsearch-plugins`: built-in ones, or those of a team repository."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pacenote.cli.console import Console
from pacenote.cli.options.cars import team_options
from pacenote.cli.output.tables import Fit, table
from pacenote.model.output_text import json_text
from pacenote.model.team_options import LocatedTeam
from pacenote.provision.cars import CARS
from pacenote.store.home import default_home
from pacenote.teams import definitions, plugins
from pacenote.teams.team import TeamRequest, locate_team, uses_team


def list_cars(options: argparse.Namespace, console: Console) -> str:
    """Returns the cars as text or JSON. Raises UsageError and EngineError."""
    team = _team(options, console)
    if team is None:
        rows = [(car.name, car.kind, car.description) for car in CARS.values()]
    else:
        rows = [(car.name, car.kind, car.description) for car in definitions.list_cars(team.root)]
    return _listed(options, console, "cars", ("name", "type", "description"), rows)


def list_plugins(options: argparse.Namespace, console: Console) -> str:
    """Returns the plugins of the engine with their configurations. Raises UsageError and EngineError."""
    team = _team(options, console)
    listed = () if team is None else plugins.list_plugins(team.root)
    rows = [(each.name, "+".join(each.configurations)) for each in listed]
    return _listed(options, console, "plugins of the engine", ("name", "configuration"), rows)


def _team(options: argparse.Namespace, console: Console) -> LocatedTeam | None:
    selected = team_options(options)
    if not uses_team(selected):
        return None
    team = locate_team(
        TeamRequest(
            home=default_home(),
            options=selected,
            engine_version=options.distribution_version or "",
            offline=options.offline,
        ),
        console.step,
    )
    for text in team.warnings:
        console.warning(text)
    console.progress(f"from {team.origin}")
    return team


def _listed(
    options: argparse.Namespace,
    console: Console,
    what: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
) -> str:
    if options.format == "json":
        return json_text([dict(zip(columns, row, strict=True)) for row in rows])
    fit = Fit(console.result_width, ((len(columns) - 1, 20),), wraps_last=True)
    titles = tuple(column.capitalize() for column in columns)
    if not rows:
        return f"No {what} come with Pacenote; --team-repository=default lists those of Rally's repository.\n"
    return table(titles, rows, fit)
