# SPDX-License-Identifier: Apache-2.0
"""The Newton step and the projection in the norm of A."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calib_node.core.numerics.newton import (
    UpdateNotFinite,
    is_positive_definite,
    newton_step,
    project,
)

A = np.array([[400.0, 150.0], [150.0, 110.0]])
OUTSIDE = np.array([3.0, -1.0])
RADIUS = 2.0
PAPER = {'gamma': 0.1, 'rho': 100.0, 'radius': 100.0, 'forgetting': 1.0}


def upper(matrix: np.ndarray) -> tuple[float, float, float]:
    return float(matrix[0, 0]), float(matrix[0, 1]), float(matrix[1, 1])


def rotated(largest: float, condition: float, angle: float) -> np.ndarray:
    """Return a matrix of the eigenvalues largest and largest / condition."""
    c, s = math.cos(angle), math.sin(angle)
    turn = np.array([[c, -s], [s, c]])
    return turn @ np.diag([largest, largest / condition]) @ turn.T


def exact_projection(t: np.ndarray, matrix: np.ndarray, radius: float) -> list[float]:
    """Project by bisection on the multiplier, in 80 digits."""
    with localcontext() as context:
        context.prec = 80
        t0, t1 = (Decimal(float(v)) for v in t)
        a00, a01, a11 = (Decimal(v) for v in upper(matrix))
        c0, c1 = a00 * t0 + a01 * t1, a01 * t0 + a11 * t1
        low, high = Decimal(0), (c0 * c0 + c1 * c1).sqrt() / Decimal(radius)
        for _ in range(260):
            m = (low + high) / 2
            det = (a00 + m) * (a11 + m) - a01 * a01
            x0, x1 = ((a11 + m) * c0 - a01 * c1) / det, ((a00 + m) * c1 - a01 * c0) / det
            if x0 * x0 + x1 * x1 > Decimal(radius) ** 2:
                low = m
            else:
                high = m
        return [float(x0), float(x1)]


def test_projection_is_in_the_norm_of_A():
    x = np.array(project(*OUTSIDE, *upper(A), RADIUS))
    np.testing.assert_allclose(x, [1.99143888, 0.18485454], atol=5e-9)
    multiplier = A @ (OUTSIDE - x) / x
    np.testing.assert_allclose(multiplier, 113.33327, atol=5e-6)
    euclidean = OUTSIDE * RADIUS / np.linalg.norm(OUTSIDE)
    assert np.linalg.norm(x - euclidean) > 0.8


outside_points = st.tuples(
    st.floats(-4, 6).map(lambda e: 10.0**e),  # largest eigenvalue
    st.floats(0, 10).map(lambda e: 10.0**e),  # condition
    st.floats(0, math.pi),
    st.floats(0, 2 * math.pi),  # direction of the point
    st.floats(-2, 3).map(lambda e: 10.0**e),  # radius
    st.floats(1e-6, 1e4),  # how far outside, in radii
)


@given(outside_points)
def test_projection_is_on_the_sphere_and_nearest(case):
    largest, condition, angle, direction, radius, far = case
    matrix = rotated(largest, condition, angle)
    t = radius * (1 + far) * np.array([math.cos(direction), math.sin(direction)])
    assume(is_positive_definite(*upper(matrix)))
    x = np.array(project(*t, *upper(matrix), radius))
    # The determinant loses as many digits as the condition has.
    assert -1e-15 * condition - 1e-15 <= math.hypot(*x) / radius - 1 <= 1e-15

    turns = np.linspace(0, 2 * math.pi, 720)
    sphere = radius * np.stack([np.cos(turns), np.sin(turns)])
    ball = np.concatenate([share * sphere for share in (1.0, 0.99, 0.5)], axis=1)
    differences = ball - t[:, None]
    others = np.sqrt(np.sum(differences * (matrix @ differences), axis=0))
    own = math.sqrt((x - t) @ matrix @ (x - t))
    # Rounding of x itself costs up to this much distance.
    slack = 1e-13 * math.sqrt(largest) * np.linalg.norm(t)
    assert own <= others.min() + slack


@pytest.mark.parametrize('condition', [1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize('far', [1e-9, 0.1, 10.0, 1e6])
@pytest.mark.parametrize('largest', [1e-150, 1.0, 1e150])
def test_projection_of_extreme_matrices_agrees_with_exact_arithmetic(condition, far, largest):
    generator = random.Random(f'{condition} {far} {largest}')
    for _ in range(3):
        matrix = rotated(largest, condition, generator.uniform(0.0, math.pi))
        direction = generator.uniform(0.0, 2 * math.pi)
        t = RADIUS * (1 + far) * np.array([math.cos(direction), math.sin(direction)])
        x = project(*t, *upper(matrix), RADIUS)
        np.testing.assert_allclose(
            x, exact_projection(t, matrix, RADIUS), atol=1e-15 * condition + 1e-14
        )


def test_step_is_a_newton_step():
    g = np.array([0.4, -1.5])
    t0, t1, *after = newton_step((1.0, 0.5, *upper(A)), *g.tolist(), **PAPER)
    expected = A + np.outer(g, g)
    np.testing.assert_allclose(after, upper(expected), rtol=1e-15)
    np.testing.assert_allclose(
        (t0, t1), np.array([1.0, 0.5]) - np.linalg.solve(expected, g) / 0.1, rtol=1e-13
    )


def test_step_that_leaves_the_ball_is_projected_in_the_norm_of_the_new_matrix():
    free = newton_step((1.0, 0.5, *upper(A)), -4.0, 3.0, **PAPER)
    kept = newton_step((1.0, 0.5, *upper(A)), -4.0, 3.0, **{**PAPER, 'radius': 1.15})
    assert math.hypot(*free[:2]) > 1.15
    assert kept[:2] == project(*free, 1.15)
    assert kept[2:] == free[2:]


def test_forgetting_draws_the_matrix_towards_its_start():
    g = np.array([0.4, -1.5])
    after = newton_step((1.0, 0.5, *upper(A)), *g.tolist(), **{**PAPER, 'forgetting': 0.9})[2:]
    expected = 0.9 * A + (1 - 0.9) * 100.0 * np.eye(2) + np.outer(g, g)
    np.testing.assert_allclose(after, upper(expected), rtol=1e-15)


@pytest.mark.parametrize('forgetting', [1.0, 0.999, 0.5, 1e-6])
@pytest.mark.parametrize('rho', [1e-3, 100.0])
def test_matrix_stays_positive_definite(forgetting, rho):
    generator = random.Random(1)
    state = (1.0, 0.0, rho, 0.0, rho)
    for _ in range(3000):
        # As in a stream: the error is at most 1, the logit of a clipped probability within 21.
        error = generator.uniform(-1, 1)
        g0, g1 = error * generator.uniform(-21, 21), error
        state = newton_step(state, g0, g1, 0.1, rho, 100.0, forgetting)
        assert is_positive_definite(*state[2:])
        assert math.hypot(*state[:2]) <= 100.0 * (1 + 1e-12)


@pytest.mark.parametrize(
    'state',
    [
        (1.0, 0.0, math.nan, 0.0, 100.0),
        (1.0, 0.0, math.inf, 0.0, 100.0),
        (math.nan, 0.0, 100.0, 0.0, 100.0),
        (1.0, math.inf, 100.0, 0.0, 100.0),
        (1.0, 0.0, 100.0, 200.0, 100.0),
        (1.0, 0.0, 1.0, 1.0, 1.0),
    ],
)
def test_unsound_state_is_refused(state):
    with pytest.raises(UpdateNotFinite):
        newton_step(state, 0.1, 0.1, **PAPER)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e200])
@pytest.mark.parametrize('place', [0, 1])
def test_gradient_whose_step_is_not_finite_is_refused(bad, place):
    g = [0.1, 0.1]
    g[place] = bad
    with pytest.raises(UpdateNotFinite):
        newton_step((1.0, 0.0, 100.0, 0.0, 100.0), *g, **PAPER)


@pytest.mark.parametrize(
    ('matrix', 'sound'),
    [
        ((1.0, 0.0, 1.0), True),
        ((1e-300, 0.0, 1e300), True),
        ((4.0, 1.9, 1.0), True),
        ((4.0, -2.0, 1.0), False),
        ((-1.0, 0.0, -1.0), False),
        ((0.0, 0.0, 1.0), False),
        ((math.nan, 0.0, 1.0), False),
    ],
)
def test_positive_definite(matrix, sound):
    assert is_positive_definite(*matrix) is sound
