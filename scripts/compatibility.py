"""Which public tracks load, pass validation and can be planned: writes docs/compatibility.md.

    python scripts/compatibility.py "rally-tracks at cff4b31f=FOLDER" ...

Titles and folders of checkouts of the public repositories, in the order of the page. Nothing is raced and no
corpus is downloaded; packages that plug-ins depend on are installed below the home folder, and
the plug-ins run.
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

from pacenote.errors import PacenoteError
from pacenote.model.race_request import RaceRequest
from pacenote.model.track import Track
from pacenote.race.plugins import load_plugins
from pacenote.race.run import dry_run
from pacenote.store.home import default_home
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import FolderRepository, open_track

PAGE = Path(__file__).resolve().parents[1] / "docs" / "compatibility.md"

FLAVORS = (("default", False), ("serverless", False), ("serverless", True))

_SNAPSHOT = {"es_snapshot_repo_name": "backup", "es_snapshot_repo_type": "fs", "es_snapshot_name": "nightly"}

PARAMS: Mapping[str, Mapping[str, object]] = {"eventdata": _SNAPSHOT}
"""Parameters by track that have no default, so that some of its challenges cannot run without them."""


@dataclass(frozen=True)
class Result:
    """The result of trying one track."""

    flavors: int = 0
    challenges: int = 0
    planned: int = 0
    tasks: int = 0
    plugin: bool = False
    seconds: float = 0.0
    problems: tuple[str, ...] = ()


def try_track(folder: Path) -> Result:
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
            offline=True,
        )
        try:
            tasks += sum(len(step.tasks) for step in dry_run(request))
            planned += 1
        except PacenoteError as error:
            problems.append(f"{challenge.name}: {one_line(error)}")
    return Result(
        flavors=flavors,
        challenges=len(track.challenges),
        planned=planned,
        tasks=tasks,
        plugin=track.plugin is not None,
        seconds=time.perf_counter() - started,
        problems=tuple(problems),
    )


def missing_packages(track: Track) -> list[str]:
    """Installs packages that plug-ins need; returns a sentence for each that cannot be installed."""
    warnings: list[str] = []
    with load_plugins(track, default_home(), offline=False, warn=warnings.append):
        missing = [line.split('"')[1] for line in warnings if "cannot be installed" in line]
    return [
        f"planned without {name}, which could not be installed where this page was made" for name in missing
    ]


def one_line(error: PacenoteError) -> str:
    """An error in one line."""
    return "; ".join(error.problems) or error.message


def row(name: str, result: Result) -> str:
    """A line of the table."""
    cells = (
        name,
        f"{result.flavors} of {len(FLAVORS)}",
        f"{result.planned} of {result.challenges}",
        f"{result.tasks:,}",
        "yes" if result.plugin else "",
        "<br>".join(problem.replace("|", "\\|") for problem in result.problems),
    )
    return f"| {' | '.join(cells)} |"


def section(title: str, folder: Path) -> tuple[list[str], int, int]:
    """The table of a repository; how many challenges were planned, and how many there are."""
    tracks = [folder / name for name in FolderRepository(folder).names()]
    # A process for each: plug-ins of different tracks have modules of the same names.
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        results = pool.map(try_track, tracks, chunksize=1)
    lines = [f"## {title}", ""]
    lines += ["| track | flavors loaded | challenges planned | tasks | Python | remark |"]
    lines += ["| --- | --: | --: | --: | --- | --- |"]
    names = (track.relative_to(folder).as_posix() for track in tracks)
    lines += [row(name, result) for name, result in zip(names, results, strict=True)]
    planned = sum(result.planned for result in results)
    challenges = sum(result.challenges for result in results)
    slowest = max(zip(results, tracks, strict=True), key=lambda pair: pair[0].seconds)
    took = f"the slowest track, {slowest[1].name}, took {slowest[0].seconds:.1f} s"
    sys.stderr.write(f"{title}: {planned} of {challenges} challenges; {took}\n")
    return [*lines, ""], planned, challenges


def main(arguments: Sequence[str]) -> int:
    """Writes the page; 1 if a challenge cannot be planned."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repositories", nargs="+", metavar="TITLE=FOLDER")
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    body: list[str] = []
    planned = challenges = 0
    for one in options.repositories:
        title, _, folder = one.partition("=")
        lines, good, every = section(title, Path(folder).resolve())
        body += lines
        planned, challenges = planned + good, challenges + every
    text = (
        "Made by `scripts/compatibility.py`. Each track was rendered and checked for the flavors default, "
        "serverless, and serverless with operator, its Python code was loaded, its track processors were "
        f"run, and each of its challenges was planned down to the requests: {planned} of {challenges}. "
        "Remarks name what a track needs beside itself, and what cannot be planned and why."
    )
    head = ["# Public tracks", "", *textwrap.wrap(text, 118), ""]
    options.output.write_text("\n".join([*head, *body]).rstrip() + "\n", encoding="utf-8")
    return int(planned < challenges)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
