"""Intervals of benchmark figures, what they decide, and what is stored."""

import json
import random

import blocks
import outcome
import pytest
import run
import tables
from outcome import Figure, Outcome, Target, median_interval


def test_the_interval_of_a_median_follows_from_order_statistics():
    """The ranks are those of tables of the sign test at 5 %."""
    assert median_interval([3, 1, 2, 4, 5]) is None
    assert median_interval(range(6)) == (0, 5)
    assert median_interval(range(8)) == (0, 7)
    assert median_interval(range(9)) == (1, 7)
    assert median_interval(range(20)) == (5, 14)
    assert median_interval(range(200)) == (85, 114)


def test_the_interval_contains_the_true_median_as_often_as_it_claims():
    rng = random.Random(4)
    covered = 0
    for _ in range(1000):
        low, high = median_interval([rng.expovariate(1.0) for _ in range(16)])
        covered += low <= 0.693 <= high
    assert covered / 1000 > 0.94


def test_a_target_is_decided_only_by_the_whole_interval():
    figure = Figure("ratio", "ratio", (1.0, 1.01, 1.02, 0.99, 1.03, 1.04))
    assert Target(figure, 0.98, at_most=False).outcome == "met"
    assert Target(figure, 1.0, at_most=False).outcome == "undecided"
    assert Target(figure, 1.1, at_most=False).outcome == "missed"
    assert Target(figure, 1.1, at_most=True).outcome == "met"
    few = Figure("ratio", "ratio", (1.57, 1.21))
    assert (few.interval, Target(few, 1.0, at_most=False).outcome) == (None, "undecided")


def test_the_table_shows_the_interval_of_every_figure_and_target():
    many = Figure("rate", "docs/s", tuple(float(value) for value in range(100, 108)))
    few = Figure("other", "docs/s", (1.0, 2.0))
    result = Outcome(figures=(many, few), targets=(Target(many, 90.0, at_most=False),), incomplete="no peer")
    document = result.to_document() | {
        "command": "c",
        "date": "d",
        "quick": False,
        "processor": {"load_before": 0, "used_percent": 0, "stolen_percent": 0},
        "environment": {
            "memory_bytes": None,
            "cpu_usable_cores": 2,
            "cpu_model": "CPU",
            "kernel": "6",
            "python": "3",
            "pacenote": "0",
            "commit": None,
        },
    }
    assert document["figures"][0]["interval"] == [100, 107]
    text = tables.markdown({"rates": json.loads(json.dumps(document))})
    assert "| rates | rate | at least 90 docs/s | 104 docs/s | 100 to 107 | met |" in text
    assert "| other | 1.5 docs/s | – | 1 to 2 | 2 |" in text
    assert "- incomplete: no peer" in text


def test_a_block_runs_each_tool_in_both_orders_and_gives_one_ratio():
    order = []

    def tool(name, value):
        return lambda: (order.append(name), value * (1 + len(order) / 10))[1]

    runs = blocks.run_blocks(2, {"a": tool("a", 4.0), "b": tool("b", 2.0), "c": tool("c", 1.0)})
    assert "".join(order) == "abccbaabccba"
    above, below = (blocks.figure_by_block(name, "s", runs[name]) for name in "ab")
    # The two runs of a block are not independent, so they are one value.
    assert len(above.values) == 2
    assert above.values[0] == pytest.approx(4.0 * (1.1 * 1.6) ** 0.5)
    ratio = blocks.ratio_by_block("a / b", above, below)
    # The machine becomes slower with every run, by more than the ratio changes.
    assert ratio.values == pytest.approx((2.0, 2.0), rel=0.02)


@pytest.mark.parametrize("missing", ["skipped", "incomplete"])
def test_a_benchmark_that_lacks_a_program_keeps_its_stored_result(tmp_path, missing, capsys):
    full = outcome.Outcome().to_document()
    assert run.store(tmp_path, "memory", full)
    stored = (tmp_path / "memory.json").read_text()
    assert not run.store(tmp_path, "memory", full | {missing: "nginx is not installed"})
    assert (tmp_path / "memory.json").read_text() == stored
    assert "memory is not stored: nginx is not installed" in capsys.readouterr().err
