"""Probes whose window begins with the backlog of their warm-up: what ended in it was due before."""

from __future__ import annotations

import dataclasses
import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from pacenote.lab.limiting import limit_at
from pacenote.lab.rate_search import RateRange
from pacenote.lab.saturate import saturate
from pacenote.lab.saturation_request import SaturationRequest
from pacenote.metrics_store.samples import SampleFile
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_request import RaceRequest
from pacenote.model.result import OperationTotals
from pacenote.model.saturation import Objective, SaturationResult
from pacenote.model.telemetry_options import TelemetryOptions
from pacenote.race.measured_seconds import MeasuredSeconds, read_measured_seconds
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

pytestmark = pytest.mark.process

SERVICE_S = 0.1
"""Seconds after which the server answers any number of requests: 4 connections do 40 per second."""


class Listener:
    """Ignores all calls."""

    def preparing(self, label: str, done: int, total: int) -> None: ...
    def started(self, record: Any) -> None: ...
    def progress(self, progress: Any) -> None: ...
    def task_finished(self, result: Any) -> None: ...
    def warning(self, text: str) -> None: ...
    def finished(self, record: Any) -> None: ...
    def info(self, text: str) -> None: ...


def respond(request: HttpRequest) -> HttpResponse:
    if request.path == "/x":
        time.sleep(SERVICE_S)
    if request.path == "/fail":
        time.sleep(SERVICE_S)
        return HttpResponse(500, b"{}")
    return json_response(engine_document(request.target))


@pytest.fixture
def request_(tmp_path: Path) -> Iterator[SaturationRequest]:
    """A request to probe rates with 4 connections for 1.5 s after a warm-up of 2 s."""
    (tmp_path / "track.json").write_text(track("/x"))
    with http_server(respond) as server:
        yield SaturationRequest(
            race=RaceRequest(
                race_id="r",
                home=tmp_path / "home",
                track_path=tmp_path,
                pipeline="benchmark-only",
                target_hosts=(server.address,),
                telemetry=TelemetryOptions(default_devices=False),
            ),
            task=None,
            objective=Objective((), 0.6),
            within=RateRange(60.0, 60.0, 60.0, repeats=0),
            connections=4,
            window_s=1.5,
            warmup_s=2.0,
            clients=0,
            level_s=0.1,
        )


def track(path: str) -> str:
    schedule = [{"operation": {"operation-type": "raw-request", "path": path}}]
    return json.dumps({"version": 2, "schedule": schedule})


def search_at(rate: float, request: SaturationRequest) -> SaturationResult:
    """Returns a search that only probes one rate: again if other programs disturb the probe."""
    return saturate(replace(request, within=RateRange(rate, rate, rate, repeats=0)), Listener()).result


def limit_of_failed(result: SaturationResult) -> str:
    """Returns what limited a search whose probe failed, as it may not on a busy machine, and before which one
    passed that used two connections on average, with equal replies.
    """
    probe = result.probes[-1]
    service_s = (probe.service_ms or 0.0) / 1000.0
    few = 2.0 / service_s if service_s else 0.0
    passed = structs.replace(probe, rate=few, achieved=few, waited=0, unsent=0, outcome="passed")
    failed = structs.replace(probe, outcome="failed")
    return limit_at(probe.rate, structs.replace(result, probes=(passed, failed)))


def test_an_engine_that_answers_the_backlog_of_the_warmup_is_not_silent(request_: SaturationRequest) -> None:
    """The 120 operations of the warm-up take a second of the window, in which no measured one ends."""
    result = search_at(60.0, request_)
    probe = result.probes[-1]
    assert probe.silent_share is not None
    assert probe.silent_share < 0.3
    assert limit_of_failed(result) == "connections"
    # Without all samples of the warm-up, it is not known when nothing ended; the latencies are known.
    samples = request_.race.home / "races" / "r" / "probes" / f"{len(result.probes):03}" / "samples.parquet"
    types = Counter(sample.sample_type for sample in SampleFile(samples))
    counts = OperationTotals(0, 0, 0, 0, 0, types["warmup"], types["normal"], 0)
    seconds = read_measured_seconds(samples, result.task, counts)
    assert len(seconds.ended_ns) == len(seconds.service_ns) == counts.warmup + counts.normal
    assert seconds.waited == (probe.late or 0) - probe.unsent
    lost = structs.replace(counts, warmup=counts.warmup + 1)
    assert read_measured_seconds(samples, result.task, lost) == MeasuredSeconds(seconds.latencies_ns)
    lost = structs.replace(counts, normal=counts.normal + 1)
    assert read_measured_seconds(samples, result.task, lost) == MeasuredSeconds()


@pytest.mark.parametrize(("path", "limit"), [("/x", "connections"), ("/fail", "engine")])
def test_a_backlog_that_lasts_to_the_end_shows_how_fast_the_engine_replies(
    request_: SaturationRequest, path: str, limit: str
) -> None:
    """The 240 operations of the warm-up would take 6 seconds, so that none is measured."""
    assert request_.race.track_path is not None
    (request_.race.track_path / "track.json").write_text(track(path))
    result = search_at(120.0, request_)
    probe = result.probes[-1]
    assert "no operation was measured" in probe.reasons
    assert (probe.service_ms or 0.0) >= (SERVICE_S * 1000.0 if limit == "connections" else 0.0)
    assert limit_of_failed(result) == limit


def test_operations_of_the_warmup_that_waited_are_not_late(request_: SaturationRequest) -> None:
    """The first reply on each connection takes a second, in which 40 operations are due, and others none."""
    numbers = itertools.count()

    def respond_slowly_at_first(request: HttpRequest) -> HttpResponse:
        if request.path == "/x" and next(numbers) < request_.connections:
            time.sleep(1.0)
        return json_response(engine_document(request.target))

    with http_server(respond_slowly_at_first) as server:
        race = dataclasses.replace(request_.race, target_hosts=(server.address,))
        probe = search_at(40.0, replace(request_, race=race)).probes[-1]
    assert probe.operations is not None
    assert probe.waited > 0.2 * probe.operations
    assert probe.due == probe.operations + probe.unsent - 2 * 40
    # A busy machine may delay a reply.
    assert probe.late is not None
    assert probe.late < 0.1 * probe.due


def test_without_warmup_all_operations_that_waited_are_late(request_: SaturationRequest) -> None:
    """With random arrivals, some wait for one of the four connections, which do 40 operations per second."""
    race = dataclasses.replace(request_.race, pacing=PacingOptions(arrivals="poisson"))
    probe = search_at(30.0, replace(request_, race=race, warmup_s=0.0)).probes[-1]
    assert 0 < probe.waited < (probe.operations or 0)
    # One may be due just while a client that was answered becomes free.
    assert probe.late == pytest.approx(probe.waited + probe.unsent, abs=1)
