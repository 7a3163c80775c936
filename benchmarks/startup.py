"""Measures Pacenote's startup time: of its import and of its help."""

from __future__ import annotations

from machine import PACENOTE, PYTHON, run
from outcome import Figure, Options, Outcome, Target

_LIMIT_MS = 150.0
_COMMANDS = {
    "python -c pass": [PYTHON, "-c", "pass"],
    "import pacenote": [PYTHON, "-c", "import pacenote"],
    "pacenote --help": [PACENOTE, "--help"],
}


def measure(options: Options) -> Outcome:
    """Measures the wall time of the commands, run in turn, after one round that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in _COMMANDS}
    for turn in range(1 + options.choose(10, 6)):
        for name, command in _COMMANDS.items():
            wall_ms = run(command).wall_s * 1e3
            if turn:
                times[name].append(wall_ms)
    figures = {name: Figure(name, "ms", tuple(values)) for name, values in times.items()}
    python = figures["python -c pass"]
    pacenote = [figure for figure in figures.values() if figure is not python]
    return Outcome(
        figures=(*figures.values(), *(_ratio(one, python) for one in pacenote)),
        targets=tuple(Target(one, _LIMIT_MS, at_most=True) for one in pacenote),
    )


def _ratio(figure: Figure, python: Figure) -> Figure:
    """Returns the ratio of two commands for each turn."""
    values = tuple(over / under for over, under in zip(figure.values, python.values, strict=True))
    return Figure(f"{figure.name} / {python.name}, per turn", "ratio", values)
