"""What the comparison with Apache Otava counts as newly found."""

import math

import numpy as np
import pytest
from online_simulations import KINDS, gate, gate_newly, newly, values


@pytest.mark.parametrize(
    ("nights", "new"),
    [
        ([[], [30], [30]], [True, False]),  # It is reported again.
        ([[30], [33], [28]], [False, False]),  # Its place moves with the races that are added.
        ([[30], [30, 50], [50]], [True, False]),
        ([[30], [], [30]], [False, True]),  # It is gone in between.
        ([[30], [math.nan], [50]], [False, False]),  # A drift may be any of them.
        ([[], [math.nan]], [True]),
    ],
)
def test_a_change_is_new_if_the_night_before_did_not_report_it(nights, new):
    assert newly(nights) == new


def test_a_gate_that_stays_red_is_newly_red_once():
    logs = KINDS[0].logs(40, np.random.default_rng(1))
    logs[30:] += math.log1p(-0.1)
    fails, new = gate(values(logs), 30), gate_newly(values(logs), 30)
    assert new.index(True) == fails.index(True)
    assert sum(fails) > 1
    assert sum(new) == 1
