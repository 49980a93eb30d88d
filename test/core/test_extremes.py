# SPDX-License-Identifier: Apache-2.0
"""Every method at the ends of its parameters: no state and no forecast that is not finite."""

from __future__ import annotations

import math
import random
import re
from inspect import signature
from typing import Any

import numpy as np
import pytest

from calib_node.core.calibrators import CALIBRATORS, create, create_multiclass
from calib_node.core.calibrators.parameters import CALIBRATOR_LIMITS

SURE_AND_WRONG = 100_000
ALMOST_HALF = math.nextafter(0.5, 0.0)
LIMITS = {name: limits for name, limits in CALIBRATOR_LIMITS.items() if limits is not None}

Parameters = dict[str, Any]

EXTREMES: list[Parameters] = [
    {'gamma': 1e-6},
    {'gamma': 1e6},
    {'radius': 1e-3},
    {'clip': 1e-9},
    {'clip': ALMOST_HALF},
]
"""Each of them for as long as it takes a sum to overflow or a matrix to wear out."""
CORNERS: list[Parameters] = [
    {'gamma': 1e-6, 'radius': 1e-3, 'clip': 1e-9},
    {'gamma': 1e-12, 'rho': 0.01, 'radius': 1e12, 'clip': 1e-9},
    {'gamma': 1e-12, 'rho': 1e12, 'radius': 1e-6, 'clip': ALMOST_HALF, 'forgetting': 5e-324},
    {'gamma': 1e12, 'rho': 1e12, 'radius': 1e12, 'clip': 1e-9, 'forgetting': 0.5},
]


def cases(combinations: list[Parameters]) -> list[Any]:
    """Return (method, parameters) for each method and what it has of each combination."""
    found = []
    for method, kind in CALIBRATORS.items():
        known = signature(kind).parameters
        own = [{key: c[key] for key in c if key in known} for c in combinations]
        for number, parameters in enumerate(own):
            if parameters not in own[:number]:
                words = [f'{name} {value:.3g}' for name, value in parameters.items()]
                found.append(pytest.param(method, parameters, id=', '.join([method, *words])))
    return found


def assert_finite(value: Any) -> None:
    if isinstance(value, dict):
        for part in value.values():
            assert_finite(part)
    elif isinstance(value, list):
        for part in value:
            assert_finite(part)
    elif isinstance(value, float):
        assert math.isfinite(value)


def assert_restorable(calibrator: Any, fresh: Any, *samples: Any) -> None:
    """Expect another of the same parameters to take the state and to forecast the same."""
    state = calibrator.state()
    assert_finite(state)
    fresh.restore(state)
    assert fresh.state() == state
    for p in samples:
        assert np.array_equal(fresh.predict(p), calibrator.predict(p))


# Always sure, always wrong


def deceive(method: str, parameters: Parameters, times: int) -> None:
    calibrator = create(method, **parameters)
    issue, update = calibrator.issue, calibrator.update
    for _ in range(times):
        q, ticket = issue(1.0)
        assert 0.0 <= q <= 1.0
        update(1.0, 0, ticket)
    assert calibrator.updates == times
    fresh = create(method, **parameters)
    assert_restorable(calibrator, fresh, 0.0, 0.5, 1.0)


@pytest.mark.parametrize(('method', 'parameters'), cases(EXTREMES))
def test_a_model_that_is_always_sure_and_always_wrong(method, parameters):
    deceive(method, parameters, SURE_AND_WRONG)


@pytest.mark.parametrize(('method', 'parameters'), cases(CORNERS))
def test_the_same_where_several_parameters_are_at_their_ends(method, parameters):
    deceive(method, parameters, 5_000)


def deceive_of_several(method: str, parameters: Parameters, times: int) -> None:
    p = np.array([1.0, 0.0])
    calibrator = create_multiclass(method, 2, **parameters)
    for time in range(times):
        if time % 50 == 0:
            q, ticket = calibrator.issue(p)
            assert q.min() >= 0.0
            assert q.max() <= 1.0
        calibrator.update(p, 1, ticket)
    assert calibrator.updates == times
    fresh = create_multiclass(method, 2, **parameters)
    assert_restorable(calibrator, fresh, p, p[::-1], [0.5, 0.5])


@pytest.mark.parametrize(('method', 'parameters'), cases([*EXTREMES, *CORNERS]))
def test_a_model_of_several_classes_that_is_always_sure_and_always_wrong(method, parameters):
    deceive_of_several(method, parameters, 1_000)


@pytest.mark.parametrize('method', ['ops', 'temperature'])
def test_the_same_for_as_long_where_the_classes_are_learned_together(method):
    """One against the rest is the very code of one probability."""
    deceive_of_several(method, CORNERS[0], SURE_AND_WRONG)


# Parameters that go from one end to the other while it learns


def at_an_end(generator: random.Random, name: str) -> Any:
    limits = CALIBRATOR_LIMITS[name]
    if limits is None:
        return generator.random() < 0.5
    if name in ('window', 'refit_every', 'warmup', 'bins'):
        return generator.choice([limits.low, 20])
    low = 5e-324 if limits.low_open else limits.low
    high = math.nextafter(limits.high, 0.0) if limits.high_open else limits.high
    return generator.choice([low, high, math.sqrt(low * high)])


def a_sure_sample(generator: random.Random, classes: int) -> Any:
    if classes == 1:
        return generator.choice([0.0, 1.0, 5e-324, math.nextafter(1.0, 0.0), generator.random()])
    p = np.full(classes, generator.choice([0.0, 5e-324, 1e-9]))
    p[generator.randrange(classes)] = 1.0
    return p


@pytest.mark.parametrize('classes', [1, 3])
@pytest.mark.parametrize('method', list(CALIBRATORS))
def test_parameters_that_jump_from_end_to_end_while_labels_come_late(method, classes):
    generator = random.Random(f'{method} {classes}')

    def fresh(**parameters: Any) -> Any:
        if classes == 1:
            return create(method, **parameters)
        return create_multiclass(method, classes, **parameters)

    calibrator = fresh()
    changeable = sorted(set(calibrator.parameters()) - CALIBRATORS[method].fixed)
    waiting = []
    for step in range(1_500 if classes == 1 else 400):
        p = a_sure_sample(generator, classes)
        q, ticket = calibrator.issue(p)
        assert np.min(q) >= 0.0
        assert np.max(q) <= 1.0
        waiting.append((p, ticket))
        while waiting and generator.random() < 0.6:
            p, ticket = waiting.pop(generator.randrange(len(waiting)))
            calibrator.update(p, generator.randrange(max(classes, 2)), ticket)
        if changeable and step % 20 == 10:
            changes = {
                name: at_an_end(generator, name)
                for name in generator.sample(changeable, generator.randint(1, len(changeable)))
            }
            if classes > 1 and changes.get('clip', 0.0) > 1.0 / classes:
                # Of temperature that is too much.
                del changes['clip']
            calibrator.configure(**changes)
        if step % 50 == 0:
            own = {k: v for k, v in calibrator.parameters().items() if k != 'seed'}
            assert_restorable(calibrator, fresh(**own), p)


# What is refused


def just_outside(name: str) -> list[Any]:
    limits = LIMITS[name]
    values = [math.nan, math.inf, -math.inf, -1.0, '0.1', None, True]
    values.append(limits.low if limits.low_open else math.nextafter(limits.low, -math.inf))
    if math.isfinite(limits.high):
        values.append(limits.high if limits.high_open else math.nextafter(limits.high, math.inf))
    if limits.whole:
        values.append(limits.low + 0.5)
    return values


@pytest.mark.parametrize('method', list(CALIBRATORS))
def test_a_parameter_outside_its_range_is_refused_in_a_sentence_and_changes_nothing(method):
    calibrator = create(method)
    before = calibrator.state()
    for name in calibrator.parameters():
        if name not in LIMITS:
            continue
        for value in just_outside(name):
            sentence = rf'^{name} must be (a whole number )?(>=?|<=?) .*, not .*{str(value)[:8]}'
            with pytest.raises(ValueError, match=sentence):
                create(method, **{name: value})
            if value is not None:
                with pytest.raises(ValueError, match=sentence):
                    create_multiclass(method, 3, **{name: value})
            with pytest.raises(ValueError, match=sentence):
                calibrator.configure(**{name: value})
            assert calibrator.state() == before


@pytest.mark.parametrize('clip', [0.0, math.nextafter(1e-9, 0.0), 0.5, 0.7, 1.0])
def test_clip_from_its_smallest_value_to_just_below_a_half(clip):
    sentence = f'clip must be >= 1e-09 and < 0.5, not {clip!r}'
    with pytest.raises(ValueError, match=re.escape(sentence)):
        create('ops', clip=clip)
    for allowed in (1e-9, ALMOST_HALF):
        assert create('ops', clip=allowed).parameters()['clip'] == allowed
