"""Reports of code of plug-ins that does not return."""

from __future__ import annotations

from pacenote.python_tasks.hang_watch import (
    FATAL_AFTER_S,
    PREPARATION_LIMIT_S,
    REPORTED_AFTER_S,
    SUPPLY_LIMIT_S,
    HangWatch,
    RunningCode,
)


class _Race:
    """Records failures; a step may wait for its preparation."""

    def __init__(self) -> None:
        self.waits_s: float | None = None
        self.failures: list[str] = []
        self.begun_without: list[str] = []

    def preparing_s(self) -> float | None:
        return self.waits_s

    def fail(self, reason: str) -> None:
        self.failures.append(reason)


def watched(code, now):
    race, warnings = _Race(), []
    return (
        race,
        warnings,
        HangWatch(race, lambda: code, race.begun_without.append, warnings.append, lambda: now[0]),
    )


def running(what="runner", task="t", location="track.py:7", *, blocks=False):
    return RunningCode(task, what, 100.0, location, blocks)


def test_code_that_does_not_return_is_reported_once():
    now = [100.0 + REPORTED_AFTER_S]
    code = [running(), running("parameter source", location="")]
    race, warnings, watch = watched(code, now)
    watch.check()
    assert warnings == []
    now[0] += 1
    for _ in range(3):
        watch.check()
        now[0] += 100
    assert warnings == [
        'the runner of task "t" at track.py:7 has not returned for 31 s',
        'the parameter source of task "t" has not returned for 31 s',
    ]
    assert race.failures == []


def test_a_step_that_waits_for_code_of_an_earlier_one_ends_the_race():
    now = [200.0]
    for blocks, waits_s, failed in [
        (True, FATAL_AFTER_S + 1, True),
        (True, FATAL_AFTER_S - 1, False),
        (True, None, False),
        # The code has begun since the preparation did, so it may belong to it.
        (True, 150.0, False),
        # Other code can run, so the step will be prepared.
        (False, FATAL_AFTER_S + 1, False),
    ]:
        race, _, watch = watched([running(blocks=blocks)], now)
        race.waits_s = waits_s
        watch.check()
        assert bool(race.failures) is failed, (blocks, waits_s)
        if failed:
            assert race.failures == [
                'the next step cannot be prepared: the runner of task "t" at track.py:7 does not return'
            ]


def test_a_step_begins_without_a_source_that_is_called_for_it_and_does_not_return():
    now = [100.0 + PREPARATION_LIMIT_S]
    race, warnings, watch = watched([running("parameter source", blocks=True)], now)
    race.waits_s = PREPARATION_LIMIT_S + 2
    watch.check()
    assert race.begun_without == []
    now[0] += 1
    watch.check()
    assert race.begun_without == [
        'the parameter source of task "t" at track.py:7 did not return within 300 s before the step began'
    ]
    assert race.failures == []
    assert len(warnings) == 1


def test_a_runner_that_does_not_go_on_ends_the_race_if_its_step_cannot_end_without_it():
    late = 100.0 + SUPPLY_LIMIT_S + 1
    for needed, answered_s, now, failed in [
        (True, 0.0, late, "returned"),
        (True, 0.0, late - 1, None),
        (False, 0.0, late, None),
        # Its last request ended meanwhile, as that of a poll.
        (True, 102.0, late, None),
        (True, 102.0, late + 2, "sent a request or returned"),
        # That was a request of an earlier operation.
        (True, 99.0, late, "returned"),
    ]:
        code = RunningCode("t", "runner", 100.0, "track.py:7", False, needed, answered_s)
        race, _, watch = watched([code], [now])
        watch.check()
        text = f'the step cannot go on: the runner of task "t" at track.py:7 has not {failed} for 600 s'
        assert race.failures == ([] if failed is None else [text]), (needed, answered_s, now)


def test_a_source_that_does_not_return_while_a_client_needs_it_ends_the_race():
    for needed, waits_s, ran_s, failed in [
        (True, None, SUPPLY_LIMIT_S + 1, True),
        (True, None, SUPPLY_LIMIT_S, False),
        # No client waits for it.
        (False, None, SUPPLY_LIMIT_S + 1, False),
        # Its step has not begun, for which there is a different limit.
        (True, SUPPLY_LIMIT_S + 2, SUPPLY_LIMIT_S + 1, False),
    ]:
        code = RunningCode("t", "parameter source", 100.0, "track.py:7", blocks=True, needed=needed)
        race, _, watch = watched([code], [100.0 + ran_s])
        race.waits_s = waits_s
        watch.check()
        assert bool(race.failures) is failed, (needed, waits_s, ran_s)
        if failed:
            assert race.failures == [
                'the step cannot go on: the parameter source of task "t" at track.py:7 '
                "has not returned for 600 s"
            ]
