"""Templates are rendered with Rally's globals, filters and helpers; errors name the fragment."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import TrackError
from pacenote.track.dates import days_ago, get_end_date, get_start_date
from pacenote.track.includes import assemble
from pacenote.track.load import load_track, render_track
from pacenote.track.render import Renderer, RenderOptions
from track.builders import NOW, document, folder

IMPORT = '{% import "rally.helpers" as rally with context %}'


def render(root: Path, text: str, params: dict[str, Any] | None = None, **files: str) -> str:
    named = {name.replace("__", "/") + ".json": body for name, body in files.items()}
    return render_track(folder(root, {"track.json": text, **named}), params or {}, NOW)


@pytest.mark.parametrize(
    ("text", "params", "expected"),
    [
        ("{{ missing }}|{{ missing | default(3) }}", {}, "|3"),
        ("{% if missing %}a{% else %}b{% endif %}", {}, "b"),
        ("{{ clients }}", {"clients": 8}, "8"),
        ("{{ settings | tojson }}", {"settings": {"a": [1, None]}}, '{"a": [1, null]}'),
        ("{{ now }}", {}, "1700000000.0"),
        ("{{ now }}", {"now": 5}, "1700000000.0"),
        ("{{ build_flavor }} {{ serverless_operator }}", {"build_flavor": "x"}, "default False"),
        ("{{ glob('ops/*.json') | join(' ') }}", {}, "ops/a.json ops/b.json"),
        ("{{ '15-05-1998' | days_ago(now) }}", {}, "9314"),
        ("{{ now | get_start_date }} {{ now | get_end_date(2) }}", {}, "2023-11-14 2023-11-16"),
        ("{% include 'ops/a.json' %}", {}, "A"),
        ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(1) }}", {}, "<1>"),
        (IMPORT + "{{ rally.collect(parts='ops/*.json') }}", {}, "A,\nB"),
        ('{% import "benchmark.helpers" as benchmark %}{{ benchmark.collect(parts="ops/a.json")}}', {}, "A"),
    ],
)
def test_templates_are_rendered(tmp_path: Path, text: str, params: dict[str, Any], expected: str) -> None:
    assert render(tmp_path, text, params, ops__a="A", ops__b="B") == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('"a", x', '{"z": 0, "a": 1}'),
        ('"a", x, comma=False', '{"z": 0 "a": 1}'),
        ('"a", nothing', '{"z": 0}'),
        ('"a", nothing, "d"', '{"z": 0, "a": "d"}'),
        ('"a", x, default_value="d"', '{"z": 0, "a": 1}'),
        ('"a", off', '{"z": 0, "a": false}'),
    ],
)
def test_exists_set_param_adds_a_parameter_that_is_set(tmp_path: Path, call: str, expected: str) -> None:
    text = IMPORT + '{"z": 0' + "{{ rally.exists_set_param(" + call + ") }}}"
    rendered = render(tmp_path, text, {"x": 1, "off": False})
    assert rendered.replace("\n", " ").replace(",  ", ", ") == expected


def test_variables_set_in_one_fragment_can_be_read_in_the_next(tmp_path: Path) -> None:
    text = IMPORT + '{{ rally.collect(parts="ops/*.json") }}'
    assert render(tmp_path, text, ops__a="{% set size = 5 %}a", ops__b="{{ size }}") == "a,\n5"


def test_bodies_can_use_parameters_and_helpers_but_not_now_filters_or_files(tmp_path: Path) -> None:
    source = folder(tmp_path, {"track.json": "", "part.json": "p", "body.json": ""})
    renderer = Renderer(source, {"shards": 3}, NOW)

    def body(text: str) -> str:
        (tmp_path / "body.json").write_text(text)
        return renderer.body(tmp_path / "body.json")

    assert body("{{ shards }}{{ build_flavor }}{{ now }}") == "3default"
    assert body('{{ rally.collect(parts="part.json") }}') == "p"
    assert body(
        '{% import "rally.helpers" as rally %}{{ rally.exists_set_param("a", 1, comma=False) }}'
    ).strip()
    with pytest.raises(TrackError, match=r"body\.json, line 1.*days_ago"):
        body("{{ 1 | days_ago(2) }}")
    with pytest.raises(TrackError, match=r'there is no file "part\.json"'):
        body("{% include 'part.json' %}")


@pytest.mark.parametrize(
    ("fragment", "place", "reason"),
    [
        ("ok\n{% if %}", "ops/b.json, line 2: not a valid template", "Expected an expression"),
        ("{{ 1 / 0 }}", "ops/b.json, line 1: cannot be rendered", "ZeroDivisionError"),
        ("a\nb\n{{ missing.field }}", "ops/b.json, line 3: cannot be rendered", "'missing' is undefined"),
        ("{% include 'nope.json' %}", "ops/b.json, line 1: cannot be rendered", '"nope.json"'),
        ("\n{{ 1 | nofilter }}", "ops/b.json, line 2", "nofilter"),
        ("{% include 'inc.json' %}", "inc.json, line 2: cannot be rendered", "'gone' is undefined"),
        ("{% include 'bad.json' %}", "bad.json, line 1: not a valid template", "unexpected"),
    ],
)
def test_errors_name_the_fragment_and_its_line(
    tmp_path: Path, fragment: str, place: str, reason: str
) -> None:
    track = '{\n{{ rally.collect(parts="ops/*.json") }}\n}'
    with pytest.raises(TrackError) as caught:
        render(tmp_path, track, ops__a="1\n2\n3", ops__b=fragment, inc="x\n{{ gone.field }}", bad="{{ ) }}")
    assert caught.value.message.startswith(place)
    assert reason in caught.value.message


def test_date_filters_accept_dates_timestamps_and_text() -> None:
    day = datetime(2020, 1, 31, tzinfo=UTC)
    assert days_ago(datetime(2020, 1, 1), day) == 30
    assert days_ago("2020-01-01", "2020-01-03", "%Y-%m-%d") == 2
    assert get_start_date(0) == "1970-01-01"
    assert get_end_date(day) == "2020-02-01"
    assert get_end_date("2020-02-28", 2, "%Y-%m-%d") == "2020-03-01"


TRACK = """
{% set base = bulk_size | default(10) %}
{"version": 2, "indices": [{"name": "i", "body": "body.json"}],
 "schedule": [{"operation": {"operation-type": "sleep", "duration": {{ base }}}}]
 {% include "more.json" %}
 {% if false %}{{ never_reached }}{% endif %} }
"""


def test_parameters_read_in_any_file_count_as_used(tmp_path: Path) -> None:
    files = {
        "track.json": TRACK,
        "body.json": '{"settings": {"shards": {{ shards | default(1) }}}}',
        "more.json": "{# #}{{ included }}",
    }
    params = {"bulk_size": 1, "shards": 2, "included": "", "never_reached": 0}
    track = load_track(folder(tmp_path, files), params, NOW)
    assert track.indices[0].body == {"settings": {"shards": 2}}


def test_unused_parameters_are_rejected_with_similar_names(tmp_path: Path) -> None:
    source = folder(tmp_path, {"track.json": TRACK, "body.json": "{}", "more.json": ""})
    with pytest.raises(TrackError) as caught:
        load_track(source, {"bulksize": 1, "zebra": 2}, NOW)
    expected = 'does not use the parameters "bulksize" (did you mean "bulk_size"?), "zebra"'
    assert expected in caught.value.message
    assert '"zebra"' in caught.value.message
    assert '"bulk_size", "never_reached"' in caught.value.hint
    assert "--ignore-unused-track-params" in caught.value.hint
    load_track(source, {"bulksize": 1}, RenderOptions(now=0.0, ignore_unused=True))


def test_parameters_have_the_constant_defaults_of_all_files(tmp_path: Path) -> None:
    text = (
        "{{ a | default(5) }}{{ b | d('x') }}{{ c | default(a) }}{{ e | default([]) }}{{ h }}"
        "{% set f = 1 %}{{ f | default(2) }}{% include 'more.json' %}"
    )
    source = folder(tmp_path, {"track.json": text, "more.json": "{{ a }}{{ g | default(true) }}"})
    renderer = Renderer(source, {"a": 7}, NOW)
    renderer.track(assemble(source, source.file))
    assert renderer.parameters() == {"a": 5, "b": "x", "c": None, "e": [], "g": True, "h": None}


def test_parameters_cannot_have_the_names_of_template_variables(tmp_path: Path) -> None:
    source = folder(tmp_path, {"track.json": json.dumps(document())})
    with pytest.raises(TrackError) as caught:
        load_track(source, {"now": 3, "build_flavor": "x"}, RenderOptions(now=0.0, ignore_unused=True))
    assert caught.value.problems == (
        '"build_flavor" cannot be the name of a parameter: templates have a variable of that name',
        '"now" cannot be the name of a parameter: templates have a variable of that name',
    )


def test_the_error_about_invalid_rendered_json_shows_the_line_and_the_fragment(tmp_path: Path) -> None:
    files = {
        "track.json": '{\n"operations": [{{ rally.collect(parts="ops/*.json") }}]\n}',
        "ops/a.json": '{\n"name": "first"\n}',
        "ops/b.json": '{\n"name": "second"\n"operation-type": "search"\n}',
    }
    with pytest.raises(TrackError) as caught:
        load_track(folder(tmp_path, files), {}, NOW)
    message, excerpt = caught.value.message, caught.value.problems[0]
    assert "not valid JSON: Expecting ',' delimiter, column 1" in message
    assert "(rendered track.json, line 7, near ops/b.json:3)" in message
    assert '> 7 | "operation-type": "search"' in excerpt
    assert '  6 | "name": "second"' in excerpt
    assert "\n" not in message


def test_the_error_about_invalid_rendered_json_shows_no_secrets(tmp_path: Path) -> None:
    files = {
        "track.json": '{\n"operations": [{"body":\n{"client_secret":"hidden-1" "x": 1}},'
        '\n{"params": {"api-key":"hidden-2", "shown": 2}}]}',
    }
    with pytest.raises(TrackError) as caught:
        load_track(folder(tmp_path, files), {}, NOW)
    assert caught.value.problems == (
        '  1 | {\n  2 | "operations": [{"body":\n> 3 | {"client_secret":"<hidden>" "x": 1}},\n'
        '  4 | {"params": {"api-key":"<hidden>", "shown": 2}}]}',
    )


def test_the_assembled_text_of_a_track_is_rendered(tmp_path: Path) -> None:
    source = folder(tmp_path, {"track.json": json.dumps({"a": 1})})
    assert Renderer(source, {}, NOW).track(assemble(source, source.file)) == '{"a": 1}'
