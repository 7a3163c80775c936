"""The figures that the configuration of the engine and the machine has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.diagnose.mapped_fields import CreatedIndices, mapped_fields
from pacenote.model.cpu_list import parse_cpus
from pacenote.model.race_record import RaceRecord
from pacenote.model.snapshot import MAPPING, MAX_NODES, RaceSnapshot
from pacenote.units import whole_number

NO_SNAPSHOT = "the race has no snapshot of engine and machine that can be read"
"""Why figures of the snapshot are missing."""

OTHER_HOST = "the host of the engine is not known"
"""Why figures of the machine are missing if Pacenote did not start the engine."""

_VIRTUAL = ("vd", "xvd")
"""Beginnings of the names of virtual disks, which the kernel takes for rotating ones."""

_Facts = Mapping[str, str]
_Figures = Iterator[tuple[str, float | str | None]]

_NODE = re.compile(r"node\.(.+)\.jvm\.(?:vm_name|version)")
_INDEX = re.compile(r"index\.(.+)\.uuid|index\.(.+)\.number_of_shards")
_TENURE_AGE = re.compile(r"scvTenureAge=(\d{1,3})")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_TIME = re.compile(r"(-?\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, None: 0.001}
_HARDWARE_DEFLATE = "dflt"
"""The flag of processors that compress DEFLATE."""


def _no_plan() -> object:
    return {}


def add_snapshot_figures(
    builder: EvidenceBuilder,
    record: RaceRecord,
    snapshot: RaceSnapshot | None,
    plan: Callable[[], object] = _no_plan,
) -> None:
    """Adds the configuration: that after the race if it was read, because the track creates its indices.
    `plan` returns the document of its plan, whose requests map fields, or None if it cannot be read.
    """
    if record.imported is not None:
        return
    builder.set(Window(), "engine.distribution", record.cluster.distribution)
    builder.set(Window(), "engine.version", record.cluster.version)
    builder.set(Window(), "engine.nodes", len(record.cluster.nodes) or None)
    builder.set(Window(), "engine.started", bool(record.cluster.started_nodes))
    builder.set(Window(), "network.is_loopback", bool(record.cluster.started_nodes) or None)
    if snapshot is None:
        builder.miss("snapshot", NO_SNAPSHOT)
        return
    facts = {**snapshot.before.facts, **(snapshot.after.facts if snapshot.after else {})}
    for name, value in (*_index_figures(facts), *_mapping_figures(facts, snapshot, plan)):
        builder.set(Window(), name, value)
    nodes = node_names(facts)
    for node in nodes:
        for name, value in _node_figures(facts, node):
            builder.set(Window(node=node), name, value)
    if facts.get("machine.runs", "").startswith("the driver;"):
        for group in ("host.*", "disk.*"):
            builder.miss(group, OTHER_HOST)
        for name, value in _network_figures(facts):
            builder.set(Window(), name, value)
        return
    for name, value in (*_host_figures(facts), *_network_figures(facts)):
        builder.set(Window(), name, value)
    for node in nodes:
        for name, value in (*_disk_figures(facts, node), *_limits(facts, node, len(nodes))):
            builder.set(Window(node=node), name, value)


def node_names(facts: _Facts) -> tuple[str, ...]:
    """Returns the names of the nodes of which a snapshot has facts, at most `MAX_NODES`."""
    names = [match[1] for key in facts if (match := _NODE.fullmatch(key))]
    return tuple(islice(dict.fromkeys(names), MAX_NODES))


def _number(facts: _Facts, key: str, factor: float = 1.0) -> float | None:
    with suppress(KeyError, ValueError):
        return float(facts[key]) * factor
    return None


def _truth(facts: _Facts, key: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(facts.get(key, "").strip().lower())


def _size(text: str | None, whole: float | None = None) -> float | None:
    """Returns the bytes of a size such as `512mb`, or of a percentage of the whole."""
    if text is not None and text.endswith("%") and whole is not None:
        with suppress(ValueError):
            return float(text[:-1]) / 100 * whole
    match = _SIZE.fullmatch(text.strip()) if text else None
    return float(match[1]) * _UNITS[match[2].lower()] if match else None


def _seconds(text: str | None) -> float | None:
    """Returns the seconds of a time such as `1s`; a negative one, which turns something off, is 0."""
    match = _TIME.fullmatch(text.strip()) if text else None
    return max(0.0, float(match[1]) * _SECONDS[match[2]]) if match else None


def _cpu_count(text: str | None) -> float | None:
    with suppress(ValueError):
        return float(len(parse_cpus(text or "")))
    return None


def _node_figures(facts: _Facts, node: str) -> _Figures:
    """Yields what the engine and the JVM say about a node."""
    jvm, flag = f"node.{node}.jvm", f"node.{node}.jvm.flag"
    name = facts.get(f"{jvm}.vm_name", "")
    yield "jvm.name", "OpenJ9" if "OpenJ9" in name else "HotSpot" if name else None
    reported = [_number(facts, f"{jvm}.mem.heap_{which}_in_bytes") for which in ("max", "init")]
    largest = _first(_number(facts, f"{flag}.MaxHeapSize"), reported[0])
    yield "jvm.heap_max_bytes", largest
    yield "jvm.heap_initial_bytes", _first(_number(facts, f"{flag}.InitialHeapSize"), reported[1])
    yield "jvm.compressed_oops", _truth(facts, f"{jvm}.using_compressed_ordinary_object_pointers")
    yield "jvm.gc_threads", _number(facts, f"{flag}.ParallelGCThreads")
    yield from _openj9_figures(facts, jvm) if "OpenJ9" in name else ()
    yield "jvm.tenure_age", _number(facts, f"{flag}.MaxTenuringThreshold")
    yield "gc.region_bytes", _number(facts, f"{flag}.G1HeapRegionSize") or None
    yield "engine.processors", _number(facts, f"node.{node}.os.allocated_processors")
    yield "engine.available_processors", _number(facts, f"node.{node}.os.available_processors")
    yield "engine.memory_lock", _truth(facts, f"node.{node}.process.mlockall")
    setting = f"node.{node}.setting"
    buffer = facts.get(f"{setting}.indices.memory.index_buffer_size")
    buffer = buffer or facts.get("setting.indices.memory.index_buffer_size")
    yield "engine.index_buffer_bytes", _size(buffer, largest)
    compression = facts.get(f"{setting}.http.compression") or facts.get("setting.http.compression")
    yield "engine.http_compression", None if compression is None else compression == "true"
    beginning, end = f"disk.data.{node}.", ".mount_point"
    paths = [key for key in facts if key.startswith(beginning) and key.endswith(end)]
    numbers = [key[len(beginning) : -len(end)] for key in paths]
    yield "engine.data_paths", sum(map(str.isdigit, numbers)) or None


def _openj9_figures(facts: _Facts, jvm: str) -> _Figures:
    """Yields what the options of OpenJ9 say, of which the last one applies."""
    beginning = f"{jvm}.argument."
    arguments = [
        f"{key.removeprefix(beginning)}={value}" for key, value in facts.items() if key.startswith(beginning)
    ]
    shared = [text for text in arguments if text.startswith("-Xshareclasses")]
    yield "jvm.shared_classes", not any("none" in text.split(":", 1)[-1] for text in shared)
    ages = [match[1] for text in arguments if (match := _TENURE_AGE.search(text))]
    yield "jvm.tenure_age", float(ages[-1]) if ages else None


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _index_names(facts: _Facts) -> tuple[str, ...]:
    """Returns the names of the indices of which a snapshot has settings, without those of the engine."""
    names = dict.fromkeys(match[1] or match[2] for key in facts if (match := _INDEX.fullmatch(key)))
    return tuple(name for name in names if not name.startswith(".") or name.startswith(".ds-"))


def _index_figures(facts: _Facts) -> _Figures:
    """Yields the settings of the indices of the race, or the defaults where they set none."""
    names = _index_names(facts)
    if not names:
        return

    def values(key: str) -> Iterable[str]:
        default = facts.get(f"index_default.{key}")
        settings = (facts.get(f"index.{name}.{key}", default) for name in names)
        return [value for value in settings if value is not None]

    def counts(key: str) -> list[float]:
        numbers = map(whole_number, values(key))
        return [float(number) for number in numbers if number is not None]

    shards = counts("number_of_shards")
    yield "engine.shards", sum(shards) or None
    yield "engine.replicas", max(counts("number_of_replicas"), default=None)
    intervals = [_seconds(value) for value in values("refresh_interval")]
    known = [value for value in intervals if value is not None]
    on = [value for value in known if value > 0]
    yield "engine.refresh_interval_s", min(on, default=0.0 if known else None)
    sizes = [_size(value) for value in values("translog.flush_threshold_size")]
    yield "engine.translog_threshold_bytes", min((size for size in sizes if size is not None), default=None)
    durability = [value.lower() for value in values("translog.durability")]
    yield "engine.async_translog", "async" in durability if durability else None
    codecs = sorted(set(values("codec")))
    yield "engine.codec", "+".join(codecs) or None


def _mapping_figures(facts: _Facts, snapshot: RaceSnapshot, plan: Callable[[], object]) -> _Figures:
    """Yields how large the mappings of all indices became. Before the race, the indices that its track
    creates did not exist; the fields that its requests map are not those that documents bring.
    """
    yield "engine.indices", _number(facts, f"{MAPPING}indices")
    yield "engine.mapping_bytes", _number(facts, f"{MAPPING}bytes")
    if snapshot.after is None:
        return
    before, after = snapshot.before.facts, snapshot.after.facts
    fields = [_number(state, f"{MAPPING}fields") for state in (before, after)]
    if fields[0] is None or fields[1] is None:
        return
    document = plan()
    if document is not None:
        existed = set(_index_names(before))
        names = tuple(name for name in _index_names(after) if name not in existed)
        indices = [_number(each, f"{MAPPING}indices") or 0.0 for each in (before, after)]
        created = CreatedIndices(names, max(len(names), round(indices[1] - indices[0])))
        yield "engine.fields_added", max(0.0, fields[1] - fields[0] - mapped_fields(document, created))


def _host_figures(facts: _Facts) -> _Figures:
    """Yields what the kernel says about the machine."""
    yield "host.cores", _cpu_count(facts.get("cpu.online"))
    yield "host.numa_nodes", _cpu_count(facts.get("cpu.numa_nodes"))
    yield "host.swappiness", _number(facts, "sysctl.vm.swappiness")
    yield "host.swap_bytes", _number(facts, "memory.swap_kb", 1024)
    yield "host.migration_cost_s", _number(facts, "sysctl.kernel.sched_migration_cost_ns", 1e-9)
    flags = facts.get("cpu.vector_instructions")
    yield "host.deflate_hardware", None if flags is None else _HARDWARE_DEFLATE in flags.split()
    yield "jvm.transparent_huge_pages", facts.get("kernel.transparent_huge_pages.enabled")


def _limits(facts: _Facts, node: str, nodes: int) -> _Figures:
    """Yields the limits of the control group of a node; without one, it shares the memory of the host with
    the other nodes.
    """
    group = f"node.{node}.process.cgroup"
    limits = [_number(facts, f"{group}.{name}") for name in ("memory.max", "memory.limit_in_bytes")]
    total = _number(facts, "memory.total_kb", 1024)
    memory_share = None if total is None else total / nodes
    known = [size for size in (memory_share, _first(*limits)) if size is not None]
    yield "host.memory_bytes", min(known, default=None)
    yield "host.usable_cores", _usable_cores(facts, node)
    quota = facts.get(f"{group}.cpu.max", "").split()
    with suppress(ArithmeticError, ValueError, IndexError):
        yield "host.quota_cores", int(quota[0]) / int(quota[1])


def _usable_cores(facts: _Facts, node: str) -> float | None:
    """Returns the number of processors that are online and that a node may use, by its affinity and its
    control group; that of all if it is not known what it may use.
    """
    with suppress(ValueError):
        online = set(parse_cpus(facts.get("cpu.online", "")))
        with suppress(ValueError):
            online &= set(parse_cpus(facts.get(f"node.{node}.process.cpus_allowed", ""))) or online
        return float(len(online)) or None
    return None


def _disk_figures(facts: _Facts, node: str) -> _Figures:
    """Yields the device behind the first data path of a node."""
    key = f"disk.data.{node}.0.device"
    device = facts.get(key)
    yield "disk.device", device
    yield "disk.read_ahead_bytes", _number(facts, f"{key}.read_ahead_kb", 1024)
    parts = facts.get(f"{key}.made_of", "").split() or facts.get(f"{key}.members", "").split()
    if not any(name.startswith(_VIRTUAL) for name in (device or "", *parts)):
        yield "disk.rotational", _truth(facts, f"{key}.rotational")
    if device is not None:
        yield "disk.stripes", max(1, len(parts))
        yield "disk.is_dasd", any(name.startswith("dasd") for name in (device, *parts))


def _network_figures(facts: _Facts) -> _Figures:
    """Yields the only interface with a device; which of several has the traffic is not known here."""
    names = [match[1] for key in facts if (match := re.fullmatch(r"network\.(.+)\.rx_queues", key))]
    if len(names) != 1:
        return
    key = f"network.{names[0]}"
    yield "network.rx_queues", _number(facts, f"{key}.rx_queues")
    mask = facts.get(f"{key}.rps_cpus")
    yield "network.rps", None if mask is None else bool(mask.strip("0, "))
    flows = facts.get(f"{key}.rps_flow_cnt")
    table = _number(facts, "sysctl.net.core.rps_sock_flow_entries")
    yield "network.rfs", None if flows is None or table is None else bool(flows.strip("0, ") and table)
