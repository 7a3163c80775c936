"""Templates are rendered as in Rally."""

from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.system.folder_trees import discard_tree
from pacenote.teams.rendering import render, template_files
from provision.nested import DEEP, nested, shallow_stack
from teams.repositories import write_team


def test_texts_are_rendered_and_appended_and_other_files_copied(tmp_path: Path) -> None:
    root = write_team(
        tmp_path,
        {
            "one/config/a.yml": "a: {{ x }}",
            "two/config/a.yml": "b: {{ undefined }}",
            "two/bin/run": "{{ x }}",
        },
    )
    rendered = render(root, (root / "one", root / "two"), {"x": 1})
    assert rendered.texts == {"config/a.yml": "a: 1\nb: \n"}
    assert rendered.copies == {"bin/run": root / "two/bin/run"}


def test_includes_are_relative_to_the_template(tmp_path: Path) -> None:
    root = write_team(tmp_path, {"t/config/a.yml": '{% include "b.inc" %}', "t/config/b.inc": "{{ x }}"})
    assert render(root, (root / "t",), {"x": 1}).texts["config/a.yml"] == "1\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a\n{% if %}", "line 2: not a valid template: Expected an expression"),
        ("a\n{{ 1 / 0 }}", "line 2: cannot be rendered: ZeroDivisionError: division by zero"),
        ("{{ paths[0].x }}", "line 1: cannot be rendered: UndefinedError: 'paths' is undefined"),
    ],
)
def test_a_broken_template_is_reported_with_its_line(tmp_path: Path, text: str, reason: str) -> None:
    root = write_team(tmp_path, {"t/a.yml": text})
    with pytest.raises(EngineError) as caught:
        render(root, (root / "t",), {})
    assert f"{root}/t/a.yml, {reason}" in caught.value.message


def test_a_link_that_leads_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    root = write_team(tmp_path / "team")
    (root / "t").mkdir()
    (root / "t" / "a.yml").symlink_to(tmp_path / "secret")
    with pytest.raises(EngineError, match="outside of the team repository"):
        render(root, (root / "t",), {})


def test_a_link_that_leads_to_itself_is_reported(tmp_path: Path) -> None:
    root = write_team(tmp_path / "team")
    (root / "t").mkdir()
    (root / "t" / "a.yml").symlink_to(root / "t" / "a.yml")
    with pytest.raises(EngineError, match=r"/t/a\.yml, line 1: cannot be rendered: "):
        render(root, (root / "t",), {})


def test_folders_that_are_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    nested(tmp_path / "t", DEEP)
    with shallow_stack(), pytest.raises(EngineError, match="are nested more than 64 times"):
        list(template_files((tmp_path / "t",)))
    discard_tree(tmp_path / "t")
