# SPDX-License-Identifier: Apache-2.0
"""Platt scaling of a whole set of samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators.fits import PlattMap, fit_platt
from calib_node.core.calibrators.fits.platt import SLOPE_LIMIT

samples = st.lists(
    st.tuples(
        st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.5, 0.5 + 1e-15, 0.99, 1.0]),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=40,
)


def loss(a, b, p, y, clip=0.01):
    """Return the log-loss against the smoothed targets, written out."""
    p, y = np.clip(p, clip, 1 - clip), np.asarray(y)
    positives, negatives = np.sum(y == 1), np.sum(y == 0)
    targets = np.where(y == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    z = a * np.log(p / (1 - p)) + b
    return float(np.sum(np.logaddexp(0, z) - targets * z))


def drawn(n, seed=0):
    generator = np.random.default_rng(seed)
    p = generator.random(n)
    return p, (generator.random(n) < p**2).astype(int)


def test_values_that_were_computed_independently():
    """Of scikit-learn's sigmoid calibration on the logits, which has the same targets."""
    p = [0.1, 0.2, 0.3, 0.35, 0.5, 0.6, 0.7, 0.75, 0.9, 0.95]
    y = [0, 0, 1, 0, 0, 1, 0, 1, 1, 1]
    fitted = fit_platt(p, y)
    assert fitted.a == pytest.approx(0.6714892, abs=1e-5)
    assert fitted.b == pytest.approx(-0.1491776, abs=1e-5)


@given(samples, st.floats(-SLOPE_LIMIT, SLOPE_LIMIT), st.floats(-30.0, 30.0))
def test_no_line_within_the_slope_limit_is_better(data, a, b):
    p, y = zip(*data)
    fitted = fit_platt(p, y)
    assert abs(fitted.a) <= SLOPE_LIMIT
    best = loss(fitted.a, fitted.b, p, y)
    assert best <= loss(a, b, p, y) + 1e-9 * len(p)
    for step in (1e-3, -1e-3):
        assert best <= loss(fitted.a, fitted.b + step, p, y) + 1e-12


@pytest.mark.parametrize('seed', range(5))
def test_gradient_is_zero_to_rounding(seed):
    p, y = drawn(1000, seed)
    fitted = fit_platt(p, y)
    steps = [
        (loss(fitted.a + da, fitted.b + db, p, y) - loss(fitted.a - da, fitted.b - db, p, y)) / 2e-4
        for da, db in ((1e-4, 0), (0, 1e-4))
    ]
    assert np.abs(steps).max() < 1e-5


def test_separable_samples_have_a_finite_map():
    p = np.linspace(0.02, 0.98, 1000)
    fitted = fit_platt(p, p > 0.5)
    assert 1.0 < fitted.a < SLOPE_LIMIT
    assert fitted.predict(0.98) == pytest.approx(501 / 502, abs=2e-3)


@pytest.mark.parametrize('label', [0, 1])
def test_one_class_alone_gives_the_smoothed_frequency(label):
    fitted = fit_platt(drawn(100)[0], [label] * 100)
    assert fitted.predict(0.3) == pytest.approx([1 / 102, 101 / 102][label], rel=1e-9)
    assert fitted.a == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize('p', [0.3, 0.8, 1.0])
def test_equal_p_give_one_value(p):
    fitted = fit_platt([p] * 10, [1] * 3 + [0] * 7)
    assert fitted.a == 0.0
    # What the targets have as their mean.
    assert fitted.predict(0.5) == pytest.approx((3 * 4 / 5 + 7 / 9) / 10, rel=1e-9)


def test_whole_newton_steps_would_run_away():
    p = [1e-6] + [0.5] * 101 + [0.9] * 38 + [1.0] * 2
    y = [0] + [0] * 97 + [1] * 4 + [0] * 38 + [0, 1]
    fitted = fit_platt(p, y, clip=7.6e-9)
    assert fitted.a == pytest.approx(0.1546, abs=1e-3)
    assert fitted.b == pytest.approx(-3.488, abs=1e-2)


def test_rounding_of_a_constant_gives_no_step():
    p = [0.8, math.nextafter(0.8, 1)] * 500
    fitted = fit_platt(p, [0, 1] * 500)
    assert abs(fitted.a) <= SLOPE_LIMIT
    assert fitted.predict(0.8) == pytest.approx(0.5, abs=1e-9)


def test_slope_at_its_limit_has_the_best_intercept():
    p = np.concatenate([np.full(500, 0.5), np.full(500, 0.501)])
    y = np.concatenate([np.zeros(500), np.ones(500)])
    fitted = fit_platt(p, y)
    assert fitted.a == SLOPE_LIMIT
    best = loss(fitted.a, fitted.b, p, y)
    assert best < min(loss(fitted.a, fitted.b + step, p, y) for step in (-1e-3, 1e-3))
    assert fit_platt(p, 1 - y).a == -SLOPE_LIMIT


def test_a_model_that_is_always_sure_and_always_wrong():
    assert fit_platt([1.0] * 100_000, [0] * 100_000).predict(1.0) == pytest.approx(
        1 / 100_002, rel=1e-6
    )


@given(st.floats(0.0, 1.0), st.floats(-100, 100), st.floats(-800, 800))
def test_array_and_scalar_agree(p, a, b):
    fitted = PlattMap(a, b)
    assert fitted.transform([p, p]).tolist() == pytest.approx([fitted.predict(p)] * 2, rel=1e-12)
    assert 0.0 <= fitted.predict(p) <= 1.0


def test_p_beyond_the_clip_maps_as_the_clip():
    fitted = fit_platt(*drawn(100), clip=0.1)
    assert fitted.clip == 0.1
    assert fitted.predict(0.0) == fitted.predict(0.1) < fitted.predict(0.11)
    assert fitted.predict(1.0) == fitted.predict(0.9) > fitted.predict(0.89)
    assert fitted.transform([0.0, 1.0]).tolist() == fitted.transform([0.1, 0.9]).tolist()
    other = fit_platt(np.clip(drawn(100)[0], 0.1, 0.9), drawn(100)[1], clip=0.1)
    assert (other.a, other.b) == (fitted.a, fitted.b)


@pytest.mark.parametrize(
    ('p', 'y', 'sentence'),
    [
        ([], [], 'no samples to fit to'),
        ([0.1, 0.2], [1], 'of equal length, not of shapes'),
        ([[0.1]], [[1]], 'must be one-dimensional'),
        ([0.1, 1.1], [0, 1], r'every probability must be within \[0, 1\]'),
        ([0.1, math.nan], [0, 1], r'every probability must be within \[0, 1\]'),
        ([0.1, 0.2], [0, 2], 'every label must be 0 or 1'),
        ([0.1, 0.2], [0, math.nan], 'every label must be 0 or 1'),
    ],
)
def test_wrong_use_gets_a_sentence(p, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit_platt(p, y)


def test_map_refuses_what_is_no_probability():
    for p in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=r'a probability must be within \[0, 1\]'):
            PlattMap(1.0, 0.0).predict(p)
        with pytest.raises(ValueError, match=r'every probability must be within \[0, 1\]'):
            PlattMap(1.0, 0.0).transform([0.5, p])
