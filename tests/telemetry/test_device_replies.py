"""Every device reads replies in which any part has another form: values are missing, but that is no
defect of a device.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pacenote.net.reply import parse_body
from pacenote.telemetry.device import ObservedCluster, TelemetryDevice, TelemetryDevices
from pacenote.telemetry.devices import ALWAYS_ON, OPTIONAL
from pacenote.telemetry.parameters import TelemetryParams
from pacenote.telemetry.sampler import SampledDevice
from telemetry.replies import REPLIES, part_of, reply_to
from telemetry.sampling import ListSink

OTHER_FORMS = (None, [], {"a": None}, "x")

DELETED = object()

# Two samples are enough, those before and after the race.
PARAMS = {each.interval.name: 3600 for each in (*ALWAYS_ON, *OPTIONAL) if issubclass(each, SampledDevice)}

# Those that read files and processes of nodes which Pacenote has started read no replies.
DEVICES = [device for device in (*ALWAYS_ON, *OPTIONAL) if not device.needs_own_engine]


class Engine:
    """Answers the requests of devices, with one changed reply."""

    def __init__(self, artifacts: Path | None = None) -> None:
        self.replies: dict[str, Any] = {}
        """The replies so far, by path."""
        self.changed: tuple[str, object] = ("", None)
        self.artifacts = artifacts

    def get(self, path: str) -> Any:
        reply = self.replies.setdefault(path, reply_to(path))
        if self.changed[0] == path:
            reply = self.changed[1]
        return reply if isinstance(reply, str) else parse_body(json.dumps(reply).encode())

    def request(self, _method: str, path: str, _body: object = None) -> Any:
        return self.get(path)

    def close(self) -> None:
        pass

    def run(self, device: type[TelemetryDevice]) -> tuple[str, ...]:
        """Runs a device, and returns its problems."""
        cluster = ObservedCluster(
            self.get,
            1.0,
            lambda _s=10.0: self,
            ListSink(),
            TelemetryParams(PARAMS),
            (),
            self.artifacts,
            indices=("logs",),
        )
        devices = TelemetryDevices([device(cluster)])
        devices.start()
        result = devices.stop()
        return (*result.errors, *devices.close())


def nodes_of(document: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the paths of all parts of a document."""
    yield path
    if isinstance(document, dict | list):
        parts = document.items() if isinstance(document, dict) else enumerate(document)
        for key, part in parts:
            yield from nodes_of(part, (*path, key))


def changed(document: object, path: tuple[Any, ...], form: object) -> object:
    """Returns a copy of a document in which the part at a path has another form."""
    if not path:
        return form
    copied = part = copy.deepcopy(document)
    for key in path[:-1]:
        part = part[key]
    if form is DELETED:
        del part[path[-1]]
    else:
        part[path[-1]] = form
    return copied


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_no_form_of_a_reply_is_a_defect(device, tmp_path):
    engine = Engine(tmp_path)
    assert engine.run(device) == ()
    blamed = {}
    for request, reply in tuple(engine.replies.items()):
        for path in nodes_of(reply):
            for form in (*OTHER_FORMS, *([DELETED] if path else [])):
                engine.changed = (request, changed(reply, path, form))
                for text in engine.run(device):
                    # Each device states what it expects; only what it overlooks has the place in the code.
                    if "a defect of Pacenote" in text or ".py:" in text:
                        blamed.setdefault(text, (request, path, form))
    assert blamed == {}


def test_all_replies_are_read(tmp_path):
    engine = Engine(tmp_path)
    for device in DEVICES:
        engine.run(device)
    assert {part_of(path) for path in engine.replies} == set(REPLIES)
