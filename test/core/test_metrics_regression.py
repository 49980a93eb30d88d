# SPDX-License-Identifier: Apache-2.0
"""Calibration slope and intercept: the optimum, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calib_node.core.metrics import LOGIT_CLIP, calibration_in_the_large, slope_intercept

samples = st.lists(
    st.tuples(st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.3, 0.9, 1.0]), st.integers(0, 1)),
    min_size=4,
    max_size=40,
)


def sigmoid(z):
    return np.exp(-np.logaddexp(0, -z))


def logit(p):
    p = np.clip(p, LOGIT_CLIP, 1 - LOGIT_CLIP)
    return np.log(p / (1 - p))


def distorted(slope: float, intercept: float, size: int, seed: int = 1):
    """Samples whose best map is the given one."""
    generator = np.random.default_rng(seed)
    x = generator.normal(0.0, 1.5, size)
    return sigmoid(x), generator.random(size) < sigmoid(slope * x + intercept)


@pytest.mark.parametrize(('slope', 'intercept'), [(1, 0), (0.4, 0.7), (2.5, -1.0), (-0.8, 0.2)])
def test_finds_the_map_that_made_the_labels(slope, intercept):
    fit = slope_intercept(*distorted(slope, intercept, 200_000))
    assert fit.slope == pytest.approx(slope, abs=0.03)
    assert fit.intercept == pytest.approx(intercept, abs=0.03)


def test_in_the_large_finds_the_shift():
    p, y = distorted(1.0, -0.6, 200_000)
    assert calibration_in_the_large(p, y) == pytest.approx(-0.6, abs=0.03)


def test_is_the_optimum_that_trying_every_map_finds():
    p, y = distorted(0.7, 0.5, 60)
    x = logit(p)
    centre, width = np.zeros(2), 5.0
    while width > 1e-9:
        slopes, intercepts = (c + np.linspace(-width, width, 21) for c in centre)
        z = slopes[:, None, None] * x + intercepts[None, :, None]
        loss = np.mean(np.logaddexp(0, z) - y * z, axis=-1)
        best = np.unravel_index(np.argmin(loss), loss.shape)
        centre, width = np.array([slopes[best[0]], intercepts[best[1]]]), width / 2
    np.testing.assert_allclose(slope_intercept(p, y), centre, atol=1e-6)


def overlap(p, y) -> bool:
    x = logit(p)
    negative, positive = x[y == 0], x[y == 1]
    if not (len(negative) and len(positive)):
        return False
    return bool(negative.max() > positive.min() and positive.max() > negative.min())


@given(samples)
def test_mean_errors_of_the_fit_are_0(pairs):
    """The loss is convex, so this is the optimum and no other."""
    p, y = map(np.array, zip(*pairs))
    assume(overlap(p, y))
    fit = slope_intercept(p, y)
    error = sigmoid(fit.slope * logit(p) + fit.intercept) - y
    assert np.mean(error) == pytest.approx(0.0, abs=1e-9)
    assert np.mean(error * logit(p)) == pytest.approx(0.0, abs=1e-9)


@given(samples)
def test_mean_error_of_the_fit_in_the_large_is_0(pairs):
    p, y = map(np.array, zip(*pairs))
    assume(0 < y.mean() < 1)
    intercept = calibration_in_the_large(p, y)
    error = sigmoid(logit(p) + intercept) - y
    assert np.mean(error) == pytest.approx(0.0, abs=1e-12)


@given(samples)
def test_exchanged_classes_turn_the_intercept_alone(pairs):
    p, y = map(np.array, zip(*pairs))
    p = np.round(p, 4)
    assume(overlap(p, y))
    fit, exchanged = slope_intercept(p, y), slope_intercept(1 - p, 1 - y)
    assert exchanged.slope == pytest.approx(fit.slope, rel=1e-6, abs=1e-6)
    assert exchanged.intercept == pytest.approx(-fit.intercept, rel=1e-6, abs=1e-6)


def test_certain_probabilities_are_clipped_before_the_logit():
    p, y = [0.0, 0.2, 0.8, 1.0, 0.0, 1.0], [0, 1, 0, 1, 1, 0]
    clipped = np.clip(p, LOGIT_CLIP, 1 - LOGIT_CLIP)
    np.testing.assert_allclose(slope_intercept(p, y), slope_intercept(clipped, y))
    harder = np.clip(p, 0.1, 0.9)
    np.testing.assert_allclose(slope_intercept(p, y, clip=0.1), slope_intercept(harder, y))
    large = calibration_in_the_large([1.0, 0.0, 0.6], [1, 0, 1], clip=0.4)
    assert large == pytest.approx(calibration_in_the_large([0.6, 0.4, 0.6], [1, 0, 1]))


def test_rare_events_are_not_clipped_away():
    generator = np.random.default_rng(5)
    p = 10 ** generator.uniform(-5, -2, 500_000)
    assert calibration_in_the_large(p, generator.random(len(p)) < p) == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize('score', [slope_intercept, calibration_in_the_large])
@pytest.mark.parametrize('label', [0, 1])
def test_labels_of_one_kind_have_no_intercept(score, label):
    with pytest.raises(ValueError, match=f'all labels are {label}, so no finite intercept'):
        score([0.2, 0.6], [label, label])


@pytest.mark.parametrize(
    'p',
    [
        [0.1, 0.2, 0.7, 0.8],
        [0.8, 0.7, 0.2, 0.1],
        [0.1, 0.5, 0.5, 0.8],
        [0.0, 1e-9, 1e-8, 0.8],
    ],
    ids=['upward', 'downward', 'but for a tie', 'but for the clip'],
)
def test_separable_samples_have_no_slope(p):
    with pytest.raises(ValueError, match='separate the labels, so no finite slope'):
        slope_intercept(p, [0, 0, 1, 1])


def test_separable_samples_have_an_intercept_in_the_large():
    assert calibration_in_the_large([0.2, 0.8], [0, 1]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize('p', [[0.3, 0.3, 0.3], [0.0, 1e-8, 1e-7]], ids=['equal', 'clipped'])
def test_equal_probabilities_leave_the_slope_open(p):
    with pytest.raises(ValueError, match='same, which leaves the slope open'):
        slope_intercept(p, [0, 1, 0])


@pytest.mark.parametrize('gap', [1e-3, 1e-6, 1e-9])
def test_a_hair_of_overlap_is_enough(gap):
    low, high = np.linspace(0.01, 0.49, 500), np.linspace(0.51, 0.99, 500)
    p, y = [*low, 0.5 + gap, 0.5 - gap, *high], [*[0] * 501, *[1] * 501]
    fit = slope_intercept(p, y)
    error = sigmoid(fit.slope * logit(np.array(p)) + fit.intercept) - y
    assert np.mean(error * logit(np.array(p))) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize('rest', [100, 10_000])
def test_rare_positives_are_found_where_whole_newton_steps_overshoot(rest):
    p = np.array([0.001, *[0.5] * rest, 0.99, 0.99, 0.6])
    y = np.array([0, *[0] * rest, 0, 1, 1])
    fit = slope_intercept(p, y)
    error = sigmoid(fit.slope * logit(p) + fit.intercept) - y
    assert abs(error.mean()) < 1e-12
    assert abs(np.mean(error * logit(p))) < 1e-12


def test_overlap_lost_to_rounding_is_said_so():
    """Only a slope of 1e13 tells these apart."""
    last_digit = 2.0**-53
    p = [0.9, 0.5 + 12 * last_digit, 0.5 - 36 * last_digit, 0.5 - 18 * last_digit]
    with pytest.raises(ValueError, match='all but separate the labels'):
        slope_intercept(p, [0, 0, 0, 1])
