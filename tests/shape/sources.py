"""Reads the files of the repository and their functions for the guards."""

import ast
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "pacenote"
CRATES = ROOT / "crates"

_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)

# Comments, strings and character literals: a brace or a name in them is not code.
RUST_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']+|[^\\'\n])'""",
    re.DOTALL,
)
_TEST_MODULE_FILE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;")
_RUST_FUNCTION = re.compile(r"\bfn\s+(\w+)")
_RUST_BRACKET = re.compile(r"[()\[\]{};]")


@dataclass(frozen=True)
class Function:
    """A function with its measurements; `parameters` and `nesting` are measured only in Python."""

    name: str
    lines: int
    parameters: int = 0
    nesting: int = 0


@cache
def tracked() -> tuple[Path, ...]:
    """Returns every file of the repository that git tracks or does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(path for path in map(ROOT.joinpath, listed.splitlines()) if path.is_file())


def files(ending: str) -> list[Path]:
    """Returns the files of the repository whose names end with `ending`."""
    return [path for path in tracked() if path.name.endswith(ending)]


def label(path: Path) -> str:
    """Returns the path of a file relative to the root."""
    return path.relative_to(ROOT).as_posix()


@cache
def product_sources(crate: Path) -> tuple[Path, ...]:
    """Returns a crate's Rust files, without modules that are built only for tests."""
    paths = sorted((crate / "src").rglob("*.rs"))
    tests = set()
    for path in paths:
        folder = path.parent if path.name in {"mod.rs", "lib.rs", "main.rs"} else path.with_suffix("")
        tests |= {folder / name for name in _TEST_MODULE_FILE.findall(path.read_text("utf-8"))}
    return tuple(path for path in paths if not tests & {path.with_suffix(""), *path.parents})


@cache
def parse(path: Path) -> ast.Module:
    """Parses a Python file."""
    return ast.parse(path.read_text("utf-8"), str(path))


def python_functions(path: Path) -> Iterator[Function]:
    """Yields the functions and methods of a Python file, including nested ones."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Function(f"{label(path)}:{node.name}", lines, _parameters(node), _nesting(node.body))


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    rest = [one for one in (node.args.vararg, node.args.kwarg) if one]
    return len([one for one in named if one.arg not in ("self", "cls")]) + len(rest)


def _nesting(body: list[ast.stmt]) -> int:
    return max((_depth(statement) for statement in body), default=0)


def _depth(statement: ast.stmt) -> int:
    if not isinstance(statement, _COMPOUND):
        return 0
    # An `elif` is parsed as an `if` within `else`, but is not a deeper level.
    if (
        isinstance(statement, ast.If)
        and len(statement.orelse) == 1
        and isinstance(statement.orelse[0], ast.If)
    ):
        return max(1 + _nesting(statement.body), _depth(statement.orelse[0]))
    blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    blocks += [each.body for name in ("handlers", "cases") for each in getattr(statement, name, [])]
    return 1 + max(map(_nesting, blocks))


def rust_functions(path: Path) -> Iterator[Function]:
    """Yields the functions of a Rust file that have a body, including nested ones."""
    text = RUST_TEXT.sub(blank, path.read_text("utf-8"))
    for match in _RUST_FUNCTION.finditer(text):
        end = end_of_body(text, match.end())
        if end is not None:
            yield Function(f"{label(path)}:{match[1]}", text.count("\n", match.start(), end) + 1)


def blank(match: re.Match[str]) -> str:
    """Replaces a match with spaces, but keeps its line breaks."""
    return re.sub(r"[^\n]", " ", match[0])


def end_of_body(text: str, start: int) -> int | None:
    """Returns the end of the body of the item whose name ends at `start`, or None if it has no body."""
    brackets = braces = 0
    for bracket in _RUST_BRACKET.finditer(text, start):
        match bracket[0]:
            case "(" | "[":
                brackets += 1
            case ")" | "]":
                brackets -= 1
            case "{":
                braces += 1
            case "}":
                braces -= 1
                if braces == 0:
                    return bracket.start()
            case ";" if braces == 0 and brackets == 0:
                return None
    return None
