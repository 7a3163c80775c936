"""Sampled devices: they go on after errors, mark gaps, and end with the race."""

import threading
from itertools import repeat

import pytest

from pacenote.model.telemetry_sample import TelemetrySample
from pacenote.telemetry import sampler
from pacenote.telemetry.device import TelemetryDevices
from pacenote.telemetry.flattening import figures
from pacenote.telemetry.parameters import TelemetryParams
from pacenote.telemetry.sampler import (
    SampledDevice,
    SampledValue,
    interval_parameter,
)
from support.http_server import HttpResponse, http_server, json_response
from telemetry.sampling import ListSink, observed, run_device


class Load(SampledDevice):
    """Reads one number."""

    name = "load"
    description = "Reads one number."
    interval = interval_parameter("load", 60.0)
    parameters = (interval,)

    def sample(self, connection):
        return [SampledValue("load", float(connection.get("/load")["load"]), "B", "counter", {"node": "a"})]


class Answers:
    """Answers each request with the next reply, and tells when all have been given; then the last again."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.all_given = threading.Event()

    def __call__(self, request):
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if len(self.replies) == 1:
            self.all_given.set()
        return reply if isinstance(reply, HttpResponse) else json_response({"load": reply})


BROKEN = json_response({"error": {"reason": "busy"}}, 503)


def run_until_answered(answers):
    sink = ListSink()
    params = TelemetryParams({"load-sample-interval": 0.001})
    with http_server(answers) as server:
        devices = TelemetryDevices([Load(observed(server, sink, params=params))])
        devices.start()
        try:
            assert answers.all_given.wait(60)
            result = devices.stop()
        finally:
            assert devices.close() == ()
    return sink.samples, result


def test_a_device_samples_before_and_after_the_tasks_even_if_its_interval_is_longer():
    run = run_device(Load, {"/load": {"load": 7}})
    assert run.lines == ["GET /load"] * 2
    assert run.result.errors == ()
    # The time is the middle of the request.
    first = TelemetrySample(1_500_000_000, "load", "load", 7.0, "B", "counter", {"node": "a"})
    assert run.samples[0] == first
    assert [one.time_ns for one in run.samples] == [1_500_000_000, 3_500_000_000]


def test_an_error_makes_a_gap_and_the_device_goes_on():
    samples, result = run_until_answered(Answers(1, BROKEN, BROKEN, json_response([]), 5, 6))
    values = [one.value for one in samples]
    assert values[:5] == [1.0, None, None, None, 5.0]
    assert {(one.name, one.unit, one.kind, one.labels["node"]) for one in samples} == {
        ("load", "B", "counter", "a")
    }
    (error,) = result.errors
    assert error.startswith("load: 3 of ")
    assert error.endswith("are gaps; the first: GET /load failed with status 503: busy")


class Loads(Load):
    """Reads any number of numbers."""

    def sample(self, connection):
        reply = connection.get("/load")
        yield from figures(reply, labels={"node": reply["name"]})


def test_a_reply_with_too_many_values_is_a_gap(monkeypatch):
    monkeypatch.setattr(sampler, "MAX_VALUES", 5000)
    few, many = ({"name": "a", "load": dict.fromkeys(map(str, range(number)), 1)} for number in (3, 5001))
    replies = [few, many]
    run = run_device(Loads, lambda _: json_response(replies.pop(0)))
    assert [one.value for one in run.samples] == [1.0, 1.0, 1.0, None, None, None]
    (error,) = run.result.errors
    assert error.endswith("the first: the engine's response has more than 5,000 values")


def test_a_sample_may_have_the_values_of_a_large_cluster_but_not_any_number():
    class Endless(Load):
        def sample(self, connection):
            return repeat(SampledValue("load", 1.0))

    # As many as the default devices read from 500 nodes.
    cluster = {"name": "a", "load": dict.fromkeys(map(str, range(19_000)), 1)}
    run = run_device(Loads, {"/load": cluster})
    assert (len(run.samples), run.result.errors) == (2 * 19_000, ())
    run = run_device(Endless, {})
    (error,) = run.result.errors
    assert error.endswith("the first: the engine's response has more than 500,000 values")


def test_long_names_of_an_engine_are_not_stored_with_each_value():
    run = run_device(
        Loads, {"/load": {"name": "n" * 1_000_000, "load": 1, "l" * 1_000_000: {"a": 1, "b": 2}}}
    )
    first, _ = run.samples
    assert (first.name, len(first.labels["node"])) == ("load", 300)


def test_a_response_of_an_unexpected_form_is_a_gap_with_the_place_that_does_not_expect_it():
    samples, result = run_until_answered(Answers(1, json_response({"load": "much"}), 3, 4))
    assert [one.value for one in samples][:3] == [1.0, None, 3.0]
    assert "has an unexpected form, or this is a defect of Pacenote at test_sampler.py:" in result.errors[0]


def test_an_engine_that_is_busy_at_first_is_sampled_nevertheless():
    samples, result = run_until_answered(Answers(BROKEN, 2, 3))
    assert [one.value for one in samples][:2] == [2.0, 3.0]
    assert result.errors[0].startswith("load: 1 of ")


@pytest.mark.parametrize("status", [400, 403, 404, 410])
def test_a_device_that_the_engine_does_not_have_is_reported_once_and_does_not_run(status):
    requests = []

    def refuse(request):
        requests.append(request.line)
        return json_response({"error": {"reason": "no handler"}}, status)

    run = run_device(Load, refuse)
    assert requests == ["GET /load"]
    assert run.samples == []
    assert run.result.errors == (
        f"load: could not be read before the race: GET /load failed with status {status}: no handler",
    )


def test_no_thread_is_left_after_the_race_and_nothing_is_written_later():
    answers = Answers(1, 2)
    samples, _ = run_until_answered(answers)
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("telemetry")] == []
    assert len(samples) >= 2


def test_a_race_that_is_interrupted_ends_the_thread_without_a_last_sample():
    sink = ListSink()
    with http_server(Answers(1, 2)) as server:
        devices = TelemetryDevices([Load(observed(server, sink))])
        devices.start()
        assert devices.close() == ()
    assert [one.value for one in sink.samples] == [1.0]
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("telemetry")] == []


class LoadOfTasks(Load):
    """Also reads the number when a task ends."""

    samples_task_ends = True


@pytest.mark.parametrize(("device", "count"), [(Load, 1), (LoadOfTasks, 2)])
def test_a_device_with_a_long_interval_samples_when_a_task_ends_if_it_says_so(monkeypatch, device, count):
    monkeypatch.setattr(sampler, "_LEAST_INTERVAL_S", 0.0)
    answers = Answers(*range(1, count + 2))
    sink = ListSink()
    with http_server(answers) as server:
        devices = TelemetryDevices([device(observed(server, sink))])
        devices.start()
        devices.task_ended()
        assert answers.all_given.wait(60)
        devices.stop()
        assert devices.close() == ()
    assert len(sink.samples) == count + 1


def test_tasks_that_end_soon_after_each_other_share_a_sample(monkeypatch):
    monkeypatch.setattr(sampler, "_LEAST_INTERVAL_S", 3600.0)
    sink = ListSink()
    with http_server(Answers(1, 2, 3)) as server:
        devices = TelemetryDevices([LoadOfTasks(observed(server, sink))])
        devices.start()
        for _ in range(3):
            devices.task_ended()
        devices.stop()
        assert devices.close() == ()
    assert [one.value for one in sink.samples] == [1.0, 2.0]


def test_two_devices_have_a_connection_each():
    connections = set()

    class Other(Load):
        name = "other"

    def respond(request):
        connections.add(threading.get_ident())
        return json_response({"load": 1})

    with http_server(respond) as server:
        cluster = observed(server, ListSink())
        devices = TelemetryDevices([Load(cluster), Other(cluster)])
        devices.start()
        devices.close()
    # The server has a thread for each connection.
    assert len(connections) == 2
