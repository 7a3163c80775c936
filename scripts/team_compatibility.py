"""Composes every car and plugin of a public team repository, and writes a section of docs/compatibility.md.

    python scripts/team_compatibility.py https://github.com/elastic/rally-teams

The argument is the URL or the folder of a git repository. Cars are rendered for a node, but no hook runs and
no engine starts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pacenote.errors import PacenoteError
from pacenote.model.engine import EngineInfo
from pacenote.model.team_options import LocatedTeam, TeamOptions
from pacenote.provision.team_cars import compose_team_car
from pacenote.teams.composition import CompositionRequest, compose
from pacenote.teams.definitions import list_cars
from pacenote.teams.node_variables import NodeVariables
from pacenote.teams.plugins import PluginRequest, list_plugins
from pacenote.teams.team import TeamRequest, locate_team

PAGE = Path(__file__).resolve().parents[1] / "docs" / "compatibility.md"

HEADING = "## Cars and plugins of rally-teams"
"""The heading of the section; it is the last one of the page."""

VERSIONS = ("", "9.2.4", "8.19.21", "7.17.28")
"""Versions of Elasticsearch that select the branches; an empty one selects `master`."""

JAVA = 21


@dataclass
class Entry:
    """A row of a table."""

    name: str
    """The car, or the plugin with its configurations."""
    kind: str = ""
    """The type of a car."""
    branches: list[str] = field(default_factory=list)
    """The branches in which it could be composed."""
    result: str = ""
    """What the composition has, in the first of these branches."""
    problems: list[str] = field(default_factory=list)
    """Why it could not be composed in others."""


@dataclass(frozen=True)
class TeamReport:
    """The result of composing everything."""

    cars: tuple[Entry, ...]
    """Cars and mixins."""
    plugins: tuple[Entry, ...]
    """Plugins."""
    revisions: tuple[str, ...]
    """Branches with their revisions."""

    @property
    def composed(self) -> int:
        """The number of compositions that succeeded."""
        return sum(len(entry.branches) for entry in (*self.cars, *self.plugins))

    @property
    def problems(self) -> tuple[str, ...]:
        """The compositions that failed."""
        return tuple(text for entry in (*self.cars, *self.plugins) for text in entry.problems)


def check_team(repository: str, home: Path) -> TeamReport:
    """Composes all cars and plugins of a repository; clones it into a folder."""
    cars: dict[str, Entry] = {}
    plugins: dict[str, Entry] = {}
    revisions = []
    for version in VERSIONS:
        selected = EngineInfo("elasticsearch", version).track_version if version else ""
        options = TeamOptions(repository=repository)
        team = locate_team(TeamRequest(home=home, options=options, engine_version=selected))
        branch = team.origin.partition("branch ")[2].partition(",")[0]
        revisions.append(f"{branch} at {(team.revision or '')[:8]}")
        for car in list_cars(team.root):
            entry = cars.setdefault(car.name, Entry(car.name, car.kind))
            names = (car.name,) if car.kind == "car" else ("defaults", car.name)
            _add(entry, branch, team, CompositionRequest(cars=names))
        for plugin in list_plugins(team.root):
            name = ":".join((plugin.name, *plugin.configurations))
            request = PluginRequest(plugin.name, plugin.configurations)
            entry = plugins.setdefault(name, Entry(name))
            _add(entry, branch, team, CompositionRequest(cars=("defaults",), plugins=(request,)))
    return TeamReport(tuple(cars.values()), tuple(plugins.values()), tuple(revisions))


def _add(entry: Entry, branch: str, team: LocatedTeam, request: CompositionRequest) -> None:
    try:
        result = _result(team, request)
    except PacenoteError as error:
        entry.problems.append(f"{branch}: {entry.name}: {error.message}")
        return
    entry.branches.append(branch)
    entry.result = entry.result or result


def _result(team: LocatedTeam, request: CompositionRequest) -> str:
    car = compose_team_car(team, request, JAVA)
    composition = compose(team.root, request)
    configuration = composition.configure(NodeVariables(java_major=JAVA))
    files = len(configuration.texts) + len(configuration.copies)
    hooks = ", ".join(script.name for hook in composition.hooks for script in hook.scripts)
    modules = [name for name, value in car.settings.items() if name.startswith("xpack.") and value == "true"]
    cells = (
        car.heap_size,
        str(len(car.settings)),
        str(len(car.jvm_options)),
        str(files or ""),
        hooks,
        f"needs the official distribution: {', '.join(modules)}" if modules else "",
    )
    return " | ".join(cells)


def section(report: TeamReport) -> str:
    """Returns the section of the page."""
    composed, failed = report.composed, len(report.problems)
    text = (
        f"Generated by `scripts/team_compatibility.py` from {'; '.join(report.revisions)}. Each car was "
        "composed and rendered for a node with Java 21, a mixin together with `defaults`, and a plugin with "
        f"the car `defaults`. {composed} of {composed + failed} compositions succeeded. The columns after "
        "the branches describe the first of them: the heap, the number of settings apart from those that "
        "Pacenote sets for each node, of options of the JVM, and of other files, and the hooks. Hooks were "
        "not run."
    )
    columns = "branches | heap | settings | JVM options | other files | hooks | remark |"
    lines = [HEADING, "", *textwrap.wrap(text, 120), ""]
    lines += [f"| car | type | {columns}", "| --- | --- | --- | --- | --: | --: | --: | --- | --- |"]
    lines += [f"| {e.name} | {e.kind} | {', '.join(e.branches)} | {_remarked(e)} |" for e in report.cars]
    lines += ["", f"| plugin | {columns}", "| --- | --- | --- | --: | --: | --: | --- | --- |"]
    lines += [f"| {e.name} | {', '.join(e.branches)} | {_remarked(e)} |" for e in report.plugins]
    return "\n".join(lines) + "\n"


def _remarked(entry: Entry) -> str:
    result = entry.result or " |  |  |  |  | "
    return f"{result}{'<br>'.join(entry.problems)}".replace("|  |", "| |").rstrip()


def main(arguments: Sequence[str]) -> int:
    """Replaces the section of the page and returns the exit code: 1 if something cannot be composed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository")
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:
        report = check_team(os.path.expanduser(options.repository), Path(home))  # noqa: PTH111  # may be a URL
    before = options.output.read_text(encoding="utf-8").partition(HEADING)[0].rstrip()
    options.output.write_text(f"{before}\n\n{section(report)}", encoding="utf-8")
    for problem in report.problems:
        sys.stderr.write(f"{problem}\n")
    return int(bool(report.problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
