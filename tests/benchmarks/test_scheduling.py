"""The benchmark of scheduling skips the short slice on kernels without slices."""

import pytest
import scheduling


@pytest.mark.parametrize(
    ("release", "has_slices"),
    [("6.11.0-29-generic", False), ("5.15.0", False), ("6.12.3", True), ("7.0-rc1", True), ("odd", False)],
)
def test_kernels_with_slices(release, has_slices):
    assert scheduling._has_slices(release) == has_slices


def test_an_outcome_without_slices_says_why():
    runs = {mode: [scheduling._Run(*[1.0] * 8)] for mode in (scheduling._NORMAL, scheduling._REALTIME)}
    outcome = scheduling._outcome(runs, "6.11.0")
    assert not any(", slice" in figure.name for figure in outcome.figures)
    assert "slice: skipped, because Linux 6.11.0 has none (it needs 6.12 or newer)" in outcome.notes
