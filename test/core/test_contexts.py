# SPDX-License-Identifier: Apache-2.0
"""Offsets of contexts: against the whole matrix, and where parameters change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from contexts_oracle import Dense, learned, stream

from calib_node.core.calibrators import (
    create,
)

METHODS = ['ops', 'beta', 'temperature']
NAMES = ('class', 'range', 'camera')
VALUES = {1: (5,), 2: (4, 3), 3: (3, 2, 2)}


@pytest.mark.parametrize('variables', [1, 2, 3])
@pytest.mark.parametrize('forgetting', [1.0, 0.99])
@pytest.mark.parametrize('method', METHODS)
def test_the_step_is_that_of_the_whole_matrix_solved(method, forgetting, variables):
    # A temperature in a hurry would be held at its lowest value, which the oracle does not know.
    rho = 1000.0 if method == 'temperature' else None
    dense = Dense(method, rho=rho, context_rho=30.0, forgetting=forgetting)
    given = {} if rho is None else {'rho': rho}
    calibrator = create(
        method,
        contexts=NAMES[:variables],
        context_rho=30.0,
        forgetting=forgetting,
        **given,
    )
    for p, y, context in stream(800, VALUES[variables]):
        q, ticket = calibrator.issue(p, context)
        assert q == pytest.approx(dense.predict(p, context), abs=1e-12)
        calibrator.update(p, y, ticket)
        dense.update(p, y, context)
    shared = [calibrator.shared._state[i] for i in range(dense.size)]
    assert shared == pytest.approx(dense.theta[: dense.size], abs=1e-11)
    for figures in calibrator.context_figures().values():
        assert figures.offset == pytest.approx(dense.offset(figures.context), abs=1e-11)


def test_the_first_step_by_hand():
    """g = e (ln 4, 1, 1) with e = .8 and A = 100 I + g g'."""
    calibrator = learned([(0.8, 0, ('car',))])
    logit = math.log(4.0)
    norm = 0.64 * (logit**2 + 2.0)
    step = 0.8 / (0.1 * (100.0 + norm))
    assert calibrator.shared.a == pytest.approx(1.0 - step * logit, abs=1e-14)
    assert calibrator.shared.b == pytest.approx(-step, abs=1e-14)
    assert calibrator.context_figures()['car'].offset == pytest.approx(-step, abs=1e-14)


def test_a_new_combination_leans_on_the_values_that_are_known():
    samples = [(0.5, 0, ('car', 0)), (0.5, 1, ('tree', 1))] * 200
    calibrator = learned(samples, names=('class', 'range'))
    known, new = calibrator.predict(0.5, ('car', 0)), calibrator.predict(0.5, ('car', 2))
    assert known < new < 0.3
    assert calibrator.predict(0.5, ('bird', 3)) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('variables', [1, 2])
def test_another_context_rho_is_that_of_the_start_for_the_same_gradients(method, variables):
    """A is a sum of gradients' squares and diag(rho, context_rho): only the latter changes."""
    samples = stream(60, VALUES[variables])
    calibrator = learned(samples, method, NAMES[:variables], rho=1000.0)
    dense = Dense(method, rho=1000.0)
    for p, y, context in samples:
        dense.update(p, y, context)
    before = [calibrator.predict(p, context) for p, _, context in samples]
    calibrator.configure(context_rho=40.0)
    assert [calibrator.predict(p, c) for p, _, c in samples] == pytest.approx(before, abs=1e-12)
    dense.A[dense.size :, dense.size :] += np.diag(np.full(len(dense.columns), -60.0))
    dense.context_rho = 40.0
    for p, y, context in samples:
        assert calibrator.predict(p, context) == pytest.approx(dense.predict(p, context), abs=1e-10)
        calibrator.update(p, y, calibrator.issue(p, context)[1])
        dense.update(p, y, context)


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('variables', [1, 2])
def test_a_smaller_radius_brings_the_shared_map_and_the_offsets_in(method, variables):
    calibrator = learned(stream(500, VALUES[variables]), method, NAMES[:variables], gamma=0.01)
    calibrator.configure(radius=0.3)
    shared = calibrator.shared._state[: calibrator._offsets.form.size]
    assert math.hypot(*shared) <= 0.3 * (1.0 + 1e-9)
    assert all(math.isfinite(f.offset) for f in calibrator.context_figures().values())
    if variables == 1:
        assert all(abs(f.offset) <= 0.3 + 1e-9 for f in calibrator.context_figures().values())


def test_a_projected_step_is_the_minimiser_in_the_norm_of_the_whole_matrix():
    """Over the shared parameters in the ball, all offsets free."""
    samples = stream(300, (3,))
    calibrator, free = (learned(samples, gamma=0.02, radius=radius) for radius in (100.0, 100.0))
    calibrator.configure(radius=0.5)
    theta = np.array(free.shared._state[:2])
    inside = np.array(calibrator.shared._state[:2])
    matrix = np.array(free.shared.A)
    for angle in np.linspace(0.0, 2.0 * np.pi, 400):
        other = 0.5 * np.array([np.cos(angle), np.sin(angle)])
        best = (inside - theta).dot(matrix).dot(inside - theta)
        assert best <= (other - theta).dot(matrix).dot(other - theta) + 1e-9


@pytest.mark.parametrize('variables', [1, pytest.param(2, marks=pytest.mark.slow)])
def test_many_contexts_stay_exact_for_long(variables):
    samples = stream(3000, (10, 20)[:variables], seed=3)
    calibrator = learned(samples, names=NAMES[:variables], gamma=0.5)
    dense = Dense('ops', gamma=0.5)
    for p, y, context in samples:
        dense.update(p, y, context)
    for p, _, context in samples[:200]:
        assert calibrator.predict(p, context) == pytest.approx(dense.predict(p, context), abs=1e-10)
