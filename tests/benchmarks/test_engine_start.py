"""The start of an engine without Pacenote, measured with a script in place of the engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_start import _directly

from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.layout import create_layout
from provision.conftest import FakeEngine, write_fake_java


@pytest.mark.process
def test_the_engine_alone_leaves_no_files(tmp_path: Path) -> None:
    layout = create_layout(tmp_path / "home", root=False)
    program = AssembledProgram(FakeEngine(), tmp_path, write_fake_java(tmp_path / "java"))
    assert _directly(program, layout) > 0
    assert not list(layout.nodes.iterdir())
