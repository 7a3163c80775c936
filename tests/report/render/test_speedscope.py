"""Stacks in speedscope's format, by the rules of its schema."""

from __future__ import annotations

import json

import pytest

from pacenote.report.recording.stack_tree import StackTree, TreeFrame
from pacenote.report.render.speedscope import render_speedscope


def tree():
    made = StackTree()
    for names, weight in (("ab", 3), ("a", 2), ("ac", 9)):
        made.add((TreeFrame(name, "method") for name in names), 1, weight)
    return made


@pytest.mark.parametrize(("unit", "shown"), [("bytes", "bytes"), ("ns", "nanoseconds"), ("samples", "none")])
def test_a_profile_has_each_stack_with_its_weight(unit, shown):
    document = json.loads(render_speedscope(tree(), "Waits \ud800", unit))
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert document["name"] == "Waits \ufffd"
    (profile,) = document["profiles"]
    assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", shown, 0)
    assert profile["endValue"] == sum(profile["weights"]) == 14
    names = [frame["name"] for frame in document["shared"]["frames"]]
    stacks = ["".join(names[index] for index in sample) for sample in profile["samples"]]
    assert dict(zip(stacks, profile["weights"], strict=True)) == {"a": 2, "ac": 9, "ab": 3}


def test_a_baseline_is_a_second_profile():
    made = tree()
    made.add([TreeFrame("old", "method")], 1, 4, is_baseline=True)
    document = json.loads(render_speedscope(made, "CPU", "samples"))
    profiles = [(each["name"], each["endValue"], len(each["samples"])) for each in document["profiles"]]
    assert profiles == [("contender", 14, 3), ("baseline", 4, 1)]
