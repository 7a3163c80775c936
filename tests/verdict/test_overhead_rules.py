"""Limits for what clients do besides their operations."""

import pytest
from msgspec.structs import replace

from pacenote.model.result import CleanUps, UnsolicitedData
from pacenote.verdict.determine import determine_verdict
from support.records import paced, record, task


def reasons(**changes: object) -> tuple[str, ...]:
    """The reasons of a race with one task, whose two clients ran for 100 s."""
    return determine_verdict(record(tasks=(task(clients=2, duration_s=100.0, **changes),))).reasons


def test_clients_that_spend_their_time_opening_connections_make_a_race_suspect():
    assert reasons(connecting_s=20.0) == ()
    closing = replace(task().accounting, reconnects=task().accounting.requests - 2)
    assert reasons(connecting_s=190.0, accounting=closing) == (
        "search: clients spent 95 % of their time opening connections, which no service time contains "
        "(limit 10 %): the server closes them after each reply: keep connections alive in the engine or the "
        "proxy",
    )
    (reason,) = reasons(connecting_s=21.0, accounting=replace(closing, reconnects=3))
    assert reason.endswith(
        "3 connections had to be opened again: find out what closes them, or makes opening them slow"
    )
    (reason,) = reasons(connecting_s=21.0, accounting=replace(closing, reconnects=3, failed=2))
    assert reason.endswith("a connection is opened again after a failure: find out why operations fail")


def test_slow_first_connections_are_not_told_as_closed_ones():
    for requests in (0, 58_000):
        (reason,) = reasons(connecting_s=190.0, accounting=replace(task().accounting, requests=requests))
        assert reason.endswith(
            "opening them took so long, or failed: find out what makes opening connections slow"
        )


def test_clients_that_spend_their_time_cleaning_up_make_a_race_suspect():
    assert reasons(cleanup=CleanUps(30, {}, 20.0)) == ()
    assert reasons(cleanup=CleanUps(30, {}, 200.0), connecting_s=0.1) == (
        "search: clients spent 100 % of their time in requests that clean up, which no service time contains "
        "(limit 10 %): 30 requests cleaned up: see the log of the engine",
    )
    (reason,) = reasons(cleanup=CleanUps(30, {}, 19.0), connecting_s=4.0)
    assert "spent 2 % of their time opening connections and 10 % of their time in requests" in reason


def test_a_schedule_shows_the_time_that_clients_lose():
    late = paced(connecting_s=1e9)
    assert determine_verdict(record(tasks=(late,))).state == "valid"


@pytest.mark.parametrize(("failed", "is_suspect"), [(10, False), (11, True)])
def test_requests_that_clean_up_and_fail_make_a_race_suspect(failed: int, is_suspect: bool):
    texts = reasons(cleanup=CleanUps(1_000, {"http-status": failed - 1, "timeout": 1}))
    text = (
        f"search: {failed} of 1,000 requests that clean up failed ({failed - 1} × http-status, "
        "1 × timeout): scrolls, cursors or other state of operations stay in the engine: see the log "
        "of the engine"
    )
    assert texts == ((text,) if is_suspect else ())


def test_data_that_no_request_asked_for_makes_a_race_suspect():
    assert reasons(unsolicited=UnsolicitedData(2, 1_234)) == (
        "search: the server sent 1,234 bytes that no request asked for, on 2 connections: find out "
        "what answers twice or too long, the engine or a proxy",
    )
