# SPDX-License-Identifier: Apache-2.0
"""A saved state of tracking or hedging is read with suspicion."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import yaml

from calib_node.core.calibrators import StateError, create

STREAM = [(0.8, 0), (0.3, 1), (0.9, 0), (0.75, 1), (0.85, 0), (0.1, 1)] * 5


def learned(method: str, **parameters):
    calibrator = create(method, **parameters)
    for p, y in STREAM:
        calibrator.update(p, y)
    return calibrator


def assert_refused(method: str, state: dict, sentence: str) -> None:
    calibrator = create(method)
    calibrator.update(0.6, 1)
    before = calibrator.state()
    with pytest.raises(StateError, match=sentence):
        calibrator.restore(state)
    assert calibrator.state() == before


WHOLE = 'must be a whole number from 0'
PER_BIN = {
    'missing': (None, '{field} must be a list of 10 whole numbers, not None'),
    'one short': ([1] * 9, '{field} must be a list of 10 whole numbers'),
    'a table': ({}, '{field} must be a list of 10 whole numbers'),
    'negative': ([-1] + [0] * 9, f'{{field}} {WHOLE}, not -1'),
    'a half': ([0.5] + [0] * 9, f'{{field}} {WHOLE}, not 0.5'),
    'NaN': ([math.nan] + [0] * 9, '{field} must be a whole number from 0'),
    'a bool': ([True] + [0] * 9, '{field} must be a whole number from 0'),
    'a string': (['1'] + [0] * 9, '{field} must be a whole number from 0'),
    'a huge int': ([10**400] + [0] * 9, ' positives, but a count of| outcomes in bins, but 30 upd'),
}


@pytest.mark.parametrize('method', ['tops', 'tobs'])
@pytest.mark.parametrize('field', ['counts', 'positives'])
@pytest.mark.parametrize('kind', PER_BIN)
def test_unsound_tally_is_refused_and_changes_nothing(method, field, kind):
    value, sentence = PER_BIN[kind]
    state = {**learned(method).state(), field: value}
    assert_refused(method, state, sentence.format(field=field))


@pytest.mark.parametrize('method', ['tops', 'tobs'])
def test_tallies_that_contradict_one_another_are_refused(method):
    state = learned(method).state()
    more = [count + 1 for count in state['counts']]
    assert_refused(method, {**state, 'positives': more}, r'a bin has \d+ positives, but a count of')
    assert_refused(method, {**state, 'counts': more}, 'there are 40 outcomes in bins, but 30 upd')


GAME = 'a row of games must be a game and a point below 10'
GAMES = {
    'missing': (None, 'games must be a list of rows, not'),
    'a table': ({}, 'games must be a list of rows, not'),
    'no rows': ([3], 'games must be a list of 4 whole numbers'),
    'a short row': ([[1, 1, 1]], 'games must be a list of 4 whole numbers'),
    'a negative': ([[1, 1, 1, -1]], f'games {WHOLE}, not -1'),
    'a half': ([[1, 1, 1.5, 1]], f'games {WHOLE}, not 1.5'),
    'a bool': ([[1, 1, True, 1]], f'games {WHOLE}, not True'),
    'no such game': ([[10, 1, 1, 1]], GAME),
    'no such point': ([[1, 10, 1, 1]], GAME),
    'no outcome': ([[1, 1, 0, 0]], GAME),
    'too many positives': ([[1, 1, 2, 3]], GAME),
    'a point twice': ([[1, 1, 1, 1], [1, 1, 1, 1]], 'game 1, point 1 is not in order'),
    'points out of order': ([[1, 2, 1, 1], [1, 1, 1, 1]], 'game 1, point 1 is not in order'),
    'games out of order': ([[2, 1, 1, 1], [1, 2, 1, 1]], 'game 1, point 2 is not in order'),
    'too many outcomes': ([[1, 1, 31, 1]], 'there are 31 outcomes in bins, but 30 updates'),
}


@pytest.mark.parametrize('method', ['hops', 'hobs'])
@pytest.mark.parametrize('kind', GAMES)
def test_unsound_game_is_refused_and_changes_nothing(method, kind):
    value, sentence = GAMES[kind]
    assert_refused(method, {**learned(method).state(), 'games': value}, sentence)


@pytest.mark.parametrize('method', ['hops', 'hobs'])
@pytest.mark.parametrize('value', [None, -1, 1.0, True, '1'])
def test_unsound_number_of_draws_is_refused_and_changes_nothing(method, value):
    state = {**learned(method).state(), 'draws': value}
    assert_refused(method, state, 'draws must be a whole number from 0')


methods = pytest.mark.parametrize('method', ['tops', 'tobs', 'hops', 'hobs'])


@methods
@pytest.mark.parametrize(
    ('damage', 'sentence'),
    [
        ({'wrapped': None}, 'wrapped is missing or is not a table'),
        ({'wrapped': []}, 'wrapped is missing or is not a table'),
        ({'wrapped': {}}, 'a must be a finite number, not None'),
        ({'updates': None}, 'updates must be a whole number from 0'),
        ({'parameters': None}, 'parameters is missing or is not a table'),
        ({'parameters': {}}, 'parameters must be those of'),
    ],
)
def test_unsound_state_is_refused_and_changes_nothing(method, damage, sentence):
    assert_refused(method, {**learned(method).state(), **damage}, sentence)


@methods
@pytest.mark.parametrize(
    ('name', 'value', 'sentence'),
    [
        ('a', math.nan, 'a must be a finite number, not nan'),
        ('b', 1e6, 'is outside its own radius'),
        ('A', [[1.0]], 'A must be a .x. matrix'),
    ],
)
def test_unsound_state_of_the_wrapped_calibrator_is_refused(method, name, value, sentence):
    state = learned(method).state()
    state['wrapped'][name] = value
    assert_refused(method, state, sentence)


@methods
@pytest.mark.parametrize(
    ('name', 'value'), [('bins', 1), ('bins', 9.5), ('bins', None), ('gamma', -1.0)]
)
def test_parameters_out_of_range_are_refused(method, name, value):
    state = learned(method).state()
    state['parameters'][name] = value
    assert_refused(method, state, f'in parameters, {name} must be')


@methods
@pytest.mark.parametrize('other', ['tops', 'tobs', 'hops', 'hobs', 'ops', 'beta', 'identity'])
def test_state_of_another_method_is_refused_and_changes_nothing(method, other):
    if method != other:
        assert_refused(method, learned(other).state(), '.')


@methods
@pytest.mark.parametrize('field', ['wrapped', 'counts', 'positives', 'games', 'draws', 'updates'])
def test_state_without_a_field_is_refused_and_changes_nothing(method, field):
    state = learned(method).state()
    if state.pop(field, None) is not None:
        assert_refused(method, state, field)


@methods
def test_other_bins_take_the_map_and_start_the_tallies_anew(method):
    old, new = learned(method, bins=10), create(method, bins=7)
    new.update(0.3, 1)
    new.restore(old.state())
    fresh = create(method, bins=7).state()
    assert new.state() == {
        **fresh,
        'wrapped': old.state()['wrapped'],
        'updates': old.updates,
    }
    # Its state has fewer outcomes than updates from now on, and is a sound one all the same.
    new.update(0.3, 1)
    again = create(method, bins=7)
    again.restore(new.state())
    assert again.state() == new.state()


@methods
def test_tallies_are_checked_against_the_bins_they_were_saved_with(method):
    state = learned(method, bins=7).state()
    state['parameters']['bins'] = 5
    assert_refused(method, state, 'must be a list of 5 whole numbers|a point below 5')


@methods
def test_own_parameters_win(method):
    calibrator = create(method, rho=10.0, gamma=0.3, forgetting=0.9)
    before = calibrator.parameters()
    calibrator.restore(learned(method).state())
    assert calibrator.parameters() == before
    # The wrapped calibrator's too: rho shifts its matrix.
    diagonal = calibrator.state()['wrapped']['A'][0][0]
    default = create(method).parameters()['rho']
    shift = learned(method).state()['wrapped']['A'][0][0] - diagonal
    assert shift == pytest.approx(default - 10.0, rel=1e-12)


@methods
def test_start_can_be_saved_and_restored(method):
    calibrator = learned(method, radius=0.5)
    calibrator.restore(create(method, radius=0.5).state())
    assert calibrator.state() == create(method, radius=0.5).state()
    assert calibrator.predict(0.82) == pytest.approx(create(method).predict(0.82))


@methods
def test_restored_calibrator_shares_nothing_with_the_state(method):
    state = learned(method).state()
    calibrator = create(method)
    calibrator.restore(state)
    untouched = copy.deepcopy(state)
    calibrator.update(0.2, 1)
    assert state == untouched


@methods
def test_state_that_was_taken_does_not_change(method):
    calibrator = learned(method)
    taken = calibrator.state()
    untouched = copy.deepcopy(taken)
    calibrator.update(0.8, 1)
    calibrator.configure(gamma=0.2)
    assert taken == untouched


@methods
@pytest.mark.parametrize('one', [True, 1.0, np.int64(1), np.float64(1.0)])
def test_any_kind_of_one_leaves_plain_numbers_in_the_state(method, one):
    calibrator, plain = create(method), create(method)
    calibrator.update(np.float64(0.8), one)
    plain.update(0.8, 1)
    assert yaml.safe_dump(calibrator.state()) == yaml.safe_dump(plain.state())
