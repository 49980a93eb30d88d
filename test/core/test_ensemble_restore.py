# SPDX-License-Identifier: Apache-2.0
"""A saved ensemble is read with suspicion, and the calibrator's own parameters win over it."""

from __future__ import annotations

import copy
import math
import random

import pytest

from calib_node.core.calibrators import StateError, create


def stream(count=130):
    generator = random.Random(5)
    return [(generator.random(), generator.randint(0, 1)) for _ in range(count)]


def saved(count=130, **parameters):
    calibrator = create('ensemble', **parameters)
    for p, y in stream(count):
        calibrator.update(p, y)
    return copy.deepcopy(calibrator.state())


ONE = saved(1)
DAMAGES = {
    **{f'{name} missing': {name: ...} for name in ONE},
    'maps: two': {'maps': [[0.0, 0.0]] * 2},
    'maps: NaN': {'maps': [[0.0, math.nan]] + [[0.0, 0.0]] * 2},
    'maps: huge': {'maps': [[1e300, 0.0]] * 3},
    'squared_errors: too few': {'squared_errors': saved()['squared_errors'][1:]},
    'squared_errors: too many': {'squared_errors': [[0.25] * 3] * 101},
    'squared_errors: two maps': {'squared_errors': [[0.25] * 2] * 100},
    'squared_errors: above 1': {'squared_errors': [[0.25, 0.25, 1.1]] * 100},
    'squared_errors: below 0': {'squared_errors': [[0.25, 0.25, -0.1]] * 100},
    'recent: too few': {'recent': [0.5] * 59},
    'recent: too many': {'recent': [0.5] * 61},
    'recent: above 1': {'recent': [0.5] * 59 + [1.5]},
    'recent: a string': {'recent': [0.5] * 59 + ['0.5']},
    'recent: a number': {'recent': 0.5},
    'calibrates: a number': {'calibrates': 1},
    'calibrates: a string': {'calibrates': 'true'},
    'warmup_bins: nine': {'warmup_bins': saved()['warmup_bins'][1:]},
    'warmup_bins: not whole': {'warmup_bins': [[129.5, 9.0, 0]] + [[0.5, 0.0, 0]] + [[0] * 3] * 8},
    'warmup_bins: half a positive': {'warmup_bins': [[130, 9.0, 0.5]] + [[0, 0.0, 0]] * 9},
    'warmup_bins: negative': {'warmup_bins': [[131, 9.0, 0], [-1, 0.0, 0]] + [[0, 0.0, 0]] * 8},
    'warmup_bins: positives': {'warmup_bins': [[130, 9.0, 131]] + [[0, 0.0, 0]] * 9},
    'warmup_bins: sum of p': {'warmup_bins': [[130, 131.0, 9]] + [[0, 0.0, 0]] * 9},
    'warmup_bins: labels missing': {'warmup_bins': [[129, 9.0, 9]] + [[0, 0.0, 0]] * 9},
    'warmup_bins: too many labels': {
        'warmup_bins': [[131, 9.0, 9]] + [[0, 0.0, 0]] * 9,
        'calibrates': True,
    },
    'updates: negative': {'updates': -1},
    'updates: another number': {'updates': 131},
    'parameters: a name missing': {'parameters': {'clip': 0.01}},
    'parameters: no such warm-up': {'parameters': {**ONE['parameters'], 'warmup': 0}},
}


@pytest.mark.parametrize('damage', DAMAGES)
def test_unsound_state_is_refused_in_a_sentence_and_changes_nothing(damage):
    calibrator = create('ensemble')
    for p, y in stream(70):
        calibrator.update(p, y)
    before, ahead = calibrator.state(), calibrator.predict(0.3)
    state = {**saved(), **DAMAGES[damage]}
    state = {name: value for name, value in state.items() if value is not ...}
    with pytest.raises(StateError) as refusal:
        calibrator.restore(state)
    assert len(str(refusal.value).split()) > 4
    assert (calibrator.state(), calibrator.predict(0.3)) == (before, ahead)


def test_state_is_plain_and_shared_with_nothing():
    state = saved()
    calibrator = create('ensemble')
    calibrator.restore(state)
    untouched = copy.deepcopy(state)
    calibrator.update(0.2, 1)
    assert state == untouched


def test_own_switches_and_clip_win():
    own = {'averaging': False, 'spring': False, 'auto': False, 'clip': 0.2, 'warmup': 500}
    calibrator = create('ensemble', **own)
    calibrator.restore(saved())
    assert calibrator.parameters() == own
    assert calibrator.weights == (0.0, 1.0, 0.0)
    assert calibrator.predict(0.9) == 0.8


def test_own_shorter_warm_up_ends_on_restoring():
    state = saved(warmup=500)
    assert state['calibrates'] is None
    calibrator = create('ensemble', warmup=100)
    calibrator.restore(state)
    assert calibrator.calibrates is True
    assert calibrator.predict(0.95) != 0.95


def test_own_longer_warm_up_goes_on_and_what_was_found_stays():
    state = saved(warmup=100)
    assert state['calibrates'] is True
    calibrator = create('ensemble', warmup=200)
    calibrator.restore(state)
    assert calibrator.predict(0.95) == 0.95
    for p, y in stream(70):
        calibrator.update(p, y)
    assert calibrator.calibrates is True
    assert calibrator.state()['warmup_bins'] == state['warmup_bins']
    create('ensemble', warmup=200).restore(calibrator.state())


def test_mean_of_ones_is_not_rounded_above_1():
    generator = random.Random(0)
    sums = set()
    for _ in range(100):
        state = saved(1, warmup=1)
        state['maps'] = [[0.0, 100.0]] * 3
        state['squared_errors'] = [[generator.random() for _ in range(3)]]
        calibrator = create('ensemble', warmup=1, auto=False)
        calibrator.restore(state)
        sums.add(sum(calibrator.weights) > 1.0)
        assert calibrator.predict(0.5) <= 1.0
    assert True in sums
