"""A complete search for the highest rate, with the real driver and a fast server."""

from __future__ import annotations

import dataclasses
import itertools
import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from pacenote.errors import DriverError, UsageError
from pacenote.evidence.telemetry_values import telemetry_cuts
from pacenote.lab import rate_search
from pacenote.lab.probe import evaluate_probe
from pacenote.lab.rate_search import RateRange
from pacenote.lab.saturate import STALLED, saturate
from pacenote.lab.saturation_request import SaturationRequest
from pacenote.lab.search_duration import LongerProbes, announcement, longest_probe_s, probe_s
from pacenote.model.client_options import ClientOptions, TlsOptions
from pacenote.model.data_options import StartConditions
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_request import RaceRequest
from pacenote.model.saturation import Objective, Probe, SaturationResult, parse_latency_limits
from pacenote.model.saturation_answer import answer, tries_text
from pacenote.model.telemetry_options import TelemetryOptions
from pacenote.model.warmup_backlog import BACKLOG_REASON
from pacenote.plan.duration import ExpectedDuration
from pacenote.stats.usl import fit_usl
from pacenote.store.race_store import RaceStore
from support.disks import fill, small_disk
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, HttpServer, http_server, json_response
from support.secure import CA, engine

pytestmark = pytest.mark.process

SECRET = "hunter2hunter2"

OPERATION = {"operation-type": "raw-request", "path": "/x", "request-params": {"key": "{{ api_key }}"}}


class Listener:
    """Ignores all calls; if `stops`, interrupts the search after the first probe."""

    def __init__(self, *, stops: bool = False) -> None:
        self.stops = stops

    def preparing(self, label: str, done: int, total: int) -> None: ...
    def started(self, record: Any) -> None: ...
    def progress(self, progress: Any) -> None: ...
    def task_finished(self, result: Any) -> None: ...
    def warning(self, text: str) -> None: ...
    def finished(self, record: Any) -> None: ...
    def info(self, text: str) -> None:
        if self.stops and text.startswith("probe 1"):
            raise KeyboardInterrupt


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with engine(None) as running:
        yield running


def against(server: HttpServer, request: SaturationRequest, **changes: Any) -> SaturationRequest:
    return replace(request, race=dataclasses.replace(request.race, target_hosts=(server.address,)), **changes)


@pytest.fixture
def request_(tmp_path: Path, server: HttpServer) -> SaturationRequest:
    """A request to probe a single rate, 1,000 operations per second, in windows of 50 ms."""
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": [{"operation": OPERATION}]}))
    race = RaceRequest(
        race_id="r",
        home=tmp_path / "home",
        track_path=tmp_path,
        track_params={"api_key": SECRET},
        pipeline="benchmark-only",
        target_hosts=(server.address,),
        # As on the command line.
        telemetry=TelemetryOptions(default_devices=False),
    )
    return SaturationRequest(
        race=race,
        task=None,
        objective=Objective((), 0.6),
        within=RateRange(1000.0, 1000.0, 1000.0, repeats=0),
        connections=4,
        window_s=0.05,
        warmup_s=0.01,
        clients=0,
        level_s=0.1,
    )


def read_results(request: SaturationRequest) -> tuple[Path, dict[str, Any], SaturationResult]:
    """Returns the race folder, and the record and the result stored in it."""
    folder = request.race.home / "races" / "r"
    record = json.loads((folder / "race.json").read_text())
    return (
        folder,
        record,
        SaturationResult.from_document(json.loads((folder / "saturation.json").read_text())),
    )


def test_the_plans_of_probes_contain_no_secret_and_use_the_chosen_arrivals(
    request_: SaturationRequest,
) -> None:
    random = replace(
        request_, race=dataclasses.replace(request_.race, pacing=PacingOptions(arrivals="poisson"))
    )
    result = saturate(random, Listener()).result
    folder, _, stored = read_results(random)
    assert result == stored
    assert result.probes
    for plan in folder.glob("probes/*/plan.json"):
        assert SECRET not in plan.read_text()
        (task,) = json.loads(plan.read_text())["tasks"]
        assert (task["pacing"]["kind"], task["open_loop"]) == ("poisson", True)


def test_the_engine_rests_before_the_first_task_and_before_each_probe(
    request_: SaturationRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    for module in ("context", "starting_state"):
        monkeypatch.setattr(f"pacenote.race.{module}.cool_down", lambda seconds, *_: waits.append(seconds))
    rested = replace(
        request_, race=dataclasses.replace(request_.race, conditions=StartConditions(cooldown_s=30))
    )
    saturation = saturate(rested, Listener())
    assert waits == [30] * (1 + len(saturation.result.probes))
    assert saturation.record.options.cooldown_s == 30
    assert "probes of 1 min" in announcement(
        replace(rested, window_s=25, warmup_s=5), rested.within, ExpectedDuration()
    )


def test_ctrl_c_between_two_probes_keeps_the_results(request_: SaturationRequest) -> None:
    saturation = saturate(request_, Listener(stops=True))
    result = saturation.result
    _, stored_record, stored = read_results(request_)
    assert saturation.record.interrupted
    assert (stored_record["interrupted"], stored_record["complete"]) == (True, False)
    assert (len(result.probes), result.complete, result) == (1, False, stored)


class VanishingListener(Listener):
    """Moves the home folder away after the first probe, and records warnings."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self._home = home
        self.warnings: list[str] = []

    def info(self, text: str) -> None:
        if text.startswith("probe 1"):
            self._home.rename(self._home.with_name("elsewhere"))

    def warning(self, text: str) -> None:
        self.warnings.append(text)


def test_a_search_whose_folder_vanishes_returns_what_was_measured(request_: SaturationRequest) -> None:
    within = RateRange(1000.0, 500.0, 2000.0, repeats=0)
    listener = VanishingListener(request_.race.home)
    saturation = saturate(replace(request_, within=within), listener)
    assert [probe.rate for probe in saturation.result.probes][:1] == [1000.0]
    # On a busy machine, the probe may be repeated before its outcome is stored.
    early = saturation.result.ended_early
    assert "its folder was removed" in early or "a folder above it does not exist" in early
    assert saturation.record.verdict is not None
    assert saturation.record.verdict.state == "void"
    assert [text.partition(":")[0] for text in listener.warnings] == [
        "the results are not stored",
        "the result of the search is not stored",
    ]


class FillingListener(Listener):
    """Fills the disk after the first probe."""

    def __init__(self, disk: Path) -> None:
        super().__init__()
        self._disk = disk

    def info(self, text: str) -> None:
        if text.startswith("probe 1"):
            fill(self._disk)


def test_a_full_disk_ends_a_search_whose_results_are_stored(
    request_: SaturationRequest, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 2048) as disk:
        on_disk = replace(
            request_,
            race=dataclasses.replace(request_.race, home=disk),
            within=RateRange(1000.0, 500.0, 2000.0, repeats=0),
        )
        saturation = saturate(on_disk, FillingListener(disk))
        _, race_json, stored = read_results(on_disk)
    assert [probe.rate for probe in saturation.result.probes] == [1000.0]
    assert "the disk is full" in saturation.result.ended_early
    assert "the disk is full" in race_json["aborted"]
    # The room that was reserved for the record suffices for both.
    assert stored == saturation.result


def test_a_level_whose_requests_fail_is_left_out_of_the_law(request_: SaturationRequest) -> None:
    probes = request_.race.home / "races" / "r" / "probes"
    # Each level lasts long enough for its requests to be answered on a busy machine, too.
    swept = replace(request_, objective=Objective((), 0.1), clients=64, repeats=1, level_s=0.3)
    clients: dict[str, int] = {}

    def clients_now() -> int:
        folder = max(probes.iterdir())
        if folder.name not in clients:
            clients[folder.name] = len(
                json.loads((folder / "plan.json").read_text())["steps"][0]["client_allocations"]
            )
        return clients[folder.name]

    def respond(request: HttpRequest) -> HttpResponse:
        refused = request.path == "/x" and clients_now() == 64
        return json_response(engine_document(request.target), 503 if refused else 200)

    with http_server(respond) as server:
        result = saturate(against(server, swept), Listener()).result
    assert [level.clients for level in result.levels] == [1, 2, 4, 8, 16, 32, 64]
    failing = [level.clients for level in result.levels if "error rate" in "".join(level.left_out)]
    assert failing == [64]
    used = {level.clients: [level.work] for level in result.levels if not level.left_out}
    assert result.fit == fit_usl(used)


def test_a_search_whose_operations_all_fail_ends_soon(request_: SaturationRequest) -> None:
    def respond(request: HttpRequest) -> HttpResponse:
        if request.path == "/x":
            return json_response({"error": {"type": "planted", "reason": "never"}, "status": 400}, 400)
        return json_response(engine_document(request.target), 200)

    with http_server(respond) as server:
        within = RateRange(16_000.0, 0.001, 16_000.0)
        saturation = saturate(against(server, request_, within=within), Listener())
    assert len(saturation.result.probes) == 3
    assert "no operation of 3 probes in a row succeeded (planted: never" in saturation.record.aborted
    assert not saturation.result.complete


def test_rates_of_which_only_the_warmup_is_sent_do_not_end_a_search(request_: SaturationRequest) -> None:
    """The engine serves 20 requests per second, one after another: all that it serves of the first five rates
    was due in the warm-up.
    """
    turn = threading.Lock()

    def respond(request: HttpRequest) -> HttpResponse:
        if request.path == "/x":
            with turn:
                time.sleep(0.05)
        return json_response(engine_document(request.target))

    with http_server(respond) as server:
        within = RateRange(1000.0, 10.0, 1000.0, repeats=0)
        result = saturate(against(server, request_, within=within, warmup_s=0.3), Listener()).result
    unmeasured = [probe for probe in result.probes if "no operation was measured" in probe.reasons]
    assert len(unmeasured) >= 3
    assert all(probe.operations for probe in unmeasured)
    assert result.ended_early == ""
    assert len(result.probes) > len(unmeasured)


class EngineThatStops:
    """Answers a number of requests; then it keeps all others waiting, or is gone."""

    def __init__(self, answered: int, *, refuses: bool) -> None:
        self.answered, self.refuses = answered, refuses
        self.requests = itertools.count(1)
        self.over = threading.Event()

    def respond(self, request: HttpRequest) -> HttpResponse:
        if request.path == "/x" and next(self.requests) > self.answered:
            if self.refuses:
                self.over.set()
                raise ConnectionAbortedError
            self.over.wait(20)
        return json_response(engine_document(request.target))


def test_a_search_whose_engine_hangs_ends_with_the_results_before(request_: SaturationRequest) -> None:
    """The engine answers the first probe and hangs in the second: the rates of later ones do not matter."""
    engine = EngineThatStops(200, refuses=False)
    client = ClientOptions(timeout_s=0.1)
    with http_server(engine.respond) as server:
        race = dataclasses.replace(request_.race, target_hosts=(server.address,), client=client)
        within = RateRange(2000.0, 100.0, 64_000.0, repeats=0)
        saturation = saturate(replace(request_, race=race, within=within), Listener())
        engine.over.set()
    result, (_, record, stored) = saturation.result, read_results(request_)
    assert result == stored
    answered = {probe.rate for probe in result.probes if probe.achieved}
    silent = {probe.rate for probe in result.probes} - answered
    assert answered
    assert result.stable not in silent
    assert result.unstable not in silent
    reason = "no operation of 3 probes in a row succeeded (no complete response within"
    assert result.ended_early.startswith(reason)
    assert record["aborted"] == result.ended_early
    assert not result.complete


def test_a_search_whose_engine_is_gone_ends_with_the_results_before(request_: SaturationRequest) -> None:
    engine = EngineThatStops(160, refuses=True)
    with ExitStack() as stack:
        server = stack.enter_context(http_server(engine.respond))

        def shut_down() -> None:
            engine.over.wait(20)
            stack.close()

        threading.Thread(target=shut_down, daemon=True).start()
        within = RateRange(2000.0, 100.0, 64_000.0, repeats=0)
        saturation = saturate(against(server, request_, within=within), Listener())
    result, (_, record, stored) = saturation.result, read_results(request_)
    assert result == stored
    assert result.probes[0].number == 1
    assert f"{server.address} cannot be reached" in result.ended_early or "refused" in result.ended_early
    assert record["aborted"] == result.ended_early
    assert saturation.record.verdict.state == "void"


def test_failures_are_part_of_the_percentiles_of_a_probe(request_: SaturationRequest) -> None:
    """Two requests in three fail at once; the others succeed within the limit."""
    numbers = itertools.count()

    def respond(request: HttpRequest) -> HttpResponse:
        failed = request.path == "/x" and next(numbers) % 3 > 0
        return json_response(engine_document(request.target), 503 if failed else 200)

    with http_server(respond) as server:
        objective = Objective(parse_latency_limits("p50:10s"), error_rate=0.9)
        result = saturate(against(server, request_, objective=objective), Listener()).result
    assert result.probes
    for probe in result.probes:
        assert "no p50 of latency: more than 50 % of the operations failed" in " ".join(probe.reasons)
        assert probe.outcome in ("failed", "void")
        percentile = probe.at(50.0)
        assert percentile is not None
        assert percentile.ms is None


def test_rates_with_too_few_samples_for_the_objective_are_rejected(request_: SaturationRequest) -> None:
    """p99.99 needs 36,887 samples; five minutes at 100 per second give 30,000."""
    slow = replace(request_, objective=Objective(parse_latency_limits("p99.99:1s"), 0.01))
    with pytest.raises(UsageError, match="too few samples"):
        saturate(replace(slow, within=RateRange(10.0, 0.1, 100.0)), Listener())


def test_a_sweep_with_too_few_levels_for_the_law_is_rejected_before_the_race_begins(
    request_: SaturationRequest,
) -> None:
    with pytest.raises(UsageError, match="a sweep of up to 5 clients has too few levels"):
        saturate(replace(request_, clients=5), Listener())
    assert not (request_.race.home / "races").exists()


def test_an_unknown_task_is_reported_before_the_race_begins(request_: SaturationRequest) -> None:
    with pytest.raises(UsageError, match="has no task") as caught:
        saturate(replace(request_, task="raw"), Listener())
    assert caught.value.hint.startswith("`pacenote info --track")
    assert not (request_.race.home / "races").exists()


class RemovingListener(Listener):
    """Removes a file after the first probe."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def info(self, text: str) -> None:
        if text.startswith("probe 1"):
            self._file.unlink()


def test_an_error_of_the_driver_ends_a_search_with_the_results_before(
    request_: SaturationRequest, tmp_path: Path
) -> None:
    authorities = Path(shutil.copy(CA, tmp_path / "ca.pem"))
    with engine() as server:
        race = dataclasses.replace(
            request_.race,
            target_hosts=(f"https://{server.address}",),
            client=ClientOptions(tls=TlsOptions(ca_file=str(authorities))),
        )
        within = RateRange(1000.0, 500.0, 2000.0, repeats=0)
        saturation = saturate(replace(request_, race=race, within=within), RemovingListener(authorities))
    result, (_, record, stored) = saturation.result, read_results(request_)
    assert [probe.rate for probe in result.probes] == [1000.0]
    assert result == stored
    assert isinstance(saturation.error, DriverError)
    assert record["aborted"] == result.ended_early == saturation.error.message
    assert str(authorities) in result.ended_early
    assert result.stable == (1000.0 if result.probes[0].outcome == "passed" else None)
    assert not result.complete


class ChangingEngine(Listener):
    """An engine that fails after a probe that passed, and recovers after a probe that failed."""

    fails = False

    def respond(self, request: HttpRequest) -> HttpResponse:
        failed = self.fails and request.path == "/x"
        return json_response(engine_document(request.target), 503 if failed else 200)

    def info(self, text: str) -> None:
        self.fails = " passed" in text if text.startswith("probe") else self.fails


def test_a_search_that_makes_no_progress_ends_without_an_answer(
    request_: SaturationRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_search, "MAX_IDLE_TRIALS", 2)
    changing = ChangingEngine()
    with http_server(changing.respond) as server:
        within = RateRange(1000.0, 1000.0, 1000.0, repeats=100)
        result = saturate(against(server, request_, within=within), changing).result
    assert (result.stable, result.unstable, result.disputed) == (None, None, (1000.0,))
    assert (result.limited_by, result.notes[-1]) == ("disagreement", STALLED)
    assert result.complete


def test_the_duration_of_the_search_is_stated_before_the_first_probe(request_: SaturationRequest) -> None:
    texts: list[str] = []
    listener = Listener()
    listener.info = texts.append  # type: ignore[method-assign]
    saturate(replace(request_, objective=Objective((), 0.1), window_s=0.1), listener)
    # 167 operations prove an error rate of 10 %, and 10 % are added.
    expected = (
        "expected duration: 2 s to 6 s for 10 to 30 probes of 110 ms each, longer below 1,837 ops/s (194 ms "
        "at 1,000 ops/s); if slow operations come in bursts or replies are late, up to 11 min for each "
        "probe, and 330 min for 30"
    )
    assert expected in texts


def test_the_shortest_expected_duration_includes_the_probes_at_low_rates(request_: SaturationRequest) -> None:
    slow = replace(request_, objective=Objective((), 0.01), window_s=20.0, warmup_s=5.0)
    texts = [announcement(slow, RateRange(start, 0.1, 1e6), ExpectedDuration()) for start in (10.0, 94.0)]
    # 193 s, 99 s, 52 s and 28 s at 10, 20, 40 and 80 operations per second, then six times 25 s.
    probes = "for 10 to 30 probes of 25 s each, longer below 93.8 ops/s"
    at_most = (
        "; if slow operations come in bursts or replies are late, up to 11 min 5 s for each probe, and "
        "332 min 30 s for 30"
    )
    assert texts == [
        f"expected duration: 8 min 42 s to 96 min 16 s {probes} (3 min 13 s at 10 ops/s){at_most}",
        f"expected duration: 4 min 10 s to 12 min 30 s {probes}{at_most}",
    ]


def test_a_search_says_that_bursts_make_its_probes_longer(request_: SaturationRequest) -> None:
    slow = replace(request_, objective=Objective((), 0.01), window_s=20.0, warmup_s=5.0)
    longer = LongerProbes(slow)
    assert longer.announce(94.0, 1.0, 1) == ""
    assert longer.announce(94.0, 13.0, 4) == (
        "slow operations come in bursts: probes of 94 ops/s take 4 min 24 s instead of 25 s from now on, and "
        "all that follow about 26 min 26 s to 114 min 34 s"
    )
    assert longer.announce(94.0, 13.5, 5) == ""
    # At a higher rate, as many operations need no more time than the shortest probe.
    assert longer.announce(9_400.0, 13.5, 6) == ""
    assert longer.announce(94.0, 100.0, 40).startswith("slow operations come in bursts: probes of 94 ops/s ")
    # No probe is longer than that.
    assert longer.announce(94.0, 1_000.0, 41) == ""
    assert probe_s(slow, 94.0, 1_000.0) < longest_probe_s(slow)


def test_a_rate_that_passes_only_after_two_void_probes_is_in_dispute(
    request_: SaturationRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = itertools.cycle(("void", "void", "passed"))

    def disturbed(*measured: Any) -> Probe:
        return structs.replace(evaluate_probe(*measured), outcome=next(outcomes))

    monkeypatch.setattr("pacenote.lab.saturate.evaluate_probe", disturbed)
    result = saturate(request_, Listener()).result
    assert [probe.outcome for probe in result.probes] == ["void", "void", "passed"]
    assert (result.stable, result.disputed, result.limited_by) == (None, (1000.0,), "disagreement")
    assert answer(result).startswith("inconclusive; the probes at 1,000 ops/s")
    assert tries_text(1000.0, result) == "1 of 3 probes passed (2 void)"


@pytest.mark.parametrize(
    ("outcomes", "varying"),
    [
        (("passed", "undecided"), False),
        (("passed", "void", "void", "void"), False),
        (("passed", "failed"), True),
    ],
)
def test_the_limit_varies_only_if_the_engine_failed_a_rate_that_passed(
    request_: SaturationRequest, monkeypatch: pytest.MonkeyPatch, outcomes: tuple[str, ...], varying: bool
) -> None:
    middle = iter(outcomes)

    def decided(*measured: Any) -> Probe:
        probe = evaluate_probe(*measured)
        outcome = "passed" if probe.rate == 1000 else "failed" if probe.rate == 2000 else next(middle)
        return structs.replace(probe, outcome=outcome, reasons=())

    monkeypatch.setattr("pacenote.lab.saturate.evaluate_probe", decided)
    within = RateRange(1000.0, 1000.0, 2000.0, precision=0.5, repeats=1)
    result = saturate(replace(request_, within=within), Listener()).result
    assert (result.stable, result.unstable, result.limited_by) == (1000.0, 2000.0, "engine")
    assert len(result.disputed) == 1
    assert (result.varying is not None) == varying


def test_a_probe_that_does_not_decide_ends_a_row_of_void_rates(
    request_: SaturationRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is repeated, since its operations waited for the warm-up; both repeats are void."""
    outcomes = itertools.cycle(("undecided", "void", "void"))

    def disturbed(*measured: Any) -> Probe:
        return structs.replace(evaluate_probe(*measured), outcome=next(outcomes), reasons=(BACKLOG_REASON,))

    monkeypatch.setattr("pacenote.lab.saturate.evaluate_probe", disturbed)
    within = RateRange(4000.0, 1000.0, 4000.0, repeats=0)
    result = saturate(replace(request_, within=within), Listener()).result
    assert [probe.rate for probe in result.probes] == [4000.0] * 3 + [2000.0] * 3 + [1000.0] * 3
    assert result.complete


def test_a_probe_states_for_how_much_of_its_window_the_engine_stopped(request_: SaturationRequest) -> None:
    """It answers nothing in the first half of each half second."""

    def respond(request: HttpRequest) -> HttpResponse:
        if request.path == "/x":
            time.sleep(max(0.0, 0.25 - time.monotonic() % 0.5))
        return json_response(engine_document(request.target))

    with http_server(respond) as server:
        within = RateRange(200.0, 200.0, 200.0, repeats=0)
        result = saturate(against(server, request_, within=within, window_s=1.5), Listener()).result
    assert 0.25 < (result.probes[0].silent_share or 0.0) < 0.9


@pytest.mark.parametrize(("reasons", "growth"), [((), 2.0), (("programs used 70 %",), 1.0)])
def test_bursts_of_a_disturbed_probe_do_not_make_later_ones_longer(
    request_: SaturationRequest, monkeypatch: pytest.MonkeyPatch, reasons: tuple[str, ...], growth: float
) -> None:
    lengths: list[float] = []

    def passed(*measured: Any) -> Probe:
        lengths.append(measured[2].window_s)
        return structs.replace(evaluate_probe(*measured), outcome="passed", reasons=reasons)

    monkeypatch.setattr("pacenote.lab.saturate.evaluate_probe", passed)
    monkeypatch.setattr("pacenote.lab.probe.RunEvidence.own_effect", lambda *_: 2.0)
    saturate(replace(request_, within=RateRange(1000.0, 1000.0, 1000.0, repeats=1)), Listener())
    first, second = lengths
    assert second / first == pytest.approx(growth)


@pytest.mark.parametrize(("lowest", "rates"), [(50.0, "1,000 / 500 / 250"), (1000.0, "1,000")])
def test_a_search_on_a_machine_that_disturbs_all_its_probes_ends_soon(
    request_: SaturationRequest, monkeypatch: pytest.MonkeyPatch, lowest: float, rates: str
) -> None:
    """A rate at the end of the range is tried three times."""

    def disturbed(*measured: Any) -> Probe:
        return structs.replace(evaluate_probe(*measured), outcome="void", reasons=("programs used 70 %",))

    monkeypatch.setattr("pacenote.lab.saturate.evaluate_probe", disturbed)
    saturation = saturate(replace(request_, within=RateRange(1000.0, lowest, 2000.0)), Listener())
    result = saturation.result
    assert len(result.probes) == 9
    assert result.ended_early == (
        f"the last 9 probes, at {rates} ops/s, were all disturbed (the last one: programs used 70 %); repeat "
        "the search on a quiet machine"
    )
    assert saturation.record.verdict is not None
    assert saturation.record.verdict.state == "void"
    # Each was sampled as a race is.
    folder = RaceStore(request_.race.home).races / request_.race.race_id / "probes" / "001"
    assert any(series.name == "cpu.idle" for series in telemetry_cuts(folder / "telemetry.parquet").series)
