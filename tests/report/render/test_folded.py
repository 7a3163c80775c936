"""Folded stacks."""

from __future__ import annotations

from pacenote.report.recording.stack_tree import StackTree, TreeFrame
from pacenote.report.render.folded import render_folded


def tree(*stacks, is_baseline=False, into=None):
    made = into or StackTree()
    for names, weight in stacks:
        made.add((TreeFrame(name, "method") for name in names), 1, weight, is_baseline=is_baseline)
    return made


def test_a_line_has_the_frames_from_the_outermost_one_and_the_weight():
    made = tree((("a.run", "a.leaf"), 3), (("a.run",), 2), (("a.run", "b.leaf(int, int)"), 9), ((), 1))
    assert list(render_folded(made)) == [
        "all 1\n",
        "a.run 2\n",
        "a.run;b.leaf(int, int) 9\n",
        "a.run;a.leaf 3\n",
    ]


def test_a_baseline_is_the_first_of_two_weights():
    made = tree((("a.new",), 3), into=tree((("a.old",), 4), is_baseline=True))
    assert list(render_folded(made)) == ["a.old 4 0\n", "a.new 0 3\n"]


def test_names_do_not_break_lines_or_frames():
    made = tree((("a;b", "c\nd\x1b", "\ud800"), 1))
    (line,) = render_folded(made)
    assert line == "a:b;c d ;\ufffd 1\n"


def test_long_names_are_cut_because_each_stack_repeats_them():
    (line,) = render_folded(tree((("a" * 2_000,), 1)))
    assert len(line) == 500 + len(" 1\n")
