# SPDX-License-Identifier: Apache-2.0
"""What a number means, and that it comes back on the scale on which it came."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.numerics.sigmoid import clipped_logit, sigmoid
from calib_node.stream.numbers import Numbers

PROBABILITIES = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ('scale', 'number', 'probability'),
    [
        ((0.0, 100.0), 87.0, 0.87),
        ((1.0, 99.0), 50.0, 0.5),
        ((1.0, 99.0), 1.0, 0.0),
        ((0.0, 255.0), 255.0, 1.0),
        ((100.0, 0.0), 25.0, 0.75),
        ((-1.0, 1.0), 0.0, 0.5),
        ((0.0, 100.0), 120.0, 1.2),
    ],
)
def test_scales(scale, number, probability):
    numbers = Numbers(scale)
    assert numbers.to_probability(np.array([number])) == pytest.approx(probability)
    assert numbers.back(np.array([probability])) == pytest.approx(number)


@given(PROBABILITIES, st.sampled_from([(0.0, 100.0), (1.0, 99.0), (255.0, 0.0), (-7.0, 1e6)]))
def test_there_and_back(p, scale):
    numbers = Numbers(scale)
    assert numbers.to_probability(numbers.back(np.array([p]))) == pytest.approx(p, abs=1e-12)


@given(st.floats(-30.0, 30.0))
def test_log_odds(x):
    numbers = Numbers(link='logit')
    p = numbers.to_probability(np.array([x]))
    assert p == pytest.approx(sigmoid(x), rel=1e-14)
    if abs(x) < 15:
        assert numbers.back(p) == pytest.approx(x, rel=1e-9, abs=1e-12)
        assert numbers.back(p) == pytest.approx(clipped_logit(p, 1e-12))


def test_the_ends_of_the_log_odds_stay_finite_and_what_is_infinite_is_refused():
    numbers = Numbers(link='logit')
    assert np.isfinite(numbers.back(np.array([0.0, 1.0]))).all()
    assert numbers.to_probability(np.array([-1e9, 1e9])) == pytest.approx([0.0, 1.0])
    assert np.isinf(numbers.to_probability(np.array([-np.inf, np.inf]))).all()
    assert np.isnan(numbers.to_probability(np.array([np.nan])))


def test_numbers_that_say_nothing():
    values = np.array([-1.0, 0.5, 255.0, np.nan])
    codes = Numbers(no_opinion=(-1.0, 255.0))
    assert codes.says_nothing(values).tolist() == [True, False, True, False]
    nan = Numbers(nan_is_no_opinion=True)
    assert nan.says_nothing(values).tolist() == [False, False, False, True]
    assert Numbers().says_nothing(values).tolist() == [False] * 4
    assert values[0] == -1.0


def test_plain_numbers_are_handed_through():
    assert Numbers().plain
    assert not Numbers(no_opinion=(0.0,)).plain
    values = np.array([0.1, 0.3])
    assert Numbers().to_probability(values) is values
    assert Numbers().back(values) is values
