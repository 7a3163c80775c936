"""Checks which public tracks can be loaded, validated and planned, and writes docs/compatibility.md.

    python scripts/compatibility.py "rally-tracks at cff4b31f=FOLDER" ...

Each argument is the title of a public repository and the folder of its checkout, in the order of the page. No
race is run and no corpus is downloaded, but the packages that plug-ins depend on are installed below the home
folder, and the plug-ins' code runs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacenote.errors import PacenoteError, TrackError
from pacenote.model.race_request import RaceRequest
from pacenote.model.track import Track
from pacenote.race.dry_run import dry_run
from pacenote.race.plugins import track_plugins
from pacenote.store.home import default_home
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import FolderRepository, open_track

PAGE = Path(__file__).resolve().parents[1] / "docs" / "compatibility.md"

TEAMS = "## Cars and plugins of rally-teams"
"""The heading of the section about team repositories."""

FLAVORS = (("default", False), ("serverless", False), ("serverless", True))

_SNAPSHOT = {"es_snapshot_repo_name": "backup", "es_snapshot_repo_type": "fs", "es_snapshot_name": "nightly"}

PARAMS: Mapping[str, Mapping[str, object]] = {"eventdata": _SNAPSHOT}
"""Track parameters without a default that some challenges need, by track name."""


@dataclass(frozen=True)
class TrackResult:
    """The result of checking one track."""

    flavors: int = 0
    """Number of flavors for which the track could be loaded."""

    challenges: int = 0
    """Number of challenges."""

    planned: int = 0
    """Number of challenges that could be planned."""

    tasks: int = 0
    """Number of tasks in the planned challenges."""

    plugin: bool = False
    """Whether the track has Python code."""

    seconds: float = 0.0
    """Duration of the check in seconds."""

    problems: tuple[str, ...] = ()
    """Remarks for the page: parameters that were set, and errors from loading and planning."""


@dataclass(frozen=True)
class SectionResult:
    """The section of the page about one repository."""

    lines: tuple[str, ...]
    """The lines of the section."""

    planned: int
    """Number of challenges that could be planned."""

    challenges: int
    """Number of challenges in all tracks."""


def check_track(folder: Path) -> TrackResult:
    """Loads a track in every flavor and plans each of its challenges."""
    started = time.perf_counter()
    params = PARAMS.get(folder.name, {})
    problems = [f"with {name}={value}" for name, value in params.items()]
    flavors = 0
    for flavor, operator in FLAVORS:
        options = RenderOptions(now=0.0, build_flavor=flavor, serverless_operator=operator)
        try:
            load_track(open_track(folder), params, options)
            flavors += 1
        except PacenoteError as error:
            problems.append(f"{flavor}: {one_line(error)}")
    track = load_track(open_track(folder), params, RenderOptions(now=0.0))
    problems += missing_packages(track)
    planned = tasks = 0
    for challenge in track.challenges:
        request = RaceRequest(
            race_id="compatibility",
            home=default_home(),
            track_path=folder,
            track_params=params,
            challenge=challenge.name,
            # Some challenges only search indices that a new engine does not have.
            pipeline="benchmark-only",
            offline=True,
        )
        try:
            tasks += sum(len(step.tasks) for step in dry_run(request).steps)
            planned += 1
        except PacenoteError as error:
            problems.append(f"{challenge.name}: {one_line(error)}")
    return TrackResult(
        flavors=flavors,
        challenges=len(track.challenges),
        planned=planned,
        tasks=tasks,
        plugin=track.plugin is not None,
        seconds=time.perf_counter() - started,
        problems=tuple(problems),
    )


def missing_packages(track: Track) -> list[str]:
    """Installs the packages that plug-ins need; returns a remark for each package that cannot be
    installed."""
    warnings: list[str] = []
    with track_plugins(track, default_home(), offline=False, warn=warnings.append):
        missing = [line.split('"')[1] for line in warnings if "cannot be installed" in line]
    return [
        f"planned without {name}, which could not be installed on the machine of this test"
        for name in missing
    ]


def one_line(error: PacenoteError) -> str:
    """Returns the problems of an error, or its message, in one line."""
    problems = error.problems if isinstance(error, TrackError) else ()
    return "; ".join(problems) or error.message


def table_row(name: str, result: TrackResult) -> str:
    """Returns the row of a track in the table of its repository."""
    cells = (
        name,
        f"{result.flavors} of {len(FLAVORS)}",
        f"{result.planned} of {result.challenges}",
        f"{result.tasks:,}",
        "yes" if result.plugin else "",
        "<br>".join(problem.replace("|", "\\|") for problem in result.problems),
    )
    return f"| {' | '.join(cells)} |"


def section(title: str, folder: Path) -> SectionResult:
    """Checks all tracks of a repository."""
    tracks = [folder / name for name in FolderRepository(folder).names()]
    # Each track in a new process, because plug-ins of different tracks have modules with the same names.
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        results = pool.map(check_track, tracks, chunksize=1)
    lines = [f"## {title}", ""]
    lines += ["| track | flavors loaded | challenges planned | tasks | Python | remark |"]
    lines += ["| --- | --: | --: | --: | --- | --- |"]
    names = (track.relative_to(folder).as_posix() for track in tracks)
    lines += [table_row(name, result) for name, result in zip(names, results, strict=True)]
    planned = sum(result.planned for result in results)
    challenges = sum(result.challenges for result in results)
    slowest = max(zip(results, tracks, strict=True), key=lambda pair: pair[0].seconds)
    duration = f"the slowest track, {slowest[1].name}, took {slowest[0].seconds:.1f} s"
    sys.stderr.write(f"{title}: {planned} of {challenges} challenges planned; {duration}\n")
    return SectionResult((*lines, ""), planned, challenges)


def main(arguments: Sequence[str]) -> int:
    """Writes the page and returns the exit code: 1 if a challenge cannot be planned."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repositories", nargs="+", metavar="TITLE=FOLDER")
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    sections = []
    for repository in options.repositories:
        title, _, folder = repository.partition("=")
        sections.append(section(title, Path(folder).resolve()))
    body = [line for each in sections for line in each.lines]
    planned = sum(each.planned for each in sections)
    challenges = sum(each.challenges for each in sections)
    text = (
        "Generated by `scripts/compatibility.py`. For each track, the templates were rendered and checked "
        "for three flavors (default, serverless, serverless operator), the Python code was loaded, the track "
        "processors were run, and every challenge was planned down to the requests. "
        f"{planned} of {challenges} challenges could be planned. The remarks list the parameters that were "
        "set, packages that could not be installed, and challenges that could not be planned."
    )
    head = ["# Public tracks", "", *textwrap.wrap(text, 120), ""]
    page = options.output.read_text(encoding="utf-8") if options.output.exists() else ""
    # The last section is that of `team_compatibility.py`.
    mark, teams = page.partition(TEAMS)[1:]
    text = "\n".join([*head, *body]).rstrip() + "\n" + (f"\n{mark}{teams}" if mark else "")
    options.output.write_text(text, encoding="utf-8")
    return int(planned < challenges)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
