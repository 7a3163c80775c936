"""Evidence for tests, from figures by name."""

from __future__ import annotations

from typing import Any

from pacenote.diagnose.facts import Evidence, EvidenceBuilder, TaskFacts, Window


def evidence_of(kind: Any = "indexing", **groups: dict[str, Any]) -> Evidence:
    """Returns the evidence of a race with the task `load` on one node, whose figures are given by group:
    `gc={"stop_share": 0.1}`. A figure that is None is missing because the test says so.
    """
    builder = EvidenceBuilder("race-1", [TaskFacts("load", kind)])
    for group, figures in groups.items():
        for name, value in figures.items():
            if value is None:
                builder.miss(f"{group}.{name}", "the test says so")
            builder.set(Window("load", "node-0"), f"{group}.{name}", value)
    return builder.build()
