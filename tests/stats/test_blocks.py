"""Planned numbers of blocks, compared with tables of the power of Student's test."""

import math

import pytest

from pacenote.stats.blocks import detectable_contrast, detectable_effect
from pacenote.stats.effect import paired_effect


def test_more_blocks_detect_less() -> None:
    effects = [detectable_effect(0.02, blocks) or 0.0 for blocks in range(3, 40)]
    assert effects == sorted(effects, reverse=True)
    # Many blocks need 1.96 + 0.84 standard errors.
    assert math.log1p(detectable_effect(0.02, 1000) or 0.0) == pytest.approx(
        2.802 * 0.02 / 1000**0.5, rel=0.01
    )


def test_a_plan_agrees_with_what_a_comparison_states() -> None:
    changes = (0.02, -0.01, 0.03, 0.01, -0.02)
    effect = paired_effect((1.0,) * 5, [math.exp(change) for change in changes])
    assert effect is not None
    noise = effect.standard_error * math.sqrt(5 - 1 / 5)
    # Plans know the noise; a comparison estimates it, and its median is sqrt(2.366 / 3) of the true one
    # (chi-squared, 3 degrees).
    planned, stated = (math.log1p(size or 0.0) for size in (detectable_effect(noise, 5), effect.detectable))
    assert planned == pytest.approx(stated * math.sqrt(2.366 / 3), rel=1e-4)


def test_what_cannot_be_seen() -> None:
    assert detectable_effect(0.01, 2) is None
    assert detectable_contrast(0.01, 0) is None


def test_without_noise_the_resolution_remains() -> None:
    assert 0.0005 < (detectable_effect(0.0, 10) or 0.0) < 0.005
