"""Renders the templates of a composition, as Rally does.

A file with the extension of a text is a Jinja2 template: it is rendered, and appended to the file that an
earlier folder has for the same path. Other files are copied and replace earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import jinja2
from msgspec import Struct, field

from pacenote.errors import EngineError
from pacenote.model.printable import single_line
from pacenote.system.folder_trees import walk_folders
from pacenote.system.paths import exists, is_file, real_path
from pacenote.teams.definitions import is_inside

_MAX_DEPTH = 64
"""Largest depth of folders with templates: engines need about ten."""

_TEXTS = frozenset({".ini", ".txt", ".json", ".yml", ".yaml", ".options", ".properties"})


class RenderedFiles(Struct, frozen=True):
    """The files of a node, by their paths in the engine's folder, such as `config/jvm.options`."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """Rendered templates."""
    copies: Mapping[str, Path] = field(default_factory=dict)
    """Files that are copied as they are."""


def render(root: Path, folders: Iterable[Path], variables: Mapping[str, object]) -> RenderedFiles:
    """Returns the files that the templates in `folders`, which are below `root`, produce.

    Raises EngineError with file and line if a template cannot be rendered.
    """
    texts: dict[str, str] = {}
    copies: dict[str, Path] = {}
    for path, file in template_files(folders):
        if not is_inside(file, root):
            raise EngineError(f"{file} leads to {real_path(file)}, outside of the team repository")
        if not is_template(file):
            copies[path] = file
            continue
        texts[path] = f"{texts.get(path, '')}{_render(file, variables)}\n"
    return RenderedFiles(texts, copies)


def template_files(folders: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Yields the path in the engine's folder and the file of each template and each file to copy. Raises
    EngineError if one of them is a pipe, for example, and for folders that are nested too deeply.
    """
    for folder in folders:
        for parent, below, names in walk_folders(folder):
            if len(Path(parent).relative_to(folder).parts) > _MAX_DEPTH:
                raise EngineError(
                    f"the folders in {folder} are nested more than {_MAX_DEPTH} times",
                    hint="correct the team repository",
                )
            below.sort()
            for name in sorted(names):
                file = Path(parent, name)
                if exists(file) and not is_file(file):
                    raise EngineError(
                        f"{file} is not a regular file", hint="remove it from the team repository"
                    )
                yield file.relative_to(folder).as_posix(), file


def is_template(file: Path) -> bool:
    """Returns whether Rally renders a file; others are copied."""
    return file.suffix in _TEXTS


def _render(file: Path, variables: Mapping[str, object]) -> str:
    # Includes are relative to the folder of the template.
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(file.parent))  # noqa: S701  # not HTML
    try:
        return environment.get_template(file.name).render(variables)
    except jinja2.TemplateSyntaxError as error:
        where = f"{error.filename or file}, line {error.lineno}"
        raise EngineError(f"{where}: not a valid template: {error.message}") from error
    except Exception as error:  # a template can raise any error, such as ZeroDivisionError
        raise EngineError(
            f"{file}, line {_line(error)}: cannot be rendered: {type(error).__name__}: "
            f"{single_line(str(error))}",
            hint="variables are set with --car-params",
        ) from error


def _line(error: Exception) -> int:
    """Returns the line of the template in which an error occurred."""
    frame, line = error.__traceback__, 1
    while frame is not None:
        if "__jinja_exception__" in frame.tb_frame.f_globals:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line
