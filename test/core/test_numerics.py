# SPDX-License-Identifier: Apache-2.0
"""The arithmetic that methods and metrics share: the sigmoid, and the one logistic regression."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.numerics.logistic import fit_intercept, fit_line, log_loss
from calib_node.core.numerics.sigmoid import clipped_logit, residual, sigmoid, sigmoids

targets_and_features = st.lists(
    st.tuples(st.floats(-20.0, 20.0), st.floats(0.01, 0.99)), min_size=1, max_size=30
)


def test_what_is_not_a_number_stays_so():
    assert math.isnan(sigmoid(math.nan))
    assert math.isnan(residual(math.nan, 0))
    assert math.isnan(residual(math.nan, 1))
    assert np.isnan(sigmoids(np.array([math.nan, 0.0]))).tolist() == [True, False]


@pytest.mark.parametrize('z', [-math.inf, -1e6, -709.0, -708.9, 0.0, 37.0, 709.0, 1e6, math.inf])
def test_scalar_and_array_are_the_same_number(z):
    q = sigmoid(z)
    assert 0.0 < q <= 1.0
    assert sigmoids(np.array([z])).tolist() == [q]
    assert residual(z, 0) == q
    assert residual(z, 1) == -sigmoid(-z)


@given(st.floats(-800.0, 800.0), st.floats(0.0, 1.0))
def test_log_loss_and_its_derivatives_are_those_of_the_definition(z, target):
    loss, gradient, curvature = log_loss(np.array([z]), np.array([target]))
    expected = target * np.logaddexp(0.0, -z) + (1.0 - target) * np.logaddexp(0.0, z)
    assert loss == pytest.approx(expected, rel=1e-12, abs=1e-300)
    assert gradient[0] == pytest.approx(sigmoid(z) - target, rel=1e-9, abs=1e-15)
    assert curvature[0] == pytest.approx(sigmoid(z) * sigmoid(-z), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize('y', [0, 1])
def test_no_digit_is_lost_of_a_forecast_that_is_nearly_right(y):
    z = 40.0 if y else -40.0
    loss, gradient, _ = log_loss(np.array([z]), np.array([float(y)]))
    assert loss == pytest.approx(math.exp(-40.0), rel=1e-8)
    assert gradient[0] == pytest.approx(residual(z, y), rel=1e-12)


@given(targets_and_features)
def test_line_has_mean_errors_of_0(pairs):
    x, targets = map(np.array, zip(*pairs))
    line = fit_line(x, targets)
    assert line.converged
    error = sigmoids(line.slope * x + line.intercept) - targets
    assert abs(error.mean()) < 1e-9
    assert abs((error * x).mean()) < 1e-7


def test_line_of_a_constant_feature_is_level():
    slope, intercept, converged = fit_line(np.full(7, 0.1), np.full(7, 0.3))
    assert (slope, converged) == (0.0, True)
    assert sigmoid(intercept) == pytest.approx(0.3, abs=1e-15)


def test_line_of_separated_labels_says_that_it_is_none():
    assert not fit_line(np.array([-1.0, 1.0]), np.array([0.0, 1.0])).converged


@given(targets_and_features)
def test_intercept_has_a_mean_error_of_0(pairs):
    offset, targets = map(np.array, zip(*pairs))
    error = sigmoids(offset + fit_intercept(offset, targets)) - targets
    assert abs(error.mean()) < 1e-12


def test_clipped_logit_is_finite_at_the_ends():
    logits = clipped_logit(np.array([0.0, 1.0]), 1e-9)
    assert logits.tolist() == pytest.approx([-math.log(1e9 - 1), math.log(1e9 - 1)], rel=1e-8)
