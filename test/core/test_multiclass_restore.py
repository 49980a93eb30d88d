# SPDX-License-Identifier: Apache-2.0
"""Saved states and live changes of calibrators of K classes."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import yaml

from calib_node.core.calibrators import CALIBRATORS, StateError, create, create_multiclass

FAST = [name for name in CALIBRATORS if name != 'mixture']
GENERATOR = np.random.default_rng(0)
P = GENERATOR.dirichlet([0.5] * 3, size=70)
LABELS = [int(GENERATOR.choice(3, p=row)) for row in P]


def learned(method, n=40, **parameters):
    calibrator = create_multiclass(method, classes=3, **parameters)
    learn(calibrator, 0, n)
    return calibrator


def learn(calibrator, start, end):
    for row, label in zip(P[start:end], LABELS[start:end]):
        calibrator.update(row, label, calibrator.issue(row)[1])


@pytest.mark.parametrize('method', FAST)
def test_restored_it_goes_on_to_the_last_bit(method):
    calibrator = learned(method)
    text = yaml.safe_dump(calibrator.state())
    other = create_multiclass(method, classes=3)
    other.restore(yaml.safe_load(text))
    assert yaml.safe_dump(other.state()) == text
    assert other.updates == 40
    learn(calibrator, 40, 70)
    learn(other, 40, 70)
    assert other.state() == calibrator.state()
    assert other.predict(P[0]).tolist() == calibrator.predict(P[0]).tolist()


@pytest.mark.parametrize('method', FAST)
def test_reset_is_a_new_start(method):
    calibrator = learned(method)
    calibrator.reset()
    assert calibrator.state() == create_multiclass(method, classes=3).state()


NUMBERS = {'NaN': math.nan, 'infinity': math.inf, 'null': None, 'a bool': True, 'a string': '1'}


def damages():
    for method in ('ops', 'beta', 'temperature'):
        for key in learned(method).state():
            yield pytest.param(method, lambda s, key=key: s.pop(key), id=f'{method}: no {key}')
            yield pytest.param(
                method, lambda s, key=key: s.update({key: None}), id=f'{method}: {key} null'
            )
        for value in (2, 4, 3.0, '3', True):
            yield pytest.param(
                method, lambda s, v=value: s.update(classes=v), id=f'{method}: {value!r} classes'
            )
    for key in ('a', 'b'):
        for kind, value in NUMBERS.items():
            yield pytest.param(
                'ops',
                lambda s, key=key, value=value: s[key].__setitem__(1, value),
                id=f'ops: {key} {kind}',
            )
        yield pytest.param('ops', lambda s, key=key: s[key].pop(), id=f'ops: {key} shorter')
    for kind, value in {
        **NUMBERS,
        'indefinite': 1e9,
    }.items():
        yield pytest.param(
            'ops', lambda s, value=value: s['A'][1].__setitem__(1, value), id=f'ops: A {kind}'
        )
    for index in (0, 2):
        yield pytest.param(
            'ops', lambda s, i=index: s['A'][1].__setitem__(i, -1.0), id=f'ops: A negative {index}'
        )
    yield pytest.param('ops', lambda s: s['A'].pop(), id='ops: A shorter')
    yield pytest.param('ops', lambda s: s['A'][0].pop(), id='ops: A ragged')
    yield pytest.param('ops', lambda s: s['b'].__setitem__(1, 101.0), id='ops: outside its radius')
    yield pytest.param(
        'ops', lambda s: s['parameters'].update(rho=400.0), id='ops: rho larger than A can have'
    )
    yield pytest.param('beta', lambda s: s['calibrators'].pop(), id='beta: one class less')
    yield pytest.param('beta', lambda s: s.update(calibrators={}), id='beta: no list')
    yield pytest.param(
        'beta', lambda s: s['calibrators'].__setitem__(2, None), id='beta: a class null'
    )
    yield pytest.param(
        'beta', lambda s: s['calibrators'][2].update(updates=-1), id='beta: the last class unsound'
    )
    yield pytest.param('temperature', lambda s: s.update(beta=0.0), id='temperature: beta 0')


@pytest.mark.parametrize(('method', 'damage'), damages())
def test_unsound_state_is_refused_and_changes_nothing(method, damage):
    calibrator = learned(method, 5)
    before = copy.deepcopy(calibrator.state())
    state = learned(method).state()
    damage(state)
    with pytest.raises(StateError, match=r'\w+ .*\w+'):
        calibrator.restore(state)
    assert calibrator.state() == before


def test_error_names_the_class():
    state = learned('beta').state()
    state['calibrators'][2]['updates'] = -1
    with pytest.raises(StateError, match='in the state of class 2, updates must be'):
        learned('beta').restore(state)
    state = learned('ops').state()
    state['A'][1] = [1.0, 2.0, 1.0]
    with pytest.raises(StateError, match='A of class 1 must be positive definite'):
        learned('ops').restore(state)


def test_own_parameters_of_ops_win():
    state = learned('ops').state()
    calibrator = create_multiclass('ops', classes=3, rho=30.0, radius=0.5, clip=0.01)
    calibrator.restore(state)
    assert np.hypot(calibrator.a, calibrator.b).max() <= 0.5 * (1 + 1e-15)
    shifted = np.array(state['A'])[:, [0, 2]] - 70.0
    np.testing.assert_allclose(calibrator.A[:, [0, 1], [0, 1]], shifted, rtol=1e-12)
    for k in range(3):
        binary = create('ops', rho=30.0, radius=0.5)
        a00, a01, a11 = state['A'][k]
        binary.restore(
            {
                'method': 'ops',
                'a': state['a'][k],
                'b': state['b'][k],
                'A': [[a00, a01], [a01, a11]],
                'updates': 40,
                'parameters': state['parameters'],
            }
        )
        assert (calibrator.a[k], calibrator.b[k]) == pytest.approx((binary.a, binary.b), rel=1e-12)


def test_live_changes_of_ops():
    calibrator = learned('ops')
    before = calibrator.A
    calibrator.configure(rho=30.0)
    np.testing.assert_allclose(calibrator.A, before - 70.0 * np.eye(2), rtol=1e-12)
    calibrator.configure(radius=0.5)
    np.testing.assert_allclose(np.hypot(calibrator.a, calibrator.b), 0.5, rtol=1e-14)
    a = calibrator.a
    calibrator.configure(radius=50.0, gamma=1.0, forgetting=0.9, clip=0.02)
    np.testing.assert_array_equal(calibrator.a, a)
    assert calibrator.parameters() == {
        'gamma': 1.0,
        'rho': 30.0,
        'radius': 50.0,
        'clip': 0.02,
        'forgetting': 0.9,
    }
    state = calibrator.state()
    for bad in ({'rho': 0.0}, {'gama': 1.0}, {'gamma': 0.5, 'clip': 0.5}):
        with pytest.raises(ValueError):
            calibrator.configure(**bad)
    assert calibrator.state() == state


def test_start_outside_a_small_radius_can_be_saved():
    calibrator = create_multiclass('ops', classes=3, radius=0.5)
    other = learned('ops', radius=0.5)
    other.restore(calibrator.state())
    assert other.state() == calibrator.state()
    calibrator.configure(gamma=0.2)
    assert calibrator.a.tolist() == [1.0] * 3


def test_live_changes_one_vs_rest():
    calibrator = learned('beta')
    calibrator.configure(gamma=0.5)
    assert {s['parameters']['gamma'] for s in calibrator.state()['calibrators']} == {0.5}
    state = copy.deepcopy(calibrator.state())
    with pytest.raises(ValueError, match='beta has no parameter'):
        calibrator.configure(gama=1.0)
    with pytest.raises(ValueError, match='gamma must be'):
        calibrator.configure(rho=2.0, gamma=0.0)
    assert calibrator.state() == state


def test_change_that_one_class_refuses_changes_no_class():
    calibrator = learned('beta')
    state = copy.deepcopy(calibrator.state())
    broken = calibrator._calibrators[2]
    broken.configure = lambda **_: (_ for _ in ()).throw(ValueError('no'))
    with pytest.raises(ValueError, match='no'):
        calibrator.configure(gamma=0.5)
    del broken.configure
    assert calibrator.state() == state


def test_each_class_has_a_seed_of_its_own():
    calibrator = create_multiclass('hops', classes=3, seed=2**32 - 2)
    seeds = [s['parameters']['seed'] for s in calibrator.state()['calibrators']]
    assert seeds == [2**32 - 2, 2**32 - 1, 0]
    assert calibrator.parameters()['seed'] == 2**32 - 2
    calibrator.configure(gamma=0.5)
    assert [s['parameters']['seed'] for s in calibrator.state()['calibrators']] == seeds


def test_restored_calibrator_shares_nothing_with_the_state():
    for method in ('ops', 'beta', 'temperature'):
        state = learned(method).state()
        calibrator = create_multiclass(method, classes=3)
        calibrator.restore(state)
        untouched = copy.deepcopy(state)
        learn(calibrator, 40, 50)
        assert state == untouched
