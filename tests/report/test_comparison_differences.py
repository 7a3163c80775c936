"""What differs between two groups, as tables show it."""

from __future__ import annotations

from pacenote.model.comparison import FactDifference
from pacenote.report.comparison_differences import shown_differences


def fact(key, old, new, area="JVM"):
    return FactDifference(area, key, (old,), (new,))


def test_one_size_of_nodes_is_shown_once_with_its_unit():
    gib = str(1 << 30), str(2 << 30)
    differences = shown_differences((
        fact("race.car", '["1gheap"]', '["2gheap"]', "Race"),
        fact("race.track_params.size", *gib, "Race"),
        fact("node.a.jvm.argument.-Xmx", *gib),
        fact("node.a.jvm.flag.MaxHeapSize", *gib),
        fact("node.b.jvm.mem.heap_max_in_bytes", *gib, "Nodes"),
        fact("node.a.jvm.flag.MaxNewSize", "643825664", "1287651328"),
        fact("node.a.setting.x", "false", "true"),
        fact("node.b.setting.x", "false", "true"),
    ))
    assert [(each.key, *each.baseline, *each.contender) for each in differences] == [
        ("race.car", '["1gheap"]', '["2gheap"]'),
        ("race.track_params.size", *gib),
        ("node.a.jvm.argument.-Xmx and 2 other sizes of nodes", "1.0 GiB", "2.0 GiB"),
        ("node.a.jvm.flag.MaxNewSize", "614.0 MiB", "1.2 GiB"),
        ("node.a.setting.x", "false", "true"),
        ("node.b.setting.x", "false", "true"),
    ]


def test_sizes_that_look_alike_are_shown_exactly_and_apart():
    sizes = [str(mib << 20) for mib in (1024, 1040, 2048, 2064)]
    differences = shown_differences((
        fact("node.a.jvm.flag.MaxHeapSize", sizes[0], sizes[1]),
        fact("node.a.jvm.mem.heap_max_in_bytes", sizes[0], sizes[2]),
        fact("node.a.jvm.flag.MaxNewSize", sizes[1], sizes[3]),
    ))
    assert [(each.key.rpartition(".")[2], *each.baseline, *each.contender) for each in differences] == [
        ("MaxHeapSize", sizes[0], sizes[1]),
        ("heap_max_in_bytes", "1.0 GiB", "2.0 GiB"),
        ("MaxNewSize", "1.0 GiB", "2.0 GiB"),
    ]
