# SPDX-License-Identifier: Apache-2.0
"""A saved state is read with suspicion, and the calibrator's own parameters win over it."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from calib_node.core.calibrators import StateError, create


def saved(**parameters):
    """Return the state of a calibrator that has learned."""
    calibrator = create('ops', **parameters)
    for p, y in [(0.8, 0), (0.3, 1), (0.9, 0)]:
        calibrator.update(p, y)
    return calibrator.state()


NOT_FINITE_NUMBERS = {
    'NaN': math.nan,
    'infinity': math.inf,
    'null': None,
    'bool': True,
    'string': '1.0',
    'list': [1.0],
    'huge int': 10**400,
}

BAD_MATRICES = {
    'null': None,
    'number': 100.0,
    'one row': [[100.0, 0.0]],
    'one column': [[100.0], [0.0]],
    'three rows': [[100.0, 0.0], [0.0, 100.0], [0.0, 0.0]],
    'ragged': [[100.0, 0.0], [0.0]],
    'NaN': [[100.0, math.nan], [math.nan, 100.0]],
    'null inside': [[100.0, None], [None, 100.0]],
    'string inside': [['100.0', 0.0], [0.0, 100.0]],
    'bool inside': [[True, 0.0], [0.0, 100.0]],
    'huge int inside': [[10**400, 0.0], [0.0, 100.0]],
    'asymmetric': [[100.0, 1.0], [1.0000000001, 100.0]],
    'singular': [[100.0, 100.0], [100.0, 100.0]],
    'indefinite': [[100.0, 200.0], [200.0, 100.0]],
    'negative': [[-100.0, 0.0], [0.0, -100.0]],
}

BAD_UPDATES = {'null': None, 'negative': -1, 'bool': True, 'float': 3.0, 'string': '3'}

BAD_PARAMETERS: dict[str, object] = {
    'null': None,
    'list': [],
    'rho missing': {'gamma': 0.1, 'radius': 100.0, 'clip': 0.01, 'forgetting': 1.0},
    **{
        f'{name} {kind}': {**saved()['parameters'], name: value}
        for name in ('gamma', 'rho', 'radius', 'clip', 'forgetting')
        for kind, value in [('NaN', math.nan), ('zero', 0.0), ('string', '1')]
    },
}


def damages():
    for field in saved():
        yield pytest.param(lambda state, field=field: state.pop(field), id=f'no {field}')
    for field, kinds in {
        'a': NOT_FINITE_NUMBERS,
        'b': NOT_FINITE_NUMBERS,
        'A': BAD_MATRICES,
        'updates': BAD_UPDATES,
        'parameters': BAD_PARAMETERS,
    }.items():
        for kind, value in kinds.items():
            yield pytest.param(
                lambda state, field=field, value=value: state.update({field: value}),
                id=f'{field}: {kind}',
            )
    yield pytest.param(lambda state: state.update(a=100.0, b=0.1), id='outside its radius')
    yield pytest.param(
        lambda state: state['parameters'].update(rho=400.0), id='rho larger than A can have'
    )


@pytest.mark.parametrize('damage', damages())
def test_unsound_state_is_refused_and_changes_nothing(damage):
    calibrator = create('ops')
    calibrator.update(0.6, 1)
    before = calibrator.state()
    state = saved()
    damage(state)
    with pytest.raises(StateError):
        calibrator.restore(state)
    assert calibrator.state() == before


def test_own_parameters_win():
    state = saved(rho=100.0, gamma=0.1, forgetting=0.99)
    calibrator = create('ops', rho=30.0, radius=0.5, gamma=0.3)
    calibrator.restore(state)
    np.testing.assert_allclose(calibrator.A, np.array(state['A']) - 70.0 * np.eye(2), rtol=1e-14)
    assert math.hypot(calibrator.a, calibrator.b) == pytest.approx(0.5, rel=1e-15)
    assert calibrator.updates == 3
    assert calibrator.parameters() == create('ops', rho=30.0, radius=0.5, gamma=0.3).parameters()


def test_rounding_outside_the_radius_is_taken():
    state = saved(radius=0.5)
    state['a'], state['b'] = 0.5 * (1 + 9e-10), 0.0
    calibrator = create('ops', radius=0.5)
    calibrator.restore(state)
    assert calibrator.a == pytest.approx(0.5, rel=1e-9)
    state['a'] = 0.5 * (1 + 2e-9)
    with pytest.raises(StateError, match='radius'):
        calibrator.restore(state)


def test_whole_numbers_are_taken_as_floats():
    state = {**saved(), 'a': 1, 'b': -1, 'A': [[200, 0], [0, 300]]}
    calibrator = create('ops')
    calibrator.restore(state)
    assert calibrator.predict(0.5) == pytest.approx(1 / (1 + math.e))


def test_start_outside_a_small_radius_can_be_saved():
    calibrator = create('ops', radius=0.5)
    other = create('ops', radius=0.5)
    other.update(0.9, 0)
    other.restore(calibrator.state())
    assert other.state() == calibrator.state()


def test_restored_calibrator_shares_nothing_with_the_state():
    state = saved()
    calibrator = create('ops')
    calibrator.restore(state)
    untouched = copy.deepcopy(state)
    calibrator.update(0.2, 1)
    assert state == untouched
