"""An engine is built from a checkout once; changed sources are never kept as those of the commit."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace

from pacenote.errors import EngineError, UsageError
from pacenote.model.source_options import SourceOptions
from pacenote.sources.build import BuildRequest, BuiltEngine, build_engine, source_version
from pacenote.sources.build_java import required_major
from pacenote.sources.checkout import SourceCheckout, find_repository, local_checkout
from pacenote.sources.recipes import recipe_for, source_distribution
from pacenote.sources.revisions import Revision
from pacenote.system.process import process_identity
from support.descriptors import unchanged_descriptors
from support.source_checkout import commit, git, write_checkout, write_jdk

pytestmark = pytest.mark.process


def no_progress(label: str, done: int, total: int) -> None:
    pass


class Sources:
    """A checkout, and the request to build it."""

    def __init__(self, folder: Path) -> None:
        self.folder = write_checkout(folder / "es")
        self.first = git(self.folder, "rev-parse", "HEAD")
        self.request = BuildRequest(
            folder / "home",
            "elasticsearch",
            SourceOptions(source_path=str(self.folder)),
            recipe_for("elasticsearch", {}, release=False),
            folder / "build.log",
        )

    def build(self, revision: str = "current", **changes: object) -> BuiltEngine:
        options = structs.replace(self.request.options, revision=revision)
        return build_engine(replace(self.request, options=options, **changes), no_progress)  # type: ignore[arg-type]

    @property
    def builds(self) -> int:
        """How often the checkout itself was built."""
        return (self.folder.parent / "built.txt").read_text().count("built")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    monkeypatch.setenv("JAVA21_HOME", str(write_jdk(tmp_path / "jdk")))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    return Sources(tmp_path)


def test_a_checkout_is_built_once_with_the_jdk_that_it_asks_for(sources: Sources, tmp_path: Path) -> None:
    built = sources.build()
    assert built.archive.read_text() == "one"
    assert built.archive.is_relative_to(tmp_path / "home")
    assert (built.tree.commit, built.tree.changes, built.tree.version) == (sources.first, "", "8.19.99")
    assert not built.cached
    log = (tmp_path / "build.log").read_text()
    assert f"--no-daemon clean with {tmp_path / 'jdk'}" in log
    assert "$ ./gradlew --no-daemon :distribution:archives:linux-" in log
    record = json.loads((built.archive.parent / "build.json").read_text())
    assert (record["commit"], record["local-changes"]) == (sources.first, False)

    again = sources.build()
    assert (again.cached, again.archive, sources.builds) == (True, built.archive, 1)
    assert source_version(sources.request, no_progress) == "8.19.99"


def test_local_changes_are_built_and_never_used_for_the_commit(sources: Sources) -> None:
    (sources.folder / "engine.txt").write_text("changed")
    changed = sources.build()
    assert changed.archive.read_text() == "changed"
    assert changed.tree.changes
    assert sources.build().cached
    (sources.folder / "new.txt").write_text("x")
    assert not sources.build().cached
    (sources.folder / "new.txt").write_text("y")
    assert not sources.build().cached
    (sources.folder / "new.txt").unlink()
    git(sources.folder, "checkout", "--quiet", "--", ".")
    clean = sources.build()
    assert (clean.cached, clean.tree.changes, clean.archive.read_text()) == (False, "", "one")


def test_a_new_file_without_end_is_not_read(sources: Sources) -> None:
    """A hole takes no room on the disk, and would fill the memory."""
    with (sources.folder / "new.txt").open("wb") as file:
        file.truncate(1 << 40)
    problem = r"new.txt is untracked and has more than 1.0 GiB: remove it, or ignore it in .gitignore or "
    with pytest.raises(EngineError, match=problem):
        sources.build()
    (sources.folder / ".git" / "info" / "exclude").write_text("new.txt\n")
    assert sources.build().tree.changes == ""


def test_an_untracked_repository_in_a_checkout_is_a_change(sources: Sources) -> None:
    """Git lists it as a folder, such as a plugin that is developed there."""
    nested = sources.folder / "nested"
    nested.mkdir()
    git(nested, "init", "--quiet")
    commit(nested, "other", at="2026-02-01T12:00:00Z")
    with unchanged_descriptors():
        first = sources.build()
    assert (first.cached, first.archive.read_text()) == (False, "one")
    assert sources.build().cached
    (nested / "new.txt").write_text("x")
    assert not sources.build().cached


def test_an_untracked_repository_that_is_nested_too_deeply_is_refused(sources: Sources) -> None:
    nested = sources.folder / "nested"
    (nested / "/".join("d" * 70)).mkdir(parents=True)
    git(nested, "init", "--quiet")
    commit(nested, "other", at="2026-02-01T12:00:00Z")
    with pytest.raises(EngineError, match="nested more than 64 times: remove it, or ignore it"):
        sources.build()


def test_a_new_file_is_read_in_parts(sources: Sources) -> None:
    (sources.folder / "new.txt").write_bytes(b"x" * (40 << 20))
    (sources.folder / "link.txt").symlink_to("/dev/zero")
    tracemalloc.start()
    try:
        assert sources.build().tree.changes
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_other_revisions_are_built_in_a_clone(sources: Sources) -> None:
    second = commit(sources.folder, "two", at="2026-02-01T12:00:00Z")
    git(sources.folder, "tag", "v2")
    git(sources.folder, "checkout", "--quiet", "-b", "8.19")
    commit(sources.folder, "branch", at="2026-03-01T12:00:00Z")
    third = commit(sources.folder, "branch 2", at="2026-04-01T12:00:00Z")
    assert [
        (name, sources.build(name).archive.read_text())
        for name in (
            *(sources.first, second[:8], "v2", "latest", "elasticsearch:8.19", "@2026-01-31", "@2026-02-01"),
            *("@2026-02-01T11:59:59Z", "8.19@2026-03-02", "8.19@2027-01-01T00:00:00"),
        )
    ] == [
        *((sources.first, "one"), (second[:8], "two"), ("v2", "two"), ("latest", "two")),
        *(("elasticsearch:8.19", "branch 2"), ("@2026-01-31", "one"), ("@2026-02-01", "two")),
        *(
            ("@2026-02-01T11:59:59Z", "one"),
            ("8.19@2026-03-02", "branch"),
            ("8.19@2027-01-01T00:00:00", "branch 2"),
        ),
    ]
    # The checkout of the user is as it was.
    assert git(sources.folder, "rev-parse", "HEAD") == third
    assert git(sources.folder, "status", "--porcelain") == ""
    commit(sources.folder, "newer")
    assert sources.build("8.19").archive.read_text() == "newer"


@pytest.mark.parametrize("revision", ["v9", "0123456789abcdef", "@2001-01-01", "none@2026-01-01"])
def test_a_revision_that_does_not_exist_is_reported(sources: Sources, revision: str) -> None:
    with pytest.raises(EngineError, match=f"have no revision '{revision}'"):
        sources.build(revision)


def test_a_build_that_fails_is_reported_with_its_last_lines_and_not_kept(sources: Sources) -> None:
    (sources.folder / "broken").touch()
    with pytest.raises(EngineError) as caught:
        sources.build()
    assert caught.value.message.endswith("failed with exit code 7: Compilation failed")
    assert caught.value.hint == f"read {sources.request.log}"
    (sources.folder / "broken").unlink()
    assert not sources.build().cached


def test_plugins_of_the_same_sources_are_built_too(sources: Sources) -> None:
    built = sources.build(plugins=("analysis-icu",))
    assert built.plugins["analysis-icu"].read_text() == "one"
    assert sources.build(plugins=("analysis-icu",)).plugins == built.plugins
    assert sources.build(plugins=("other",)).plugins == {}


def test_sources_without_git_are_built_every_time(sources: Sources) -> None:
    (sources.folder / ".git").rename(sources.folder.parent / "gone")
    built = sources.build()
    assert (built.tree.commit, built.archive.is_relative_to(sources.folder)) == ("", True)
    assert not sources.build().cached
    assert sources.builds == 2


def test_builds_are_removed_while_no_other_command_can_find_them(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = sources.build().archive.parent
    os.utime(old / "build.json", (1, 1))
    remove, removed = shutil.rmtree, []

    def remove_alone(folder: Path, **options: bool) -> None:
        if folder == old:
            with (old.parent / ".lock").open() as lock, pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            removed.append(folder)
        remove(folder, **options)

    monkeypatch.setattr(shutil, "rmtree", remove_alone)
    assert not sources.build().cached
    assert removed[0] == old


def test_builds_that_were_not_used_for_days_are_removed(sources: Sources) -> None:
    old = sources.build().archive
    commit(sources.folder, "two")
    used = sources.build().archive
    for archive, days in ((old, 8), (used, 6)):
        moment = time.time() - days * 86_400
        os.utime(archive.parent / "build.json", (moment, moment))
    assert sources.build().cached
    assert (old.parent.exists(), used.exists()) == (False, True)


def test_a_checkout_of_an_unknown_user_is_reported() -> None:
    assert source_distribution(None, "~no-such-user/opensearch") == "opensearch"
    with pytest.raises(UsageError, match="--source-path=~no-such-user/es is not a folder"):
        local_checkout("~no-such-user/es")


def test_a_missing_jdk_and_a_missing_checkout_are_reported(
    sources: Sources, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA21_HOME")
    monkeypatch.setenv("JAVA_HOME", str(write_jdk(tmp_path / "old", "17.0.1")))
    with pytest.raises(EngineError, match="no JDK 21 to build the engine with") as caught:
        sources.build()
    assert caught.value.hint == "set JAVA21_HOME to a JDK 21"
    nowhere = structs.replace(sources.request.options, source_path=str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="nowhere is not a folder"):
        build_engine(replace(sources.request, options=nowhere), no_progress)
    remote = structs.replace(sources.request.options, source_path="https://example.org/es.git")
    with pytest.raises(EngineError, match=r"https://example\.org/es\.git must be cloned"):
        build_engine(replace(sources.request, options=remote, offline=True), no_progress)


@pytest.mark.parametrize("space", ["\n", " ", "\t", "\r\n"])
def test_versions_in_sources_are_read_fast(tmp_path: Path, space: str) -> None:
    recipe = recipe_for("elasticsearch", {}, release=True)
    versions, properties = tmp_path / ".ci" / "java-versions.properties", tmp_path / recipe.version_file
    for file, line in (
        (versions, " ES_BUILD_JAVA = openjdk21\r\n"),
        (properties, "elasticsearch\t=\t9.1.0 \n"),
    ):
        file.parent.mkdir()
        file.write_bytes(f"{space * 20_000}x\n{line}".encode())
    checkout = SourceCheckout(find_repository(str(tmp_path), recipe, tmp_path / "clones"), recipe)
    before = time.process_time()
    assert required_major(recipe, tmp_path) == "21"
    assert checkout.at(Revision("current")).version == "9.1.0"
    assert time.process_time() - before < 1


_BUILDER = """\
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from sources.test_build import BuildRequest, SourceOptions, build_engine, recipe_for, no_progress
folder = Path({folder!r})
recipe = recipe_for("elasticsearch", {{}}, release=False)
options = SourceOptions(source_path=str(folder / "es"))
build_engine(BuildRequest(folder / "home", "elasticsearch", options, recipe, folder / "log"), no_progress)
"""


def test_the_processes_of_a_build_end_before_the_next_one(sources: Sources, tmp_path: Path) -> None:
    (sources.folder / "slow").touch()
    code = _BUILDER.format(tests=str(Path(__file__).parents[1]), folder=str(tmp_path))
    owner = subprocess.Popen([sys.executable, "-c", code])
    noted = tmp_path / "sleeping"
    while not (noted.exists() and noted.read_text().strip()):
        assert owner.poll() is None
        time.sleep(0.01)
    sleeping = process_identity(int(noted.read_text()))
    assert sleeping is not None
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    (sources.folder / "slow").unlink()
    assert sources.build().archive.read_text() == "one"
    assert process_identity(sleeping.pid) != sleeping
