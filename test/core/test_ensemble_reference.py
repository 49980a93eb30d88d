# SPDX-License-Identifier: Apache-2.0
"""The step-size ensemble against values and an oracle that were computed independently."""

from __future__ import annotations

import random

import ensemble_oracle
import numpy as np
import pytest

from calib_node.core.calibrators import create
from calib_node.core.calibrators.divergence import HalvesDivergence
from calib_node.core.evaluate import forecasts


def stream(count, seed=1, shift=0.0):
    """Return probabilities that are too bold, drift half way, and touch 0 and 1."""
    generator = random.Random(seed)
    p, y = [], []
    for i in range(count):
        truth = generator.betavariate(2, 2) if i < count // 2 else generator.betavariate(1, 3)
        p.append(min(max(round(1.6 * truth - 0.3 + shift, 2), 0.0), 1.0))
        y.append(int(generator.random() < truth))
    return p, y


@pytest.mark.slow
@pytest.mark.parametrize('delay', [0, 1, 37])
@pytest.mark.parametrize(
    'parameters',
    [
        {},
        {'averaging': False},
        {'spring': False},
        {'auto': False, 'warmup': 1},
        {'warmup': 61, 'clip': 0.2},
        {'averaging': False, 'spring': False, 'auto': False, 'clip': 1e-9},
    ],
    ids=str,
)
def test_forecasts_are_those_of_the_oracle(parameters, delay):
    p, y = stream(900)
    expected = ensemble_oracle.forecasts(p, y, **parameters, delay=delay)
    np.testing.assert_allclose(
        forecasts(create('ensemble', **parameters), zip(p, y), delay), expected, rtol=0, atol=1e-11
    )


def test_probability_that_is_good_enough_is_clipped_for_ever():
    generator = random.Random(3)
    p = [generator.random() for _ in range(1500)]
    y = [int(generator.random() < value) for value in p]
    calibrator = create('ensemble', warmup=1000)
    y[1000:] = [1] * 500
    q = forecasts(calibrator, zip(p, y))
    assert calibrator.calibrates is False
    assert q == [min(max(value, 0.01), 0.99) for value in p]
    np.testing.assert_allclose(q, ensemble_oracle.forecasts(p, y, warmup=1000), rtol=0, atol=1e-15)


@pytest.mark.parametrize('digits', [1, 2, 17])
def test_divergence_is_that_of_the_oracle(digits):
    """With one digit the range hardly ever changes; with many it often does."""
    generator = random.Random(digits)
    values = [round(generator.betavariate(1 + i / 200, 2), digits) for i in range(600)]
    values[200:300] = [0.5] * 100
    values[300:400] = [0.5 + i * 1e-14 for i in range(100)]
    halves = HalvesDivergence()
    for i, value in enumerate(values):
        expected = ensemble_oracle.divergence(values[i - 59 : i + 1]) if i >= 59 else 0.0
        assert halves.push(value) == pytest.approx(expected, abs=1e-13), i


def test_divergence_of_halves_with_nothing_in_common():
    halves = HalvesDivergence([0.2] * 30 + [0.7] * 29)
    p, q = 31 / 40, 1 / 40
    middle = (p + q) / 2
    expected = p * np.log2(p / middle) + q * np.log2(q / middle)
    assert halves.push(0.7) == pytest.approx(expected, abs=1e-15)
