"""The imports between files in both languages, including those inside functions."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shape.sources import RUST_TEXT, blank, end_of_body, parse, product_sources

Graph = dict[Path, set[Path]]
"""A file → the files that it imports."""

_USE = re.compile(r"\b(?P<public>pub(?:\([^)]*\))?\s+)?use\s+(?P<tree>[^;]+);")
_PATH = re.compile(r"(?<![\w:.])[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)+")
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#!?\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+")


def python_imports(package: Path) -> Graph:
    """Returns the imports between the files of a Python package."""
    modules = {_python_name(path, package): path for path in sorted(package.rglob("*.py"))}
    graph: Graph = {}
    for name, path in modules.items():
        base = name if path.name == "__init__.py" else name.rpartition(".")[0]
        imported = (_python_file(full, modules) for full in imported_modules(parse(path), base, package.name))
        graph[path] = {other for other in imported if other} - {path}
    return graph


def imported_modules(tree: ast.Module, package: str, root: str = "pacenote") -> Iterator[str]:
    """Yields the full names that a module of `package` imports, by statement or by `import_module`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: -node.level + 1 or None] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{source}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(rf"^{root}(?!\.toml$)(?:\.\w+)+$", node.value)


def _python_name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _python_file(name: str, modules: Mapping[str, Path]) -> Path | None:
    """Returns the file of the longest prefix of a full name that is a module of the package."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return modules.get(name)


Name = tuple[str, ...]
"""The parts of a Rust path, such as `("crate", "transport", "Head")`; module paths have no `crate`."""


@dataclass
class _RustFile:
    """A Rust file, with the names that its `use` declarations bring into scope."""

    path: Path
    module: Name
    text: str
    uses: dict[str, Name] = field(default_factory=dict)
    """Name in this file → its path, relative to this module unless the first part says otherwise."""
    globs: list[Name] = field(default_factory=list)
    reexports: set[str] = field(default_factory=set)
    """Names that `pub use` only re-exports."""


def rust_imports(crate: Path) -> Graph:
    """Returns the imports between the files of a crate.

    A name that a `mod.rs` re-exports counts as an import of the file that defines it. The re-export
    itself, `mod` declarations and test modules do not count.
    """
    files = {(file := _rust_file(path, crate)).module: file for path in product_sources(crate)}
    graph: Graph = {}
    for file in files.values():
        paths = [path for name, path in file.uses.items() if name not in file.reexports]
        paths += [path for path in file.globs if path != ("super",)]
        paths += [
            tuple(re.split(r"\s*::\s*", found[0])) for found in _PATH.finditer(_USE.sub(blank, file.text))
        ]
        imported = (_resolve(path, file, files) for path in paths)
        graph[file.path] = {other.path for other in imported if other and other is not file}
    return graph


def _rust_file(path: Path, crate: Path) -> _RustFile:
    parts = path.relative_to(crate / "src").with_suffix("").parts
    module = parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts
    text = without_tests(RUST_TEXT.sub(blank, path.read_text("utf-8")))
    file = _RustFile(path, module, text)
    for use in _USE.finditer(text):
        for alias, target in _use_tree(use["tree"]):
            if alias == "*":
                file.globs.append(target)
                continue
            file.uses[alias] = target
            if use["public"]:
                file.reexports.add(alias)
    return file


def without_tests(text: str) -> str:
    """Returns Rust code with its test modules replaced by spaces."""
    for match in reversed(list(_TEST_MODULE.finditer(text))):
        end = end_of_body(text, match.end())
        if end is not None:
            text = (
                text[: match.start()] + re.sub(r"[^\n]", " ", text[match.start() : end + 1]) + text[end + 1 :]
            )
    return text


def _use_tree(tree: str, prefix: Name = ()) -> Iterator[tuple[str, Name]]:
    """Yields the names that a use tree brings into scope, with their paths; `*` is all names of a module."""
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    if brace:
        prefix += _parts(head)
        for branch in _branches(rest.rstrip().removesuffix("}")):
            yield from _use_tree(branch, prefix)
        return
    path, _, alias = (part.strip() for part in re.sub(r"\s+as\s+", " as ", tree).partition(" as "))
    parts = prefix + _parts(path)
    if parts[-1] == "*":
        yield "*", parts[:-1]
    elif parts[-1] == "self":
        yield alias or parts[-2], parts[:-1]
    else:
        yield alias or parts[-1], parts


def _parts(path: str) -> Name:
    return tuple(part for part in re.split(r"\s*::\s*", path.strip()) if part)


def _branches(text: str) -> Iterator[str]:
    """Splits a text at the commas that are not inside braces."""
    depth = start = 0
    for index, sign in enumerate(text):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    if text[start:].strip():
        yield text[start:]


def _resolve(
    path: Name, file: _RustFile, files: Mapping[Name, _RustFile], seen: frozenset[Name] = frozenset()
) -> _RustFile | None:
    """Returns the file that defines the item of a path in a file, or None if it is not in this crate."""
    first, rest = path[0], path[1:]
    if first == "crate":
        module: Name = ()
    elif first in {"self", "super"}:
        module = file.module[:-1] if first == "super" else file.module
        while rest and rest[0] == "super":
            module, rest = module[:-1], rest[1:]
    elif (*file.module, first) in files:
        module, rest = file.module, path
    elif first in file.uses and file.uses[first][0] != first:
        return _resolve((*file.uses[first], *rest), file, files, seen)
    else:
        return None
    while rest and (*module, rest[0]) in files:
        module, rest = (*module, rest[0]), rest[1:]
    return _defining(files[module], rest, files, seen) if module in files else None


def _defining(
    file: _RustFile, rest: Name, files: Mapping[Name, _RustFile], seen: frozenset[Name]
) -> _RustFile | None:
    """Returns the file from which a module's name comes: the module, unless it re-exports the name."""
    key = (*file.module, *rest)
    if not rest or key in seen:
        return file
    if rest[0] in file.uses:
        return _resolve((*file.uses[rest[0]], *rest[1:]), file, files, seen | {key}) or file
    for glob in file.globs:
        source = _resolve(glob, file, files, seen | {key})
        if source and re.search(rf"\b{rest[0]}\b", source.text):
            return _defining(source, rest, files, seen | {key})
    return file
