"""One home folder for all tests that start an engine, so that it is downloaded and assembled only once.

The download is about 350 MB, for six versions of engines and two of Java; PACENOTE_TEST_HOME is a home
folder in which it is kept between runs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.provision.layout import plan_layout

QUICK_JVM = "".join(f'[{command}]\njvm = ["-XX:TieredStopAtLevel=1"]\n' for command in ("race", "install"))
"""Configuration for engines that need not be fast: a race in test mode takes 20 s of CPU time instead of 33 s
if the JVM compiles quickly instead of well.
"""


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    kept = os.environ.get("PACENOTE_TEST_HOME")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("home")
    yield folder
    if not kept:
        # For root, the engine may be outside the home folder, where pytest does not clean up.
        shutil.rmtree(plan_layout(folder).root, ignore_errors=True)


@pytest.fixture(scope="module", autouse=True)
def configuration(request: pytest.FixtureRequest, home: Path) -> None:
    """Lets engines start quickly, unless their speed is tested: such tests run alone, and no other test then
    reads the file.
    """
    path = home / "pacenote.toml"
    if not request.node.get_closest_marker("alone"):
        if not path.exists():
            written = path.with_suffix(f".{os.getpid()}")
            written.write_text(QUICK_JVM)
            written.replace(path)
    elif path.exists() and path.read_text() == QUICK_JVM:
        path.unlink()
