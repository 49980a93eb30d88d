# SPDX-License-Identifier: Apache-2.0
"""What every method promises of its parameters: their ends, changes as it runs, refusals."""

from __future__ import annotations

import math
import random
import re

import numpy as np
import pytest
from contract import (
    CASES,
    assert_probabilities,
    assert_sentence,
    assert_sound,
    every_case,
    forecasts_of,
)

from calib_node.core.calibrators import CALIBRATORS, create
from calib_node.core.calibrators.contexts.forms import FORMS
from calib_node.core.calibrators.parameters import CALIBRATOR_LIMITS
from calib_node.core.evaluate import forecasts

ALMOST_HALF = math.nextafter(0.5, 0.0)
LIMITS = {name: limits for name, limits in CALIBRATOR_LIMITS.items() if limits is not None}
OTHERS = {
    **{'gamma': 0.5, 'rho': 30.0, 'radius': 3, 'clip': 0.2, 'forgetting': 0.9, 'bins': 6},
    **{'pseudo_count': 2.0, 'seed': 4, 'window': 15, 'refit_every': 7, 'warmup': 15},
    **{'smooth': False, 'interpolate': True, 'averaging': False, 'spring': False, 'auto': False},
    **{'context_capacity': 2, 'context_rho': 20.0},
}
"""A value for each parameter that is not its default."""

CORNERS = [
    {'gamma': 1e-6, 'radius': 1e-3, 'clip': 1e-9},
    {'gamma': 1e-12, 'rho': 0.01, 'radius': 1e12, 'clip': 1e-9},
    {'gamma': 1e-12, 'rho': 1e12, 'radius': 1e-6, 'clip': ALMOST_HALF, 'forgetting': 5e-324},
    {'gamma': 1e12, 'rho': 1e12, 'radius': 1e12, 'clip': 1e-9, 'forgetting': 0.5},
]
EXTREMES = [
    *[{'gamma': 1e-6}, {'gamma': 1e6}, {'radius': 1e-3}, {'clip': 1e-9}, {'clip': ALMOST_HALF}],
    *[{'forgetting': 0.99}, {'rho': 0.01, 'radius': 1e6, 'clip': 1e-3}],
]
SURE_AND_WRONG = 100_000
"""For as long as it takes a sum to overflow or a matrix to wear out."""


def changeable(case) -> list[str]:
    return sorted(set(case.make().parameters()) - CALIBRATORS[case.method].fixed)


def without_a_clip_that_is_too_large(case, parameters):
    """A temperature of many classes takes none that would reach the likeliest."""
    if case.classes > 1 and parameters.get('clip', 0.0) > 1.0 / case.classes:
        return {name: value for name, value in parameters.items() if name != 'clip'}
    return parameters


def at_ends(combinations):
    """Parametrise a test over what each method has of each combination of parameters."""
    found = {}
    for case in CASES:
        for combination in combinations:
            parameters = without_a_clip_that_is_too_large(case, case.own(combination))
            words = [f'{name} {value:.3g}' for name, value in parameters.items()]
            found[', '.join([str(case), *words])] = case, parameters
    return pytest.mark.parametrize(('case', 'parameters'), found.values(), ids=found)


def deceive(case, parameters, times):
    """Learn from a model that is always sure and always wrong."""
    p = 1.0 if case.classes == 1 else np.eye(case.classes)[0]
    wrong = 0 if case.classes == 1 else 1
    calibrator = case.make(**parameters)
    for q in forecasts(calibrator, ((p, wrong) for _ in range(times))):
        assert_probabilities(q)
    assert calibrator.updates == times
    assert_sound(case, calibrator)


@pytest.mark.slow
@at_ends([*EXTREMES, *CORNERS])
def test_a_model_that_is_always_sure_and_always_wrong(case, parameters):
    deceive(case, parameters, 200)


@pytest.mark.slow
@pytest.mark.timeout(600)
@at_ends([*EXTREMES, CORNERS[0]])
def test_a_model_that_is_always_sure_and_always_wrong_for_very_long(case, parameters):
    at_once = case.classes == 1 or case.method in ('ops', 'temperature')
    # One against the rest is the very code of one probability, and takes three times as long; so
    # it is with a chain.
    at_once = at_once and (not case.contexts or (case.classes == 1 and case.method in FORMS))
    deceive(case, parameters, SURE_AND_WRONG if at_once else 2_000)


# Parameters that go from one end to the other while it learns


def at_an_end(generator, name):
    limits = CALIBRATOR_LIMITS[name]
    if limits is None:
        return generator.random() < 0.5
    if name in ('window', 'refit_every', 'warmup', 'bins', 'context_capacity'):
        return generator.choice([limits.low, 20])
    low = 5e-324 if limits.low_open else limits.low
    high = math.nextafter(limits.high, 0.0) if limits.high_open else limits.high
    return generator.choice([low, high, math.sqrt(low * high)])


@pytest.mark.slow
@every_case
def test_parameters_that_jump_from_end_to_end_while_labels_come_late(case):
    generator, calibrator, waiting = random.Random(str(case)), case.make(), []
    for step, (p, _) in enumerate(case.samples(160, seed=5)):
        q, ticket = calibrator.issue(p)
        assert_probabilities(q)
        waiting.append((p, ticket))
        while waiting and generator.random() < 0.6:
            p, ticket = waiting.pop(generator.randrange(len(waiting)))
            calibrator.update(p, generator.randrange(max(case.classes, 2)), ticket)
        names = changeable(case)
        if names and step % 20 == 10:
            chosen = generator.sample(names, generator.randint(1, len(names)))
            changes = {name: at_an_end(generator, name) for name in chosen}
            calibrator.configure(**without_a_clip_that_is_too_large(case, changes))
        if step % 50 == 0:
            assert_sound(case, calibrator)


@every_case
def test_a_parameter_changed_at_the_start_acts_as_if_given(case):
    for name in changeable(case):
        changed, given = case.make(), case.make(**{name: OTHERS[name]})
        changed.configure(**{name: OTHERS[name]})
        assert changed.parameters()[name] == OTHERS[name]
        samples = case.samples(60)
        assert np.array_equal(forecasts(changed, samples), forecasts(given, samples)), name
        assert changed.state() == given.state(), name


@pytest.mark.parametrize(
    'case',
    [case for case in CASES if case.classes == 1 and 'clip' in case.names and not case.contexts],
    ids=str,
)
def test_p_beyond_the_clip_maps_as_the_clip(case):
    calibrator = case.learned(case.samples(65), clip=0.05)
    assert calibrator.predict(0.0) == calibrator.predict(0.05)
    assert calibrator.predict(1.0) == calibrator.predict(0.95)


@every_case
def test_a_change_to_what_it_is_changes_nothing(case):
    calibrator = case.learned(case.samples(65))
    before, ahead = calibrator.state(), forecasts_of(case, calibrator)
    calibrator.configure(**calibrator.parameters())
    calibrator.configure()
    assert calibrator.state() == before
    assert forecasts_of(case, calibrator) == ahead


@every_case
def test_what_cannot_change_while_it_runs_is_refused_and_nothing_changes(case):
    calibrator = case.learned(case.samples(65))
    before = calibrator.state()
    for name in sorted(CALIBRATORS[case.method].fixed):
        others = {name: value for name, value in OTHERS.items() if name in changeable(case)}
        sentence = f'{name} of {case.method} cannot change while it runs'
        with pytest.raises(ValueError, match=sentence):
            calibrator.configure(**{**others, name: OTHERS[name]})
        assert calibrator.state() == before


# What is refused


def just_outside(name):
    limits = LIMITS[name]
    values = [math.nan, math.inf, -math.inf, -1.0, '0.1', None, True, 10**400]
    values.append(limits.low if limits.low_open else math.nextafter(limits.low, -math.inf))
    if math.isfinite(limits.high):
        values.append(limits.high if limits.high_open else math.nextafter(limits.high, math.inf))
    if limits.whole:
        values.append(limits.low + 0.5)
    return values


@every_case
def test_a_value_outside_its_range_is_refused_in_a_sentence_and_nothing_changes(case):
    calibrator = case.learned(case.samples(25))
    before = calibrator.state()
    sound = {name: OTHERS[name] for name in changeable(case)}
    for name in calibrator.parameters():
        wrong = just_outside(name) if name in LIMITS else [1, 0.0, 'yes', None]
        for value in wrong:
            sentence = rf'^{name} must be .*, not .*{re.escape(str(value)[:8])}'
            for call in (case.make, calibrator.configure):
                if value is None and call == case.make and case.classes > 1:
                    continue  # of many classes: the clip that goes with their number
                with pytest.raises(ValueError, match=sentence) as refused:
                    call(**{**sound, name: value})
                assert_sentence(str(refused.value), value)
                assert calibrator.state() == before


@every_case
def test_an_unknown_parameter_is_refused_by_its_name_and_nothing_changes(case):
    calibrator = case.learned(case.samples(25))
    before = calibrator.state()
    sound = {name: OTHERS[name] for name in changeable(case)}
    for call in (case.make, calibrator.configure):
        with pytest.raises(ValueError, match=f"{case.method} has no parameter 'gama'"):
            call(**sound, gama=0.1)
    assert calibrator.state() == before


def test_every_parameter_has_a_value_that_is_not_its_default():
    assert set(OTHERS) == set(CALIBRATOR_LIMITS)
    for case in CASES:
        defaults = case.make().parameters()
        assert all(OTHERS[name] != value for name, value in defaults.items())


def test_an_unknown_name_gets_the_nearest_one():
    with pytest.raises(ValueError, match="ops has no parameter 'gama', did you mean 'gamma'"):
        create('ops', gama=0.2)
    with pytest.raises(ValueError, match=r"no method 'opps', did you mean 'ops'\? \(methods: ops"):
        create('opps')


@pytest.mark.parametrize('clip', [0.0, math.nextafter(1e-9, 0.0), 0.5, 0.7, 1.0])
def test_clip_from_its_smallest_value_to_just_below_a_half(clip):
    sentence = f'clip must be >= 1e-09 and < 0.5, not {clip!r}'
    with pytest.raises(ValueError, match=re.escape(sentence)):
        create('ops', clip=clip)
    for allowed in (1e-9, ALMOST_HALF):
        assert create('ops', clip=allowed).parameters()['clip'] == allowed
