# SPDX-License-Identifier: Apache-2.0
"""Temperature scaling that learns online, of K classes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_node.core.calibrators import create, create_multiclass


def drawn(classes, n, seed=0, temperature=2.0):
    """Return logits of a model that is too sure by `temperature`, and labels."""
    generator = np.random.default_rng(seed)
    z = generator.normal(0, 3, (n, classes))
    gumbel = generator.gumbel(size=(n, classes))
    return z, (z / temperature + gumbel).argmax(axis=1).tolist()


def softmax(z):
    powers = np.exp(z - z.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    'parameters', [{}, {'rho': 1.0, 'radius': 1.1}, {'forgetting': 0.9, 'gamma': 1.0, 'rho': 2.0}]
)
def test_it_is_the_newton_step_in_one_dimension(parameters):
    """The gradient is E_q[z] - z_y, the derivative of the log-loss in beta = 1 / T."""
    gamma, rho = parameters.get('gamma', 0.1), parameters.get('rho', 100.0)
    keep, radius = parameters.get('forgetting', 1.0), parameters.get('radius', 100.0)
    z, labels = drawn(4, 200)
    calibrator = create_multiclass('temperature', classes=4, **parameters)
    beta, matrix = 1.0, rho
    for row, label in zip(z, labels):
        p = softmax(row)
        x = np.log(p)
        q = softmax(beta * x)
        np.testing.assert_allclose(calibrator.predict(p), q, rtol=1e-9)
        g = q @ x - x[label]
        matrix = keep * matrix + (1 - keep) * rho + g * g
        beta = min(max(beta - g / matrix / gamma, 1e-3), radius)
        calibrator.update(p, label)
        assert calibrator.beta == pytest.approx(beta, rel=1e-9)


def test_two_classes_are_the_binary_case():
    both, binary = create_multiclass('temperature', classes=2), create('temperature', clip=1e-9)
    z, labels = drawn(2, 300)
    for row, label in zip(softmax(z), labels):
        q, ticket = both.issue(row)
        assert q[1] == pytest.approx(binary.predict(float(row[1])), rel=1e-9)
        both.update(row, label, ticket)
        binary.update(float(row[1]), label)
    assert both.beta == pytest.approx(binary.beta, rel=1e-9)


def test_logits_and_probabilities_agree():
    z, labels = drawn(5, 100)
    by_logits, by_p = (create_multiclass('temperature', classes=5) for _ in range(2))
    for row, label in zip(z, labels):
        q, ticket = by_logits.issue_logits(row + 1000.0)
        np.testing.assert_allclose(q, by_p.predict(softmax(row)), rtol=1e-9)
        by_logits.update_logits(row + 1000.0, label, ticket)
        by_p.update(softmax(row), label)
    assert by_logits.beta == pytest.approx(by_p.beta, rel=1e-9)
    without = create_multiclass('temperature', classes=5)
    for row, label in zip(z, labels):
        without.update_logits(row, label)
    assert without.beta == pytest.approx(by_p.beta, rel=1e-9)


def test_floor_of_logits_is_that_of_their_probabilities():
    calibrator = create_multiclass('temperature', classes=4, radius=0.5)
    logits = np.array([0.0, 0.0, 0.0, -20.0])
    q = calibrator.issue_logits(logits)[0]
    np.testing.assert_allclose(q, calibrator.predict(softmax(logits)), rtol=1e-12)


@settings(max_examples=50)
@given(
    st.lists(st.floats(-50, 50), min_size=4, max_size=4),
    st.lists(st.floats(1e-3, 1e2), max_size=1),
    st.integers(0, 3),
)
def test_the_likeliest_class_stays_the_likeliest(logits, beta, seed):
    calibrator = create_multiclass('temperature', classes=4)
    for value in beta:
        calibrator.restore({**calibrator.state(), 'beta': value})
    p = softmax(np.array(logits))
    for q in (calibrator.predict(p), calibrator.issue_logits(logits)[0]):
        assert q[p.argmax()] == q.max()
        assert q.sum() == pytest.approx(1.0, abs=1e-14)


def test_it_finds_the_temperature():
    z, labels = drawn(10, 5000, temperature=2.0)
    calibrator = create_multiclass('temperature', classes=10)
    for row, label in zip(z, labels):
        calibrator.update_logits(row, label)
    assert calibrator.temperature == pytest.approx(2.0, rel=0.05)


def test_clip_must_leave_the_likeliest_class_alone():
    sentence = 'clip of 10 classes must be < 1 / 10'
    with pytest.raises(ValueError, match=sentence):
        create_multiclass('temperature', classes=10, clip=0.1)
    calibrator = create_multiclass('temperature', classes=10)
    before = calibrator.state()
    with pytest.raises(ValueError, match=sentence):
        calibrator.configure(clip=0.1, rho=1.0)
    assert calibrator.state() == before


@pytest.mark.parametrize('logits', [[1.0, 2.0], [1.0, math.nan, 0.0], [1.0, math.inf, 0.0]])
def test_wrong_logits_get_a_sentence(logits):
    calibrator = create_multiclass('temperature', classes=3)
    with pytest.raises(ValueError, match='3 finite logits are expected, not'):
        calibrator.issue_logits(logits)
    with pytest.raises(ValueError, match='3 finite logits are expected, not'):
        calibrator.update_logits(logits, 1)
    assert calibrator.updates == 0
