# SPDX-License-Identifier: Apache-2.0
"""What Online Platt Scaling promises for any input; test_platt_reference.py has the values."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators import StateError, create
from calib_node.core.calibrators.parameters import CALIBRATOR_LIMITS

EDGES = [0.0, 5e-324, 1e-300, 1e-9, 0.01, 0.5, 0.99, 1.0 - 1e-9, 1.0 - 2**-53, 1.0]
probabilities = st.floats(0.0, 1.0) | st.sampled_from(EDGES)


def learned(stream=((0.8, 0), (0.3, 1), (0.9, 0)), **parameters):
    """Return an OPS that has learned a stream."""
    calibrator = create('ops', **parameters)
    for p, y in stream:
        calibrator.update(p, y)
    return calibrator


def with_map(a: float, b: float, clip: float = 0.01):
    """Return an OPS of a given map."""
    calibrator = create('ops', radius=1e9, clip=clip)
    calibrator.restore({**calibrator.state(), 'a': a, 'b': b, 'updates': 1})
    return calibrator


@given(
    probabilities,
    probabilities,
    st.floats(1e-12, 1e6),
    st.floats(-1e3, 1e3),
    st.sampled_from([1e-9, 0.01, 0.499]),
)
def test_larger_p_never_maps_lower_while_a_is_positive(p, other, a, b, clip):
    calibrator = with_map(a, b, clip)
    low, high = sorted((p, other))
    assert calibrator.predict(low) <= calibrator.predict(high)


@pytest.mark.parametrize(
    ('a', 'b'), [(1.0, 0.0), (0.3, 2.0), (40.0, -3.0), (1e4, 0.1), (7.0, 36.0)]
)
def test_neighbouring_floats_keep_their_order(a, b):
    calibrator = with_map(a, b, clip=1e-9)
    for start in (1e-9, 0.02, 0.3, 0.5 - 2**-54 * 1000, 0.7, 1.0 - 2**-30):
        p, previous = start, 0.0
        for _ in range(2000):
            q = calibrator.predict(p)
            assert q >= previous
            p, previous = math.nextafter(p, 2.0), q


def test_rounding_never_wears_the_smallest_rho_out():
    """Gradients of one direction alone leave the other eigenvalue of A at rho for ever."""
    generator = random.Random(1)
    stream = [(1.0, int(generator.random() < 0.5)) for _ in range(100_000)]
    calibrator = learned(stream, rho=CALIBRATOR_LIMITS['rho'].low, radius=1e6, clip=0.001)
    (a00, a01), (_, a11) = calibrator.A
    determinant = Fraction(a00) * Fraction(a11) - Fraction(a01) ** 2
    smaller = float(determinant / (Fraction(a00) + Fraction(a11)))
    assert smaller == pytest.approx(calibrator.parameters()['rho'], rel=0.1)


def test_error_of_a_sure_and_right_forecast_keeps_its_digits():
    calibrator = with_map(10.0, 0.0)
    calibrator.update(0.99, 1)
    error = 0.99**-10 * 0.01**10
    assert calibrator.b == pytest.approx(error / (0.1 * 100.0), rel=1e-9)


def test_new_rho_shifts_the_matrix():
    calibrator = learned(rho=100.0)
    before = np.array(calibrator.A)
    calibrator.configure(rho=30.0)
    np.testing.assert_allclose(calibrator.A, before - 70.0 * np.eye(2), rtol=1e-14)
    # The first gradient does not depend on rho.
    one_step = learned([(0.8, 0)], rho=100.0)
    one_step.configure(rho=30.0)
    np.testing.assert_allclose(one_step.A, learned([(0.8, 0)], rho=30.0).A, rtol=1e-14)


def test_smaller_radius_projects_at_once():
    calibrator = learned()
    assert math.hypot(calibrator.a, calibrator.b) > 0.5
    calibrator.configure(radius=0.5)
    assert math.hypot(calibrator.a, calibrator.b) == pytest.approx(0.5, rel=1e-15)
    before = calibrator.a, calibrator.b
    calibrator.configure(radius=200.0)
    assert (calibrator.a, calibrator.b) == before


def test_only_a_smaller_radius_projects():
    calibrator = create('ops', radius=0.5)
    calibrator.configure(gamma=0.2)
    assert calibrator.a == 1.0
    calibrator.configure(radius=0.4)
    assert calibrator.a == pytest.approx(0.4, rel=1e-15)


def test_own_parameters_win():
    state = learned(rho=100.0, gamma=0.1, forgetting=0.99).state()
    calibrator = create('ops', rho=30.0, radius=0.5, gamma=0.3)
    calibrator.restore(state)
    np.testing.assert_allclose(calibrator.A, np.array(state['A']) - 70.0 * np.eye(2), rtol=1e-14)
    assert math.hypot(calibrator.a, calibrator.b) == pytest.approx(0.5, rel=1e-15)
    assert calibrator.updates == 3
    assert calibrator.parameters() == create('ops', rho=30.0, radius=0.5, gamma=0.3).parameters()


def test_rounding_outside_the_radius_is_taken():
    state = learned(radius=0.5).state()
    state['a'], state['b'] = 0.5 * (1 + 9e-10), 0.0
    calibrator = create('ops', radius=0.5)
    calibrator.restore(state)
    assert calibrator.a == pytest.approx(0.5, rel=1e-9)
    state['a'] = 0.5 * (1 + 2e-9)
    with pytest.raises(StateError, match='radius'):
        calibrator.restore(state)


def test_whole_numbers_are_taken_as_floats():
    state = {**learned().state(), 'a': 1, 'b': -1, 'A': [[200, 0], [0, 300]]}
    calibrator = create('ops')
    calibrator.restore(state)
    assert calibrator.predict(0.5) == pytest.approx(1 / (1 + math.e))
