"""`pacenote render-track`: the JSON of a track."""

import json

import pytest

from support.planted_links import planted_link


def test_a_track_is_rendered(run, books, tmp_path):
    arguments = ("render-track", f"--track-path={books}", "--track-params=about:Mine")
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert json.loads(out)["description"] == "Mine"
    code, nothing, err = run(*arguments, f"--output-path={tmp_path / 'out.json'}")
    assert (code, nothing) == (0, "")
    assert err == f"track books rendered to {tmp_path / 'out.json'}\n"
    assert (tmp_path / "out.json").read_text() == out


def test_a_track_that_renders_to_invalid_json_is_still_shown(run, books):
    (books / "track.json").write_text('{"a": {{ 1 + 1 }} 3}')
    code, out, err = run("render-track", f"--track-path={books}")
    assert (code, out) == (64, '{"a": 2 3}')
    assert err.startswith("warning: not valid JSON: Expecting ',' delimiter")


@pytest.mark.parametrize(
    ("text", "rendering", "reading"),
    [
        (
            '{"a": NaN}',
            "NaN is not a finite number",
            "the rendered track has NaN, which is not a number in JSON (rendered track.json, line 1, near "
            "track.json:1)",
        ),
        ("[" * 100_000, "it is nested more than 200 levels deep", "rendered track.json is nested too deeply"),
    ],
)
def test_json_that_engines_reject(run, books, text, rendering, reading):
    (books / "track.json").write_text(text)
    code, out, err = run("render-track", f"--track-path={books}")
    assert (code, out) == (64, text)
    assert rendering in err
    code, out, err = run("info", f"--track-path={books}")
    assert (code, out) == (64, "")
    assert err == f"error: {reading}\n"
    assert run("list", "tracks", f"--track-path={books.parent}")[0] == 0


def test_rendering_errors_show_no_secret(run, books):
    (books / "track.json").write_text("{% include secret_word %}")
    _, _, err = run("render-track", f"--track-path={books}", "--track-params=secret_word:hunter2")
    assert 'there is no file "<hidden>" in the track\'s folder' in err


def test_a_track_of_too_many_values_is_not_a_bug_of_pacenote(run, books):
    (books / "track.json").write_text('{"a": [{{ "{}," * 3000000 }}{}]}')
    code, _, err = run("info", f"--track-path={books}")
    assert code == 64
    assert "its values take more than 512 MiB of memory" in err


def test_nothing_is_written_where_a_link_of_another_user_leads(run, books, tmp_path):
    link, target = planted_link(tmp_path)
    code, _, err = run("render-track", f"--track-path={books}", f"--output-path={link / 'out.json'}")
    problem = f"{link} belongs to user 54321"
    assert (code, err) == (2, f"error: --output-path {link / 'out.json'} cannot be written: {problem}\n")
    assert list(target.iterdir()) == []
