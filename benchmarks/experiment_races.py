"""Measures what an experiment adds to each of its races: the time of the whole command divided by its races,
beyond the same race by hand. The imports of the race's Python count as added: a race by hand has them once,
an experiment with each race.
"""

from __future__ import annotations

from pathlib import Path

import null_server
import peers
from machine import PACENOTE, PYTHON, cores, run, temporary_folder
from outcome import Figure, Options, Outcome, Target

_LIMIT_S = 2.0
_BLOCKS = 5
_IMPORTS = "import pacenote.cli.main, pacenote.cli.race, pacenote.race.run"
_FILE = """\
blocks = {blocks}

[race]
track-path = "{track}"
target-hosts = "{hosts}"
pipeline = "benchmark-only"

[variants.a]

[variants.b]
"""


def measure(options: Options) -> Outcome:
    """Runs a race by hand, its imports alone and an experiment in turn, after a round that is not counted."""
    if missing := null_server.missing():
        return Outcome(skipped=missing)
    blocks = options.choose(_BLOCKS, 3)
    times: dict[str, list[float]] = {"race": [], "imports": [], "experiment": []}
    with temporary_folder() as folder, null_server.null_server(cores()[0]) as server:
        hosts = f"127.0.0.1:{server.port}"
        track = peers.write_track(folder, "short", *peers.search(clients=2, iterations=500))
        to_server = (f"--target-hosts={hosts}", "--pipeline=benchmark-only")
        file = _file(folder, track, hosts, blocks)
        commands = {
            "race": [PACENOTE, "race", f"--track-path={track}", *to_server, "--quiet"],
            "imports": [PYTHON, "-c", _IMPORTS],
            "experiment": [
                PACENOTE,
                "experiment",
                "run",
                str(file),
                "--quiet",
            ],
        }
        environment = {"PACENOTE_HOME": str(folder / "home")}
        for turn in range(1 + options.choose(6, 1)):
            for name, command in commands.items():
                wall_s = run(command, environment).wall_s
                if turn:
                    times[name].append(wall_s / (2 * blocks if name == "experiment" else 1))
    added = tuple(
        each - race + imports
        for each, race, imports in zip(times["experiment"], times["race"], times["imports"], strict=True)
    )
    figures = (
        Figure("race by hand", "s", tuple(times["race"])),
        Figure("imports of a race", "s", tuple(times["imports"])),
        Figure("experiment, per race", "s", tuple(times["experiment"])),
        Figure("added to a race, with its imports", "s", added),
    )
    return Outcome(figures=figures, targets=(Target(figures[-1], _LIMIT_S, at_most=True),))


def _file(folder: Path, track: Path, hosts: str, blocks: int) -> Path:
    path = folder / "added.toml"
    path.write_text(_FILE.format(blocks=blocks, track=track, hosts=hosts))
    return path
