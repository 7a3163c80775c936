"""The section of the hottest methods: tables, one flame graph, and what cannot be read."""

from __future__ import annotations

import pytest

from pacenote.report.page.flame_drawing import FlameDrawing, flame_drawing
from pacenote.report.page.page import FactList, PageCommand, PageTable, Text
from pacenote.report.page.race.profile import profile_blocks
from pacenote.report.recording.flame_frames import FlameFrame, FlameFrames
from pacenote.report.recording.hot_methods import NodeProfile, node_profile
from report.page.reading import cells
from support.recordings import RecordingBuilder, without


def profile(node: str = "") -> NodeProfile:
    made = RecordingBuilder()
    stack = made.stack("org.apache.lucene.util.BitSet.get", "org.opensearch.Main.run", "java.lang.Thread.run")
    made.sample("worker", stack, 3)
    made.sample("worker", made.stack("memcpy"), 1)
    made.allocate("in_new_tlab", ("byte[]", "worker"), stack, 2, 4096)
    return node_profile(node, made.build(without("jdk.CPUTimeSample")))


def test_tables_have_numbers_and_shares() -> None:
    blocks = list(profile_blocks([profile()], "race-1"))
    cpu, allocation = (block for block in blocks if isinstance(block, PageTable))
    assert [column.heading for column in cpu.columns] == ["Method", "Samples", "Share"]
    assert cells(cpu) == [["org.apache.lucene.util.BitSet.get", "3", "75.0 %"], ["memcpy", "1", "25.0 %"]]
    assert [column.heading for column in allocation.columns] == ["Method", "Events", "Total size", "Share"]
    assert cells(allocation) == [["org.apache.lucene.util.BitSet.get", "2", "4.0 KiB", "100 %"]]
    assert isinstance(blocks[0], FactList)
    assert blocks[0].facts[0] == ("Recording", "race.jfr (1 chunk, 100 events)")
    (command,) = (block for block in blocks if isinstance(block, PageCommand))
    assert command.text.splitlines()[1] == "pacenote jfr --race=race-1 --flame-graph=flame.html"


def test_a_flame_graph_has_the_colours_of_packages() -> None:
    blocks = profile_blocks([profile()], "race-1")
    (flame,) = (block for block in blocks if isinstance(block, FlameDrawing))
    assert [(bar.label, bar.style, bar.level, bar.title) for bar in flame.bars] == [
        ("Thread.run", "lane2", 0, "java.lang.Thread.run: 75.0 %"),
        ("Main.run", "accent", 1, "org.opensearch.Main.run: 75.0 %"),
        ("BitSet.get", "lane1", 2, "org.apache.lucene.util.BitSet.get: 75.0 %"),
        ("memcpy", "quiet", 0, "memcpy: 25.0 %"),
    ]
    assert [entry.text for entry in flame.key] == ["engine", "Lucene", "JDK", "native code and others"]
    assert flame.levels == 3


@pytest.mark.parametrize(
    ("method", "label"),
    [
        ("libc.so.6.clone3", "clone3"),
        ("libjvm.so.SymbolTable::do_lookup", "SymbolTable::do_lookup"),
        (".I2C/C2I adapters(0xb)", "I2C/C2I adapters(0xb)"),
        ("[kernel].do_syscall_64", "[kernel].do_syscall_64"),
    ],
)
def test_native_code_is_no_class(method: str, label: str) -> None:
    (bar,) = flame_drawing(
        "f", "t", FlameFrames("CPU", (FlameFrame(method, "method", 0, 0.0, 1.0),), 0.0, False)
    ).bars
    assert (bar.style, bar.label, bar.title) == ("quiet", label, f"{method}: 100 %")


def test_only_the_first_node_has_a_flame_graph_and_each_its_tables() -> None:
    broken = NodeProfile("n0", problem="n0.jfr: it is no recording")
    blocks = list(profile_blocks([broken, profile("n 1"), profile("n2")], "race-1"))
    assert blocks[0] == Text("The recording of n0 is not shown: n0.jfr: it is no recording.", "quiet")
    assert sum(isinstance(block, FlameDrawing) for block in blocks) == 1
    ids = [block.id for block in blocks if isinstance(block, PageTable)]
    assert len(ids) == len(set(ids)) == 4
    (command,) = (block for block in blocks if isinstance(block, PageCommand))
    assert "'--node=n 1'" in command.text
    assert list(profile_blocks([], "race-1")) == []
