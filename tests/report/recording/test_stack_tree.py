"""Stacks merged into a tree."""

from __future__ import annotations

from pacenote.model.recording import LockKind
from pacenote.report.recording import events
from pacenote.report.recording.stack_tree import LEFT_OUT, StackTree, TreeFrame, TreeLevels, add_stacks
from support.recordings import RecordingBuilder


def tree_of(recording, kind, levels=TreeLevels(), baseline=None):  # noqa: B008  # frozen
    tree = StackTree()
    add_stacks(tree, recording, kind.groups(recording), levels)
    if baseline is not None:
        add_stacks(tree, baseline, kind.groups(baseline), levels, is_baseline=True)
    return tree


def lines(tree):
    return [(depth, node.frame.name, node.total, node.own) for depth, node in tree.walk()]


def test_common_callers_are_merged_and_the_heaviest_is_first():
    made = RecordingBuilder()
    made.sample("t", made.stack("a.leaf", "a.run"), 1)
    made.sample("t", made.stack("b.leaf", "a.run"), 5)
    made.sample("t", made.stack("a.run"), 2)
    assert lines(tree_of(made.build(), events.CPU)) == [
        (0, "all", 8, 0),
        (1, "a.run", 8, 2),
        (2, "b.leaf", 5, 5),
        (2, "a.leaf", 1, 1),
    ]


def test_levels_add_threads_and_what_a_method_worked_on():
    made = RecordingBuilder()
    made.wait(LockKind.PARK, "a.Lock", made.stack("native:park", "a.run"), [7])
    levels = TreeLevels(by_thread=True, leaf="lock")
    frames = [node.frame for _, node in tree_of(made.build(), events.PARK, levels).walk()]
    assert frames[1:] == [
        TreeFrame("waiter", "thread"),
        TreeFrame("a.run", "method"),
        TreeFrame("park", "native"),
        TreeFrame("a.Lock", "lock"),
    ]


def test_stacks_that_are_missing_or_cut_say_so():
    made = RecordingBuilder()
    made.sample("t", None, 1)
    made.sample("t", made.stack("a.leaf", "a.caller", truncated=True), 2)
    assert [name for _, name, _, _ in lines(tree_of(made.build(), events.CPU))] == [
        "all",
        "(deeper frames are not recorded)",
        "a.caller",
        "a.leaf",
        "(no stack)",
    ]


def test_a_baseline_has_its_own_weights():
    old, new = RecordingBuilder(), RecordingBuilder()
    old.sample("t", old.stack("a.old", "a.run"), 3)
    new.sample("t", new.stack("a.new", "a.run"), 4)
    tree = tree_of(new.build(), events.CPU, baseline=old.build())
    assert tree.has_baseline
    weights = {node.frame.name: (node.total, node.baseline, node.own_baseline) for _, node in tree.walk()}
    assert weights == {"all": (4, 3, 0), "a.run": (4, 3, 0), "a.new": (4, 0, 0), "a.old": (0, 3, 3)}


def test_hidden_classes_have_the_same_name_in_every_recording():
    old, new = RecordingBuilder(), RecordingBuilder()
    for made, names in (
        (
            old,
            ("a.B$$Lambda$14+0x0000000800c03000.run", "c.LambdaForm$MH.1049817027.invoke", "a.m0x"),
        ),
        (
            new,
            ("a.B$$Lambda$27/0x0000000800d11234.run", "c.LambdaForm$MH.0x00007f1200555555.invoke", "a.m0x"),
        ),
    ):
        made.sample("t", made.stack(*names), 1)
    tree = tree_of(new.build(), events.CPU, baseline=old.build())
    weights = [(node.frame.name, node.total, node.baseline) for _, node in tree.walk()]
    assert weights == [
        ("all", 1, 1),
        ("a.m0x", 1, 1),
        ("c.LambdaForm$MH.invoke", 1, 1),
        ("a.B$$Lambda.run", 1, 1),
    ]


def test_deep_stacks_need_no_deep_recursion():
    made = RecordingBuilder()
    made.sample("t", made.stack(*(f"a.level{number}" for number in range(5000))), 1)
    tree = tree_of(made.build(), events.CPU)
    ((path, _),) = tree.paths()
    assert (len(path), path[0].name, path[-1].name) == (5000, "a.level4999", "a.level0")


def test_stacks_that_do_not_fit_into_a_tree_end_early_and_all_sums_are_right():
    made = RecordingBuilder()
    for number in range(5):
        made.sample("t", made.stack(f"a.leaf{number}", "a.middle", f"a.run{number}"), 2)
    tree = StackTree(most_nodes=7)
    recording = made.build()
    add_stacks(tree, recording, events.CPU.groups(recording), TreeLevels())
    nodes = list(tree.walk())
    assert (tree.root.total, sum(node.own for _, node in nodes)) == (10, 10)
    names = [node.frame.name for _, node in nodes]
    assert names.count(LEFT_OUT) == 2
    assert len(names) == 1 + 7 + 2


def test_a_stack_is_walked_once_for_all_threads_and_classes():
    made = RecordingBuilder()
    stack = made.stack("a.leaf", "a.run")
    for number in range(20):
        made.wait(LockKind.PARK, f"a.Lock{number % 3}", stack, [1])
    recording, walked = made.build(), []

    class Counted(StackTree):
        def add_leaves(self, frames, leaves, *, is_baseline=False):
            walked.append(len(leaves))
            super().add_leaves(frames, leaves, is_baseline=is_baseline)

    tree = Counted()
    add_stacks(tree, recording, events.PARK.groups(recording), TreeLevels(leaf="lock"))
    assert walked == [3]
    assert [(name, own) for _, name, total, own in lines(tree) if total][-3:] == [
        ("a.Lock0", 7),
        ("a.Lock1", 7),
        ("a.Lock2", 6),
    ]
