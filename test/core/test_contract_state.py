# SPDX-License-Identifier: Apache-2.0
"""What every method promises of its state: saved at any cut it goes on, and none is trusted."""

from __future__ import annotations

import copy
import math
from functools import cache

import numpy as np
import pytest
import yaml
from contract import (
    CASES,
    Case,
    assert_plain,
    assert_sentence,
    assert_sound,
    at,
    changed,
    every_case,
    forecasts_of,
    places,
    refusal,
)

from calib_node.core.calibrators import CALIBRATORS
from calib_node.core.evaluate import forecasts

CUTS = [(0, 0), (1, 0), (9, 0), (30, 20), (45, 0), (130, 20)]
"""Samples and delay: nothing, one, the last before a fit, a fit, a window run over, long after."""


@every_case
@pytest.mark.parametrize(('count', 'delay'), CUTS)
def test_saved_at_any_cut_it_goes_on_to_the_last_bit(case, count, delay):
    calibrator, other = case.make(), case.make()
    forecasts(calibrator, case.samples(count), delay)
    other.update(*case.samples(1, seed=3)[0])
    text = yaml.safe_dump(calibrator.state())
    other.restore(yaml.safe_load(text))
    assert yaml.safe_dump(other.state()) == text
    assert forecasts_of(case, other) == forecasts_of(case, calibrator)
    more = case.samples(40, seed=1)
    assert np.array_equal(forecasts(other, more, delay), forecasts(calibrator, more, delay))
    assert other.state() == calibrator.state()


@every_case
def test_forecasts_pending_while_a_state_is_restored_can_still_be_learned_from(case):
    calibrator = case.learned(case.samples(70))
    state = copy.deepcopy(calibrator.state())
    pending = [(p, y, calibrator.issue(p)[1]) for p, y in case.samples(9, seed=1)]
    calibrator.restore(state)
    for sample in pending:
        calibrator.update(*sample)
    assert calibrator.updates == 79
    assert_sound(case, calibrator)


def emptied(value):
    """Change whatever is in a state."""
    if isinstance(value, dict | list):
        for part in list(value.values()) if isinstance(value, dict) else value:
            emptied(part)
        value.clear()


@every_case
def test_a_state_is_shared_with_nothing(case):
    calibrator = case.learned(case.samples(70))
    taken = calibrator.state()
    kept = copy.deepcopy(taken)
    for sample in case.samples(40, seed=1):
        calibrator.update(*sample)
    assert taken == kept
    calibrator.restore(taken)
    for sample in case.samples(40, seed=1):
        calibrator.update(*sample)
    calibrator.reset()
    assert taken == kept
    calibrator.restore(taken)
    emptied(taken)
    emptied(calibrator.state())
    assert calibrator.state() == kept


@every_case
def test_own_parameters_win_over_the_saved_ones(case):
    own = case.own(
        {'gamma': 0.3, 'rho': 9.0, 'radius': 0.8, 'clip': 0.05, 'forgetting': 0.9, 'window': 15}
        | {'refit_every': 7, 'warmup': 15, 'bins': 7, 'seed': 3, 'pseudo_count': 2.0}
        | {'smooth': False, 'interpolate': True, 'averaging': False, 'spring': False}
        | {'context_capacity': 2, 'context_rho': 7.0}
    )
    saved, calibrator = case.learned(case.samples(70)), case.make(**own)
    before = calibrator.parameters()
    calibrator.restore(saved.state())
    assert calibrator.parameters() == before
    assert own.items() <= before.items()
    assert calibrator.updates == 70
    assert_sound(case, calibrator)


@every_case
def test_the_start_can_be_saved_whatever_the_radius(case):
    """From (1, 0) it may lie outside; the first step brings it in."""
    small = case.own({'radius': 0.5})
    calibrator, other = case.make(**small), case.learned(case.samples(9), **small)
    other.restore(calibrator.state())
    assert other.state() == calibrator.state()


def test_a_state_of_another_method_or_of_other_classes_is_refused():
    made = [*CASES, *(Case(method, 2) for method in CALIBRATORS)]
    states = {case: case.learned(case.samples(15)).state() for case in made}
    for case in made:
        calibrator = case.learned(case.samples(5))
        before = calibrator.state()
        for other, state in states.items():
            # With and without contexts the shared part is read.
            if (other.method, other.classes) != (case.method, case.classes):
                sentence = refusal(calibrator, state)
                assert_sentence(sentence, (case, other))
                word = 'method' if other.method != case.method else 'classes'
                assert word in sentence
        assert calibrator.state() == before


# Damage


def filled(value, number):
    """Return the number in place of each number of a list, or the value if there is none."""
    if isinstance(value, list):
        return [filled(part, number) for part in value]
    return number if isinstance(value, int | float) else value


def negative(value):
    """Return a value with the sign of each of its numbers turned."""
    if isinstance(value, list):
        return [negative(part) for part in value]
    return -value if isinstance(value, int | float) else value


NEVER_SOUND = {
    'null': lambda value: None,
    'NaN': lambda value: filled(value, math.nan),
    'infinite': lambda value: filled(value, -math.inf),
    'a string': lambda value: f'{value!r} ',
    'a bool': lambda value: True,
    'in a table': lambda value: {'value': value},
    'in a list': lambda value: [value],
    'longer': lambda value: [*value, value[-1]] if isinstance(value, list) and value else value,
}
SELDOM_SOUND = {
    'removed': lambda value: ...,
    'huge': lambda value: filled(value, 1.7e308),
    'huge and negative': lambda value: filled(value, -1.7e308),
    'a huge whole number': lambda value: filled(value, 10**400),
    'emptied': lambda value: type(value)() if isinstance(value, list | dict) and value else value,
    'zero': lambda value: filled(value, 0),
    'a half': lambda value: filled(value, 0.5),
    'below 0': lambda value: filled(value, -1),
    'tiny': lambda value: filled(value, 5e-324),
    'of the other sign': negative,
}
"""What is done to a field; what cannot be done to it leaves it as it is."""

TRUTHS = {'y', 'calibrates', 'smooth', 'interpolate', 'averaging', 'spring', 'auto'}
"""Fields that hold a bool or may, since true is 1."""


def is_sound(kind, path, value) -> bool:
    """Tell whether a change that never leaves a sound state does so here all the same."""
    names = set(path)
    if kind == 'a bool':
        return bool(names & TRUTHS)
    if 'known' in names:
        # A context may be any text, or nothing that is known.
        return kind in ('a string', 'null')
    if 'contexts' in names and path[-1] == 'calibrates':
        # Saved when the warm-up of a context ended.
        return kind == 'null'
    if 'names' in names:
        # Of other contexts the shared part is read.
        return kind == 'a string'
    # No number to fill in, or one that is not known yet.
    return kind in ('NaN', 'infinite') and filled(value, 0) == value == filled(value, 1)


# One of those that are one against the rest stands for all.
DAMAGED = [
    case for case in CASES if case.classes == 1 or case.method in ('ops', 'temperature', 'beta')
]
STAND_FOR_ALL = ('ops by class', 'tops by class')
"""Of those with contexts, one of each kind; the others are slow."""


@cache
def saved(case):
    return case.learned(case.samples(130)).state()


def assert_damage_is_found(case, kind, change) -> None:
    calibrator, state = case.learned(case.samples(35)), saved(case)
    before, ahead = calibrator.state(), forecasts_of(case, calibrator)
    for path in places(state):
        value = at(state, path)
        part = change(value)
        if part is value or part == value:
            continue
        sentence = refusal(calibrator, changed(state, path, part))
        if sentence:
            assert_sentence(sentence, path)
            assert calibrator.state() == before, path
        else:
            assert kind in SELDOM_SOUND or is_sound(kind, path, value), path
            assert_sound(case, calibrator)
            calibrator.restore(before)
    assert forecasts_of(case, calibrator) == ahead


@pytest.mark.parametrize('kind', [*NEVER_SOUND, *SELDOM_SOUND])
@pytest.mark.parametrize(
    'case',
    [
        pytest.param(
            case,
            marks=pytest.mark.slow if case.contexts and str(case) not in STAND_FOR_ALL else (),
        )
        for case in DAMAGED
    ],
    ids=str,
)
def test_a_damaged_field_is_refused_in_a_sentence_and_nothing_changes(case, kind):
    assert_damage_is_found(case, kind, {**NEVER_SOUND, **SELDOM_SOUND}[kind])


@every_case
def test_a_state_without_one_of_its_fields_is_refused(case):
    calibrator, state = case.learned(case.samples(35)), saved(case)
    before = calibrator.state()
    for field in state:
        if field != 'contexts' and (field != 'classes' or case.classes > 1):
            sentence = refusal(calibrator, {k: v for k, v in state.items() if k != field})
            assert_sentence(sentence, field)
            assert field in sentence
            assert calibrator.state() == before
    assert_plain(before)
