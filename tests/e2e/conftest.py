"""One home folder for all tests that start an engine, so that it is downloaded and assembled only once.

The download is about 350 MB, for six versions of engines and two of Java; PACENOTE_TEST_HOME is a home
folder in which it is kept between runs.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.provision.layout import plan_layout
from pacenote.provision.public_files import make_public_dir
from support.class_archive import archive_classes

QUICKLY = "-XX:TieredStopAtLevel=1"
"""The option of engines that need not be fast: a race in test mode takes 20 s of CPU time instead of 33 s
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


@pytest.fixture(scope="session")
def archive(home: Path) -> Path:
    """The archive of classes, which the user of nodes can read."""
    root = plan_layout(home).root
    make_public_dir(root)
    return archive_classes(home, root)


@pytest.fixture(scope="module", autouse=True)
def configuration(request: pytest.FixtureRequest, home: Path, archive: Path) -> None:
    """Lets engines start quickly, and compile quickly unless their speed is tested: such tests run alone, and
    no other test then reads the file.
    """
    is_alone = request.node.get_closest_marker("alone") is not None
    options = json.dumps([f"-XX:SharedArchiveFile={archive}", *([] if is_alone else [QUICKLY])])
    text = "".join(f"[{command}]\njvm = {options}\n" for command in ("race", "install"))
    path = home / "pacenote.toml"
    if not path.exists() or path.read_text() != text:
        written = path.with_suffix(f".{os.getpid()}")
        written.write_text(text)
        written.replace(path)
