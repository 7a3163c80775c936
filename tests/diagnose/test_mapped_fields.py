"""The fields that a track maps by itself are those that the engine counts, and not brought by documents."""

from __future__ import annotations

import dataclasses
import json

import pytest

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.diagnose.mapped_fields import CreatedIndices, _Pattern, mapped_fields
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
    made: Track = dataclasses.replace(track(*chosen), operations=CREATING, **{"indices": (), **declared})
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


def put(path: str, body: object) -> dict[str, object]:
    return {"kind": "request", "method": "PUT", "path": path, "body": json.dumps(body)}


def fields_of(names: tuple[str, ...], *requests: dict[str, object]) -> float:
    """Returns the fields that requests map in indices with these names."""
    return mapped_fields({"tasks": [{"work": [*requests]}]}, CreatedIndices(names, len(names)))


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("logs-*", {"logs-1", "logs-2"}),
        ("logs-1,books", {"logs-1", "books"}),
        ("*-1,books", {"logs-1", "books"}),
        ("_all", {"logs-1", "logs-2", "books"}),
        ("*,-logs-*", {"books"}),
        ("logs-*,-*-2", {"logs-1"}),
        ("l*s-*1", {"logs-1"}),
        ("logs-1*1", set()),
        ("logs-?", set()),
        ("[bl]*", set()),
        ("logs-1/_mapping/_doc", {"logs-1"}),
    ],
)
def test_a_mapping_is_that_of_all_indices_that_its_path_stands_for(target: str, names: set[str]) -> None:
    """As an engine expands it: only `*` has a meaning in the names of a request."""
    path = target if "/" in target else f"{target}/_mapping"
    for name in ("logs-1", "logs-2", "books"):
        assert fields_of((name,), put(f"/{path}", properties(700))) == 700 * (name in names), name


def test_documents_are_not_blamed_for_fields_that_a_request_maps_in_all_indices() -> None:
    plan = {"tasks": [{"work": put("/logs-*/_mapping", properties(700))}]}
    before, after = {"fields": 40, "indices": 3}, {"fields": 1_440, "indices": 5}
    assert fields_added(plan, before, after, "logs-1", "logs-2") == 0


@pytest.mark.parametrize(("pattern", "count"), [("logs-?", 0), ("[l]ogs-1", 0), ("l*-*", 5), ("logs-1", 5)])
def test_only_the_asterisk_of_the_pattern_of_a_template_has_a_meaning(pattern: str, count: int) -> None:
    body = {"index_patterns": [pattern], "template": {"mappings": properties(5)}}
    assert fields_of(("logs-1",), put("/_index_template/t", body)) == count


def test_a_template_without_fields_takes_the_place_of_others() -> None:
    low = {"index_patterns": ["logs-*"], "priority": 1, "template": {"mappings": properties(9)}}
    high = {"index_patterns": ["logs-1"], "priority": 2, "template": {"settings": {}}}
    requests = (put("/_index_template/low", low), put("/_index_template/high", high))
    assert fields_of(("logs-1",), *requests) == 0
    assert fields_of(("logs-2",), *requests) == 9


@pytest.mark.parametrize("kind", ["_template", "_index_template", "mapping"])
def test_the_patterns_of_a_plan_of_another_user_are_bounded_in_total(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither their number in a template, nor that of templates, nor that of indices multiplies the time."""
    compared: list[str] = []
    matches = _Pattern.matches

    def counted(pattern: _Pattern, name: str) -> bool:
        compared.append(name)
        return matches(pattern, name)

    monkeypatch.setattr(_Pattern, "matches", counted)
    patterns = [f"other-{number}-*" for number in range(900)]
    body = {"index_patterns": patterns, "mappings": properties(1), "template": {"mappings": properties(1)}}
    path = f"/{','.join(patterns)}/_mapping" if kind == "mapping" else ""
    content = properties(1) if kind == "mapping" else body
    requests = [put(path or f"/{kind}/{number}", content) for number in range(20)]
    names = tuple(f"logs-{number}" for number in range(400))
    assert fields_of(names, *requests) == 0
    assert 0 < len(compared) <= 1_000 * 100


def test_indices_beyond_those_that_are_compared_are_like_the_others() -> None:
    body = {"index_patterns": ["logs-*"], "template": {"mappings": properties(3)}}
    names = tuple(f"logs-{number}" for number in range(400))
    assert fields_of(names, put("/_index_template/t", body)) == 3 * 400


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
