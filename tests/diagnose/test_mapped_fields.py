"""The fields that a track maps by itself are those that the engine counts, and not brought by documents."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.diagnose.mapped_fields import CreatedIndices, mapped_fields
from pacenote.diagnose.snapshot_facts import add_snapshot_figures
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.model.track import ComponentTemplate, ComposableTemplate, Index, IndexTemplate, Operation, Track
from pacenote.plan.build import PlanContext, build_plan
from plan.planning import SETTINGS, task, track
from support.records import record

CREATING = (
    Operation("indices", "create-index", {}),
    Operation("templates", "create-index-template", {}),
    Operation("composable", "create-composable-template", {}),
    Operation("components", "create-component-template", {}),
)


def properties(count: int, name: str = "field") -> dict[str, object]:
    return {"properties": {f"{name}{number}": {"type": "keyword"} for number in range(count)}}


def plan_of(**declared: tuple[object, ...]) -> object:
    """Returns the stored plan of a race whose track declares these indices and templates."""
    kinds = ("indices", "templates", "composable_templates", "component_templates")
    chosen = [
        task(operation.name, operation)
        for kind, operation in zip(kinds, CREATING, strict=True)
        if declared.get(kind)
    ]
    made: Track = replace(track(*chosen), operations=CREATING, **{"indices": (), **declared})
    return json.loads(build_plan(made, None, SETTINGS, PlanContext()).to_public_json())


def fields_added(plan: object, before: dict[str, int], after: dict[str, int], *names: str) -> float | None:
    """Returns the figure of a race after which the engine has indices with these names."""
    facts = [
        {f"reading.mapping.{key}": str(value) for key, value in each.items()} for each in (before, after)
    ]
    created = {f"index.{name}.number_of_shards": "1" for name in names}
    builder = EvidenceBuilder("r")
    snapshot = RaceSnapshot(Snapshot(facts[0]), Snapshot({**facts[1], **created}))
    add_snapshot_figures(builder, record(), snapshot, lambda: plan)
    return builder.build().number(Window(), "engine.fields_added")


def test_a_track_that_maps_many_fields_brings_none() -> None:
    plan = plan_of(indices=(Index("books", {"mappings": properties(800)}),))
    before, after = {"fields": 40, "indices": 3}, {"fields": 840, "indices": 4}
    assert fields_added(plan, before, after, "books") == 0
    assert fields_added(plan, before, {**after, "fields": 1_830}, "books") == 990
    # An index that the track does not create is not one that it maps.
    assert fields_added(plan, before, after, "other") == 800
    assert fields_added(None, before, after, "books") is None, "without its plan, nothing is known"


def test_objects_and_fields_of_fields_are_fields() -> None:
    mapped = {
        "title": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
        "author": {"properties": {"name": {"type": "keyword"}}},
        "published.year": {"type": "short"},
    }
    own = {"mappings": {"dynamic": "strict", "properties": mapped}}
    assert mapped_fields(plan_of(indices=(Index("books", own),)), CreatedIndices(("books",), 1)) == 6
    # Versions before 7 have the name of a type above them.
    typed = {"mappings": {"_doc": {"properties": mapped}}}
    assert mapped_fields(plan_of(indices=(Index("books", typed),)), CreatedIndices(("books",), 1)) == 6


def test_templates_map_the_fields_of_the_indices_that_match() -> None:
    legacy = IndexTemplate("old", "logs-*", {"index_patterns": ["logs-*"], "mappings": properties(600)})
    plan = plan_of(templates=(legacy,), indices=(Index("logs-1", {"mappings": properties(10, "own")}),))
    assert mapped_fields(plan, CreatedIndices(("logs-1", "logs-2", "books"), 3)) == 610 + 600
    composable = tuple(
        ComposableTemplate(
            name,
            "logs-*",
            {
                "index_patterns": ["logs-*"],
                "priority": priority,
                "composed_of": ["part"],
                "template": {"mappings": properties(count)},
            },
        )
        for name, priority, count in (("low", 1, 900), ("high", 200, 300))
    )
    component = ComponentTemplate("part", {"template": {"mappings": properties(50, "part")}})
    plan = plan_of(templates=(legacy,), composable_templates=composable, component_templates=(component,))
    assert mapped_fields(plan, CreatedIndices(("logs-1",), 1)) == 350
    # The settings of a few indices are read: the others are taken to be like them.
    assert mapped_fields(plan, CreatedIndices(("logs-1", "logs-2"), 120)) == 350 * 120


@pytest.mark.parametrize(
    "plan",
    [
        None,
        [],
        {"tasks": 1},
        {"tasks": [None, {"work": "x"}]},
        {"tasks": [{"work": {"kind": "request", "method": "PUT", "path": 1, "body": '{"properties": 1}'}}]},
        {
            "tasks": [
                {"work": {"kind": "request", "method": "PUT", "path": "/books", "body": '{"properties"'}}
            ]
        },
    ],
)
def test_a_plan_of_an_unexpected_form_maps_nothing(plan: object) -> None:
    assert mapped_fields(plan, CreatedIndices(("books",), 1)) == 0


def test_mappings_that_no_engine_accepts_are_read_in_part() -> None:
    mappings: dict[str, object] = {"type": "keyword"}
    for _ in range(80):
        mappings = {"properties": {"a": mappings}}
    body = json.dumps({"mappings": mappings})
    request = {"kind": "request", "method": "PUT", "path": "/books", "body": body}
    assert 0 < mapped_fields({"tasks": [{"work": request}]}, CreatedIndices(("books",), 1)) < 100
