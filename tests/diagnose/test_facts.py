"""Look-ups of figures by task and node."""

import pytest

from pacenote.diagnose.catalogue import FIGURES, SOURCES
from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import EvidenceBuilder, TaskFacts, Window

WINDOW = Window("load", "node-1")


def test_a_figure_is_taken_from_the_narrowest_window_that_has_it():
    builder = EvidenceBuilder("r", [TaskFacts("load", "indexing")])
    values = []
    for window, value in ((Window(), 1), (Window(node="node-1"), 2), (Window("load"), 3), (WINDOW, 4)):
        builder.set(window, "gc.pauses", value)
        values.append(builder.build().value(WINDOW, "gc.pauses"))
    assert values == [1.0, 2.0, 3.0, 4.0]
    assert builder.build().value(Window("load", "node-2"), "gc.pauses") == 3.0
    assert builder.build().nodes == ("node-1",)


def test_a_missing_figure_has_the_reason_that_was_given_for_it_its_group_or_its_source():
    builder = EvidenceBuilder("r")
    assert builder.build().value(WINDOW, "gc.pauses") == Unknown((("gc.pauses", "it was not recorded"),))
    for key in ("GC log", "gc.*", "gc.pauses"):
        builder.miss(key, f"because of {key}")
        assert builder.build().value(WINDOW, "gc.pauses") == Unknown((("gc.pauses", f"because of {key}"),))
    builder.miss("gc.pauses", "narrower", Window(node="node-1"))
    assert builder.build().value(WINDOW, "gc.pauses") == Unknown((("gc.pauses", "narrower"),))


def test_only_figures_of_the_catalogue_with_their_kinds_are_accepted():
    builder = EvidenceBuilder("r")
    builder.set(WINDOW, "gc.pauses", None)
    assert isinstance(builder.build().value(WINDOW, "gc.pauses"), Unknown)
    builder.set(WINDOW, "gc.pauses", float("inf"))
    assert builder.build().value(WINDOW, "gc.pauses") == Unknown((
        ("gc.pauses", "its value is not a finite number"),
    ))
    for name, value in (("gc.pauses", "many"), ("gc.collector", 1.0), ("gc.concurrent", 1.0)):
        with pytest.raises(ValueError, match=name):
            builder.set(WINDOW, name, value)
    with pytest.raises(KeyError):
        builder.set(WINDOW, "gc.unknown", 1.0)
    with pytest.raises(ValueError, match="there is no figure"):
        builder.miss("gc.unknown", "")


def test_every_figure_has_a_unit_a_known_source_and_a_meaning():
    assert len(FIGURES) > 150
    for name, figure in FIGURES.items():
        assert figure.source in SOURCES, name
        assert figure.meaning, name
        assert figure.kind in ("number", "text", "truth"), name
        assert name.count(".") == 1


def test_many_tasks_and_nodes_are_not_all_combined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule is evaluated for each task and node, of which a race of others may have very many."""
    monkeypatch.setattr("pacenote.diagnose.facts.MOST_WINDOWS", 6)
    builder = EvidenceBuilder("r", [TaskFacts("load", "indexing"), TaskFacts("term", "searching")])
    for number in range(3):
        builder.set(Window("load", f"node-{number}"), "gc.pauses", 1)
    assert builder.build().unread == ()
    builder.set(Window("load", "node-3"), "gc.pauses", 1)
    evidence = builder.build()
    assert evidence.nodes == ("node-0", "node-1", "node-2")
    assert evidence.unread == ("the race has 2 tasks and 4 nodes: only 3 nodes are diagnosed",)
