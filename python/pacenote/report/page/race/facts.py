"""The conditions of a race: its options, the environment, and the settings in force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from pacenote.model.document_checks import DocumentCheck
from pacenote.model.printable import shortened, single_line, whole_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.snapshot import READING, RaceSnapshot
from pacenote.report.notes import header, notes
from pacenote.report.page.page import Block, FactList, PageColumn, PageTable, RowGroup, Text
from pacenote.report.screen.engine import engine_paragraph
from pacenote.report.screen.setup import existing_cluster_text, machine_texts
from pacenote.units import format_bytes, format_count

_NODE = "node."
_FLAG = ".jvm.flag."
_MOST_LETTERS = 160
_GROUPS = (
    ("Indices", ("index.", "index_default.")),
    ("Nodes", ("node.",)),
    ("Cluster", ("engine.", "setting.")),
    ("Machine", ("machine.", "kernel.", "sysctl.", "cpu.", "memory.", "disk.", "network.", "software.")),
    ("Driver", ("driver.",)),
)


def engine_blocks(record: RaceRecord) -> Iterator[Block]:
    """Yields what the engine did, its nodes, and the documents of its indices."""
    work = engine_paragraph(record)
    if work.groups:
        texts = [", ".join(group) for group in work.groups]
        yield FactList(tuple(zip(("Work", "State"), texts, strict=False)))
    if record.cluster.nodes:
        rows = tuple(_node_row(node) for node in record.cluster.nodes)
        headings = ("Node", "Host", "Operating system", "JVM", "Heap", "CPUs")
        columns = tuple(PageColumn(heading, is_number=heading in ("Heap", "CPUs")) for heading in headings)
        yield PageTable("data-nodes", "Nodes", columns, (RowGroup("", rows),))
    if record.documents:
        checked = tuple(
            (
                single_line(check.label),
                _count(check.acknowledged),
                _count(check.counted),
                single_line(_remark(check)),
            )
            for check in record.documents
        )
        columns = (PageColumn("Index", is_number=False), PageColumn("Acknowledged"), PageColumn("Counted"))
        columns = (*columns, PageColumn("Remark", is_number=False))
        yield PageTable("data-indices", "Documents by index", columns, (RowGroup("", checked),))


def _node_row(node: Mapping[str, object]) -> tuple[str, ...]:
    heap = node.get("heap_max_bytes")
    values = (
        node.get("name"),
        node.get("host"),
        node.get("os"),
        node.get("jvm_version"),
        format_bytes(heap) if isinstance(heap, int) else None,
        node.get("cpus"),
    )
    return tuple("not recorded" if value is None else single_line(str(value)) for value in values)


def _remark(check: DocumentCheck) -> str:
    unknown = f"{check.unknown:,} more were sent without a reply" if check.unknown else ""
    return "; ".join(filter(None, (unknown, check.difference_expected or check.count_problem)))


def _count(value: int | None) -> str:
    return "not known" if value is None else f"{value:,}"


def environment_blocks(record: RaceRecord) -> Iterator[Block]:
    """Yields the options, the machine and the notes on the race."""
    yield FactList(tuple((note.label, note.text) for note in header(record)))
    if record.imported is None:
        setup = (", ".join(machine_texts(record)), existing_cluster_text(record))
        facts = zip(("Machine", "Cluster"), map(single_line, setup), strict=True)
        if shown := tuple((label, text) for label, text in facts if text):
            yield FactList(shown)
    all_notes = notes(record)
    if all_notes:
        yield FactList(
            tuple((note.label, f"{note.task}: {note.text}" if note.task else note.text) for note in all_notes)
        )


def settings_blocks(snapshot: RaceSnapshot | None, most_bytes: int) -> Iterator[Block]:
    """Yields the settings in force, in at most about so many bytes, and what changed while the race ran."""
    if snapshot is None:
        yield Text("Not recorded: the race has no snapshot of the configuration.")
        return
    changes = snapshot.changes()
    if changes:
        rows = tuple((whole_line(key), _value(old), _value(new)) for key, (old, new) in changes.items())
        columns = tuple(PageColumn(heading, is_number=False) for heading in ("Setting", "Before", "After"))
        yield PageTable("data-changed", "Changed while the race ran", columns, (RowGroup("", rows),))
    facts = _by_node(snapshot.before.facts)
    left, omitted = most_bytes, sum(_FLAG in key for key in snapshot.before.facts)
    for title, prefixes in _GROUPS:
        rows_shown = []
        for key, value in facts.items():
            if not key.startswith(prefixes):
                continue
            row = (single_line(key), _value(value))
            left -= len(row[0]) + len(row[1]) + 9
            if left >= 0:
                rows_shown.append(row)
            else:
                omitted += 1
        if rows_shown:
            columns = (PageColumn("Setting", is_number=False), PageColumn("Value", is_number=False))
            caption = f"{title}: {format_count(len(rows_shown), 'setting')}"
            groups = (RowGroup("", tuple(rows_shown)),)
            yield PageTable(f"data-settings-{title.lower()}", caption, columns, groups, is_folded=True)
    if omitted:
        yield Text(
            f"snapshot.json has {format_count(omitted, 'further fact')}, such as flags of the JVM.", "quiet"
        )


def _value(value: str) -> str:
    return shortened(whole_line(value), _MOST_LETTERS)


def _by_node(facts: Mapping[str, str]) -> dict[str, str]:
    """Returns the configuration without flags of the JVM; what is the same for all nodes is listed once."""
    nodes = {key.split(".", 2)[1] for key in facts if key.startswith(_NODE)}
    same = Counter((_of_node(key), value) for key, value in facts.items() if _of_node(key))
    configuration: dict[str, str] = {}
    for key, value in facts.items():
        if key.startswith(READING) or _FLAG in key:
            continue
        name = _of_node(key)
        is_of_all = len(nodes) > 1 and same[name, value] == len(nodes)
        configuration[f"{_NODE}*.{name}" if is_of_all else key] = value
    return configuration


def _of_node(key: str) -> str:
    """Returns the name that a fact of a node has without the node; empty for other facts."""
    return key.split(".", 2)[2] if key.startswith(_NODE) and key.count(".") > 1 else ""
