# SPDX-License-Identifier: Apache-2.0
"""A saved state of Online Beta Scaling is read with suspicion; its own parameters win over it."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from calib_node.core.calibrators import StateError, create


def saved(method: str = 'beta', **parameters):
    """Return the state of a calibrator that has learned."""
    calibrator = create(method, **parameters)
    for p, y in [(0.8, 0), (0.3, 1), (0.9, 0)]:
        calibrator.update(p, y)
    return calibrator.state()


NUMBER = 'must be a finite number'
MATRIX = 'A must be a 3x3 matrix'
DEFINITE = 'A must be symmetric and positive definite'

DAMAGES = [
    *[({name: None}, rf'{name} {NUMBER}, not None') for name in 'abc'],
    *[({name: math.nan}, rf'{name} {NUMBER}, not nan') for name in 'abc'],
    ({'c': '1.0'}, rf"c {NUMBER}, not '1.0'"),
    ({'A': None}, MATRIX),
    ({'A': [[25.0, 0.0], [0.0, 25.0]]}, MATRIX),
    ({'A': [[25.0, 0.0, 0.0], [0.0, 25.0], [0.0, 0.0, 25.0]]}, MATRIX),
    ({'A': [[25.0, 0, 0], [0, 25.0, math.nan], [0, math.nan, 25.0]]}, 'A must be a finite'),
    ({'A': [[25.0, 0, 1.0], [0, 25.0, 0], [1.1, 0, 25.0]]}, DEFINITE),
    ({'A': [[25.0, 0, 0], [0, 25.0, 25.0], [0, 25.0, 25.0]]}, DEFINITE),
    ({'A': [[2.0, 1, 1], [1, 2.0, -1], [1, -1, 1.9]]}, DEFINITE),
    ({'updates': -1}, 'updates must be a whole number from 0'),
    ({'parameters': {}}, 'parameters must be those of beta'),
    ({'a': 60.0, 'b': 60.0, 'c': 60.0}, 'outside its own radius 100.0'),
    ({'updates': 0, 'a': 60.0, 'b': 60.0, 'c': 60.0}, 'outside its own radius 100.0'),
    (
        {'parameters': {**saved()['parameters'], 'rho': 100.0}},
        'A would not stay positive definite when rho changes by -75',
    ),
]


@pytest.mark.parametrize(('damage', 'sentence'), DAMAGES)
def test_unsound_state_is_refused_and_changes_nothing(damage, sentence):
    calibrator = create('beta')
    calibrator.update(0.6, 1)
    before = calibrator.state()
    with pytest.raises(StateError, match=sentence):
        calibrator.restore({**saved(), **damage})
    assert calibrator.state() == before


@pytest.mark.parametrize('field', list(saved()))
def test_state_without_a_field_is_refused_and_changes_nothing(field):
    calibrator = create('beta')
    calibrator.update(0.6, 1)
    before = calibrator.state()
    state = saved()
    del state[field]
    with pytest.raises(StateError, match=field):
        calibrator.restore(state)
    assert calibrator.state() == before


@pytest.mark.parametrize(
    ('method', 'other'), [('beta', 'ops'), ('ops', 'beta'), ('beta', 'tobs'), ('beta', 'identity')]
)
def test_state_of_another_method_is_refused(method, other):
    calibrator = create(method)
    with pytest.raises(StateError):
        calibrator.restore(saved(other))
    assert calibrator.state() == create(method).state()


def test_own_parameters_win():
    state = saved(rho=25.0, gamma=0.1, forgetting=0.99)
    calibrator = create('beta', rho=10.0, radius=0.5, gamma=0.3)
    calibrator.restore(state)
    np.testing.assert_allclose(calibrator.A, np.array(state['A']) - 15.0 * np.eye(3), rtol=1e-14)
    assert math.hypot(calibrator.a, calibrator.b, calibrator.c) == pytest.approx(0.5, rel=1e-15)
    assert calibrator.updates == 3
    assert calibrator.parameters() == create('beta', rho=10.0, radius=0.5, gamma=0.3).parameters()


def test_start_outside_a_small_radius_can_be_saved():
    calibrator = create('beta', radius=0.5)
    other = create('beta', radius=0.5)
    other.update(0.9, 0)
    other.restore(calibrator.state())
    assert other.state() == calibrator.state()


def test_restored_calibrator_shares_nothing_with_the_state():
    state = saved()
    calibrator = create('beta')
    calibrator.restore(state)
    untouched = copy.deepcopy(state)
    calibrator.update(0.2, 1)
    assert state == untouched
