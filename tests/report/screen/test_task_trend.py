"""What tasks did over time, as bars."""

import pytest
from msgspec.structs import replace

from pacenote.report.screen.sparkline import BARS, sparkline
from pacenote.report.screen.task_trend import trend
from report.page.race.observed import line, point, timeline
from support.records import bulk, task

FAST, SLOW = 36, 50


def test_bars_are_from_0_to_the_largest_value():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7, 8]) == f"{BARS}█"
    assert sparkline([5, 5, None, 5]) == "██ █"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([None]) == " "
    assert sparkline([]) == ""


def test_a_task_that_indexes_has_its_throughput_in_equal_parts():
    indexing = bulk(duration_s=14.0)
    values = trend(indexing, timeline(**{indexing.task: line([100] * 6 + [0] * 4 + [50] * 4)}))
    assert values == (100, 100, 100, 0, 0, 50, 50)


@pytest.mark.parametrize(("duration_s", "last"), [(4.4, 100.0), (4.5, 60.0)])
def test_the_last_part_counts_if_most_of_it_belongs_to_the_task(duration_s, last):
    indexing = bulk(duration_s=duration_s)
    values = trend(indexing, timeline(**{indexing.task: line([100, 100, 100, 100, 30])}))
    assert values[-1] == last


def test_other_tasks_have_the_ninetieth_percentile_of_their_durations():
    parts = [point(second, levels=((FAST, 45), (SLOW, 5))) for second in range(4)]
    parts[2] = point(2, levels=((FAST, 40), (SLOW, 10)))
    parts[3] = point(3, levels=())
    search = task(duration_s=4.0)
    values = trend(search, timeline(search=line([50] * 4, points=tuple(parts))))
    assert values[0] == values[1] == pytest.approx(10 ** (FAST / 5))
    assert values[2] == pytest.approx(10 ** (SLOW / 5))
    assert values[3] is None, "nothing succeeded"


def test_the_warm_up_is_left_out_and_what_is_too_short_has_no_trend():
    search = task(duration_s=5.0)
    lines = line([50] * 5)
    assert len(trend(search, timeline(search=lines))) == 5
    assert len(trend(search, timeline(search=replace(lines, measured_from_s=2)))) == 3
    assert trend(search, timeline(search=replace(lines, measured_from_s=3))) == ()
    assert trend(search, timeline(search=replace(lines, measured_from_s=None))) == ()
    assert trend(search, timeline()) == trend(search, None) == ()
