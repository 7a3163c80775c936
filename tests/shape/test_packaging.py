"""The Dockerfile and the release workflow, which cannot run here, are at least free of known mistakes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("linter", "options", "path"),
    [
        ("hadolint", ["--failure-threshold=style"], "Dockerfile"),
        ("zizmor", ["--offline", "--persona=pedantic", "--no-progress"], ".github/workflows/release.yml"),
    ],
)
def test_a_linter_finds_nothing(linter, options, path):
    assert (ROOT / path).is_file()
    command = [Path(sys.executable).with_name(linter), *options, path]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stdout + done.stderr
