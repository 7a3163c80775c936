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


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    kept = os.environ.get("PACENOTE_TEST_HOME")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("home")
    yield folder
    if not kept:
        # For root, the engine may be outside the home folder, where pytest does not clean up.
        shutil.rmtree(plan_layout(folder).root, ignore_errors=True)
