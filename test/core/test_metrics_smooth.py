# SPDX-License-Identifier: Apache-2.0
"""Errors without bins against their definitions, and what of an error is chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_node.core.metrics import (
    bootstrap_interval,
    brier,
    brier_skill,
    cutoff_calibration_error,
    ece,
    ece_noise,
    smooth_ece,
)

PROBABILITIES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40)


def by_quadrature(p: np.ndarray, y: np.ndarray) -> float:
    """Return the smooth error by its definition, the integral on a fine grid."""
    t = np.linspace(0.0, 1.0, 8001)[:, None]
    residual = (y - p) / len(p)

    def at(width: float) -> float:
        kernel = np.zeros((len(t), len(p)))
        for shift in (-2.0, 0.0, 2.0):
            for mirror in (p, -p):
                kernel += np.exp(-0.5 * ((t - mirror - shift) / width) ** 2)
        smoothed = np.abs(kernel @ residual) / (width * np.sqrt(2.0 * np.pi))
        return float(np.trapezoid(smoothed, t[:, 0]))

    low, high = 1e-3, 1.0
    for _ in range(25):
        middle = (low + high) / 2.0
        low, high = (middle, high) if at(middle) > middle else (low, middle)
    return (low + high) / 2.0


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(5))
def test_smooth_error_is_that_of_the_definition(seed: int):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.5, size=120)
    y = (rng.uniform(size=120) < p ** (1 + seed / 2)).astype(float)
    assert smooth_ece(p, y) == pytest.approx(by_quadrature(p, y), abs=2e-5)


@given(PROBABILITIES, st.integers(0, 2**30))
def test_smooth_error_is_between_the_bias_and_the_mean_residual(p: list[float], seed: int):
    y = np.random.default_rng(seed).integers(2, size=len(p))
    error = smooth_ece(p, y)
    residual = y - np.array(p)
    assert error >= abs(residual.mean()) - 1e-9 or error == pytest.approx(1.0)
    assert error <= np.abs(residual).mean() + 1e-9


def test_smooth_error_does_not_jump_at_the_edge_of_a_bin():
    y = [0, 1] * 50
    below, above = smooth_ece([1 / 3 - 1e-9] * 100, y), smooth_ece([1 / 3 + 1e-9] * 100, y)
    assert below == pytest.approx(above, abs=1e-6)


@settings(max_examples=50)
@given(PROBABILITIES, st.integers(0, 2**30))
def test_cutoff_error_is_the_largest_of_all_intervals(p: list[float], seed: int):
    y = np.random.default_rng(seed).integers(2, size=len(p))
    values, residual = np.array(p), y - np.array(p)
    ends = np.unique(values)
    largest = max(
        abs(residual[(values >= low) & (values <= high)].sum()) / len(p)
        for low in ends for high in ends if high >= low
    )  # fmt: skip
    assert cutoff_calibration_error(p, y) == pytest.approx(largest, abs=1e-12)


@pytest.mark.parametrize('count', [300, 1000])
def test_noise_of_the_ece_is_that_of_honest_probabilities(count: int):
    rng = np.random.default_rng(1)
    p = rng.uniform(size=count)
    drawn = [ece(p, rng.uniform(size=count) < p, 15) for _ in range(600)]
    assert ece_noise(p) == pytest.approx(np.mean(drawn), abs=0.002)
    assert ece_noise(p, level=0.95) == pytest.approx(np.quantile(drawn, 0.95), abs=0.003)


def test_noise_of_the_ece_has_the_values_that_are_known():
    for count, known in ((300, 0.071), (1000, 0.039)):
        assert ece_noise(np.linspace(0.0, 1.0, count)) == pytest.approx(known, abs=0.001)
    assert ece_noise([0.0, 1.0]) == 0.0


def test_bootstrap_intervals_cover_as_often_as_they_say():
    rng, covered = np.random.default_rng(2), 0
    true = 1.0 / 6.0
    for seed in range(100):
        p = rng.uniform(size=200)
        low, high = bootstrap_interval(
            brier, p, rng.uniform(size=200) < p, 0.9, resamples=200, seed=seed
        )
        covered += low <= true <= high
    assert 80 <= covered <= 97


def test_blocks_widen_the_interval_where_neighbours_go_together():
    p = np.full(400, 0.5)
    y = np.repeat(np.random.default_rng(3).integers(2, size=20), 20)
    q = np.where(np.arange(400) % 40 < 20, 0.6, 0.4)
    alone = bootstrap_interval(brier, q, y)
    together = bootstrap_interval(brier, q, y, block=20)
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])
    assert bootstrap_interval(brier, p, y, block=10**6) == (0.25, 0.25)


def test_brier_skill():
    assert brier_skill([1.0, 0.0], [1, 0]) == 1.0
    assert brier_skill([0.5, 0.5], [1, 0]) == 0.0
    assert brier_skill([0.0, 1.0], [1, 0]) == -3.0
    assert np.isnan(brier_skill([0.3, 0.3], [1, 1]))


@pytest.mark.parametrize('metric', [smooth_ece, cutoff_calibration_error, brier_skill])
@pytest.mark.parametrize(
    ('p', 'y'), [([], []), ([0.5], [2]), ([1.5], [1]), ([float('nan')], [0]), ([0.5], [0, 1])]
)
def test_what_cannot_be_scored(metric, p, y):
    with pytest.raises(ValueError, match=r'.'):
        metric(p, y)


@pytest.mark.parametrize('wrong', [{'level': 1.0}, {'resamples': 0}, {'block': 0}])
def test_arguments_of_the_bootstrap(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        bootstrap_interval(brier, [0.5], [1], **wrong)


@pytest.mark.parametrize('p', [[], [1.5], [float('nan')], [[0.5]]])
def test_noise_of_what_is_no_probability(p):
    with pytest.raises(ValueError, match=r'.'):
        ece_noise(p)
