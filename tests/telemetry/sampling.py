"""Runs a telemetry device against an HTTP server, and collects what it writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pacenote.model.telemetry_sample import TelemetrySample
from pacenote.net.hosts import HttpHost
from pacenote.net.rest import RestClient
from pacenote.telemetry.device import ObservedCluster, TelemetryDevice, TelemetryDevices, TelemetryResult
from pacenote.telemetry.parameters import TelemetryParams
from support.http_server import HttpRequest, HttpResponse, HttpServer, http_server, json_response


@dataclass
class ListSink:
    """Keeps samples, with a clock that advances by a second at each reading."""

    samples: list[TelemetrySample] = field(default_factory=list)
    seconds: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def now_ns(self) -> int:
        with self.lock:
            self.seconds += 1
            return self.seconds * 1_000_000_000

    def write(self, samples: Sequence[TelemetrySample]) -> None:
        with self.lock:
            self.samples.extend(samples)


@dataclass
class DeviceRun:
    """What a device has requested, written and returned."""

    lines: list[str]
    """The requests: method and target."""
    samples: list[TelemetrySample]
    result: TelemetryResult

    def values(self) -> dict[tuple[str, ...], float | None]:
        """Returns the first value of each series by its name and the values of its labels."""
        values: dict[tuple[str, ...], float | None] = {}
        for sample in self.samples:
            values.setdefault((sample.name, *sample.labels.values()), sample.value)
        return values


def observed(server: HttpServer, sink: ListSink | None = None, **more: Any) -> ObservedCluster:
    """Returns the cluster behind a server."""

    def connect(timeout_s: float = 10.0, /) -> RestClient:
        return RestClient([HttpHost("http", server.host, server.port)], timeout_s)

    return ObservedCluster(get=connect().get, startup_s=None, connect=connect, sink=sink, **more)


def run_device(
    device: type[TelemetryDevice],
    respond: Mapping[str, object] | Callable[[HttpRequest], HttpResponse],
    params: Mapping[str, object] | None = None,
    **more: Any,
) -> DeviceRun:
    """Starts, stops and closes a device; `respond` has the reply to each path, or answers requests."""

    def answer(request: HttpRequest) -> HttpResponse:
        assert isinstance(respond, Mapping)
        if request.path not in respond:
            return json_response({"error": {"reason": f"no handler for {request.line}"}}, 400)
        return json_response(respond[request.path])

    sink = ListSink()
    with http_server(answer if isinstance(respond, Mapping) else respond) as server:
        cluster = observed(server, sink, params=TelemetryParams(params or {}), **more)
        devices = TelemetryDevices([device(cluster)])
        devices.start()
        result = devices.stop()
        assert devices.close() == ()
        return DeviceRun([request.line for request in server.requests], sink.samples, result)


def text_response(text: str) -> HttpResponse:
    return HttpResponse(200, text.encode(), (("content-type", "text/plain"),))


def artifacts(folder: Path) -> dict[str, Path]:
    return {"artifacts": folder / "artifacts"}
