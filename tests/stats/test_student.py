"""Student's distribution."""

import pytest
from scipy.special import stdtr

from pacenote.stats.student import detectable_shift


def test_the_detectable_change_of_extreme_confidences_continues_that_of_others() -> None:
    for degrees in (1.0, 2.0, 3.0):
        # Just below and just above the quantile from which on it is computed in another way.
        shares = [2 * float(stdtr(degrees, -quantile)) for quantile in (99.9, 100.1)]
        below, above = (detectable_shift(degrees, 1 - share) for share in shares)
        assert above / below == pytest.approx(100.1 / 99.9, rel=2e-3)
    assert detectable_shift(1.0, 1 - 1e-12) > 1e10
