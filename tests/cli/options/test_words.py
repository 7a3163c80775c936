"""Words that say no, but that templates take for true."""

from __future__ import annotations

import json

import pytest

from track.builders import document


@pytest.fixture
def track(tmp_path):
    folder = tmp_path / "track"
    folder.mkdir()
    (folder / "track.json").write_text(
        json.dumps(document(description="DESCRIPTION")).replace(
            "DESCRIPTION", "{{ 'on' if refresh else 'off' }}"
        )
    )
    return folder


@pytest.mark.parametrize("value", ["refresh:no", "refresh:Off", "refresh:'false'", '{"refresh": "false"}'])
def test_a_word_that_templates_take_for_true_is_told(run, track, value):
    code, out, err = run("render-track", f"--track-path={track}", f"--track-params={value}", "--quiet")
    assert (code, '"description": "on"' in out) == (0, True)
    assert "warning: --track-params: refresh is the text '" in err
    assert "which templates take for true, as in Rally; write refresh:false for the opposite\n" in err


@pytest.mark.parametrize("value", ["refresh:false", "refresh:False", "refresh:none", '{"refresh": false}'])
def test_values_that_templates_take_for_false_are_not(run, track, value):
    code, out, err = run("render-track", f"--track-path={track}", f"--track-params={value}", "--quiet")
    assert (code, '"description": "off"' in out, err) == (0, True, "")


def test_parameters_in_tables_are_told_by_their_whole_name(run, track):
    text = json.dumps({"settings": {"refresh": "off"}})
    _, _, err = run("render-track", f"--track-path={track}", f"--track-params={text}", "--quiet")
    assert "settings.refresh is the text 'off'" in err
