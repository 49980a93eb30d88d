# SPDX-License-Identifier: Apache-2.0
"""Correction for classes that are more or less frequent than in training."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators.prior_shift import shift_prior, shift_priors

priors = st.floats(1e-6, 1 - 1e-6)
inner = st.floats(1e-6, 1 - 1e-6)
weights = st.lists(st.floats(1e-3, 1.0), min_size=3, max_size=3).map(
    lambda values: (np.array(values) / sum(values)).tolist()
)


@given(inner, priors, priors)
def test_logit_moves_by_the_difference_of_the_prior_logits(p, old, new):
    def logit(x):
        return math.log(x) - math.log1p(-x)

    q = shift_prior(p, old, new)
    assert isinstance(q, float)
    expected = 1 / (1 + math.exp(-(logit(p) + logit(new) - logit(old))))
    assert q == pytest.approx(expected, rel=1e-9)
    assert shift_prior(q, new, old) == pytest.approx(p, rel=1e-3, abs=1e-9)


@given(inner, priors, priors)
def test_it_is_the_rule_of_bayes(p, old, new):
    """The likelihoods stay, the priors change: two ways to the same posterior."""
    one, zero = p / old * new, (1 - p) / (1 - old) * (1 - new)
    assert shift_prior(p, old, new) == pytest.approx(one / (one + zero), rel=1e-9)


@given(weights, weights, weights)
def test_classes_follow_the_rule_of_bayes(p, old, new):
    expected = np.array(p) / old * new
    np.testing.assert_allclose(shift_priors(p, old, new), expected / expected.sum(), rtol=1e-12)


@given(inner, priors, priors)
def test_two_classes_are_the_binary_case(p, old, new):
    both = shift_priors([1 - p, p], [1 - old, old], [1 - new, new])
    assert both[1] == pytest.approx(shift_prior(p, old, new), rel=1e-9)


@given(weights, weights)
def test_the_same_priors_change_nothing(p, prior):
    np.testing.assert_allclose(shift_priors(p, prior, prior), p, rtol=1e-14)
    assert shift_prior(p[0], prior[0], prior[0]) == pytest.approx(p[0], rel=1e-14)


def test_certainty_stays():
    assert shift_prior(0.0, 0.1, 0.9) == 0.0
    assert shift_prior(1.0, 0.9, 0.1) == 1.0
    shifted = shift_priors([1.0, 0.0, 0.0], [1e-300, 0.5, 0.5], [0.5, 0.5, 1e-300])
    assert shifted.tolist() == [1.0, 0.0, 0.0]


def test_extreme_priors_stay_finite():
    tiny = 5e-324
    assert shift_prior(0.5, 0.5, tiny) < 1e-300
    assert shift_prior(0.5, tiny, 0.5) == 1.0
    assert shift_prior(1e-300, tiny, 1 - 2**-53) == pytest.approx(1.0)


def test_one_sample_does_not_underflow_beside_another():
    p, old, new = [[1.0, 0.0], [0.0, 1.0]], [0.001, 0.999], [1.0, 5e-324]
    assert shift_priors(p, old, new).tolist() == p


def test_many_samples_are_shifted_at_once():
    p = np.random.default_rng(0).dirichlet([1, 1, 1], size=(2, 5))
    shifted = shift_priors(p, [0.2, 0.3, 0.5], [0.5, 0.3, 0.2])
    assert shifted.shape == (2, 5, 3)
    for index in np.ndindex(2, 5):
        row = shift_priors(p[index], [0.2, 0.3, 0.5], [0.5, 0.3, 0.2])
        np.testing.assert_allclose(shifted[index], row, rtol=1e-15)
    np.testing.assert_allclose(shifted.sum(axis=-1), 1.0, rtol=1e-15)
    binary = shift_prior(p[..., 0], 0.2, 0.5)
    assert binary.shape == (2, 5)
    assert binary[1, 2] == pytest.approx(shift_prior(float(p[1, 2, 0]), 0.2, 0.5), rel=1e-15)


@pytest.mark.parametrize(
    ('p', 'old', 'new', 'sentence'),
    [
        (0.5, 0.0, 0.5, r'the old prior must be within \(0, 1\), not 0.0'),
        (0.5, 0.5, 1.0, r'the new prior must be within \(0, 1\), not 1.0'),
        (0.5, math.nan, 0.5, 'the old prior .* not nan'),
        (1.5, 0.5, 0.5, r'every probability must be within \[0, 1\]'),
        ([0.5, math.nan], 0.5, 0.5, r'every probability must be within \[0, 1\]'),
    ],
)
def test_wrong_use_gets_a_sentence(p, old, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        shift_prior(p, old, new)


EVEN = [0.5, 0.5]


@pytest.mark.parametrize(
    ('p', 'old', 'new', 'sentence'),
    [
        (0.5, EVEN, EVEN, r'p must be of shape \(..., K\), K >= 2'),
        ([1.0], [1.0], [1.0], r'p must be of shape \(..., K\), K >= 2'),
        (EVEN, [1 / 3] * 3, EVEN, 'the old priors must be 2, one per class'),
        (EVEN, EVEN, 0.5, 'the new priors must be 2, one per class'),
        (EVEN, [1.0, 0.0], EVEN, 'the old priors must be positive and sum to 1'),
        (EVEN, EVEN, [0.5, 0.6], 'the new priors must be positive and sum to 1'),
        (EVEN, EVEN, [math.nan, 0.5], 'the new priors must be positive and sum to 1'),
        ([1.1, -0.1], EVEN, EVEN, r'every probability must be within \[0, 1\]'),
        ([[0.5, 0.5], [0.0, 0.0]], EVEN, EVEN, 'every probability is 0'),
    ],
)
def test_wrong_use_with_classes_gets_a_sentence(p, old, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        shift_priors(p, old, new)
