# SPDX-License-Identifier: Apache-2.0
"""A saved window is read with suspicion, and the calibrator's own parameters win over it."""

from __future__ import annotations

import copy
import math

import pytest

from calib_node.core.calibrators import StateError, create

METHODS = ['windowed_platt', 'isotonic', 'windowed_temperature']
PAIRS = [((7 * n % 31) / 31, n % 3 // 2) for n in range(70)]
GRID = [0.0, 0.1, 0.5, 0.8, 1.0]
every_method = pytest.mark.parametrize('method', METHODS)


def learned(method, pairs=PAIRS, **parameters):
    calibrator = create(method, **{'window': 20, 'refit_every': 30, **parameters})
    for p, y in pairs:
        calibrator.update(p, y)
    return calibrator


def answers(calibrator):
    return [calibrator.predict(p) for p in GRID]


DAMAGES = {
    'p gone': lambda s: s.pop('p'),
    'y gone': lambda s: s.pop('y'),
    'since gone': lambda s: s.pop('since'),
    'updates gone': lambda s: s.pop('updates'),
    'parameters gone': lambda s: s.pop('parameters'),
    'p no list': lambda s: s.update(p=0.5),
    'p above 1': lambda s: s['p'].__setitem__(3, 1.1),
    'p NaN': lambda s: s['p'].__setitem__(3, math.nan),
    'p a string': lambda s: s['p'].__setitem__(3, '0.5'),
    'p null': lambda s: s['p'].__setitem__(3, None),
    'p a bool': lambda s: s['p'].__setitem__(3, True),
    'y no list': lambda s: s.update(y={}),
    'y 2': lambda s: s['y'].__setitem__(3, 2),
    'y null': lambda s: s['y'].__setitem__(3, None),
    'y a string': lambda s: s['y'].__setitem__(3, '1'),
    'y a list': lambda s: s['y'].__setitem__(3, [1]),
    'y shorter': lambda s: s['y'].pop(),
    'p shorter': lambda s: s['p'].pop(),
    'both longer than the window': lambda s: (s['p'].append(0.5), s['y'].append(0)),
    'since negative': lambda s: s.update(since=-1),
    'since no whole number': lambda s: s.update(since=1.0),
    'since a bool': lambda s: s.update(since=True),
    'since beyond the samples': lambda s: s.update(since=29, p=[0.5] * 28, y=[1] * 28),
    'since less than is there': lambda s: s.update(since=9),
    'since not below refit_every': lambda s: s.update(since=30, p=[0.5] * 40, y=[1] * 40),
    'fewer updates than samples': lambda s: s.update(updates=29),
    'updates null': lambda s: s.update(updates=None),
    'parameters of another method': lambda s: s.update(parameters={'gamma': 0.1}),
    'window too small': lambda s: s['parameters'].update(window=9),
    'refit_every a string': lambda s: s['parameters'].update(refit_every='50'),
}


@every_method
@pytest.mark.parametrize('damage', DAMAGES)
def test_unsound_state_is_refused_and_changes_nothing(method, damage):
    state = learned(method).state()
    assert (len(state['p']), state['since'], state['updates']) == (30, 10, 70)
    calibrator = learned(method, PAIRS[:35])
    before, q = copy.deepcopy(calibrator.state()), answers(calibrator)
    DAMAGES[damage](state)
    with pytest.raises(StateError, match=r'\w+ .*\w+'):
        calibrator.restore(state)
    assert (calibrator.state(), answers(calibrator)) == (before, q)


@every_method
def test_own_parameters_win(method):
    state = learned(method).state()
    calibrator = create(method, window=15, refit_every=30)
    calibrator.restore(state)
    # The newest of what is there, fitted at once.
    assert answers(calibrator) == answers(learned(method, PAIRS[-15:], window=15, refit_every=15))
    assert calibrator.parameters()['window'] == 15
    assert calibrator.updates == 70

    overdue = create(method, window=20, refit_every=10)
    overdue.restore(state)
    assert answers(overdue) == answers(learned(method, PAIRS[-20:], refit_every=20))

    patient = create(method, window=20, refit_every=40)
    patient.restore(state)
    assert answers(patient) == answers(learned(method))


@every_method
def test_restored_calibrator_shares_nothing_with_the_state(method):
    state = learned(method).state()
    calibrator = learned(method)
    calibrator.restore(state)
    untouched = copy.deepcopy(state)
    calibrator.update(0.2, 1)
    assert state == untouched
    given = calibrator.state()
    given['p'].clear()
    given['parameters']['window'] = 10
    assert len(calibrator.state()['p']) == 31
    assert calibrator.parameters()['window'] == 20
