"""The conditions of a race, in phrases: the machine, the configuration of the engine, and the data."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.cpu_list import recorded_cpus
from pacenote.model.driver_scheduling import demotion_texts
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord, RecordedCorpus
from pacenote.model.user_tags import tag_texts
from pacenote.report.notes import ONE_RUN, nodes_text, single_settings
from pacenote.report.screen.screen import Paragraph
from pacenote.report.starting_state_notes import starting_state_lines
from pacenote.units import format_bytes, format_count

_EXTERNAL = ("external",)
"""The cars of an existing cluster."""


_SHOWN_LOAD = 0.5
"""Number of runnable threads before a race from which it is shown: other programs use the machine."""


def setup_paragraph(record: RaceRecord) -> Paragraph:
    """Returns what affects the results besides the engine and the track."""
    groups = (
        tuple(machine_texts(record)),
        demotion_texts(record.driver, record.tasks),
        tuple(_engine(record)),
        tuple(f"{label.lower()}: {text}" for label, text in starting_state_lines(record)),
        *((_corpus(corpus),) for corpus in record.corpora),
        tuple(f"{name}: {value}" for name, value in tag_texts(record.user_tags).items()),
        (ONE_RUN,) if record.complete else (),
    )
    return Paragraph("Setup", tuple(tuple(map(single_line, group)) for group in groups if any(group)))


def machine_texts(record: RaceRecord) -> Iterator[str]:
    """Yields the machine of the driver, and its load before the race."""
    host = record.environment
    # None are selected if the driver may use all that the process could.
    selected = recorded_cpus(record.options.driver_cpus)
    cores = len(selected) or host.cpu_usable_cores or host.cpu_logical_cores
    model = f" {host.cpu_model}" if host.cpu_model else ""
    if cores:
        yield f"driver on {format_count(cores, 'core')}{model}"
    if host.load_average and host.load_average[0] >= _SHOWN_LOAD:
        yield f"load {host.load_average[0]:.1f} before the race"
    if host.memory_bytes:
        yield f"{format_bytes(host.memory_bytes)} of memory"
    if host.os_name:
        yield f"{host.os_name} {host.kernel or ''}".strip()


def existing_cluster_text(record: RaceRecord) -> str:
    """Returns the size and the address of a cluster that the race did not start; empty if it did."""
    if record.car != _EXTERNAL:
        return ""
    nodes = record.cluster.nodes
    size = f" of {format_count(len(nodes), 'node')}" if nodes else ""
    first, *more = record.client.hosts or ("",)
    others = f" and {format_count(len(more), 'more host')}" if more else ""
    return f"existing cluster{size}" + (f" at {first}{others}" if first else "")


def _engine(record: RaceRecord) -> Iterator[str]:
    nodes = record.cluster.nodes
    if text := existing_cluster_text(record):
        yield text
    else:
        yield f"engine on this machine, car {'+'.join(record.car)}"
        if record.options.nodes and (selected := nodes_text(record.options.nodes)):
            yield f"nodes: {selected}"
    heaps = {heap for node in nodes if isinstance(heap := node.get("heap_max_bytes"), int) and heap > 0}
    if len(heaps) == 1:
        yield f"heap {format_bytes(heaps.pop())}"
    yield from single_settings(record.options)


def _corpus(corpus: RecordedCorpus) -> str:
    size = f"{format_count(corpus.documents, 'document')}, {format_bytes(corpus.bytes)}"
    origin = {
        "declared": "",
        "excerpt": ": its first documents only",
        "as-is": ": existing files, not compared with the track",
        "generated": f": generated, seed {corpus.seed}, not the public corpus",
    }[corpus.origin]
    return f"corpus {corpus.name} ({size}){origin}"
