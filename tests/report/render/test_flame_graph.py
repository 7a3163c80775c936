"""The page of a flame graph: what it contains, and that nothing of a recording becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from pacenote.report.recording import events
from pacenote.report.recording.stack_tree import StackTree, TreeLevels, add_stacks
from pacenote.report.render.flame_graph import MAX_BYTES, FlameGraph, render_flame_graph
from support.recordings import RecordingBuilder

HOSTILE = "a.B</script><script>alert(1)</script><!--\u2028\x1b]0;x\x07\ud800@@DATA@@&\"'"


class Page(HTMLParser):
    """The elements of a page, and the texts of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in {"script", "style"}:
            self.texts.setdefault(tag, []).append("")

    def handle_data(self, data):
        # The parser gives the text of these elements as it is.
        if self.cdata_elem is not None:
            self.texts[self.cdata_elem][-1] += data

    @property
    def document(self):
        """The document that the page draws."""
        return json.loads(self.texts["script"][0])


def graph(*recordings, title="Running Java methods", by_thread=False):
    """Returns the graph of a recording, or of a recording and its baseline."""
    tree = StackTree()
    for number, recording in enumerate(recordings):
        groups = events.CPU.groups(recording)
        add_stacks(tree, recording, groups, TreeLevels(by_thread), is_baseline=number == 1)
    return FlameGraph(title, ("Recording: race.jfr",), "samples", tree)


def recording(stacks):
    """Returns a recording with samples of stacks, whose first method is the one that was running."""
    made = RecordingBuilder()
    for stack, count in stacks.items():
        made.sample("t", made.stack(*stack), count)
    return made.build()


def node_tree(document):
    """Returns nested nodes of a document: name, own weights, children."""
    names = [origin + name for _, origin, found in document["frames"] for name in found]
    stride = 4 if document["baseline"] else 3
    flat = document["nodes"]
    position = 0

    def node():
        nonlocal position
        number, children, *own = flat[position : position + stride]
        position += stride
        return names[number], tuple(own), [node() for _ in range(children)]

    whole = node()
    assert position == len(flat)
    return whole


def total(node, side=0):
    return node[1][side] + sum(total(child, side) for child in node[2])


def test_the_page_has_all_stacks_the_heaviest_first():
    made = recording({("a.leaf", "a.run"): 1, ("java.util.B.leaf", "a.run"): 5, ("a.run",): 2})
    page = Page(render_flame_graph(graph(made)))
    assert node_tree(page.document) == (
        "all",
        (0,),
        [("a.run", (2,), [("java.util.B.leaf", (5,), []), ("a.leaf", (1,), [])])],
    )
    frames = [["all", "", ["all"]], ["method", "a.", ["run", "leaf"]], ["method", "java.util.", ["B.leaf"]]]
    assert sorted(page.document["frames"]) == frames
    assert page.document["unit"] == "samples"


def test_a_baseline_has_its_own_weights():
    old, new = recording({("a.old", "a.run"): 3}), recording({("a.new", "a.run"): 4})
    page = Page(render_flame_graph(graph(new, old)))
    assert node_tree(page.document) == (
        "all",
        (0, 0),
        [("a.run", (0, 0), [("a.new", (4, 0), []), ("a.old", (0, 3), [])])],
    )


def test_what_a_recording_contains_never_becomes_markup():
    made = recording({(HOSTILE, "a.run"): 1})
    text = render_flame_graph(graph(made, title=HOSTILE))
    page = Page(text)
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert page.document["title"].startswith("a.B</script><script>alert(1)</script><!--")
    assert "\x1b" not in text
    text.encode()
    names = [origin + name for _, origin, found in page.document["frames"] for name in found]
    (name,) = [name for name in names if "alert" in name]
    assert name.endswith("@@DATA@@&\"'")


def test_the_page_runs_only_its_own_script_and_loads_nothing():
    page = Page(render_flame_graph(graph(recording({("a.run",): 1}))))
    (policy,) = [found["content"] for tag, found in page.elements if "http-equiv" in found]
    for element, directive in (("style", "style-src"), ("script", "script-src")):
        digest = base64.b64encode(hashlib.sha256(page.texts[element][-1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert not any({"src", "href", "style"} & found.keys() for _, found in page.elements)
    assert "http" not in page.texts["script"][-1] + page.texts["style"][-1]


@pytest.mark.parametrize("compared", [False, True])
def test_a_large_recording_fits_and_keeps_its_sums(compared):
    stacks = {}
    for branch in range(1000):
        levels = [f"org.example.p{level}.Class{branch % 5**level}.method" for level in range(6, 0, -1)]
        stacks[tuple(levels)] = branch % 50 + 1
    made = recording(stacks)
    sides = (made, made) if compared else (made,)
    whole = graph(*sides)
    text = render_flame_graph(whole, 50_000)
    assert len(text.encode()) <= 50_000
    page = Page(text)
    root = node_tree(page.document)
    assert [total(root, side) for side in range(len(sides))] == [sum(stacks.values())] * len(sides)
    assert re.search(r"Frames with less than 0\.\d+ % of the total are merged", page.document["facts"][-1])
    assert len(render_flame_graph(whole).encode()) <= MAX_BYTES


def test_a_graph_that_fits_leaves_nothing_out():
    page = Page(render_flame_graph(graph(recording({(f"a.m{n}", "a.run"): 1 for n in range(300)}))))
    assert page.document["facts"] == ["Recording: race.jfr"]
    assert len(page.document["nodes"]) == 3 * 302
