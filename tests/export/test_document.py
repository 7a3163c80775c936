"""The published schema is that of the types, and exports follow it. `UPDATE_GOLDEN=1` renews the schema."""

import json
import os
from pathlib import Path

import pytest

from export.export_schema import export_schema, problems
from pacenote.export.document import EXPORT_FORMAT, exported_race
from pacenote.export.json import json_text
from pacenote.model.codec import encode
from pacenote.model.result import ValueSummary
from shape.sources import ROOT
from support.records import bulk, paced, part, record, task

SCHEMA = ROOT / "docs" / "reference" / "export.schema.json"


def exported(*races):
    folder = Path("/races")
    return "".join(json_text(exported_race(race, "complete", folder / race.race_id) for race in races))


def test_the_published_schema_is_that_of_the_types():
    text = json.dumps(export_schema(), indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        SCHEMA.write_text(text)
    assert SCHEMA.read_text() == text, "UPDATE_GOLDEN=1 renews it"


def test_exports_follow_the_published_schema():
    schema = json.loads(SCHEMA.read_text())
    races = (
        record("race-1", user_tags={"a": 1, "list": [True, None]}),
        record("race-2", tasks=(bulk(), paced(), task("composite", parts=(part("one"),)))),
        record("race-3", tasks=(), complete=False, challenge=None),
    )
    document = json.loads(exported(*races))
    assert problems(document, schema, schema) == []
    assert [race["race_id"] for race in document["races"]] == ["race-1", "race-2", "race-3"]
    assert document["format"] == EXPORT_FORMAT
    assert json.loads(exported(races[0]))["races"] == document["races"][:1]


def test_a_race_with_many_figures_is_written_in_parts():
    values = {f"recall@{number}": ValueSummary(3, 0.5, 0.75, 1.0) for number in range(1_000)}
    races = (record("race-1", tasks=(bulk(values=values),)), record("race-2", tasks=()))
    folder = Path("/races")
    built = [exported_race(race, "complete", folder / race.race_id) for race in races]
    parts = list(json_text(iter(built)))
    assert max(map(len, parts)) < len("".join(parts)) / 10
    lines = [json.dumps(encode(race), ensure_ascii=False) for race in built]
    assert "".join(parts) == '{"format": 1, "races": [\n' + ",\n".join(lines) + "\n]}\n"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"extra": 1}, "$.races[0] has the unknown field extra"),
        ({"state": "done"}, "$.races[0].state is 'done'"),
        ({"race_id": 7}, "$.races[0].race_id is int, not string"),
        ({"challenge": 7}, "$.races[0].challenge is none of the choices"),
    ],
)
def test_the_schema_rejects_what_exports_never_contain(change, problem):
    schema = export_schema()
    document = json.loads(exported(record()))
    document["races"][0] |= change
    assert [found for found in problems(document, schema, schema) if found.startswith(problem)]
    del document["races"][0]["track"]
    assert "$.races[0] lacks track" in problems(document, schema, schema)


def test_names_stay_as_they_are_but_are_safe_to_print():
    name = 'a\x1b[31m</script>\u202e"\U000e0001é'
    text = exported(record(tasks=(task(name),), user_tags={name: name}))
    assert all(char.isprintable() or char == "\n" for char in text)
    (race,) = json.loads(text)["races"]
    assert race["tasks"][0]["task"] == name
    assert race["user_tags"] == {name: name}


def test_files_that_do_not_exist_are_null(tmp_path):
    (tmp_path / "samples.parquet").write_bytes(b"")
    files = exported_race(record(), "complete", tmp_path).files
    assert files.samples == str(tmp_path / "samples.parquet")
    assert (files.series, files.telemetry) == (None, None)
