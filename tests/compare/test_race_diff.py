"""What differs between the configurations of two races."""

from __future__ import annotations

from pacenote.compare.race_diff import (
    RaceConfiguration,
    RaceDiff,
    compare_configurations,
    race_changes,
    race_configuration,
)
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from support.records import record


def compare(first: dict[str, str], second: dict[str, str], **unread: str) -> RaceDiff:
    patterns = {key.replace("_", "."): reason for key, reason in unread.items()}
    sides = (RaceConfiguration("a", first, {}), RaceConfiguration("b", second, patterns))
    return compare_configurations(*sides)


def rows(diff: RaceDiff) -> dict[str, list[tuple[str, str | None, str | None]]]:
    return {group.title: [(each.key, *each.values) for each in group.differences] for group in diff.groups}


def test_differences_are_grouped_and_equal_facts_counted() -> None:
    first = {"setting.a": "1", "node.n.jvm.flag.X": "1", "sysctl.vm.swappiness": "60", "race.seed": "42"}
    second = {"setting.a": "2", "node.n.jvm.flag.X": "2", "sysctl.vm.swappiness": "1", "race.seed": "42"}
    diff = compare(first, second)
    assert rows(diff) == {
        "Engine": [("setting.a", "1", "2")],
        "JVM": [("node.n.jvm.flag.X", "1", "2")],
        "Kernel": [("sysctl.vm.swappiness", "60", "1")],
    }
    assert (diff.equal, diff.notes) == (1, ())


def test_a_fact_that_one_side_does_not_have_is_a_difference_unless_it_could_not_be_read() -> None:
    diff = compare({"setting.a": "1", "cpu.b": "2", "cpu.c": "3"}, {}, **{"cpu_*": "no permission"})
    assert rows(diff) == {"Engine": [("setting.a", "1", None)]}
    assert diff.notes == ("not read in b: cpu.* (no permission)",)


def test_ports_and_readings_that_differ_little_are_left_out() -> None:
    first = {
        "setting.http.port": "1",
        "reading.memory.available_kb": "100", "reading.pressure.cpu.some_10s": "1.0",
        "reading.load": "1 2 3", "reading.disk.d.free_bytes": "900000000", "reading.memory.dirty_kb": "20000",
    }  # fmt: skip
    second = {
        "setting.http.port": "2",
        "reading.memory.available_kb": "90", "reading.pressure.cpu.some_10s": "40",
        "reading.load": "9 9 9", "reading.disk.d.free_bytes": "90", "reading.memory.dirty_kb": "10",
    }  # fmt: skip
    assert [key for key, *_ in rows(compare(first, second))["Readings"]] == [
        "reading.disk.d.free_bytes",
        "reading.pressure.cpu.some_10s",
    ]


def test_ports_of_other_nodes_are_left_out_and_their_number_is_not() -> None:
    key = "setting.discovery.seed_hosts"
    two, same, three = (
        f'["127.0.0.1:{port}", "127.0.0.1:2"{more}]'
        for port, more in ((1, ""), (3, ""), (1, ', "127.0.0.1:4"'))
    )
    assert rows(compare({key: two}, {key: same})) == {}
    assert rows(compare({key: two}, {key: three})) == {"Engine": [(key, two, three)]}
    assert rows(compare({key: two}, {})) == {"Engine": [(key, two, None)]}


def test_of_added_nodes_only_what_differs_from_the_others_is_shown() -> None:
    node = {"build_hash": "x", "jvm.flag.G": "1", "setting.node.name": "n-{}", "roles": '["master"]'}
    nodes = [{f"node.n-{at}.{key}": value.format(at) for key, value in node.items()} for at in range(3)]
    disks = {f"disk.data.n-{at}.0.file_system": "ext4" for at in range(3)}
    second = {**nodes[0], **nodes[1], **nodes[2], **disks, "node.n-2.roles": '["data"]'}
    first = {**nodes[0], "disk.data.n-0.0.file_system": "ext4"}
    for diff, values in (
        (compare(first, second), (None, '["data"]')),
        (compare(second, first), ('["data"]', None)),
    ):
        assert rows(diff) == {"Nodes": [("node.n-2.roles", *values)]}
        (note,) = diff.notes
        assert note.endswith(": n-1, n-2; shown is what differs from n-0 there")
    # Without a node that both have, all facts are shown.
    assert not compare(nodes[0], nodes[1]).notes
    assert len(rows(compare(nodes[0], nodes[1]))) == 2


def test_names_of_control_groups_are_left_out_but_not_their_limits() -> None:
    names = ("path", "cpu.path", "memory.max")
    first, second = ({f"driver.process.cgroup.{name}": side for name in names} for side in "ab")
    assert rows(compare(first, second)) == {"Driver": [("driver.process.cgroup.memory.max", "a", "b")]}


def test_what_is_in_force_is_not_repeated_as_an_option_of_a_node() -> None:
    first = {"setting.a": "10%", "node.n.jvm.flag.G": "1", "node.n.jvm.argument.-XX:G": "1"}
    second = {"setting.a": "25%", "node.n.setting.a": "25%", "node.n.jvm.flag.G": "2"}
    diff = compare(first, second)
    assert [key for group in rows(diff).values() for key, *_ in group] == ["setting.a", "node.n.jvm.flag.G"]
    # A node that differs from the others is shown.
    different = compare(
        {"setting.a": "1", "node.n.setting.a": "3"}, {"setting.a": "2", "node.n.setting.a": "4"}
    )
    assert list(rows(different)) == ["Engine", "Nodes"]


def test_options_of_the_record_are_part_of_the_configuration_even_without_a_snapshot() -> None:
    first = race_configuration(record("a", car_params={"heap_size": "1g"}), None)
    second = race_configuration(record("b", car_params={"heap_size": "4g"}, seed=1), None)
    assert rows(compare_configurations(first, second)) == {
        "Race": [("race.car_params.heap_size", "1g", "4g"), ("race.seed", "42", "1")]
    }


def test_indices_are_those_after_the_race_because_the_track_creates_them() -> None:
    snapshot = RaceSnapshot(
        Snapshot({"sysctl.a": "1"}), Snapshot({"sysctl.a": "2", "index.logs.codec": "best_compression"})
    )
    facts = race_configuration(record("a"), snapshot).facts
    assert (facts["sysctl.a"], facts["index.logs.codec"]) == ("1", "best_compression")
    assert rows(compare_configurations(*race_changes(snapshot))) == {"Kernel": [("sysctl.a", "1", "2")]}


def test_how_the_driver_was_scheduled_is_compared() -> None:
    drivers = ({"threads": []}, {"scheduling": {"workers": "realtime"}})
    sides = [race_configuration(record(driver=driver), None) for driver in drivers]
    assert rows(compare_configurations(*sides)) == {
        "Driver": [("driver.scheduling", "normal scheduling", "real-time priority")]
    }


def test_nodes_and_unread_facts_of_a_hostile_snapshot_are_not_compared_with_each_other() -> None:
    first = {f"node.a{number}.{fact}": "1" for number in range(10_000) for fact in ("build_hash", "x")}
    second = {key.replace("node.a", "node.b"): value for key, value in first.items()}
    unread = {f"disk.q{number}.*": "no" for number in range(10_000)}
    same = {"node.c.build_hash": "1"}
    sides = (
        RaceConfiguration(name, {**facts, **same}, unread) for name, facts in (("a", first), ("b", second))
    )
    diff = compare_configurations(*sides)
    assert sum(len(group.differences) for group in diff.groups) > 30_000


def test_facts_of_groups_within_each_other_and_with_any_node_are_unread() -> None:
    first = {"node.n.1.process.nice": "1", "node.n.1.jvm.x": "1", "disk.a.b.c": "1", "disk.d": "1"}
    unread = {"disk.a.*": "in a", "disk.a.b.*": "in b", "node.*.process.*": "other host"}
    diff = compare_configurations(RaceConfiguration("a", first, {}), RaceConfiguration("b", {}, unread))
    assert [key for group in rows(diff).values() for key, *_ in group] == ["node.n.1.jvm.x", "disk.d"]
    assert diff.notes == (
        "not read in b: disk.a.* (in a)",
        "not read in b: node.*.process.* (other host)",
    )
