"""The cars of a team repository: `cars/v1/NAME.ini`, and the config bases that they name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from pacenote.errors import EngineError, UsageError
from pacenote.model.messages import did_you_mean, quoted
from pacenote.system.folder_trees import walk_folders
from pacenote.system.paths import is_dir, is_file, paths_in, real_path
from pacenote.teams.ini_file import comma_list, read_ini

FORMAT = "v1"
"""The only format of team repositories that Rally has defined: the name of a folder in `cars` and
`plugins`.
"""


class TeamCar(Struct, frozen=True):
    """A car or mixin as defined in one file."""

    name: str
    """Its name in `--car`."""
    description: str = ""
    """What it configures."""
    kind: str = "car"
    """`car` or `mixin`."""
    bases: tuple[Path, ...] = ()
    """The folders of its config bases."""
    base_variables: Mapping[str, str] = field(default_factory=dict)
    """Variables that its config bases define."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables that it defines itself, which override those of its config bases."""


def members_folder(root: Path, members: str) -> Path:
    """Returns the folder of the cars or plugins of a repository.

    Raises EngineError if there is none, or only one in a format that Pacenote does not know.
    """
    folder = root / members / FORMAT
    if is_dir(folder):
        return folder
    others = sorted(
        path.name for path in paths_in(root / members) if path.name.startswith("v") and is_dir(path)
    )
    if others:
        raise EngineError(
            f"the {members} of {root} have the format {', '.join(others)}; Pacenote reads {FORMAT}",
            hint="choose another revision with --team-revision",
        )
    raise EngineError(
        f"{root} is not a team repository: it has no folder {members}/{FORMAT}",
        hint="--team-path names the folder that contains cars and plugins",
    )


def list_cars(root: Path) -> tuple[TeamCar, ...]:
    """Returns all cars of a repository, and then all mixins, by name. Raises EngineError."""
    cars = [read_car(root, name) for name in car_names(root)]
    return tuple(sorted(cars, key=lambda car: (car.kind, car.name)))


def car_names(root: Path) -> list[str]:
    """Returns the names of all cars and mixins. Raises EngineError."""
    files = paths_in(members_folder(root, "cars"))
    return sorted(file.stem for file in files if file.suffix == ".ini")


def read_car(root: Path, name: str) -> TeamCar:
    """Returns a car of a repository. Raises UsageError if there is none of that name, and EngineError if its
    files cannot be read.
    """
    folder = members_folder(root, "cars")
    names = car_names(root)
    if name not in names:
        raise UsageError(
            f"--car: the team repository has no car {quoted(name)}{did_you_mean(name, names)}",
            hint=f"cars: {', '.join(names)}",
        )
    file = folder / f"{name}.ini"
    sections = read_ini(file)
    bases = tuple(
        find_base(folder, base, file) for base in comma_list(sections.get("config", {}).get("base", ""))
    )
    base_variables: dict[str, str] = {}
    for base in bases:
        if is_file(base / "config.ini"):
            base_variables.update(read_ini(base / "config.ini").get("variables", {}))
    meta = sections.get("meta", {})
    return TeamCar(
        name=name,
        description=meta.get("description", ""),
        kind=meta.get("type", "car"),
        bases=bases,
        base_variables=base_variables,
        variables=sections.get("variables", {}),
    )


def find_base(folder: Path, name: str, file: Path) -> Path:
    """Returns a config base, which `file` names. Raises EngineError if it does not exist."""
    base = folder / name
    if not is_inside(base, folder):
        raise EngineError(f"{file}: the base {quoted(name)} is outside of {folder}")
    if not is_dir(base):
        known = [
            Path(path).relative_to(folder).as_posix()
            for path, folders, _ in walk_folders(folder)
            if "templates" in folders
        ]
        raise EngineError(
            f"{file}: there is no base {quoted(name)}{did_you_mean(name, known)}",
            hint=f"bases are folders in {folder}",
        )
    return base


def is_inside(path: Path, folder: Path) -> bool:
    """Returns whether a path is in a folder when links are followed; one that leads to itself is."""
    return real_path(path).is_relative_to(real_path(folder))
