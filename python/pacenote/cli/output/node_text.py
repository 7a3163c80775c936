"""Running nodes as JSON and as text, for `pacenote list nodes`, `start` and `stop`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pacenote.model.shell_command import shell_command
from pacenote.provision.containers.engine_container import RunningContainer
from pacenote.provision.node_registry import NodeEntry
from pacenote.units import format_seconds


def node_document(entry: NodeEntry) -> dict[str, Any]:
    """Returns what is known about a node, by key of the JSON output."""
    facts = entry.facts
    document: dict[str, Any] = {
        "node": entry.id,
        "pid": entry.process.pid if entry.process else None,
        "folder": str(entry.folder),
        "detached": entry.detached,
    }
    if facts is None:
        return document
    return document | {
        "name": facts.name,
        "cluster-name": facts.cluster_name,
        "distribution": facts.distribution,
        "version": facts.version,
        "title": facts.title,
        "address": facts.address,
        "scheme": facts.scheme,
        "client-options": facts.client_options or None,
        "since": facts.since,
        "heap": facts.heap,
        "log": str(facts.log_file),
        "installation-id": facts.installation_id,
        "race-id": facts.race_id,
    }


def container_document(container: RunningContainer) -> dict[str, Any]:
    """Returns what is known about a container, by key of the JSON output."""
    return {
        "node": container.id,
        "pid": None,
        "folder": str(container.folder),
        "detached": False,
        "name": container.engine.name,
        "image": container.engine.image,
        "address": container.engine.address,
    }


def container_row(container: RunningContainer) -> list[str]:
    """Returns the row of a container in the list of nodes."""
    engine = container.engine
    return [engine.name, engine.image, engine.address, "", "", "", "container", str(container.folder)]


def engine_name(entry: NodeEntry) -> str:
    """Returns the engine of a node with its version, such as `opensearch 3.3.0`."""
    facts = entry.facts
    if facts is None:
        return ""
    return f"{facts.distribution} {facts.version}{' (assembled core)' if facts.title else ''}"


def started_line(entry: NodeEntry) -> str:
    """Returns the line for a node that was started."""
    document = node_document(entry)
    return (
        f"{document['name']} ({engine_name(entry)}, {document['heap']} of heap) runs at "
        f"{entry.facts.url if entry.facts else ''}, process {document['pid']}; its log is {document['log']}"
    )


def client_options_line(entry: NodeEntry) -> str:
    """Returns the line that says what the clients of a node need; empty if they need nothing."""
    if entry.facts is None or not entry.facts.client_options:
        return ""
    option = shell_command(f"--client-options={entry.facts.client_options}")
    return (
        f"Its clients need {option}, a file that only you can read: it names the certificate authority, the "
        "user and the password\n"
    )


NODE_COLUMNS = ("Name", "Engine", "Address", "PID", "Since", "Heap", "For", "Folder")
"""The columns of the list of nodes."""


def node_row(entry: NodeEntry) -> list[str]:
    """Returns the row of a node in the list of nodes."""
    facts = entry.facts
    pid = str(entry.process.pid) if entry.process else ""
    if facts is None:
        return [entry.id, "", "", pid, "", "", "", str(entry.folder)]
    purpose = f"installation {facts.installation_id}" if facts.installation_id else f"race {facts.race_id}"
    since = f"{facts.since[:16].replace('T', ' ')} UTC ({_age(facts.since)})" if facts.since else ""
    address = facts.url or "starting"
    return [facts.name, engine_name(entry), address, pid, since, facts.heap, purpose, str(entry.folder)]


def _age(since: str) -> str:
    try:
        passed = datetime.now(UTC) - datetime.fromisoformat(since)
    except (ValueError, TypeError):
        return ""
    return format_seconds(max(round(passed.total_seconds()), 0))
