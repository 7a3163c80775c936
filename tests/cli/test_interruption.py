"""What is printed of a race or a search that is stopped outside its measured part."""

import re
import signal

import pytest

from pacenote.cli.output.report_output import show_report
from pacenote.lab import saturate
from pacenote.model.system_metrics import SystemMetrics
from pacenote.store.race_store import RaceStore
from report.test_saturation import FOUND
from support.records import record, task

NOTHING = "error: interrupted before anything was measured\n"


def stopped_while_stopping(request, listener):
    """The second Ctrl-C ends the wait for the engine, after the results are stored."""
    RaceStore(request.home).create(record(request.race_id, tasks=(), complete=False)).append(task())
    raise KeyboardInterrupt


def stopped_before_the_first_task(request, listener):
    RaceStore(request.home).create(record(request.race_id, tasks=(), complete=False))
    raise KeyboardInterrupt


def test_a_second_ctrl_c_does_not_cost_the_report(run, fake_race):
    fake_race(stopped_while_stopping)
    code, out, err = run("race", "--track=x")
    assert (code, err[:6], err.count("\n")) == (130, "page: ", 1)
    assert "Mean Throughput" in out


@pytest.fixture
def harmless_sigterm():
    """Without a handler of the command, SIGTERM would end the tests."""
    previous = signal.signal(signal.SIGTERM, lambda *_: None)
    yield
    signal.signal(signal.SIGTERM, previous)


@pytest.mark.usefixtures("harmless_sigterm")
def test_sigterm_between_the_end_of_a_race_and_its_report_does_not_cost_the_report(run, fake_race):
    def ended(request, listener):
        RaceStore(request.home).create(record(request.race_id, tasks=(), complete=False)).append(task())
        signal.raise_signal(signal.SIGTERM)
        return record(request.race_id)

    fake_race(ended)
    code, out, err = run("race", "--track=x")
    assert (code, err[:6], err.count("\n")) == (130, "page: ", 1)
    assert "Mean Throughput" in out


@pytest.mark.usefixtures("harmless_sigterm")
def test_sigterm_between_the_end_of_a_search_and_its_result_does_not_cost_the_result(run, monkeypatch):
    def search(request, listener):
        folder = RaceStore(request.race.home).create(record(request.race.race_id, tasks=(), complete=False))
        folder.write_saturation(FOUND)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(saturate, "saturate", search)
    code, out, err = run("saturate", "--track=x")
    assert code == 130
    assert re.fullmatch(r"page: .*/report\.html\n", err)
    assert out.startswith("# Saturation of task index\n\n**between 80 ops/s")


def test_a_race_without_results_prints_one_line_and_no_table(run, fake_race):
    fake_race(stopped_before_the_first_task)
    assert run("race", "--track=x") == (130, "", NOTHING)
    fake_race(lambda *_: record(tasks=(), interrupted=True, complete=False))
    assert run("race", "--track=x") == (130, "", NOTHING)


def test_the_report_of_a_race_without_results_has_no_table(run):
    empty = record("r", tasks=(), documents=(), system=SystemMetrics(), interrupted=True, complete=False)
    RaceStore().create(empty)
    code, out, _ = run("report", "r")
    assert code == 0
    assert "Metric" not in out
    assert "- Reason: interrupted" in out


def test_a_search_that_is_stopped_while_it_ends_keeps_its_answer(run, monkeypatch):
    def search(request, listener):
        folder = RaceStore(request.race.home).create(record(request.race.race_id, tasks=(), complete=False))
        folder.write_saturation(FOUND)
        raise KeyboardInterrupt

    monkeypatch.setattr(saturate, "saturate", search)
    code, out, err = run("saturate", "--track=x")
    assert code == 130
    assert re.fullmatch(r"page: .*/report\.html\n", err)
    assert out.startswith("# Saturation of task index\n\n**between 80 ops/s")


def test_a_search_without_probes_prints_one_line_and_no_table(run, monkeypatch):
    def search(request, listener):
        return stopped_before_the_first_task(request.race, listener)

    monkeypatch.setattr(saturate, "saturate", search)
    assert run("saturate", "--track=x") == (
        130,
        "",
        "error: interrupted before a probe was completed\n",
    )


@pytest.mark.parametrize("interrupted", [True, False])
def test_a_signal_while_the_report_is_printed_costs_only_that_of_a_race_that_was_not_stopped(
    run, fake_race, monkeypatch, interrupted
):
    def show(*arguments):
        signal.raise_signal(signal.SIGINT)
        show_report(*arguments)

    monkeypatch.setattr("pacenote.cli.race.show_report", show)
    fake_race(lambda *_: record(interrupted=interrupted, complete=not interrupted))
    code, out, err = run("race", "--track=x")
    assert (code, "Mean Throughput" in out) == (130, interrupted)
    assert err == ("" if interrupted else "error: interrupted\n")
