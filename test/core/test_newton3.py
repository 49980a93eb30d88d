# SPDX-License-Identifier: Apache-2.0
"""The Newton step and the projection in three dimensions."""

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
    newton_step,
    newton_step3,
    project,
    project3,
    solve3,
)
from calib_node.core.state.fields import is_positive_definite

A = np.array([[400.0, 150.0, -30.0], [150.0, 110.0, 20.0], [-30.0, 20.0, 60.0]])
START = (1.0, 1.0, 0.5)
PAPER = {'gamma': 0.1, 'rho': 25.0, 'radius': 100.0, 'forgetting': 1.0}


def upper(matrix: np.ndarray) -> tuple[float, ...]:
    return tuple(float(v) for v in matrix[np.triu_indices(3)])


def rotated(eigenvalues: list[float], seed: int) -> np.ndarray:
    """Return a symmetric matrix of the given eigenvalues."""
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    matrix = turn @ np.diag(eigenvalues) @ turn.T
    return (matrix + matrix.T) / 2


def direction(seed: int) -> np.ndarray:
    vector = np.random.default_rng(seed).normal(size=3)
    return vector / np.linalg.norm(vector)


def exact_projection(t: np.ndarray, matrix: np.ndarray, radius: float) -> list[float]:
    """Project by bisection on the multiplier, in 100 digits, with Cramer's rule."""
    with localcontext() as context:
        context.prec = 100
        a = [[Decimal(float(v)) for v in row] for row in matrix]
        c = [sum(v * Decimal(float(w)) for v, w in zip(row, t)) for row in a]
        low, high = Decimal(0), sum(v * v for v in c).sqrt() / Decimal(radius)
        for _ in range(330):
            m = (low + high) / 2
            b = [[v + (m if i == j else 0) for j, v in enumerate(row)] for i, row in enumerate(a)]
            x = [determinant(replaced(b, i, c)) / determinant(b) for i in range(3)]
            if sum(v * v for v in x) > Decimal(radius) ** 2:
                low = m
            else:
                high = m
        return [float(v) for v in x]


def determinant(b: list[list[Decimal]]) -> Decimal:
    (p, q, r), (s, t, u), (v, w, x) = b
    return p * (t * x - u * w) - q * (s * x - u * v) + r * (s * w - t * v)


def replaced(b: list[list[Decimal]], column: int, c: list[Decimal]) -> list[list[Decimal]]:
    return [[c[i] if j == column else v for j, v in enumerate(row)] for i, row in enumerate(b)]


matrices = st.tuples(
    st.floats(-4, 6).map(lambda e: 10.0**e),  # largest eigenvalue
    st.lists(st.floats(0, 8).map(lambda e: 10.0**e), min_size=2, max_size=2),  # conditions
    st.integers(0, 10_000),
)


def matrix_of(case) -> np.ndarray:
    largest, conditions, seed = case
    return rotated([largest, *(largest / condition for condition in conditions)], seed)


@given(matrices, st.integers(0, 10_000))
def test_solution_of_a_system(case, seed):
    matrix = matrix_of(case)
    assume(is_positive_definite(matrix.tolist()))
    v = direction(seed)
    x = np.array(solve3(*upper(matrix), *v.tolist()))
    # Backward stable: the residual is small beside |A| |x|.
    assert np.linalg.norm(matrix @ x - v) <= 1e-14 * case[0] * np.linalg.norm(x)


@given(matrices, st.integers(0, 10_000), st.floats(-2, 3), st.floats(1e-6, 1e4))
def test_projection_is_on_the_sphere_and_nearest(case, seed, log_radius, far):
    matrix, radius = matrix_of(case), 10.0**log_radius
    assume(is_positive_definite(matrix.tolist()))
    t = radius * (1 + far) * direction(seed)
    x = np.array(project3(*t.tolist(), *upper(matrix), radius))
    worst = max(case[1])
    assert -1e-15 * worst - 1e-15 <= math.hypot(*x) / radius - 1 <= 1e-15

    # A lattice of Fibonacci on the sphere, and two balls within it.
    number = np.arange(1500)
    height, turn = 1 - (2 * number + 1) / 1500, number * math.pi * (3 - math.sqrt(5))
    flat = np.sqrt(1 - height**2)
    sphere = radius * np.stack([flat * np.cos(turn), flat * np.sin(turn), height])
    ball = np.concatenate([share * sphere for share in (1.0, 0.99, 0.5)], axis=1)
    differences = ball - t[:, None]
    others = np.sqrt(np.sum(differences * (matrix @ differences), axis=0))
    own = math.sqrt((x - t) @ matrix @ (x - t))
    assert own <= others.min() + 1e-13 * math.sqrt(case[0]) * np.linalg.norm(t)


@pytest.mark.parametrize('condition', [1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize('far', [1e-9, 0.1, 1e6])
@pytest.mark.parametrize('largest', [1e-150, 1.0, 1e150])
def test_projection_of_extreme_matrices_agrees_with_exact_arithmetic(condition, far, largest):
    matrix = rotated([largest, largest / math.sqrt(condition), largest / condition], seed=3)
    t = 2.0 * (1 + far) * direction(4)
    x = project3(*t.tolist(), *upper(matrix), 2.0)
    np.testing.assert_allclose(x, exact_projection(t, matrix, 2.0), atol=1e-15 * condition + 1e-14)


def test_a_third_coordinate_that_takes_no_part_leaves_two_dimensions():
    flat = (400.0, 150.0, 0.0, 110.0, 0.0, 60.0)
    x = project3(3.0, -1.0, 0.0, *flat, 2.0)
    np.testing.assert_allclose(x, [*project(3.0, -1.0, 400.0, 150.0, 110.0, 2.0), 0.0], rtol=1e-14)
    step = newton_step3((1.0, 0.5, 0.0, *flat), -4.0, 3.0, 0.0, **PAPER)
    flat_step = newton_step((1.0, 0.5, 400.0, 150.0, 110.0), -4.0, 3.0, **PAPER)
    np.testing.assert_allclose(step[:2], flat_step[:2], rtol=1e-13)
    assert (step[2], step[3], step[4], step[6]) == (0.0, *flat_step[2:])


def test_step_is_a_newton_step():
    g = np.array([0.4, -1.5, 0.7])
    after = newton_step3((*START, *upper(A)), *g.tolist(), **PAPER)
    expected = A + np.outer(g, g)
    np.testing.assert_allclose(after[3:], upper(expected), rtol=1e-15)
    np.testing.assert_allclose(
        after[:3], np.array(START) - np.linalg.solve(expected, g) / 0.1, rtol=1e-13
    )


def test_step_that_leaves_the_ball_is_projected_in_the_norm_of_the_new_matrix():
    free = newton_step3((*START, *upper(A)), -4.0, 3.0, 1.0, **PAPER)
    radius = 0.9 * math.hypot(*free[:3])
    kept = newton_step3((*START, *upper(A)), -4.0, 3.0, 1.0, **{**PAPER, 'radius': radius})
    assert kept[:3] == project3(*free, radius)
    assert kept[3:] == free[3:]


def test_forgetting_draws_the_matrix_towards_its_start():
    g = np.array([0.4, -1.5, 0.7])
    after = newton_step3((*START, *upper(A)), *g.tolist(), **{**PAPER, 'forgetting': 0.9})
    expected = 0.9 * A + (1 - 0.9) * 25.0 * np.eye(3) + np.outer(g, g)
    np.testing.assert_allclose(after[3:], upper(expected), rtol=1e-14)


@pytest.mark.parametrize('forgetting', [1.0, 0.999, 1e-6])
@pytest.mark.parametrize('rho', [1e-2, 25.0])
def test_matrix_stays_positive_definite(forgetting, rho):
    generator = random.Random(1)
    state = (*START, rho, 0.0, 0.0, rho, 0.0, rho)
    for number in range(3000):
        # As in a stream: the error is at most 1, a logarithm of a clipped probability within 21.
        error, p = generator.uniform(-1, 1), generator.choice([1e-9, 0.5, generator.random()])
        g = error * math.log(p), error * -math.log1p(-p), error
        state = newton_step3(state, *g, 0.1, rho, 100.0, forgetting)
        assert math.hypot(*state[:3]) <= 100.0 * (1 + 1e-12)
        if number % 100 == 0:
            a00, a01, a02, a11, a12, a22 = state[3:]
            assert is_positive_definite([[a00, a01, a02], [a01, a11, a12], [a02, a12, a22]])


@pytest.mark.parametrize(
    'matrix',
    [
        (math.nan, 0.0, 0.0, 1.0, 0.0, 1.0),
        (math.inf, 0.0, 0.0, 1.0, 0.0, 1.0),
        (-4.0, 0.0, 0.0, 1.0, 0.0, 1.0),
        (1.0, 2.0, 0.0, 1.0, 0.0, 1.0),
        (1.0, 1.0, 0.0, 1.0, 0.0, 1.0),
        (2.0, 1.0, 1.0, 2.0, -1.0, 1.0),
        (1.0, 0.0, 0.0, 1.0, 1.0, 1.0),
        (1.0, 0.0, 0.0, 1.0, math.nan, 1.0),
    ],
)
def test_unsound_matrix_is_refused(matrix):
    with pytest.raises(UpdateNotFinite):
        newton_step3((*START, *matrix), 0.0, 0.0, 0.0, **PAPER)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e200])
@pytest.mark.parametrize('place', [0, 1, 2])
def test_gradient_or_parameter_whose_step_is_not_finite_is_refused(bad, place):
    g = [0.1, 0.1, 0.1]
    g[place] = bad
    with pytest.raises(UpdateNotFinite):
        newton_step3((*START, *upper(A)), *g, **PAPER)
    start = list(START)
    start[place] = bad
    if not math.isfinite(bad):
        with pytest.raises(UpdateNotFinite):
            newton_step3((*start, *upper(A)), 0.1, 0.1, 0.1, **PAPER)
