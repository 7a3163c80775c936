"""Values of options of any length, which may come from the files of an untrusted folder."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable
from itertools import product

import pytest

from pacenote.cli.options import nodes, values
from pacenote.cli.options.data import duration
from pacenote.cli.options.quality import parse_quality
from pacenote.compare.thresholds import parse_threshold
from pacenote.errors import UsageError
from pacenote.lab.experiment.read_file import parse_duration
from pacenote.lab.tune.measure import parse_constraint, parse_objective
from pacenote.model.saturation import parse_latency_limits

LENGTH = 20_000

BEGINNINGS = ("", "p99", "p99:", "errors:", "recall:", "p99:a<", "p99:a<1", "1")
REPEATED = (" ", "1", "a", ".", ":", "<", "a ", "1.", "a:'")
ENDS = ("", "x", "!", "<", "1")

PARSERS: list[Callable[[str], object]] = [
    *(parse_threshold, parse_constraint, parse_objective, parse_latency_limits, parse_quality),
    *(duration, parse_duration, nodes.node_groups, nodes.memory_limit),
    *(values.hosts, values.tags, values.escaped_list, values.moment, values.mirrors),
]


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)
def test_the_time_for_a_value_grows_with_its_length_and_not_faster(parse: Callable[[str], object]) -> None:
    """The square of the length is a second and more for each of these texts."""
    for beginning, repeated, end in product(BEGINNINGS, REPEATED, ENDS):
        text = f"{beginning}{repeated * (LENGTH // len(repeated))}{end}"
        before = time.process_time()
        with contextlib.suppress(UsageError, argparse.ArgumentTypeError):
            parse(text)
        assert time.process_time() - before < 0.5, (beginning, repeated, end)
