# SPDX-License-Identifier: Apache-2.0
"""Temperature scaling of a whole set of samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib_node.core.calibrators.fits import (
    TemperatureMap,
    fit_binary_temperature,
    fit_temperature,
    fit_temperature_logits,
)
from calib_node.core.calibrators.fits.temperature import HIGHEST_TEMPERATURE, LOWEST_TEMPERATURE

logit_arrays = arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(2, 5)),
    elements=st.floats(-40, 40) | st.sampled_from([0.0, 1.0, 1e-9, 700.0, -700.0]),
)


def loss(z, y, temperature):
    z = np.asarray(z) / temperature
    z = z - z.max(axis=1, keepdims=True)
    return float((np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y]).mean())


def cases(logits, data):
    return logits, data.draw(arrays(np.int64, len(logits), elements=st.integers(0, 99))) % len(
        logits[0]
    )


@given(logit_arrays, st.data())
def test_fitted_loss_is_never_above_that_of_temperature_1(logits, data):
    z, y = cases(logits, data)
    fitted = fit_temperature_logits(z, y).temperature
    assert LOWEST_TEMPERATURE <= fitted <= HIGHEST_TEMPERATURE
    assert loss(z, y, fitted) <= loss(z, y, 1.0) * (1 + 1e-12)


@given(logit_arrays, st.data())
def test_no_temperature_within_the_limits_is_better(logits, data):
    z, y = cases(logits, data)
    fitted = loss(z, y, fit_temperature_logits(z, y).temperature)
    for temperature in np.geomspace(LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE, 60):
        assert fitted <= loss(z, y, temperature) + 1e-9 * (1 + abs(fitted))


@given(logit_arrays, st.floats(0.01, 1000))
def test_the_likeliest_class_stays_the_likeliest(logits, temperature):
    q = TemperatureMap(temperature).transform_logits(logits)
    np.testing.assert_allclose(q.sum(axis=1), 1.0, rtol=1e-14)
    assert (q[np.arange(len(q)), logits.argmax(axis=1)] == q.max(axis=1)).all()


@pytest.mark.parametrize('wrong', [1, 10, 1000, 4990])
def test_two_classes_have_a_closed_form(wrong):
    """From T = 1 the loss is not convex in ln T where few are wrong."""
    z = np.tile([1.0, 0.0], (10_000, 1))
    y = (np.arange(10_000) < wrong).astype(int)
    expected = 1 / math.log((10_000 - wrong) / wrong)
    assert fit_temperature_logits(z, y).temperature == pytest.approx(expected, rel=1e-7)


def test_ends_of_the_range():
    z = [[2.0, 0.0], [0.0, 3.0]]
    assert fit_temperature_logits(z, [0, 1]).temperature == LOWEST_TEMPERATURE
    assert fit_temperature_logits(z, [1, 0]).temperature == HIGHEST_TEMPERATURE
    assert fit_temperature_logits(np.zeros((3, 4)), [0, 1, 2]).temperature == 1.0


def test_floor_bounds_what_one_impossible_label_weighs():
    p = np.tile([[1.0, 0.0]], (1000, 1))
    y = np.zeros(1000, dtype=int)
    y[0] = 1
    for floor in (1e-3, 1e-12):
        fitted = fit_temperature(p, y, floor=floor)
        assert fitted.temperature == pytest.approx(-math.log(floor) / math.log(999), rel=1e-6)
        assert fitted.transform(p[0]).tolist() == pytest.approx([0.999, 0.001], rel=1e-6)
    assert fit_temperature(p, y).floor == 1e-38


def test_probabilities_and_logits_agree():
    generator = np.random.default_rng(0)
    z, y = generator.normal(0, 3, (200, 4)), generator.integers(0, 4, 200)
    p = TemperatureMap(1.0).transform_logits(z)
    one, other = fit_temperature_logits(z, y), fit_temperature(p, y)
    assert one.temperature == pytest.approx(other.temperature, rel=1e-9)
    np.testing.assert_allclose(one.transform_logits(z), other.transform(p), rtol=1e-9)


def test_binary_is_the_case_of_two_classes():
    generator = np.random.default_rng(0)
    p = generator.uniform(0.02, 0.98, 300)
    y = (generator.random(300) < p**0.5).astype(int)
    fitted = fit_binary_temperature(p, y)
    both = fit_temperature(np.stack([1 - p, p], axis=1), y)
    assert fitted.b == 0.0
    assert 1 / fitted.a == pytest.approx(both.temperature, rel=1e-7)
    np.testing.assert_allclose(
        fitted.transform(p), both.transform(np.stack([1 - p, p], axis=1))[:, 1], rtol=1e-7
    )


def test_smoothed_targets_keep_a_model_that_was_always_right_from_certainty():
    p, y = [0.9] * 98 + [0.1] * 98, [1] * 98 + [0] * 98
    assert fit_binary_temperature(p, y).a == pytest.approx(1 / LOWEST_TEMPERATURE)
    assert fit_binary_temperature(p, y, smooth=True).predict(0.9) == pytest.approx(0.99, abs=1e-9)


@pytest.mark.parametrize(
    ('values', 'y', 'sentence'),
    [
        ([[0.5, 0.5]], [2], 'every label must be a class index from 0 to 1'),
        ([[0.5, 0.5]], [-1], 'every label must be a class index from 0 to 1'),
        ([[0.5, 0.5]], [0.5], 'every label must be a class index from 0 to 1'),
        ([[0.5, 0.5]], [0, 1], r'must be of shape \(n, K\), K >= 2, and labels of shape \(n,\)'),
        ([[0.5]], [0], r'must be of shape \(n, K\)'),
        ([0.5, 0.5], [0], r'must be of shape \(n, K\)'),
        (np.zeros((0, 3)), [], 'no samples to fit to'),
        ([[0.5, math.nan]], [0], 'all .* must be finite'),
        ([[0.5, math.inf]], [0], 'all .* must be finite'),
    ],
)
@pytest.mark.parametrize('fit', [fit_temperature, fit_temperature_logits])
def test_wrong_use_gets_a_sentence(fit, values, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit(values, y)


def test_probability_outside_is_refused():
    with pytest.raises(ValueError, match=r'every probability must be within \[0, 1\]'):
        fit_temperature([[1.1, -0.1]], [0])
    with pytest.raises(ValueError, match=r'every probability must be within \[0, 1\]'):
        TemperatureMap(1.0).transform([1.1, -0.1])
    with pytest.raises(ValueError, match='all logits must be finite'):
        TemperatureMap(1.0).transform_logits([1.1, math.nan])
