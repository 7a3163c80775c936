"""Test files are named after the modules that they test."""

from pathlib import Path

from shape.sources import PACKAGE, ROOT, files, label

WITHOUT_MODULE = {
    "tests/cli/test_bad_values.py": "all options of all commands",
    "tests/cli/test_copied_commands.py": "commands in the output of all commands",
    "tests/benchmarks/": "the programs in benchmarks/",
    "tests/core/": "the Rust core, through its Python module",
    "tests/e2e/": "whole commands with a real engine",
    "tests/scripts/": "the programs in scripts/",
    "tests/shape/": "guards of the repository",
    "tests/store/test_unprintable_names.py": "names in all folders of the store",
    "tests/store/test_earlier_races.py": "races that earlier versions stored, read by the whole package",
}
"""Test files and folders that are not named after a module, with what they test."""


def modules(package: Path) -> set[str]:
    """Returns the names of the modules and packages in a package, at any depth."""
    return {path.stem for path in package.rglob("*") if path.suffix == ".py" or path.is_dir()}


def module_names(test: Path) -> set[str]:
    """Returns the modules after which a test file may be named: `run_tls` or `run` for `test_run_tls.py`."""
    parts = test.stem.removeprefix("test_").split("_")
    return {"_".join(parts[:count]) for count in range(1, len(parts) + 1)}


def test_a_test_file_is_named_after_the_module_that_it_tests() -> None:
    root = ROOT / "tests"
    tests = [path for path in files(".py") if path.name.startswith("test_") and root in path.parents]
    assert len(tests) > 50, "the guard found hardly any tests: have they moved?"
    wrong = [
        label(test)
        for test in tests
        if not label(test).startswith(tuple(WITHOUT_MODULE))
        and not module_names(test) & modules(PACKAGE / test.parent.relative_to(root))
    ]
    assert wrong == []


def test_tests_with_an_engine_are_where_they_are_run() -> None:
    """`make engine` looks for them only there."""
    root = ROOT / "tests"
    tests = ((path, path.read_text("utf-8")) for path in root.rglob("test_*.py"))
    marked = [path for path, text in tests if "\npytestmark = pytest.mark.engine" in text]
    assert len(marked) > 10, "the guard found hardly any tests with an engine"
    assert [label(path) for path in marked if path.parent != root / "e2e"] == []


def test_every_exception_exists() -> None:
    assert [name for name in WITHOUT_MODULE if not (ROOT / name).exists()] == []


def test_names_of_test_files_are_split_at_underscores() -> None:
    assert module_names(Path("tests/race/test_run_tls.py")) == {"run", "run_tls"}
