# SPDX-License-Identifier: Apache-2.0
"""What Online Beta Scaling promises for any input; test_beta_reference.py has the values."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators import create
from calib_node.core.calibrators.parameters import CALIBRATOR_LIMITS

EDGES = [0.0, 5e-324, 1e-9, 0.01, 0.5, 0.99, 1.0 - 1e-9, 1.0 - 2**-53, 1.0]
probabilities = st.floats(0.0, 1.0) | st.sampled_from(EDGES)


def learned(stream=((0.8, 0), (0.3, 1), (0.9, 0)), **parameters):
    """Return an Online Beta Scaling that has learned a stream."""
    calibrator = create('beta', **parameters)
    for p, y in stream:
        calibrator.update(p, y)
    return calibrator


def with_map(a: float, b: float, c: float, clip: float = 0.01):
    """Return an Online Beta Scaling of a given map."""
    calibrator = create('beta', radius=1e9, clip=clip)
    calibrator.restore({**calibrator.state(), 'a': a, 'b': b, 'c': c, 'updates': 1})
    return calibrator


def norm(calibrator) -> float:
    return math.hypot(calibrator.a, calibrator.b, calibrator.c)


@given(probabilities)
def test_it_starts_from_the_identity(p):
    assert create('beta', clip=1e-9).predict(p) == pytest.approx(p, rel=1e-12, abs=2e-9)


@given(
    probabilities,
    probabilities,
    st.floats(1e-12, 1e6),
    st.floats(1e-12, 1e6),
    st.floats(-1e3, 1e3),
    st.sampled_from([1e-9, 0.01, 0.499]),
)
def test_larger_p_never_maps_lower_while_a_and_b_are_positive(p, other, a, b, c, clip):
    calibrator = with_map(a, b, c, clip)
    low, high = sorted((p, other))
    assert calibrator.predict(low) <= calibrator.predict(high)


@given(st.floats(0.02, 0.98), st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
def test_map_is_that_of_beta_calibration(p, a, b, c):
    expected = 1 / (1 + 1 / (math.exp(c) * p**a / (1 - p) ** b))
    assert with_map(a, b, c).predict(p) == pytest.approx(expected, rel=1e-12)


def test_rounding_never_wears_the_smallest_rho_out():
    """Gradients of one direction alone leave the other eigenvalues of A at rho for ever."""
    generator = random.Random(1)
    rho = CALIBRATOR_LIMITS['rho'].low
    stream = [(1.0, int(generator.random() < 0.5)) for _ in range(100_000)]
    calibrator = learned(stream, rho=rho, radius=1e6, clip=0.001)
    smallest = np.linalg.eigvalsh(calibrator.A)[:2]
    np.testing.assert_allclose(smallest, rho, rtol=0.1)


def test_error_of_a_sure_and_right_forecast_keeps_its_digits():
    calibrator = with_map(10.0, 10.0, 0.0)
    calibrator.update(0.99, 1)
    assert calibrator.c == pytest.approx(99.0**-10 / (0.1 * 25.0), rel=1e-9)


@pytest.mark.parametrize('forgetting', [0.999, 0.95])
def test_forgetting_follows_a_change_that_comes_late(forgetting):
    def samples_until_half_way(**parameters):
        calibrator = learned([(0.8, int(i % 5 != 0)) for i in range(20_000)], **parameters)
        for number in range(20_000):
            if calibrator.predict(0.8) < 0.5:
                return number
            calibrator.update(0.8, int(number % 5 == 0))
        return None

    assert samples_until_half_way(forgetting=forgetting) < samples_until_half_way() / 5


def test_new_rho_shifts_the_matrix():
    calibrator = learned(rho=25.0)
    before = np.array(calibrator.A)
    calibrator.configure(rho=10.0)
    np.testing.assert_allclose(calibrator.A, before - 15.0 * np.eye(3), rtol=1e-14)


def test_smaller_radius_projects_at_once_and_a_larger_one_changes_nothing():
    calibrator = learned()
    calibrator.configure(radius=0.5)
    assert norm(calibrator) == pytest.approx(0.5, rel=1e-15)
    before = calibrator.a, calibrator.b, calibrator.c
    calibrator.configure(radius=200.0)
    assert (calibrator.a, calibrator.b, calibrator.c) == before
    start = create('beta', radius=0.5)
    start.configure(gamma=0.2)
    assert (start.a, start.b, start.c) == (1.0, 1.0, 0.0)


def test_own_parameters_win():
    state = learned(rho=25.0, gamma=0.1, forgetting=0.99).state()
    calibrator = create('beta', rho=10.0, radius=0.5, gamma=0.3)
    calibrator.restore(state)
    np.testing.assert_allclose(calibrator.A, np.array(state['A']) - 15.0 * np.eye(3), rtol=1e-14)
    assert norm(calibrator) == pytest.approx(0.5, rel=1e-15)
    assert calibrator.updates == 3
    assert calibrator.parameters() == create('beta', rho=10.0, radius=0.5, gamma=0.3).parameters()
