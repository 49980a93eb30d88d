# SPDX-License-Identifier: Apache-2.0
"""Temperature scaling that learns online, of two classes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators import create

probabilities = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1e-300, 0.5, 0.99, 1.0])
samples = st.lists(st.tuples(probabilities, st.integers(0, 1)), max_size=30)
PAIRS = [(0.8, 0), (0.3, 1), (0.95, 1), (0.999, 0), (0.02, 0)]


def learned(pairs=PAIRS, **parameters):
    calibrator = create('temperature', **parameters)
    for p, y in pairs:
        calibrator.update(p, y)
    return calibrator


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def written_out(pairs, gamma=0.1, rho=100.0, radius=100.0, clip=0.01, forgetting=1.0):
    """Return beta and A from the definition."""
    beta, matrix = 1.0, rho
    for p, y in pairs:
        p = min(max(p, clip), 1 - clip)
        x = math.log(p / (1 - p))
        g = (sigmoid(beta * x) - y) * x
        matrix = forgetting * matrix + (1 - forgetting) * rho + g * g
        beta = min(max(beta - g / matrix / gamma, 1e-3), radius)
    return beta, matrix


def test_first_step_by_hand():
    x = math.log(4)
    calibrator = learned([(0.8, 0)])
    beta = 1 - 0.8 * x / (0.1 * (100 + (0.8 * x) ** 2))
    assert calibrator.beta == pytest.approx(beta, rel=1e-14)
    assert calibrator.temperature == 1 / calibrator.beta
    assert calibrator.predict(0.8) == pytest.approx(sigmoid(beta * x), rel=1e-14)


@pytest.mark.parametrize(
    'parameters',
    [
        {},
        {'rho': 1.0},
        {'rho': 1.0, 'radius': 1.2},
        {'gamma': 1.0, 'forgetting': 0.9, 'rho': 5.0},
        {'clip': 1e-9},
        {'clip': 0.3},
    ],
)
def test_it_is_the_newton_step_in_one_dimension(parameters):
    generator = np.random.default_rng(0)
    pairs = [(p, int(generator.random() < p**2)) for p in generator.random(300).tolist()]
    state = learned(pairs, **parameters).state()
    assert [state['beta'], state['A']] == pytest.approx(written_out(pairs, **parameters), rel=1e-9)


@given(samples, probabilities, probabilities)
def test_order_and_the_middle_stay(pairs, p, other):
    calibrator = learned(pairs, rho=1.0)
    low, high = sorted((p, other))
    assert calibrator.predict(low) <= calibrator.predict(high)
    assert calibrator.predict(0.5) == 0.5
    assert calibrator.predict(p) + calibrator.predict(1 - p) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize('clip', [0.01, 1e-9])
@pytest.mark.parametrize('forgetting', [1.0, 0.99])
def test_a_model_that_is_always_sure_and_always_wrong(clip, forgetting):
    calibrator = learned([(1.0, 0)] * 20_000, clip=clip, forgetting=forgetting)
    assert calibrator.beta == 1e-3
    assert 0.5 < calibrator.predict(1.0) < 0.51


def test_it_finds_the_temperature_of_an_overconfident_model():
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 2, 20_000)
    labels = generator.random(20_000) < 1 / (1 + np.exp(-logits / 2))
    p = 1 / (1 + np.exp(-logits))
    calibrator = learned(zip(p.tolist(), labels.astype(int).tolist()), clip=1e-6)
    assert calibrator.temperature == pytest.approx(2.0, rel=0.1)


def test_live_changes():
    calibrator = learned()
    beta, matrix = calibrator.beta, calibrator.state()['A']
    calibrator.configure(rho=30.0)
    assert calibrator.state()['A'] == pytest.approx(matrix - 70.0, rel=1e-14)
    assert calibrator.beta == beta
    calibrator.configure(radius=0.3)
    assert calibrator.beta == 0.3
    calibrator.configure(radius=100.0)
    assert calibrator.beta == 0.3
    calibrator.reset()
    assert calibrator.state() == create('temperature', rho=30.0).state()


def test_rounding_never_leaves_less_than_rho():
    calibrator = create('temperature', rho=1e12)
    calibrator.update(0.5, 1)
    calibrator.configure(rho=0.0126)
    assert calibrator.state()['A'] == 0.0126


def test_own_parameters_win():
    calibrator = create('temperature', rho=30.0, radius=0.4)
    calibrator.restore(learned().state())
    assert calibrator.beta == 0.4
    assert calibrator.state()['A'] == pytest.approx(learned().state()['A'] - 70.0, rel=1e-14)
    assert calibrator.updates == 5
    assert calibrator.parameters()['rho'] == 30.0
