# SPDX-License-Identifier: Apache-2.0
"""What goes wrong within one pair stays within it, is counted and is told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pipelines import MS, make, observed, one_and_many, predict, sure

from calib_node.core.calibrators import (
    CALIBRATORS,
    StateError,
    UpdateNotFinite,
    create,
    create_multiclass,
)
from calib_node.core.samples import Label
from calib_node.core.state.document import make_document, restore_document
from calib_node.core.state.file import StateFile

STEP = 100 * MS

every_method = pytest.mark.parametrize('method', list(CALIBRATORS))


def teach(pipeline: Any, number: int) -> None:
    """Send a prediction and its label."""
    matched = pipeline.matcher.counts.matched
    predict(pipeline, number * STEP, sure(pipeline.classes))
    pipeline.label(Label(number * STEP, float(number % 2)))
    assert pipeline.matcher.counts.matched == matched + 1


def assert_sound(pipeline: Any) -> None:
    """Expect that what was learned is finite, forecasts, and can be saved and restored."""
    document = make_document(pipeline.calibrator, '/calib_node')
    assert all_finite(document)
    calibrator = pipeline.calibrator
    again = make(pipeline.classes, calibrator.name).calibrator
    restore_document(again, document)
    p = sure(pipeline.classes)
    for forecast in (again.predict(p), calibrator.predict(p)):
        assert (np.asarray(forecast) >= 0.0).all()
        assert (np.asarray(forecast) <= 1.0).all()


def all_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(all_finite, value.values()))
    if isinstance(value, list):
        return all(map(all_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def failing(update: Any, fault: BaseException, times: set[int]) -> Any:
    """Return an update that raises at those of its calls that are in `times`, from 1."""
    calls = 0

    def fail(p: Any, y: int, ticket: Any = None) -> None:
        nonlocal calls
        calls += 1
        if calls in times:
            raise fault
        update(p, y, ticket)

    return fail


FAULTS = [
    UpdateNotFinite('the update gives a number that is not finite'),
    ZeroDivisionError('float division by zero'),
    OverflowError('math range error'),
    ValueError('math domain error'),
    KeyError('expert'),
    IndexError('list index out of range'),
    TypeError('cannot unpack non-iterable float object'),
    RuntimeError('a fault of the program'),
]
every_fault = pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: type(fault).__name__)


# Learning


@one_and_many
@every_fault
def test_an_exception_in_one_pair_never_stops_the_next(fault, classes, monkeypatch):
    """Of five pairs that are decided at once the third fails, and the others are learned."""
    pipeline, healthy = make(classes), make(classes)
    matches = observed(pipeline)
    p = sure(classes)
    update = pipeline.calibrator.update
    monkeypatch.setattr(pipeline.calibrator, 'update', failing(update, fault, {3}))
    for one in (pipeline, healthy):
        for number in range(1, 6):
            predict(one, number * STEP, p)
        for number in range(1, 6):
            # Too far off until the tolerance is widened.
            if one is pipeline or number != 3:
                one.label(Label(number * STEP + 30 * MS, float(number % 2)))
        assert one.matcher.counts.matched == 0
        one.configure_matching('nearest', 40 * MS, 60_000 * MS, 1000 * MS, 100)
        one.flush()
    assert pipeline.calibrator.state() == healthy.calibrator.state()
    assert (pipeline.counts.learned, pipeline.counts.failed_updates) == (4, 1)
    assert pipeline.matcher.counts.matched == pipeline.scores.calibrated.count == len(matches) == 5


@one_and_many
@every_fault
def test_what_failed_is_told_until_the_next_that_does_not(fault, classes, monkeypatch):
    pipeline = make(classes)
    update = pipeline.calibrator.update
    monkeypatch.setattr(pipeline.calibrator, 'update', failing(update, fault, {1, 2}))
    for number in (1, 2):
        before = pipeline.calibrator.state()
        teach(pipeline, number)
        assert pipeline.calibrator.state() == before
        assert str(fault) in pipeline.update_error
        assert pipeline.counts.failed_updates == number
        # Of a fault of the program the kind is told too.
        told = type(fault).__name__ in pipeline.update_error
        assert told is not isinstance(fault, UpdateNotFinite)
    teach(pipeline, 3)
    assert (pipeline.update_error, pipeline.counts.learned) == ('', 1)
    assert_sound(pipeline)


def test_a_reset_takes_back_what_was_told_of_the_last_update(monkeypatch):
    pipeline = make()
    with monkeypatch.context() as patch:
        patch.setattr(pipeline.calibrator, 'update', failing(None, ValueError('x'), {1}))
        teach(pipeline, 1)
    pipeline.reset()
    assert (pipeline.update_error, pipeline.counts.failed_updates) == ('', 1)


def test_what_ends_the_process_is_not_held_back(monkeypatch):
    pipeline = make()
    monkeypatch.setattr(pipeline.calibrator, 'update', failing(None, KeyboardInterrupt(), {1}))
    with pytest.raises(KeyboardInterrupt):
        teach(pipeline, 1)


def replaced(ticket: Any, number: float) -> Any:
    """Return a ticket with every float in it replaced, its shape and its integers kept."""
    if isinstance(ticket, float):
        return number
    if isinstance(ticket, np.ndarray):
        return np.full_like(ticket, number)
    if isinstance(ticket, tuple):
        parts = [replaced(part, number) for part in ticket]
        return type(ticket)(*parts) if hasattr(ticket, '_fields') else tuple(parts)
    if isinstance(ticket, list):
        return [replaced(part, number) for part in ticket]
    return ticket


@one_and_many
@every_method
@pytest.mark.parametrize('number', [math.nan, math.inf, -math.inf, 1e308, -1e308])
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_an_update_that_would_not_be_finite_is_not_taken(method, classes, number):
    pipeline = make(classes, method)
    calibrator = pipeline.calibrator
    for i in range(1, 61):
        teach(pipeline, i)
    p = sure(classes)
    _, ticket = calibrator.issue(p)
    before = calibrator.state()
    try:
        calibrator.update(p, 1, replaced(ticket, number))
    except (ArithmeticError, ValueError):
        assert calibrator.state() == before
    assert_sound(pipeline)
    learned = pipeline.counts.learned
    teach(pipeline, 61)
    assert pipeline.counts.learned == learned + 1
    assert_sound(pipeline)


@one_and_many
@every_method
@pytest.mark.parametrize(
    'ticket', ['text', 0.5, (), (1.0,), (None,) * 3, {}, [math.nan] * 3], ids=repr
)
def test_a_ticket_that_is_none_is_contained_and_the_next_label_is_learned(method, classes, ticket):
    pipeline = make(classes, method)
    teach(pipeline, 1)
    issue = pipeline.calibrator.issue
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline.calibrator, 'issue', lambda p: (issue(p)[0], ticket))
        predict(pipeline, 2 * STEP, sure(classes))
    pipeline.label(Label(2 * STEP, 0.0))
    counts = pipeline.counts
    assert counts.learned + counts.failed_updates == 2
    assert bool(pipeline.update_error) == (counts.failed_updates == 1)
    teach(pipeline, 3)
    assert counts.learned + counts.failed_updates == 3
    assert pipeline.update_error == ''
    assert_sound(pipeline)


# Scoring


@one_and_many
def test_a_forecast_that_is_no_probability_spoils_no_other_score(classes, monkeypatch):
    pipeline, healthy = make(classes, 'identity'), make(classes, 'identity')
    p = sure(classes)
    for number in range(1, 101):
        if number != 50:
            teach(healthy, number)
            teach(pipeline, number)
            continue
        with monkeypatch.context() as patch:
            patch.setattr(pipeline.calibrator, 'issue', lambda _: (1.5 * p, None))
            teach(pipeline, number)
    scores, sound = pipeline.scores, healthy.scores
    for ours, theirs in ((scores.raw, sound.raw), (scores.calibrated, sound.calibrated)):
        assert (ours.count, ours.ece()) == (99, theirs.ece())
        assert (ours.brier(), ours.log_loss()) == (theirs.brier(), theirs.log_loss())
    sentence = 'could not be scored: ValueError: a probability must be within [0, 1]'
    assert sentence in scores.error
    teach(pipeline, 101)
    assert sentence in scores.error
    pipeline.reset()
    assert scores.error == ''


# Restoring and configuring


# Positive definite, but with entries so far apart that a projection fails in the arithmetic.
EXTREME_STATES: dict[str, tuple[int, dict[str, Any]]] = {
    'ops': (
        1,
        {'a': -0.794, 'b': 0.0, 'A': [[5e-21, -4e-111], [-4e-111, 2e306]]},
    ),
    'ops, division by 0': (
        1,
        {
            'a': 1.442525633575109e-21,
            'b': -70.67178231907457,
            'A': [
                [2.4438596339501983e306, -4.211500855703774e154],
                [-4.211500855703774e154, 725.7681115250052],
            ],
        },
    ),
    'beta': (
        1,
        {
            'a': -0.65,
            'b': 436.0,
            'c': 0.0,
            'A': [[7e-301, -4e-301, 1e-149], [-4e-301, 8e-201, -0.6], [1e-149, -0.6, 3e306]],
        },
    ),
    'ops of several classes': (
        2,
        {
            'a': [-3e-4, 1.0],
            'b': [0.0, 0.0],
            'A': [[[3e-301, -2e-251], [-2e-251, 3e306]], [[100.0, 0.0], [0.0, 100.0]]],
        },
    ),
}


@pytest.mark.parametrize(('name', 'case'), EXTREME_STATES.items(), ids=list(EXTREME_STATES))
def test_a_state_that_does_not_survive_the_arithmetic_is_refused_as_any_bad_one(name, case):
    classes, learned = case
    method = name.split(',')[0].split(' ')[0]
    wide: dict[str, Any] = {'radius': 1e12, 'rho': 0.01}

    def fresh(**parameters: Any) -> Any:
        if classes == 1:
            return create(method, **parameters)
        return create_multiclass(method, classes, **parameters)

    state = {**fresh(**wide).state(), **learned, 'updates': 1}
    calibrator = fresh(rho=0.01, radius=1e-6)
    before = calibrator.state()
    with pytest.raises(StateError, match='cannot be taken over'):
        calibrator.restore(state)
    assert calibrator.state() == before
    calibrator = fresh(**wide)
    calibrator.restore(state)
    with pytest.raises(StateError, match='cannot be taken along'):
        calibrator.configure(radius=1e-6)
    assert calibrator.state() == state


def test_a_state_file_that_does_not_survive_the_arithmetic_is_set_aside(path):
    _, learned = EXTREME_STATES['ops']
    document = {**make_document(create('ops', radius=1e12, rho=0.01), '/n'), **learned}
    StateFile(path, '/n').save({**document, 'updates': 1})
    calibrator = create('ops', radius=1e-6, rho=0.01)
    found, problems = StateFile(path, '/n').recover(calibrator)
    assert found is None
    assert 'cannot be taken over' in problems[0]
    assert len(list(path.parent.glob('*.corrupt-*'))) == 1
    assert calibrator.updates == 0
