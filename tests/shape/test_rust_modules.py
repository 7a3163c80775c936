"""Every Rust file is compiled, and the tests of a crate are linked into one program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from shape.sources import CRATES, ROOT, RUST_TEXT, blank, label

PACKAGES = (
    *sorted(path.parent for path in CRATES.glob("*/Cargo.toml")),
    ROOT / "benchmarks" / "instructions",
)

PROGRAMS = (
    "src/lib.rs",
    "src/main.rs",
    *(f"{folder}/{name}" for folder in ("tests", "benches", "examples") for name in ("*.rs", "*/main.rs")),
)
"""The files with which Cargo begins to compile a library or a program."""

OWN_PROGRAM = "a program of their own"
"""What the first comment of tests beside the suite of their crate says, with the reason."""

_MODULE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.MULTILINE)


def programs(package: Path) -> list[Path]:
    """Returns the files with which the compilation of a package begins."""
    return [path for pattern in PROGRAMS for path in package.glob(pattern)]


def compiled(roots: Iterable[Path]) -> set[Path]:
    """Returns these files and those of their modules, without the ones that an attribute names."""
    seen: set[Path] = set()
    waiting = [(path, path.parent) for path in roots]
    while waiting:
        path, folder = waiting.pop()
        seen.add(path)
        waiting += [one for one in modules(path, folder) if one[0] not in seen]
    return seen


def modules(path: Path, folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yields the files of a file's modules in `folder`, each with the folder of its own modules."""
    for name in _MODULE.findall(RUST_TEXT.sub(blank, path.read_text("utf-8"))):
        for module in (folder / f"{name}.rs", folder / name / "mod.rs"):
            if module.is_file():
                yield module, folder / name


def forgotten(package: Path) -> set[Path]:
    """Returns the Rust files of a package that no program contains."""
    return set(package.rglob("*.rs")) - compiled(programs(package))


def beside_suite(package: Path) -> set[Path]:
    """Returns the programs of tests that do not say why they are not in the suite of their package."""
    tests = {*package.glob("tests/*.rs"), *package.glob("tests/*/main.rs")}
    others = tests - {package / "tests" / "suite" / "main.rs"}
    return {path for path in others if len(tests) > 1 and OWN_PROGRAM not in first_comment(path)}


def first_comment(path: Path) -> str:
    """Returns the comment with which a Rust file begins, on one line."""
    lines = path.read_text("utf-8").splitlines()
    end = next((number for number, line in enumerate(lines) if not line.startswith("//!")), len(lines))
    return " ".join(line.removeprefix("//!").strip() for line in lines[:end])


def test_every_rust_file_is_compiled():
    assert sum(len(compiled(programs(package))) for package in PACKAGES) > 300
    assert [label(path) for package in PACKAGES for path in sorted(forgotten(package))] == []


def test_tests_are_in_the_suite_of_their_package_or_say_why_not():
    suites = [package.name for package in PACKAGES if (package / "tests" / "suite" / "main.rs").is_file()]
    assert suites == ["corpus", "driver", "evidence", "record"]
    assert [label(path) for package in PACKAGES for path in sorted(beside_suite(package))] == []


def write(root: Path, files: dict[str, str]) -> Path:
    """Writes files below a folder."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_forgotten_files_are_found(tmp_path):
    files = {
        "src/lib.rs": "pub(crate) mod a;\n#[cfg(test)]\nmod b;\n// mod c;",
        "src/a.rs": "mod d;",
        "src/a/d.rs": "",
        "src/b/mod.rs": "mod e;",
        "src/b/e.rs": "",
        "src/c.rs": "",
        "src/d.rs": "",
        "tests/suite/main.rs": "mod f;",
        "tests/suite/f.rs": "mod g;",
        "tests/suite/f/g.rs": "",
        "tests/suite/h.rs": "",
    }
    package = write(tmp_path, files)
    assert forgotten(package) == {package / name for name in ("src/c.rs", "src/d.rs", "tests/suite/h.rs")}


def test_programs_of_tests_without_a_reason_are_found(tmp_path):
    reason = "//! Memory. The tests are in a program\n//! of their own, because it is that of the process.\n"
    single = write(tmp_path / "single", {"tests/golden.rs": ""})
    assert beside_suite(single) == set()
    suite = write(
        tmp_path / "suite", {"tests/suite/main.rs": "", "tests/memory.rs": reason, "tests/late.rs": ""}
    )
    assert beside_suite(suite) == {suite / "tests" / "late.rs"}
    several = write(tmp_path / "several", {"tests/a.rs": "", "tests/b.rs": reason, "tests/other/main.rs": ""})
    assert beside_suite(several) == {several / "tests" / name for name in ("a.rs", "other/main.rs")}
