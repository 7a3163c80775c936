"""How long a process shows no sign of life, on a fake clock, and the lines in the stacks of its threads."""

from __future__ import annotations

from pathlib import Path

from pacenote.race.heartbeat import INTERVAL_S, Silence, executed_lines


def silent(silence: Silence, seconds: float, *, count: int = 1, stopped: bool = False) -> None:
    """Checks regularly while the count stands still."""
    for _ in range(round(seconds / INTERVAL_S)):
        silence.check(count, silence.checked_s + INTERVAL_S, stopped=stopped)


def test_silence_is_reported_once_after_30_s_and_is_over_after_10_minutes():
    silence = Silence(100.0)
    silent(silence, 30)
    assert not silence.must_be_reported
    silent(silence, INTERVAL_S)
    assert silence.must_be_reported
    silence.is_reported = True
    silent(silence, 569)
    assert (silence.must_be_reported, silence.is_over) == (False, False)
    silent(silence, 1)
    assert silence.is_over


def test_a_sign_of_life_ends_the_silence():
    silence = Silence(0.0)
    silent(silence, 29, count=1)
    silent(silence, 29, count=2)
    assert not silence.must_be_reported


def test_a_signal_cannot_be_received_after_10_s_of_silence():
    silence = Silence(0.0)
    silence.signalled()
    # The first count differs from that before the fork, so it is a sign of life.
    silent(silence, 60, count=1)
    assert not silence.is_interrupted
    silence.signalled()
    assert silence.is_interrupted


def test_a_process_that_is_stopped_is_not_silent():
    silence = Silence(0.0)
    silent(silence, 3600, stopped=True)
    assert silence.silent_s == 0


def test_time_in_which_the_whole_system_slept_does_not_count():
    silence = Silence(0.0)
    silent(silence, 1)
    silence.check(1, 100_000.0, stopped=False)
    assert silence.silent_s < 2


def test_a_process_that_shows_no_signs_any_more_is_not_silent():
    silence = Silence(0.0)
    for now_s in range(1000):
        silence.check(None, float(now_s), stopped=False)
    assert silence.silent_s == 0


def test_the_innermost_line_of_the_track_is_named_for_each_thread():
    stacks = """Thread 0x0001 (most recent call first):
  File "/usr/lib/python3.11/re/__init__.py", line 166 in match
  File "/tracks/tour/code/words.py", line 7 in find
  File "/tracks/tour/track.py", line 11 in regex

Thread 0x0002 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait

Current thread 0x0003 (most recent call first):
  File "/tracks/tour/track.py", line 30 in params
"""
    assert executed_lines(stacks, Path("/tracks/tour")) == ["code/words.py:7", "track.py:30"]
